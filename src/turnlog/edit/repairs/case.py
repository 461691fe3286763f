"""What a repair is given, and what it gives back."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from turnlog.edit.draft import Draft
from turnlog.entries.entry import Entry, Scrap
from turnlog.session.health.symptoms import Symptom, SymptomSpot
from turnlog.session.resume_view import ResumeView
from turnlog.session.session import Session


class RepairCase:
    """A session with one kind of illness."""

    def __init__(self, session: Session, symptoms: tuple[Symptom, ...], *, is_named: bool = False) -> None:
        self.session = session
        self.symptoms = symptoms
        self.is_named = is_named
        """Whether the user asked for the repair of this kind by its name."""

    @cached_property
    def draft(self) -> Draft:
        """The session as it stands."""
        return Draft.from_transcript(self.session.file)

    @cached_property
    def view(self) -> ResumeView:
        """What would be resumed of it."""
        return ResumeView(self.session)

    @cached_property
    def places(self) -> dict[int, int]:
        """The place of each entry's row, by the index of the entry."""
        return self.draft.map_entry_places()

    @property
    def spots(self) -> list[SymptomSpot]:
        """All places of the illness."""
        return [spot for symptom in self.symptoms for spot in symptom.spots]

    @property
    def entries(self) -> list[Entry]:
        """The entries that are ill, each once, in the order of the file."""
        found = {entry.index: entry for symptom in self.symptoms for entry in symptom.entries}
        return [found[index] for index in sorted(found)]

    def list_twin_places(self, entry: Entry) -> list[int]:
        """The places of an entry and of its copies, which say the same of their parent."""
        file, uuid = self.session.file, entry.uuid or ""
        same = [entry.index, file.by_uuid.get(uuid, entry.index), *file.repeated.get(uuid, [])]
        return [self.places[index] for index in same if file.entries[index].parent_uuid == entry.parent_uuid]

    @property
    def scraps(self) -> set[Scrap]:
        """The scraps that are ill."""
        return {spot.item for spot in self.spots if isinstance(spot.item, Scrap)}


class RepairAttempt(NamedTuple):
    """What came of a repair."""

    draft: Draft
    """The session afterwards; the same draft where nothing could be done."""
    done: int
    """In how many places something was done."""
    words: str
    """What was done, or why nothing was."""
    left: int | None = None
    """How many places are as ill as before, where the diagnosis of the result can't tell."""
