"""What `turnlog rename` and `turnlog tag` say when they are done."""

from __future__ import annotations

from turnlog.cli.output import remark, say
from turnlog.cli.terminal import line
from turnlog.edit.rename import Appended


def tell(done: Appended, words: str) -> None:
    """Say what was done, and that a client has the session open."""
    say([line(f"{done.target.session_id} {words}")])
    if told := next((sign for sign in done.busy if sign.is_certain), None):
        remark(f"Note: {told.words}. When that goes on, it may bring back what it remembers; then do this again.")
