r"""Text as the rules search it: without anything that splits a secret in two, and with a map back to the original.

In terminal output, a secret may be split by escape sequences: real ones, or ones written as JSON (`\u001b[31m`). In
code, it may be split by the quotes of two string literals that are joined.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from turnlog.redact.literal_joints import find_literal_joints

_INVISIBLE_CHARACTERS = "\u200b\u200c\u200d\u2060\ufeff"
_ANSI_SEQUENCE = r"\[[0-9;:<=>?]{0,32}+[@-~]"
# Each alternative starts with one fixed character, so that `re` skips all others.
_CUTTING_SEQUENCE = re.compile(
    rf"\x1b{_ANSI_SEQUENCE}|\\\\*(?:u001[bB]|x1[bB]|033|e){_ANSI_SEQUENCE}|" + "|".join(_INVISIBLE_CHARACTERS)
)
_WRITTEN_ESCAPES = ("1b[", "1B[", "\\033[", "\\e[")
_KELVIN_SIGN = "\u212a"
"""The symbol with the same lower case as `K`. The dotted capital I becomes two characters, so it is not changed."""
MIN_RUN_CHARS = 20
"""The minimum length of a run of letters, digits and base64 symbols."""
_RUN_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-")
_RUN_SHAPE_TABLE = bytes(ord("x" if byte in _RUN_BYTES else " ") for byte in range(256))
_DIGIT = re.compile("[0-9]")
_MIXED_CASE = re.compile(r"[a-z][A-Z]{2,3}[a-z]|[A-Z][a-z][A-Z]")
_MIN_RUN_SHAPE = b"x" * MIN_RUN_CHARS
EARLY_CHARS = 1_000
"""The number of characters at the start that are searched for rare words, each of which needs its own search."""


class TextView:
    """Text with properties that several rules need."""

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.text = raw
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._lower: str | None = None
        self._runs: list[tuple[int, int]] | None = None
        self._random_runs: list[tuple[int, int]] | None = None
        spans = [match.span() for match in _CUTTING_SEQUENCE.finditer(raw)] if _may_have_escapes(raw) else []
        runs = _find_runs(raw) if len(raw) >= MIN_RUN_CHARS else []
        random_runs = select_random_runs(raw, runs)
        spans = _merge_spans([*spans, *find_literal_joints(raw, random_runs)])
        if not spans:
            self._runs, self._random_runs = runs, random_runs
        self._cut_out_spans(spans)
        self._says: dict[str, bool] = {}
        self._early: str | None = None

    @property
    def is_cut(self) -> bool:
        """True if something that splits a secret was left out, so that the text is not what was given."""
        return bool(self._starts)

    @property
    def lower(self) -> str:
        """The text in lower case, with each character in its original place."""
        if self._lower is None:
            self._lower = _to_lower_case(self.text)
        return self._lower

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The spans of long runs of letters, digits and base64 symbols."""
        if self._runs is None:
            self._runs = _find_runs(self.text)
        return self._runs

    @property
    def random_runs(self) -> list[tuple[int, int]]:
        """The runs that may be random; most others are names in code or paths."""
        if self._random_runs is None:
            self._random_runs = select_random_runs(self.text, self.runs)
        return self._random_runs

    def has_word(self, word: str) -> bool:
        """Return whether the lower-case text contains a word; cached, because several rules need it."""
        if (has_it := self._says.get(word)) is None:
            has_it = self._says[word] = word in self.lower
        return has_it

    @property
    def early(self) -> str:
        """The start of the text in lower case, which is searched for rare words."""
        if self._early is None:
            self._early = self.lower[:EARLY_CHARS]
        return self._early

    def find_origin(self, start: int, end: int) -> tuple[int, int]:
        """Map the span from `start` to `end` to the original text, including anything that splits a secret there."""
        return (self._find_origin_index(start), self._find_origin_index(end - 1) + 1) if self._starts else (start, end)

    def _find_origin_index(self, index: int) -> int:
        at = bisect_right(self._starts, index)
        return index + (self._shifts[at - 1] if at else 0)

    def _cut_out_spans(self, spans: list[tuple[int, int]]) -> None:
        if not spans:
            return
        parts, at = [], 0
        for start, end in spans:
            parts.append(self.raw[at:start])
            at = end
        self.text = "".join([*parts, self.raw[at:]])
        self._starts = [*accumulate(map(len, parts))]
        self._shifts = [*accumulate(end - start for start, end in spans)]


def is_inside_word(lower: str, at: int) -> bool:
    """Return whether a position is inside a word; the letter of an escape such as `\\n` is not part of one."""
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
    """Sort spans and merge those that overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _to_lower_case(text: str) -> str:
    """Convert ASCII letters, and characters whose lower case is ASCII, to lower case without changing the length."""
    if text.isascii():
        return text.lower()
    if _KELVIN_SIGN in text and len(lower := text.lower()) == len(text):
        return lower
    # Lower-casing bytes changes only ASCII letters, the only ones that rules search for, and is twice as fast.
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def select_random_runs(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the runs that contain a digit, or that mix upper and lower case without a pattern."""
    return [
        (start, end)
        for start, end in runs
        if _DIGIT.search(text, start, end) or (not text[start:end].islower() and _MIXED_CASE.search(text, start, end))
    ]


def has_random_run(text: str) -> bool:
    """Return whether text has a run that may be random."""
    return bool(select_random_runs(text, _find_runs(text)))


def _find_runs(text: str) -> list[tuple[int, int]]:
    """Find the runs in text, like `[A-Za-z0-9+/_-]{20,}+` but several times faster."""
    shape = text.encode("ascii", "replace").translate(_RUN_SHAPE_TABLE)
    found, start = [], shape.find(_MIN_RUN_SHAPE)
    while start >= 0:
        end = shape.find(b" ", start)
        end = end if end >= 0 else len(shape)
        found.append((start, end))
        start = shape.find(_MIN_RUN_SHAPE, end)
    return found
