"""The items of a timeline, and the chapters that they make up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.entries.entry import Entry, Scrap
from turnlog.session.calls import Call
from turnlog.session.compactions import Compaction
from turnlog.session.messages import Message, is_filler
from turnlog.session.session import Session
from turnlog.session.timeline.reading import kind_of
from turnlog.session.timeline.timeline import Chapter, Item, Kind, Place
from turnlog.session.turns import Turn
from turnlog.session.usage.usage import context_tokens, total

TITLE = 200
"""So many characters of a prompt are kept."""


class Sequence:
    """The items of a session in the order in which they are read."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.messages = {line.index: message for message in session.messages for line in message.lines}
        self.fillers = {message.key for message in session.messages if is_filler(session.file, message)}
        """Answers that the client made up and that say nothing."""
        self.results: dict[int, list[Call]] = {}
        for call in session.calls:
            if call.result is not None:
                self.results.setdefault(call.result.index, []).append(call)
        self.summaries = {item.summary.index: item for item in session.compactions if item.summary is not None}
        self.items: list[Item] = []
        self.answers: dict[str, Item] = {}
        """The items of messages by the key of the message."""
        self._late: dict[str, Place] = {}
        """Summaries that stand before their boundary."""
        self._answered: list[tuple[str, Place]] = []
        """The lines with results, and the messages of the calls that they answer, wherever these stand."""
        self._begun = 0

    def chapters(self) -> Iterator[Chapter]:
        """Make the items, chapter by chapter."""
        for turn, entries in self._stretches():
            first = self._begun = len(self.items)
            self._add(turn, entries)
            if turn is not None:
                yield _chapter(turn, first, len(self.items) - first)
            elif len(self.items) > first:
                yield Chapter(0, first, len(self.items) - first, started=self.items[first].time)
        for message, place in self._answered:
            if place not in (found := self.answers[message].results):
                found.append(place)

    def _stretches(self) -> Iterator[tuple[Turn | None, list[Entry | Scrap]]]:
        """The turns, each with all its lines, and the lines between them."""
        own: dict[int, list[Entry | Scrap]] = {turn.index: [] for turn in self.session.turns}
        starts = {turn.start.index: turn for turn in self.session.turns}
        order: list[tuple[Turn | None, list[Entry | Scrap]]] = []
        loose: list[Entry | Scrap] = []
        for entry in self._lines():
            turn = self.session.turn_of(entry) if isinstance(entry, Entry) else None
            if turn is None:
                loose.append(entry)
                continue
            if loose:
                order.append((None, loose))
                loose = []
            if isinstance(entry, Entry) and starts.get(entry.index) is turn:
                order.append((turn, own[turn.index]))
            own[turn.index].append(entry)
        if loose:
            order.append((None, loose))
        return iter(order)

    def _lines(self) -> list[Entry | Scrap]:
        """The entries of the session and the broken lines of its file, in the order of the file."""
        scraps = [] if self.session.is_part else self.session.file.scraps
        return sorted([*self.session.entries, *scraps], key=lambda item: item.offset)

    def _add(self, turn: Turn | None, entries: Iterable[Entry | Scrap]) -> None:
        number = turn.number if turn else 0
        waiting = list(turn.further) if turn else []
        for entry in entries:
            place = Place(entry.offset, entry.size)
            if isinstance(entry, Scrap):
                self._meta(entry, place, number)
                continue
            message = self.messages.get(entry.index)
            if message is not None and message.key not in self.fillers:
                self._answer(message, entry, place, number)
            elif message is not None:
                self._meta(entry, place, number)
            elif calls := self.results.get(entry.index):
                self._answered += [(call.message, place) for call in calls]
            elif found := self.summaries.get(entry.index):
                self._compaction(found, place)
            elif turn is not None and entry is turn.start:
                self._plain("prompt", entry, place, number)
            else:
                self._other(entry, place, number, waiting)

    def _answer(self, message: Message, entry: Entry, place: Place, turn: int) -> None:
        """A line of a message; all of them are one item, where the first one stands."""
        if item := self.answers.get(message.key):
            item.lines.append(place)
        else:
            self.answers[message.key] = self._plain("answer", entry, place, turn)

    def _plain(self, kind: Kind, entry: Entry, place: Place, turn: int) -> Item:
        item = Item(self._key(entry), kind, entry.timestamp, [place], [], turn)
        self.items.append(item)
        return item

    def _key(self, entry: Entry) -> str:
        uuid = entry.uuid
        first = uuid is not None and self.session.file.by_uuid.get(uuid) == entry.index
        return uuid if uuid and first else f"@{entry.offset}"

    def _compaction(self, found: Compaction, place: Place) -> None:
        """A summary belongs to its boundary, wherever the two stand."""
        key = self._key(found.boundary)
        item = next((item for item in reversed(self.items) if item.key == key), None)
        if item is not None:
            item.lines.append(place)
        else:
            self._late[key] = place

    def _other(self, entry: Entry, place: Place, turn: int, waiting: list[str]) -> None:
        kind = kind_of(self.session.file, entry, waiting)
        if kind == "meta":
            self._meta(entry, place, turn)
            return
        item = self._plain(kind, entry, place, turn)
        if late := self._late.pop(item.key, None):
            item.lines.append(late)

    def _meta(self, entry: Entry | Scrap, place: Place, turn: int) -> None:
        """Book-keeping that follows on other book-keeping joins it."""
        last = self.items[-1] if self.items else None
        if last is not None and last.kind == "meta" and len(self.items) > self._begun:
            last.lines.append(place)
        elif isinstance(entry, Scrap):
            self.items.append(Item(f"@{entry.offset}", "meta", None, [place], [], turn))
        else:
            self._plain("meta", entry, place, turn)


def _chapter(turn: Turn, first: int, count: int) -> Chapter:
    usage = total(turn.messages)
    return Chapter(
        turn.number,
        first,
        count,
        turn.kind,
        title(origin.summary or turn.text if (origin := turn.origin) else turn.text),
        turn.started,
        turn.ended,
        turn.duration_ms,
        turn.outcome,
        len(turn.calls),
        sum(call.is_error is True for call in turn.calls) + sum(message.is_error for message in turn.messages),
        usage.output_tokens,
        max(map(context_tokens, turn.messages), default=0),
        usage.cost_usd,
        usage.unpriced_tokens > 0,
    )


def title(text: str) -> str:
    """How a text begins, on one line."""
    return " ".join(text[: 4 * TITLE].split())[:TITLE]
