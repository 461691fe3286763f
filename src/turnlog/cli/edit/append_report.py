"""What `turnlog rename` and `turnlog tag` say when they are done."""

from __future__ import annotations

from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.terminal import to_visible_line
from turnlog.edit.rename import AppendResult


def print_appended(done: AppendResult, words: str) -> None:
    """Say what was done, and that a client has the session open."""
    print_lines([to_visible_line(f"{done.target.session_id} {words}")])
    if told := next((sign for sign in done.busy if sign.is_certain), None):
        print_remark(f"Note: {told.words}. When that goes on, it may bring back what it remembers; then do this again.")
