"""The words of one simple command, read as bash reads them; anything that is more than words is not read at all."""

from __future__ import annotations

import glob
import re
from typing import NamedTuple

_NAME = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?#@*!$-])")
_BRACES = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_OPERATORS = frozenset(";|&<>()\n`")
_BLANK = frozenset(" \t")
_GLOBBING = frozenset("*?")
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


def is_odd(text: str) -> bool:
    """Whether a text holds characters that are not what they seem."""
    return _ODD.search(text) is not None


def split(text: str) -> list[Word] | None:
    """The words of a simple command; None if it holds operators, substitutions, braces, comments or open quotes."""
    found: list[Word] = []
    place = 0
    while place < len(text):
        if text[place] in _BLANK:
            place += 1
        elif text.startswith("\\\n", place):
            place += 2
        elif text[place] == "#":
            return None
        else:
            read = _Reading(text, place)
            if not read.finish():
                return None
            found.append(read.word())
            place = read.place
    return found


class _Reading:
    """A word that is being read."""

    def __init__(self, text: str, place: int) -> None:
        self.text, self.place, self.start = text, place, place
        self.plain: list[str] = []
        self.pattern: list[str] = []
        self.bare: list[str] = []
        self.is_known = True

    def finish(self) -> bool:
        """Read to the word's end; False if it is more than a word."""
        while self.place < len(self.text) and (char := self.text[self.place]) not in _BLANK:
            if char == "'":
                good = self._single()
            elif char == '"':
                good = self._double()
            elif char == "\\":
                good = self._escaped()
            elif char == "$":
                good = self._variable("$")
            elif char in _OPERATORS:
                return False
            else:
                self._take(char, is_quoted=False)
                good = True
            if not good:
                return False
        return not _BRACES.search("".join(self.bare))

    def word(self) -> Word:
        """What was read."""
        bare = "".join(self.bare)
        has_class = re.search(r"\[.+\]", bare, re.DOTALL) is not None
        pattern = "".join(self.pattern) if has_class or _GLOBBING & set(bare) else None
        plain = "".join(self.plain)
        has_tilde = self.text[self.start] == "~"
        is_elsewhere = "=~" in bare or ":~" in bare or (has_tilde and plain != "~" and not bare.startswith("~/"))
        raw = self.text[self.start : self.place]
        return Word(plain, self.is_known and not has_class and not is_elsewhere, pattern, has_tilde, raw)

    def _take(self, chars: str, *, is_quoted: bool) -> None:
        self.plain.append(chars)
        self.pattern.append(glob.escape(chars) if is_quoted else chars)
        self.bare.append("\0" if is_quoted else chars)
        self.place += len(chars)

    def _single(self) -> bool:
        end = self.text.find("'", self.place + 1)
        if end < 0:
            return False
        self.place += 1
        self._take(self.text[self.place : end], is_quoted=True)
        self.place = end + 1
        return True

    def _double(self) -> bool:
        self.place += 1
        while self.place < len(self.text):
            char = self.text[self.place]
            if char == '"':
                self.place += 1
                return True
            if char == "`" or (char == "$" and not self._variable('"$')):
                return False
            if char == "\\":
                self._escaped_within()
            elif char != "$":
                self._take(char, is_quoted=True)
        return False

    def _escaped(self) -> bool:
        if self.place + 1 >= len(self.text):
            return False
        self.place += 1
        if self.text[self.place] == "\n":
            self.place += 1
        else:
            self._take(self.text[self.place], is_quoted=True)
        return True

    def _escaped_within(self) -> None:
        following = self.text[self.place + 1 : self.place + 2]
        if following == "\n":
            self.place += 2
        elif following and following in '$`"\\':
            self.place += 1
            self._take(following, is_quoted=True)
        else:
            self._take("\\", is_quoted=True)

    def _variable(self, where: str) -> bool:
        """A variable, or a dollar that stands for itself; False for all that is computed."""
        if found := _NAME.match(self.text, self.place):
            self.is_known = False
            self._take(found[0], is_quoted=True)
            return True
        following = self.text[self.place + 1 : self.place + 2]
        if following in ("(", "{", "[") or (where == "$" and following in ("'", '"')):
            return False
        self._take("$", is_quoted=True)
        return True
