"""The words of one simple command, read as bash reads them; anything that is more than words is not read at all."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from itertools import dropwhile, groupby
from typing import NamedTuple

_VARIABLE = r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?#@*!$-])"
_PIECE = re.compile(
    rf"""
      (?P<gap>[ \t]+)
    | (?P<nothing>\\\n)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\`$] | \\. | {_VARIABLE} | \$(?![A-Za-z0-9_?#@*!$(\[{{-]))*+)"
    | \\(?P<escaped>.)
    | (?P<variable>{_VARIABLE})
    | (?P<dollar>\$)(?![(\[{{'"])
    | (?P<bare>[^ \t\\'"$;|&<>()\n`])
    """,
    re.VERBOSE | re.DOTALL,
)
_WITHIN = re.compile(rf"\\(?P<escaped>[$`\"\\\n])|(?P<variable>{_VARIABLE})|(?P<plain>.)", re.DOTALL)
_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_CLASS = re.compile(r"\[.+\]", re.DOTALL)
_ODD = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ud800-\udfff]")
"""Characters that a parser may take for blanks and bash does not, or that a person does not see."""


class Word(NamedTuple):
    """One word."""

    text: str
    """Without its quotes."""
    is_known: bool = True
    """False if it holds a variable, another's home or `[…]`: what it will be is known to the shell only."""
    pattern: str | None = None
    """What `glob` takes, if names of files are put in its place."""
    has_tilde: bool = False
    """It begins with an unquoted `~`."""
    raw: str = ""
    """As it is written, with its quotes."""

    @property
    def is_plain(self) -> bool:
        """Whether the shell makes nothing else of it."""
        return self.is_known and self.pattern is None and not self.has_tilde


def program(words: Sequence[Word]) -> str:
    """The name of what is run, without its folder."""
    return words[0].text.rsplit("/", 1)[-1] if words else ""


def written(words: Sequence[Word]) -> str:
    """A command as it is held against rules: its words as they are written, its name without quotes that do nothing."""
    has_plain_name = bool(words) and len(words[0].text.split()) == 1
    return " ".join([word.raw if at or not has_plain_name else word.text for at, word in enumerate(words)])


def are_known(words: Sequence[Word]) -> bool:
    """Whether it can be told of all words what they will be."""
    return all(word.is_known for word in words)


def is_odd(text: str) -> bool:
    """Whether a text holds characters that are not what they seem."""
    return _ODD.search(text) is not None


def split(text: str) -> list[Word] | None:
    """The words of a simple command; None if it holds operators, substitutions, braces, comments or open quotes."""
    pieces = list(_PIECE.finditer(text))
    if sum(len(piece[0]) for piece in pieces) != len(text):
        return None
    runs = [list(run) for is_gap, run in groupby(pieces, lambda piece: piece.lastgroup == "gap") if not is_gap]
    begun = (list(dropwhile(lambda piece: piece.lastgroup == "nothing", run)) for run in runs)
    words = [_word(run) for run in begun if run]
    found = [word for word in words if word]
    return found if len(found) == len(words) else None


def _word(pieces: Sequence[re.Match[str]]) -> Word | None:
    """What a word's pieces come to; `bare` has a NUL for all that is quoted."""
    plain, pattern, bare = "", "", ""
    is_known = True
    for piece in pieces:
        kind = piece.lastgroup or ""
        value = piece[kind] if kind != "nothing" else ""
        if kind == "double":
            inner = list(_WITHIN.finditer(value))
            is_known &= not any(one["variable"] for one in inner)
            value = "".join(one[one.lastgroup or 0] for one in inner if one["escaped"] != "\n")
        is_known &= kind != "variable"
        plain += value
        pattern += value if kind == "bare" else glob.escape(value)
        bare += value if kind in ("bare", "nothing") else "\0"
    raw = "".join(piece[0] for piece in pieces)
    if raw[0] == "#" or _BRACES.search(bare):
        return None
    has_class, has_tilde = _CLASS.search(bare) is not None, raw[0] == "~"
    is_elsewhere = "=~" in bare or ":~" in bare or (has_tilde and plain != "~" and not bare.startswith("~/"))
    is_pattern = has_class or "*" in bare or "?" in bare
    is_known &= not has_class and not is_elsewhere
    return Word(plain, is_known, pattern if is_pattern else None, has_tilde, raw)
