"""Types for describing an illness: its description, its symptoms in a session, and the case to repair.

Each module in this folder detects its illnesses as `Symptoms`, describes each as an `Illness`, and turns a `RepairCase`
into a `RepairAttempt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.edit.strip.new_parents import rehang_rows
from turnlog.entries.entry import Body, Entry, EntryOrScrap, Scrap
from turnlog.entries.patch import REMOVE_KEY
from turnlog.session.check import SEVERITIES, Severity
from turnlog.session.session import Session

REPAIR_COMMAND = "turnlog repair {session} --only {kind}"
TALK_TYPES = ("user", "assistant")
"""The types of entries with prompts and answers."""


class SymptomSpot(NamedTuple):
    """A place where a symptom was found."""

    item: EntryOrScrap
    """The entry or scrap."""
    blocks: tuple[int, ...] = ()
    """The block of the entry's message: its index in the content, then its index inside a result."""
    detail: str = ""
    """The id of the call, the name, or anything else that identifies this place."""


class Symptom(Struct, frozen=True):
    """An illness found in one session."""

    kind: str
    severity: Severity
    text: str
    """A description of the problem."""
    spots: tuple[SymptomSpot, ...] = ()
    """All affected places; empty if the symptom affects the session as a whole."""
    remedy: str = ""
    """What helps in this case, if that is known more exactly than for all cases of the illness."""
    notice: str = ""
    """What the user notices in this case, if it differs from other cases of the illness."""

    @property
    def count(self) -> int:
        """The number of places that have the symptom; at least one."""
        return max(1, len(self.spots))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The affected entries in file order, without duplicates."""
        found = {spot.item.index: spot.item for spot in self.spots if isinstance(spot.item, Entry)}
        return tuple(found[index] for index in sorted(found))


class Symptoms:
    """Collects symptoms, merging places with the same kind, severity and text into one symptom."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Severity, str], list[SymptomSpot]] = {}
        self._words: dict[tuple[str, Severity, str], tuple[str, str]] = {}

    def add(self, kind: str, severity: Severity, text: str, spots: Iterable[SymptomSpot]) -> None:
        """Record the given places, if any."""
        for spot in spots:
            self._found.setdefault((kind, severity, text), []).append(spot)

    def add_items(self, kind: str, severity: Severity, text: str, items: Iterable[EntryOrScrap]) -> None:
        """Record the given entries or scraps, if any."""
        self.add(kind, severity, text, (SymptomSpot(item) for item in items))

    def note(self, kind: str, severity: Severity, text: str, *, remedy: str = "", notice: str = "") -> None:
        """Record a symptom of the session as a whole."""
        self._found.setdefault((kind, severity, text), [])
        self._words[kind, severity, text] = (remedy, notice)

    def list_symptoms(self) -> list[Symptom]:
        """Return the symptoms, most severe first."""
        symptoms = [Symptom(*key, tuple(spots), *self._words.get(key, ())) for key, spots in self._found.items()]
        return sorted(symptoms, key=lambda symptom: SEVERITIES.index(symptom.severity))


class EmptiedDraft(NamedTuple):
    draft: Draft
    blocks: int
    """The number of blocks that were removed."""


class RepairCase:
    """A session with one kind of illness."""

    def __init__(
        self, session: Session, symptoms: tuple[Symptom, ...], *, is_named: bool = False, is_in_place: bool = False
    ) -> None:
        self.session = session
        self.symptoms = symptoms
        self.is_named = is_named
        """Whether the user asked for this kind by name."""
        self.is_in_place = is_in_place
        """Whether the session itself is repaired, so that the result can't be in another folder."""

    @cached_property
    def draft(self) -> Draft:
        """The session before the repair."""
        return Draft.from_transcript(self.session.file)

    @cached_property
    def view(self) -> ResumeView:
        """The part of the session that the client would resume."""
        return ResumeView(self.session)

    @cached_property
    def places(self) -> dict[int, int]:
        """The position of each entry's row, by the index of the entry."""
        return self.draft.map_entry_places()

    @property
    def spots(self) -> list[SymptomSpot]:
        """All places where the illness was found."""
        return [spot for symptom in self.symptoms for spot in symptom.spots]

    @property
    def entries(self) -> list[Entry]:
        """The affected entries in file order, without duplicates."""
        found = {entry.index: entry for symptom in self.symptoms for entry in symptom.entries}
        return [found[index] for index in sorted(found)]

    @property
    def scraps(self) -> set[Scrap]:
        """The affected scraps."""
        return {spot.item for spot in self.spots if isinstance(spot.item, Scrap)}

    def with_parents(self, pairs: Iterable[tuple[Entry, Entry | None]]) -> Draft:
        """Give some entries and their copies a new parent."""
        changes = {
            at: {"parentUuid": home.uuid if home else None} for row, home in pairs for at in self._list_twin_places(row)
        }
        return self.draft.with_changes(changes)

    def _list_twin_places(self, entry: Entry) -> list[int]:
        """Return the positions of an entry and of its copies with the same parent."""
        file, uuid = self.session.file, entry.uuid or ""
        same = [entry.index, file.by_uuid.get(uuid, entry.index), *file.repeated.get(uuid, [])]
        return [self.places[index] for index in same if file.entries[index].parent_uuid == entry.parent_uuid]

    def drop_blocks(self, entries: Iterable[Entry], is_dropped: Callable[[Entry, Body], bool]) -> EmptiedDraft:
        """Remove blocks from some entries; remove an entry that becomes empty, and give its children a new parent."""
        changes: dict[int, dict[str, Any]] = {}
        emptied: set[int] = set()
        count = 0
        for entry in entries:
            at, body = self.places[entry.index], self.session.read_body(entry)
            content = body["message"]["content"]
            left = [block for block in content if not (isinstance(block, dict) and is_dropped(entry, block))]
            count += len(content) - len(left)
            if not left:
                emptied.add(at)
            elif len(left) < len(content):
                changes[at] = {"message": {**body["message"], "content": left}, **_drop_result_copy(body, left)}
        draft, leaf = self.draft.with_changes(changes), self.view.chain[-1] if self.view.chain else None
        parents = rehang_rows(draft, emptied, self.view.thread, leaf)
        return EmptiedDraft(draft.with_changes(parents).without_rows(emptied), count)


def _drop_result_copy(body: Body, left: list[Any]) -> dict[str, Any]:
    """Remove the client's own copy of a result when the last result is removed."""
    has_result = any(isinstance(block, dict) and block.get("type") == "tool_result" for block in left)
    return {"toolUseResult": REMOVE_KEY} if "toolUseResult" in body and not has_result else {}


class RepairAttempt(NamedTuple):
    draft: Draft
    """The session after the repair; the same draft if nothing could be done."""
    done: int
    """The number of places that the repair changed."""
    words: str
    """What was done, or why nothing was done."""
    left: int | None = None
    """The number of places that are still affected, if a new diagnosis can't detect this."""
    project_dir: Path | None = None
    """The project folder that the new session belongs in, if it is another one."""


class Illness(NamedTuple):
    """A kind of problem: what the user notices, its cause, and its cure."""

    kind: str
    """The name of the kind, which never changes, because `turnlog repair --only KIND` and other programs use it."""
    notice: str
    """What the user notices."""
    cause: str
    """The known cause; numbers in brackets are issues in anthropics/claude-code."""
    repair: Callable[[RepairCase], RepairAttempt] | None = None
    """Repairs the illness in a session's file; None if editing that file can't repair it."""
    remedy: str = REPAIR_COMMAND
    """The doctor's remedy: a command or an instruction; {session}, {kind}, {project} and {path} are filled in."""
    alternative: str = ""
    """What `turnlog repair` suggests if there is no repair."""
    remedy_if_noted: str = "no repair is needed"
    """What the doctor prints before the remedy if the illness is only a note."""
    old_notice: str = ""
    """What users of old clients notice if the symptom is only a warning, because newer clients get around it."""
    refused_blocks: frozenset[str] = frozenset()
    """The types of blocks that the repair may remove without asking: the API refuses all requests with them."""

    def describe_cure(self, session: str, path: str = "", project: str = "") -> str:
        """Return the remedy for one session."""
        return self.remedy.format(session=session, kind=self.kind, path=path, project=project)
