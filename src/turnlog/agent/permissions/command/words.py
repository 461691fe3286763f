"""Splits one simple command into words as bash does; rejects anything that does not consist only of words."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from itertools import dropwhile, groupby
from typing import NamedTuple

_VARIABLE_PATTERN = r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?#@*!$-])"
_WORD_PIECE_PATTERN = re.compile(
    rf"""
      (?P<gap>[ \t]+)
    | (?P<nothing>\\\n)
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\`$] | \\. | {_VARIABLE_PATTERN} | \$(?![A-Za-z0-9_?#@*!$(\[{{-]))*+)"
    | \\(?P<escaped>.)
    | (?P<variable>{_VARIABLE_PATTERN})
    | (?P<dollar>\$)(?![(\[{{'"])
    | (?P<bare>[^ \t\\'"$;|&<>()\n`])
    """,
    re.VERBOSE | re.DOTALL,
)
_DOUBLE_QUOTED_PATTERN = re.compile(
    rf"\\(?P<escaped>[$`\"\\\n])|(?P<variable>{_VARIABLE_PATTERN})|(?P<plain>.)", re.DOTALL
)
_CURRENT_FOLDER_PATTERN = re.compile(r"\A\$(?:PWD|\{PWD\})(?=/|\Z)")
"""The current folder at the beginning of a quoted word."""
_BRACE_EXPANSION_PATTERN = re.compile(r"\{.*(?:,|\.\.).*\}", re.DOTALL)
_CHARACTER_CLASS_PATTERN = re.compile(r"\[.+\]", re.DOTALL)
_ODD_CHARACTER_PATTERN = re.compile(
    r"[\0-\x08\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2069\u3000\ufeff\ud800-\udfff]"
)
"""Characters that are invisible, or that a parser but not bash may treat as blanks."""


class ShellWord(NamedTuple):
    text: str
    """The word without quotes."""
    is_known: bool = True
    """False if it contains a variable, another user's home or `[…]`, which only the shell can resolve."""
    pattern: str | None = None
    """The pattern for `glob`, if the shell expands the word to file names."""
    has_tilde: bool = False
    """Whether it starts with an unquoted `~`."""
    raw: str = ""
    """The word as written, with quotes."""

    @property
    def is_plain(self) -> bool:
        """Whether the shell leaves the word unchanged."""
        return self.is_known and self.pattern is None and not self.has_tilde


def get_program_name(words: Sequence[ShellWord]) -> str:
    """Return the program name without its folder."""
    return words[0].text.rsplit("/", 1)[-1] if words else ""


def join_words(words: Sequence[ShellWord]) -> str:
    """Join words in the form that rules match: as written, but without unnecessary quotes around the program name."""
    has_plain_name = bool(words) and len(words[0].text.split()) == 1
    return " ".join([word.raw if at or not has_plain_name else word.text for at, word in enumerate(words)])


def uses_folder_variable(words: Sequence[ShellWord]) -> bool:
    """Return whether a word begins with the variable that holds the current folder."""
    return any(re.match(r'"\$\{?PWD\b', word.raw) for word in words)


def are_words_known(words: Sequence[ShellWord]) -> bool:
    """Return whether the value of every word is known before the shell runs."""
    return all(word.is_known for word in words)


def has_odd_characters(text: str) -> bool:
    """Return whether the text contains invisible or misleading characters."""
    return _ODD_CHARACTER_PATTERN.search(text) is not None


def split_words(text: str) -> list[ShellWord] | None:
    """Split a simple command; return None if it has operators, substitutions, braces, comments or unclosed quotes."""
    pieces = list(_WORD_PIECE_PATTERN.finditer(text))
    if sum(len(piece[0]) for piece in pieces) != len(text):
        return None
    runs = [list(run) for is_gap, run in groupby(pieces, lambda piece: piece.lastgroup == "gap") if not is_gap]
    trimmed = (list(dropwhile(lambda piece: piece.lastgroup == "nothing", run)) for run in runs)
    words = [_build_word(run) for run in trimmed if run]
    found = [word for word in words if word]
    return found if len(found) == len(words) else None


def _build_word(pieces: Sequence[re.Match[str]]) -> ShellWord | None:
    """Build a word from its pieces; `bare` contains a NUL in place of each quoted piece."""
    plain, pattern, bare = "", "", ""
    is_known = True
    for piece in pieces:
        kind = piece.lastgroup or ""
        value = piece[kind] if kind != "nothing" else ""
        if kind == "double" and not bare:
            value = _CURRENT_FOLDER_PATTERN.sub(".", value)
        if kind == "double":
            inner = list(_DOUBLE_QUOTED_PATTERN.finditer(value))
            is_known &= not any(one["variable"] for one in inner)
            value = "".join(one[one.lastgroup or 0] for one in inner if one["escaped"] != "\n")
        is_known &= kind != "variable"
        plain += value
        pattern += value if kind == "bare" else glob.escape(value)
        bare += value if kind in ("bare", "nothing") else "\0"
    raw = "".join(piece[0] for piece in pieces)
    if raw[0] == "#" or _BRACE_EXPANSION_PATTERN.search(bare):
        return None
    has_class, has_tilde = _CHARACTER_CLASS_PATTERN.search(bare) is not None, raw[0] == "~"
    is_elsewhere = "=~" in bare or ":~" in bare or (has_tilde and plain != "~" and not bare.startswith("~/"))
    is_pattern = has_class or "*" in bare or "?" in bare
    is_known &= not has_class and not is_elsewhere
    return ShellWord(plain, is_known, pattern if is_pattern else None, has_tilde, raw)
