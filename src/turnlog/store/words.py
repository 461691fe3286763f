"""How text becomes words, for the index and for queries alike.

FTS5's tokenizer (`unicode61 remove_diacritics 2`) folds case and accents, and splits at everything that is no letter
and no digit, so that `snake_case`, paths and dotted names are phrases. Two things it can't do are done here:

    scripts without spaces   each character is a word, so that any piece of a sentence is a phrase
    camelCase                stays one word; its parts go into a column of their own, once per text and identifier

Every text of the corpus passes here. What is dear in Python is a step per word, so identifiers are found on a copy of
the text in which lower-case letters and digits are `a`, capitals `A`, and everything else is a space.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple

_LONGEST = 64
_MOST_PARTS = 8
"""What has more parts is a random id or a hash, whose parts nobody looks for."""
_REMEMBERED = 100_000

# Bytes of UTF-8. Those that only characters of scripts without spaces (and emoji) begin with are `C`.
_SHAPES = bytes.maketrans(
    bytes(range(256)),
    b"".join(
        b"a" if byte in b"abcdefghijklmnopqrstuvwxyz0123456789"
        else b"A" if byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        else b"C" if byte in b"\xe0\xe1" or 0xE3 <= byte <= 0xF0
        else b" "
        for byte in range(256)
    ),
)  # fmt: skip
_HUMP = re.compile(rb"A(?:(?<=aA)|(?<=AA)(?=a))[aA]*+")
_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u30ff"
    "\u3100-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]+"
)


class Indexed(NamedTuple):
    """A text as the index takes it."""

    words: str
    parts: str
    """The parts of its camelCase identifiers, in order, each identifier once."""


class _Parts(dict[bytes, str]):
    """The parts of the identifiers that were met lately; empty for what is none."""

    def __missing__(self, name: bytes) -> str:
        if len(self) > _REMEMBERED:
            self.clear()
        found = parts(name.decode()) if len(name) <= _LONGEST else []
        self[name] = joined = " ".join(found) if 1 < len(found) <= _MOST_PARTS else ""
        return joined


_known = _Parts()


def indexed(text: str, reach: int = sys.maxsize) -> Indexed:
    """What the index stores of a text; identifiers are taken apart in its first `reach` bytes."""
    if "\0" in text:
        text = text.replace("\0", " ")
    if "\x1b" in text:
        text = plain(text)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        data = text.encode("utf-8", "replace")
        text = data.decode()
    shape = data.translate(_SHAPES)
    if len(data) > len(text) and b"C" in shape:
        text = _UNSPACED.sub(_apart, text)
    before = shape.rfind
    names = [data[before(b" ", 0, hump.start()) + 1 : hump.end()] for hump in _HUMP.finditer(shape, 0, reach)]
    return Indexed(text, " ".join(filter(None, map(_known.__getitem__, dict.fromkeys(names)))) if names else "")


def plain(text: str) -> str:
    """A text without the escape sequences of terminals, which would glue their last letter to a word."""
    return _ESCAPE.sub(" ", text)


def _apart(run: re.Match[str]) -> str:
    return f" {' '.join(run[0])} "


def parts(word: str) -> list[str]:
    """The parts of an identifier in lower case: `getHTTPServer2` gives get, http, server, 2."""
    return [part.lower() for part in _PART.findall(word)]


def spaced(text: str) -> str:
    """A text of a query as the index sees it: scripts without spaces have one, nothing else changes."""
    return indexed(text).words
