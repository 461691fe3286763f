"""Selections of turns to edit: `turns=3..10`, `turns=4`, `oldest=40%`; several may be given if they don't overlap."""

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
    """A selection of turns, as the user wrote it."""

    words: str
    first: int = 1
    last: int = 0
    share: float | None = None
    """The share of the oldest turns to select; if set, `first` and `last` are not used."""

    def list_turns(self, count: int) -> range:
        """List the selected turns of a session with `count` turns; raise UsageError if some don't exist."""
        if self.share is not None:
            return range(1, max(1, int(count * self.share + 1e-9)) + 1)
        if not 1 <= self.first <= self.last <= count:
            order = "the first number must not be larger than the second; " if self.first > self.last else ""
            raise UsageError(f"{self.words}: {order}the session has turns 1 to {count}")
        return range(self.first, self.last + 1)


def parse_band(text: str) -> TurnBand:
    """Parse a selection of turns; raise UsageError if it is invalid."""
    if match := _TURNS_PATTERN.fullmatch(text.strip()):
        first = int(match[1])
        return TurnBand(text.strip(), first, int(match[2] or first))
    if match := _OLDEST_PATTERN.fullmatch(text.strip()):
        share = float(match[1])
        if not 0 < share <= 100:
            raise UsageError(f"{text.strip()}: the share of turns must be more than 0% and at most 100%")
        return TurnBand(text.strip(), share=share / 100)
    raise UsageError(f"{text!r} does not select turns; use {_BAND_FORMS}")


class CompressSelection(NamedTuple):
    """The turns to compress, and how to compress them."""

    bands: list[TurnBand]
    offline: bool


def parse_compress_selection(values: Iterable[str]) -> CompressSelection:
    """Parse the option's value: bands and `offline`, separated by commas."""
    parts = [part.strip() for value in values for part in value.split(",")]
    return CompressSelection(
        [parse_band(part) for part in parts if part != OFFLINE_WORD] or [parse_band(DEFAULT_BAND)],
        OFFLINE_WORD in parts,
    )


def list_chosen_turns(bands: Iterable[TurnBand], count: int) -> list[int]:
    """List all selected turns in order; raise UsageError if a turn is selected twice or does not exist."""
    if not count:
        raise UsageError("the session has no turns")
    chosen: dict[int, TurnBand] = {}
    for band in bands:
        for number in band.list_turns(count):
            if number in chosen:
                both = f"{chosen[number].words} and {band.words}"
                raise UsageError(
                    f"{both} overlap at turn {number}; select a turn only once (the turns are 1 to {count})"
                )
            chosen[number] = band
    return sorted(chosen)


def parse_share(text: str) -> float:
    """Parse a percentage, such as `35%` or `35`."""
    match = _SHARE_PATTERN.fullmatch(text.strip())
    if match is None or not 1 <= float(match[1]) <= 99:
        raise UsageError(f"{text!r} is not a valid share; it must be from 1% to 99%")
    return float(match[1]) / 100
