"""Parse the bytes that a terminal sends into keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ESCAPE, ENTER, BACKSPACE, DELETE_WORD, CLEAR_LINE, END_OF_INPUT, NEXT_MODE, UP, PASTE, PICTURE = (
    "escape",
    "enter",
    "backspace",
    "word",
    "clear",
    "end",
    "mode",
    "up",
    "paste",
    "picture",
)
PASTE_START, PASTE_END = "\x1b[200~", "\x1b[201~"
_KEY_PATTERN = re.compile(
    "\x1b\\[200~(?P<pasted>.*?)\x1b\\[201~|\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|O.|[^\\[O\x1b])|(?P<char>.)", re.DOTALL
)
_KEY_NAMES_BY_SEQUENCE = {
    "\r": ENTER,
    "\n": ENTER,
    "\x7f": BACKSPACE,
    "\x08": BACKSPACE,
    "\x17": DELETE_WORD,
    "\x15": CLEAR_LINE,
    "\x04": END_OF_INPUT,
    "\x16": PICTURE,
    "\x1b": ESCAPE,
    "\x1b[Z": NEXT_MODE,
    "\x1b[A": UP,
    "\x1bOA": UP,
}


class Key(NamedTuple):
    """A named key or a piece of text."""

    text: str
    name: str = ""
    """The action of the key; empty for text that is typed."""


def parse_keys(text: str) -> Iterator[Key]:
    """Yield the keys in a terminal's input; pasted text is a single key, and unknown sequences are skipped."""
    for found in _KEY_PATTERN.finditer(text):
        char, pasted = found["char"] or "", found["pasted"]
        if name := _KEY_NAMES_BY_SEQUENCE.get(found[0]):
            yield Key(found[0], name)
        elif pasted is not None:
            yield Key(unify_line_breaks(pasted), PASTE)
        elif char and (char.isprintable() or char == "\t"):
            yield Key(char)


def unify_line_breaks(text: str) -> str:
    """Replace the line breaks of pasted text, as terminals send them, with line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
