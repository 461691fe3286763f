"""What a diagnosis consists of: symptoms, each with every place it was seen at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec import Struct

from turnlog.entries.entry import Entry, EntryOrScrap

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The gravest first. Error: the client or the API refuses the session, or it has lost a part of the conversation;
warning: some clients do, or it costs time and space; info: good to know."""


class SymptomSpot(NamedTuple):
    """One place that a symptom concerns."""

    item: EntryOrScrap
    """The entry or scrap."""
    blocks: tuple[int, ...] = ()
    """Which block of its message: the place in the content, and that inside a result."""
    detail: str = ""
    """The id of the call, the name, or what else tells this place apart."""


class Symptom(Struct, frozen=True):
    """An illness of the catalogue (`illnesses`), as one session has it."""

    kind: str
    severity: Severity
    text: str
    """What is the case here, in plain words."""
    spots: tuple[SymptomSpot, ...] = ()
    """All places; none where it concerns the session as a whole."""

    @property
    def count(self) -> int:
        """How often it was seen."""
        return max(1, len(self.spots))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries it concerns, each once, in the order of the file."""
        found = {spot.item.index: spot.item for spot in self.spots if isinstance(spot.item, Entry)}
        return tuple(found[index] for index in sorted(found))


class Symptoms:
    """Collects symptoms: places with the same kind and words are one."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Severity, str], list[SymptomSpot]] = {}

    def add(self, kind: str, severity: Severity, text: str, spots: Iterable[SymptomSpot]) -> None:
        """Note places, if there are any."""
        for spot in spots:
            self._found.setdefault((kind, severity, text), []).append(spot)

    def add_items(self, kind: str, severity: Severity, text: str, items: Iterable[EntryOrScrap]) -> None:
        """Note whole entries or scraps, if there are any."""
        self.add(kind, severity, text, (SymptomSpot(item) for item in items))

    def note(self, kind: str, severity: Severity, text: str) -> None:
        """Note something about the session as a whole."""
        self._found.setdefault((kind, severity, text), [])

    def list_symptoms(self) -> list[Symptom]:
        """The symptoms, the gravest first."""
        found = [Symptom(*key, tuple(spots)) for key, spots in self._found.items()]
        return sorted(found, key=lambda symptom: SEVERITIES.index(symptom.severity))
