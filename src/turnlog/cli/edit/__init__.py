"""The commands that write sessions: `clone`, `fork`, `redact`, `rename`, `delete`, `move`, `pack`, `undo` and the like.

`repair` and `salvage` are in `health/`.
"""
