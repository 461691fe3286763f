"""Plays back a session: in a terminal, as an asciinema recording, or step by step for another program."""
