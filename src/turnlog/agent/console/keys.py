"""Parse the bytes that a terminal sends into keys and pasted text."""

from __future__ import annotations

import re
from typing import NamedTuple

ESCAPE, ENTER, BACKSPACE, DELETE_WORD, CLEAR_LINE, END_OF_INPUT, NEXT_MODE, UP, DOWN, PASTE, PICTURE, OTHER = (
    "escape",
    "enter",
    "backspace",
    "word",
    "clear",
    "end",
    "mode",
    "up",
    "down",
    "paste",
    "picture",
    "other",
)
PASTE_START, PASTE_END = b"\x1b[200~", b"\x1b[201~"
MAX_PASTE_BYTES = 16 << 20
"""Pasted text is passed on in pieces of about this size."""
COMMAND_MARKS = ("!", "/")
"""What a prompt that is a command begins with. Behind a blank, the prompt is a text."""
_KEY_SEQUENCE_SECONDS = 0.05
"""How long to wait for the rest of a key's escape sequence, and for more behind the end of pasted text."""
_GLUE_SECONDS = 0.5
"""How long to wait for more if something followed the end of pasted text at once."""
_MARKS_PER_PASTE = 2
_LINE_BREAK_PATTERN = re.compile(rb"[\r\n]")
_MARK_PATTERN = re.compile(rb"\x1b\[20[01]~")
_UNIT_PATTERN = re.compile(
    rb"\x1b(?:\[\[[A-E]|\[[0-9;:<=>?]*[ -/]*[@-~]|O[A-DFHMP-S]|[\x00-\x1a\x1c-\x4e\x50-\x5a\x5c-\x7f])"
    rb"|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
    rb"|(?P<cut>\x1b\[[0-9;:<=>?]*[ -/]*)|[\x00-\xff]",
)
_PARTIAL_PATTERN = re.compile(
    rb"\x1b(?:\[\[?|\[[0-9;:<=>?]*[ -/]*|O)?|[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2}"
)
"""The start of a key whose rest has not arrived."""
_KEY_NAMES_BY_SEQUENCE = {
    b"\r": ENTER,
    b"\n": ENTER,
    b"\x7f": BACKSPACE,
    b"\x08": BACKSPACE,
    b"\x17": DELETE_WORD,
    b"\x15": CLEAR_LINE,
    b"\x04": END_OF_INPUT,
    b"\x16": PICTURE,
    b"\x1b": ESCAPE,
    b"\x1b[Z": NEXT_MODE,
    b"\x1b[A": UP,
    b"\x1bOA": UP,
    b"\x1b[B": DOWN,
    b"\x1bOB": DOWN,
}


class Key(NamedTuple):
    """A named key or a piece of text."""

    text: str
    name: str = ""
    """The action of the key; empty for text that is typed."""
    raw: bytes = b""
    """What the terminal sent; empty for pasted text."""


class KeyParser:
    """Splits what a terminal sends into keys, whatever the pieces in which it arrives.

    Pasted text is one key. What arrives without a pause behind its end is text, too: a terminal that passes on an end
    in the middle of the text would otherwise let the rest count as typed. Only if nobody can have put it into the text
    (there is no second mark, and no line break but the last) are its keys keys; its characters still count as pasted.
    The start of pasted text is recognised behind any key, even if parts of it have already been taken for keys.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._passed = b""
        """The part of a possible start of pasted text that was passed on as keys, since nothing followed at once."""
        self._pasted: bytearray | None = None
        """The pasted text so far."""
        self._is_pasting = False
        """Whether the end of the pasted text has not arrived."""
        self._marks = 0
        """How many marks the pasted text contains, the first one and the last one included."""
        self._end = 0
        """The position of the latest mark in the pasted text."""

    @property
    def pause_seconds(self) -> float | None:
        """The pause that would complete a key; None if a pause changes nothing."""
        if self._pasted is not None:
            glued = bytes(self._pasted[self._end :]) + self._rest
            return None if self._is_pasting else _GLUE_SECONDS if glued else _KEY_SEQUENCE_SECONDS
        is_open = bool(self._rest) and (bool(self._passed) or not self._rest.startswith(b"\x1b["))
        return _KEY_SEQUENCE_SECONDS if is_open else None

    def feed(self, data: bytes) -> list[Key]:
        """Take what the terminal sent, and return the keys that it completes."""
        self._rest += data
        keys: list[Key] = []
        while self._rest:
            if self._pasted is None and self._is_start_next():
                self._pasted, self._is_pasting, self._marks = bytearray(), True, 1
            if self._pasted is not None:
                keys += self._take_pasted()
                break
            found = _UNIT_PATTERN.match(self._rest)
            if found is None or self._is_partial():
                break
            key = self._take_key(found.end())
            if not found["cut"]:  # a key whose rest is missing would wait for it in the line editor
                keys.append(key)
        return keys

    def give_up_end(self) -> None:
        """Take pasted text whose end does not come for complete as soon as nothing more arrives; all of it is text."""
        if self._is_pasting:
            self._is_pasting, self._marks = False, _MARKS_PER_PASTE + 1

    def end_burst(self) -> list[Key]:
        """Return the keys that are complete because nothing followed at once."""
        if self.pause_seconds is None:
            return []
        if self._pasted is not None:
            text, self._pasted, self._rest = bytes(self._pasted + self._rest), None, b""
            glued = text[self._end :]
            if self._marks > _MARKS_PER_PASTE or _LINE_BREAK_PATTERN.search(
                glued.removesuffix(b"\n").removesuffix(b"\r")
            ):
                return [_make_paste(text)]
            return [_make_paste(text[: self._end]), *_parse_glued_keys(glued)]
        keys = []
        passed = self._passed + self._rest
        while self._rest:
            keys.append(self._take_key(1 if self._rest[0] < 0x80 else len(self._rest)))
        self._passed = passed if PASTE_START.startswith(passed) else b""
        return keys

    def _is_start_next(self) -> bool:
        """Return whether pasted text starts here, and skip the mark."""
        missing = PASTE_START[len(self._passed) :]
        for start in (missing, PASTE_START):
            if self._rest.startswith(start):
                self._rest, self._passed = self._rest[len(start) :], b""
                return True
        if self._passed and not missing.startswith(self._rest):
            self._passed = b""
        return False

    def _is_partial(self) -> bool:
        return bool(self._passed) or _PARTIAL_PATTERN.fullmatch(self._rest) is not None

    def _take_key(self, size: int) -> Key:
        raw, self._rest = self._rest[:size], self._rest[size:]
        text = raw.decode("utf-8", "ignore")
        if name := _KEY_NAMES_BY_SEQUENCE.get(raw):
            return Key(text, name, raw)
        is_text = len(text) == 1 and (text.isprintable() or text == "\t")
        return Key(text, "" if is_text else OTHER, raw)

    def _take_pasted(self) -> list[Key]:
        """Take pasted text up to the latest mark that might be incomplete."""
        assert self._pasted is not None
        at = 0
        for mark in _MARK_PATTERN.finditer(self._rest):
            self._pasted += self._rest[at : mark.start()]
            at, self._is_pasting = mark.end(), mark[0] == PASTE_START
            self._marks, self._end = self._marks + 1, len(self._pasted)
        kept = _find_partial_mark(self._rest, at)
        self._pasted += self._rest[at:kept]
        self._rest = self._rest[kept:]
        if len(self._pasted) <= MAX_PASTE_BYTES:
            return []
        piece, self._pasted, self._end = bytes(self._pasted), bytearray(), 0
        return [_make_paste(piece)]


def _find_partial_mark(data: bytes, start: int) -> int:
    """Return the position where a mark begins that data ends within, or the end of the data."""
    for size in range(min(len(PASTE_END) - 1, len(data) - start), 0, -1):
        if PASTE_START.startswith(data[-size:]) or PASTE_END.startswith(data[-size:]):
            return len(data) - size
    return len(data)


def _parse_glued_keys(data: bytes) -> list[Key]:
    """Parse what arrived just behind pasted text; its characters are pasted text."""
    parser = KeyParser()
    keys = [*parser.feed(data), *parser.end_burst()]
    return [Key(key.text, key.name or PASTE, key.raw if key.name else b"") for key in keys]


def _make_paste(raw: bytes) -> Key:
    return Key(unify_line_breaks(raw.decode("utf-8", "replace").replace("\0", "")), PASTE)


def unify_line_breaks(text: str) -> str:
    """Replace the line breaks of pasted text, as terminals send them, with line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def protect_pasted_mark(text: str) -> str:
    """Return text that was not typed in a form that is no command at the start of a prompt."""
    return f" {text}" if text.startswith(COMMAND_MARKS) else text


def restore_pasted_mark(text: str) -> str:
    """Return the text that `protect_pasted_mark` was given."""
    return text[1:] if text.startswith(tuple(f" {mark}" for mark in COMMAND_MARKS)) else text
