"""Shortens text without a model, by leaving out sentences.

Nothing is reworded. Sentences whose words are central to the text are chosen first (SumBasic: once a sentence is
chosen, its words count less); the first sentence of the text, the first of each paragraph, and sentences with key terms
count more. Code is not changed, and headings are kept with the text below them. A line at the end states how many
sentences were left out and lists the key terms that appeared only in them, so no name is lost. The same text always
gives the same result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from turnlog.edit.compress.key_terms import find_key_terms, find_lost_terms
from turnlog.edit.compress.units import TextUnit, join_units, split_units

_WORD_PATTERN = re.compile(r"[^\W\d_]{4,}")
_IDEOGRAPH_PATTERN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_COMMON_WORDS = frozenset(
    "that this with have from will would should could there their them then than when what which were been being also "
    "into only your about some more most such just here over these those does each very because after before".split()
)
_NOTE_PATTERN = re.compile(r"\[Shortened by turnlog without a model: \d+ of \d+ sentences left out\.[^\n]*\]\s*\Z")
NOTE_CHARS = 80
"""The approximate length of the last line, without key terms."""


class TextExtract(NamedTuple):
    """Text from which sentences were left out."""

    text: str
    left_out: int
    sentences: int


def is_extracted_text(text: str) -> bool:
    """Return whether sentences have already been left out of the text."""
    return _NOTE_PATTERN.search(text) is not None


def extract_sentences(text: str, size: int) -> TextExtract | None:
    """Shorten text to about `size` characters, not counting code; return None if the result would not be shorter."""
    units = split_units(text)
    choice = _UnitChoice(text, units, size)
    kept_units = choice.choose_units()
    total = len(choice.prose)
    left_out = sum(1 for unit in choice.prose if unit not in kept_units)
    if not left_out:
        return None
    body = join_units(text, [unit for unit in units if unit in kept_units], units)
    note = _build_note(left_out, total, find_lost_terms(find_key_terms(text), body))
    short = f"{body}\n\n{note}"
    return TextExtract(short, left_out, total) if len(short) < len(text) else None


def _build_note(left_out: int, total: int, names: Sequence[str]) -> str:
    named = f" They name: {', '.join(names)}" if names else ""
    return f"[Shortened by turnlog without a model: {left_out} of {total} sentences left out.{named}]"


class _UnitChoice:
    """Chooses units until a size is reached."""

    def __init__(self, text: str, units: Sequence[TextUnit], size: int) -> None:
        self._text, self._units = text, units
        self._headings = _map_headings(units)
        self.prose = [unit for unit in units if unit.kind not in ("code", "heading")]
        self._words = {unit: _extract_words(text[unit.start : unit.end]) for unit in self.prose}
        counts = Counter(word for words in self._words.values() for word in words)
        total = sum(counts.values()) or 1
        self._weight = {word: count / total for word, count in counts.items()}
        self._names = {unit: frozenset(find_key_terms(text[unit.start : unit.end])) for unit in units}
        self._kept = {unit for unit in units if unit.kind == "code"}
        self._held = frozenset[str]().union(*(self._names[unit] for unit in self._kept))
        open_names = frozenset[str]().union(*self._names.values()) - self._held
        self._left = size - NOTE_CHARS - sum(len(name) + 2 for name in open_names)
        self._bonus = self._compute_bonuses()

    def choose_units(self) -> set[TextUnit]:
        heap = [(-self._score_unit(unit), unit.start, unit) for unit in self.prose]
        heapify(heap)
        while heap:
            _, start, unit = heap[0]
            now = (-self._score_unit(unit), start, unit)
            if len(heap) > 1 and now > min(heap[1:3]):
                heapreplace(heap, now)  # units chosen since then share words with this one, so it is less central now
                continue
            heappop(heap)
            cost = self._measure_cost(unit)
            if cost <= max(self._left, 0) or self._kept.isdisjoint(self.prose):
                self._keep_unit(unit, cost)
        return self._kept

    def _keep_unit(self, unit: TextUnit, cost: int) -> None:
        self._left -= cost
        for part in filter(None, (unit, self._headings.get(unit))):
            self._kept.add(part)
            self._held |= self._names[part]
        for word in self._words[unit]:
            self._weight[word] **= 2

    def _measure_cost(self, unit: TextUnit) -> int:
        """Return the characters that a unit adds to the result, minus those saved by not listing its key terms."""
        heading = self._headings.get(unit)
        parts = [unit] if heading is None or heading in self._kept else [heading, unit]
        names = frozenset[str]().union(*(self._names[part] for part in parts)) - self._held
        return sum(part.end - part.start + 1 for part in parts) - sum(len(name) + 2 for name in names)

    def _score_unit(self, unit: TextUnit) -> float:
        words = self._words[unit]
        central = sum(self._weight[word] for word in words) / (len(words) + 2)
        return central * self._bonus[unit]

    def _compute_bonuses(self) -> dict[TextUnit, float]:
        bonuses: dict[TextUnit, float] = {}
        for at, unit in enumerate(self.prose):
            place = 2.0 if at == 0 else 1.0
            before = self._text[self.prose[at - 1].end : unit.start] if at else "\n\n"
            first = 1.2 if before.count("\n") > 1 else 1.0
            bonuses[unit] = place * first * (1 + 0.25 * min(4, len(self._names[unit])))
        return bonuses


def _map_headings(units: Sequence[TextUnit]) -> dict[TextUnit, TextUnit]:
    """Map each unit to the heading above it."""
    headings: dict[TextUnit, TextUnit] = {}
    heading: TextUnit | None = None
    for unit in units:
        if unit.kind == "heading":
            heading = unit
        elif heading is not None:
            headings[unit] = heading
    return headings


def _extract_words(text: str) -> frozenset[str]:
    """Return the words that characterise text; for scripts without spaces, return pairs of characters."""
    pairs = (run[0][at : at + 2] for run in _IDEOGRAPH_PATTERN.finditer(text) for at in range(len(run[0]) - 1))
    words = (word.lower() for word in _WORD_PATTERN.findall(_IDEOGRAPH_PATTERN.sub(" ", text)))
    return frozenset(pairs) | (frozenset(words) - _COMMON_WORDS)
