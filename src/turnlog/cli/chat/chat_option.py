"""The form in which the options of `turnlog chat` are described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ChatOption(NamedTuple):
    name: str
    """Its name in the code."""
    words: tuple[str, ...]
    help: str
    kind: str = "text"
    """`flag`, `text`, `many` (can be repeated), `maybe` (its value is optional), `number` (from 1), `count` (from 0) or
    `amount`."""
    choices: tuple[str, ...] = ()
    refusals: Mapping[str, str] = {}
    """Values of Claude Code's that are refused, with the reasons."""
    is_hidden: bool = False
