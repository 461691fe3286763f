"""Asks the user what turnlog can't determine, such as whether Claude Code has a session open."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from turnlog.cli.output import print_remark
from turnlog.cli.progress import pause_progress


def can_ask() -> bool:
    """Return whether a person can answer at a terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def agrees_to(doubts: Sequence[str], question: str) -> bool:
    """Print the doubts and ask whether to continue; return False if there are no doubts or there is no terminal."""
    if not doubts or not can_ask():
        return False
    for text in doubts:
        print_remark(f"A session may be open: {text}.")
    with pause_progress():
        return click.confirm(question, default=False, err=True)
