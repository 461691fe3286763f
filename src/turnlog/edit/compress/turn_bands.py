"""Which turns an edit is for: `turns=3..10`, `turns=4`, `oldest=40%`; several of them, if they don't overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from turnlog.errors import UsageError

_TURNS_PATTERN = re.compile(r"turns=(\d{1,9})(?:\.\.(\d{1,9}))?")
_OLDEST_PATTERN = re.compile(r"oldest=(\d{1,6}(?:\.\d{1,6})?)%")
_SHARE_PATTERN = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)%?")
OFFLINE_WORD, DEFAULT_BAND = "offline", "oldest=50%"
_BAND_FORMS = "turns=A..B, turns=A, oldest=P% or offline"


class TurnBand(NamedTuple):
    """Some turns, as somebody named them."""

    words: str
    first: int = 1
    last: int = 0
    share: float | None = None
    """The oldest turns, as a part of all; then `first` and `last` mean nothing."""

    def list_turns(self, count: int) -> range:
        """The numbers of its turns in a session of so many; UsageError if it has none of these."""
        if self.share is not None:
            return range(1, max(1, int(count * self.share + 1e-9)) + 1)
        if not 1 <= self.first <= self.last <= count:
            order = "the first number must not be larger than the second; " if self.first > self.last else ""
            raise UsageError(f"{self.words}: {order}the session has turns 1 to {count}")
        return range(self.first, self.last + 1)


def parse_band(words: str) -> TurnBand:
    """The turns that words name; UsageError if they name none."""
    if found := _TURNS_PATTERN.fullmatch(words.strip()):
        first = int(found[1])
        return TurnBand(words.strip(), first, int(found[2] or first))
    if found := _OLDEST_PATTERN.fullmatch(words.strip()):
        share = float(found[1])
        if not 0 < share <= 100:
            raise UsageError(f"{words.strip()}: a part of the turns is more than 0% and at most 100%")
        return TurnBand(words.strip(), share=share / 100)
    raise UsageError(f"{words!r} names no turns; it must be one of {_BAND_FORMS}")


class CompressSelection(NamedTuple):
    """What shall be compressed, and how."""

    bands: list[TurnBand]
    offline: bool


def parse_compress_selection(words: Iterable[str]) -> CompressSelection:
    """What the words of an option say: bands and `offline`, several of them with commas between."""
    parts = [part.strip() for word in words for part in word.split(",")]
    return CompressSelection(
        [parse_band(part) for part in parts if part != OFFLINE_WORD] or [parse_band(DEFAULT_BAND)],
        OFFLINE_WORD in parts,
    )


def list_chosen_turns(bands: Iterable[TurnBand], count: int) -> list[int]:
    """The numbers of all turns that are named, in order; UsageError if one is named twice or is not there."""
    if not count:
        raise UsageError("the session has no turns")
    named: dict[int, TurnBand] = {}
    for one in bands:
        for number in one.list_turns(count):
            if number in named:
                both = f"{named[number].words} and {one.words}"
                raise UsageError(f"{both} overlap at turn {number}; each turn of 1 to {count} may be named once")
            named[number] = one
    return sorted(named)


def parse_share(words: str) -> float:
    """A part of a text, as `35%` or `35`; UsageError if it is none."""
    found = _SHARE_PATTERN.fullmatch(words.strip())
    if found is None or not 1 <= float(found[1]) <= 99:
        raise UsageError(f"{words!r} is no part of a text; it must be from 1% to 99%")
    return float(found[1]) / 100
