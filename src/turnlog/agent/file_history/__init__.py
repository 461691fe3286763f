"""Copies of the files that a session changes, and going back to them: `/rewind`.

snapshots     what a session file says about the copies
history       makes the copies and writes down where they are, as Claude Code does
restoration   brings files back to the state before a prompt
rewind_points the prompts that a person can go back to
"""
