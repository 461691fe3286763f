"""Asking the user what turnlog can't see: whether a client that runs has a session open."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from turnlog.cli.output import print_remark


def can_ask() -> bool:
    """Whether a person sits at the terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def agrees_to(doubts: Sequence[str], question: str) -> bool:
    """Whether the user was told of some doubts and goes on; False where there are none, or nobody can be asked."""
    if not doubts or not can_ask():
        return False
    for text in doubts:
        print_remark(f"Perhaps a session is open: {text}.")
    return click.confirm(question, default=False, err=True)
