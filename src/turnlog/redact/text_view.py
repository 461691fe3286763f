r"""A text as the rules see it: without what cuts a secret in two, with the way back to the original.

A secret in the output of a terminal may be cut by escapes: real ones, or as JSON in a text has them (`\u001b[31m`).
In code it may be cut by the quotes of two string literals that are joined.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from turnlog.redact.literal_joints import find_literal_joints

_INVISIBLE_CHARACTERS = "\u200b\u200c\u200d\u2060\ufeff"
_ANSI_SEQUENCE = r"\[[0-9;:<=>?]{0,32}+[@-~]"
# Alternatives that begin with one fixed character each: `re` then skips all others.
_CUTTING_SEQUENCE = re.compile(
    rf"\x1b{_ANSI_SEQUENCE}|\\\\*(?:u001[bB]|x1[bB]|033|e){_ANSI_SEQUENCE}|" + "|".join(_INVISIBLE_CHARACTERS)
)
_WRITTEN_ESCAPES = ("1b[", "1B[", "\\033[", "\\e[")
_KELVIN_SIGN = "\u212a"
"""The sign whose small letter is that of `K`. The dotted capital I becomes two characters: it stays."""
MIN_RUN_CHARS = 20
"""A run has so many letters, digits and signs of base64, at least."""
_RUN_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
_RUN_SHAPE_TABLE = bytes(ord("x" if byte in _RUN_BYTES else " ") for byte in range(256))
_DIGIT = re.compile("[0-9]")
_MIXED_CASE = re.compile(r"[a-z][A-Z]{2,3}[a-z]|[A-Z][a-z][A-Z]")
_MIN_RUN_SHAPE = b"x" * MIN_RUN_CHARS
EARLY = 1_000
"""Rare words are looked for in so many first characters: each word costs a search of its own."""


class TextView:
    """A text and what the rules need of it more than once."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = raw
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._lower: str | None = None
        self._runs: list[tuple[int, int]] | None = None
        self._random_runs: list[tuple[int, int]] | None = None
        spans = [match.span() for match in _CUTTING_SEQUENCE.finditer(raw)] if _may_have_escapes(raw) else []
        found = _find_runs(raw) if len(raw) >= MIN_RUN_CHARS else []
        drawn = select_random_runs(raw, found)
        spans = _merge_spans([*spans, *find_literal_joints(raw, drawn)])
        if not spans:
            self._runs, self._random_runs = found, drawn
        self._cut_out_spans(spans)
        self._says: dict[str, bool] = {}
        self._early: str | None = None

    @property
    def lower(self) -> str:
        """The text in small letters, each where it stood."""
        if self._lower is None:
            self._lower = _to_lower_case(self.text)
        return self._lower

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Where the text has long runs of letters, digits and signs of base64."""
        if self._runs is None:
            self._runs = _find_runs(self.text)
        return self._runs

    @property
    def random_runs(self) -> list[tuple[int, int]]:
        """Runs that may be drawn at random: most others are names of code and paths."""
        if self._random_runs is None:
            self._random_runs = select_random_runs(self.text, self.runs)
        return self._random_runs

    def has_word(self, word: str) -> bool:
        """Whether a word stands in it, in small letters; for what several rules ask."""
        if (says := self._says.get(word)) is None:
            says = self._says[word] = word in self.lower
        return says

    @property
    def early(self) -> str:
        """The beginning of the text in small letters, in which rare words are looked for."""
        if self._early is None:
            self._early = self.lower[:EARLY]
        return self._early

    def find_origin(self, start: int, end: int) -> tuple[int, int]:
        """Where in the original the characters from `start` to `end` stand, with all that cuts them."""
        return (self._find_origin_index(start), self._find_origin_index(end - 1) + 1) if self._starts else (start, end)

    def _find_origin_index(self, index: int) -> int:
        at = bisect_right(self._starts, index)
        return index + (self._shifts[at - 1] if at else 0)

    def _cut_out_spans(self, spans: list[tuple[int, int]]) -> None:
        if not spans:
            return
        kept, at = [], 0
        for start, end in spans:
            kept.append(self.raw[at:start])
            at = end
        self.text = "".join([*kept, self.raw[at:]])
        self._starts = [*accumulate(map(len, kept))]
        self._shifts = [*accumulate(end - start for start, end in spans)]


def is_inside_word(lower: str, at: int) -> bool:
    """Whether a place is in the middle of a word; the letter of an escape such as `\\n` belongs to none."""
    if at == 0 or not lower[at - 1].isalnum():
        return False
    return not (lower[at - 1] in "nrt" and at > 1 and lower[at - 2] == "\\")


def _may_have_escapes(raw: str) -> bool:
    return (
        "\x1b" in raw
        or ("\\" in raw and any(map(raw.__contains__, _WRITTEN_ESCAPES)))
        or (not raw.isascii() and any(map(raw.__contains__, _INVISIBLE_CHARACTERS)))
    )


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _to_lower_case(text: str) -> str:
    """A text with ASCII's letters as small ones, character for character, and with all that become ASCII's by that."""
    if text.isascii():
        return text.lower()
    if _KELVIN_SIGN in text and len(lower := text.lower()) == len(text):
        return lower
    # Bytes know ASCII's letters only, which are all that the rules look for, and are twice as quick.
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def select_random_runs(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Runs with a digit, or with large and small letters in no order."""
    return [
        (start, end)
        for start, end in runs
        if _DIGIT.search(text, start, end) or (not text[start:end].islower() and _MIXED_CASE.search(text, start, end))
    ]


def has_random_run(text: str) -> bool:
    """Whether a text has a run that may be drawn at random."""
    return bool(select_random_runs(text, _find_runs(text)))


def _find_runs(text: str) -> list[tuple[int, int]]:
    """Where the runs of a text are: as `[A-Za-z0-9+/_-]{20,}+` finds them, several times as fast."""
    shape = text.encode("ascii", "replace").translate(_RUN_SHAPE_TABLE)
    found, start = [], shape.find(_MIN_RUN_SHAPE)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        found.append((start, end))
        start = shape.find(_MIN_RUN_SHAPE, end)
    return found
