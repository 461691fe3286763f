"""The items of a timeline, and the chapters that they form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.entries.entry import Entry, Scrap
from turnlog.entries.reader import Transcript
from turnlog.session.calls import Call
from turnlog.session.compactions import Compaction
from turnlog.session.graph import holds_result
from turnlog.session.message_usage import count_context_tokens, sum_usage
from turnlog.session.messages import Message, is_filler
from turnlog.session.prompts import parse_queued_prompt, parse_user_entry
from turnlog.session.session import Session
from turnlog.session.timeline.timeline import Chapter, ItemKind, LinePlace, TimelineItem
from turnlog.session.turns import Turn

_QUIET_SUBTYPES = frozenset({"turn_duration", "stop_hook_summary", "file_snapshot"})
"""System entries that are of no interest to a reader."""
_FAILED_HOOKS = frozenset(
    {"hook_blocking_error", "hook_non_blocking_error", "hook_cancelled", "hook_error_during_execution"}
)

_SILENT_KINDS = ("meta", "empty")
_MESSAGE_ATTACHMENTS = ("queued_command", "teammate_mailbox")
"""Attachments with messages that arrived while the model was working."""


def classify_entry(file: Transcript, entry: Entry, waiting: list[str]) -> ItemKind:
    """Return the kind of an entry, and remove its text from `waiting`, the text typed while its turn was running."""
    match entry.type:
        case "user":
            return _classify_user_entry(file, entry)
        case "system":
            return "compaction" if entry.subtype == "compact_boundary" else _classify_system_entry(entry)
        case "attachment":
            return _classify_attachment(file, entry, waiting)
        case "queue-operation":
            return _classify_typed_text(_to_text(file.read_body(entry).get("content")), waiting)
    return "meta"


def _classify_user_entry(file: Transcript, entry: Entry) -> ItemKind:
    if holds_result(entry):  # its call is missing
        return "event"
    return "meta" if parse_user_entry(file, entry).kind in _SILENT_KINDS else "event"


def _classify_system_entry(entry: Entry) -> ItemKind:
    return "meta" if entry.subtype in _QUIET_SUBTYPES or entry.is_meta else "event"


def _classify_attachment(file: Transcript, entry: Entry, waiting: list[str]) -> ItemKind:
    if entry.kind in _FAILED_HOOKS:
        return "event"
    attachment = file.read_body(entry).get("attachment") if entry.kind in _MESSAGE_ATTACHMENTS else None
    if not isinstance(attachment, dict):
        return "meta"
    if entry.kind == "teammate_mailbox":
        return "event"
    prompt = parse_queued_prompt(attachment)
    if prompt.is_typed:
        return _classify_typed_text(prompt.text, waiting)
    return "meta" if prompt.kind in _SILENT_KINDS else "event"


def _classify_typed_text(text: str, waiting: list[str]) -> ItemKind:
    if text not in waiting:
        return "meta"
    waiting.remove(text)
    return "typed"


def _to_text(content: object) -> str:
    return content.strip() if isinstance(content, str) else ""


MAX_TITLE_CHARS = 200
"""How many characters of a prompt a title keeps."""
_THINKING_TYPES = ("thinking", "redacted_thinking")


class ItemSequence:
    """The items of a session in reading order."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.messages = {line.index: message for message in session.messages for line in message.lines}
        self.fillers = {message.key for message in session.messages if is_filler(session.file, message)}
        """Empty answers that the client wrote itself."""
        self.results: dict[int, list[Call]] = {}
        for call in session.calls:
            if call.result is not None:
                self.results.setdefault(call.result.index, []).append(call)
        self.summaries = {item.summary.index: item for item in session.compactions if item.summary is not None}
        self.items: list[TimelineItem] = []
        self.answers: dict[str, TimelineItem] = {}
        """The items of messages, by message key."""
        self._late: dict[str, LinePlace] = {}
        """Summaries that come before their boundary."""
        self._result_places: list[tuple[str, LinePlace]] = []
        """The lines with results, each with the message of the call that it answers, wherever that message is."""
        self._chapter_start = 0

    def build_chapters(self) -> Iterator[Chapter]:
        """Build the items and yield their chapters."""
        for turn, entries in self._group_by_turn():
            first = self._chapter_start = len(self.items)
            self._add_entries(turn, entries)
            if turn is not None:
                yield _build_chapter(turn, first, len(self.items) - first)
            elif len(self.items) > first:
                yield Chapter(0, first, len(self.items) - first, started=self.items[first].time)
        for message, place in self._result_places:
            if place not in (results := self.answers[message].results):
                results.append(place)

    def _group_by_turn(self) -> Iterator[tuple[Turn | None, list[Entry | Scrap]]]:
        """Yield the turns, each with all its lines, and the lines between them."""
        own: dict[int, list[Entry | Scrap]] = {turn.index: [] for turn in self.session.turns}
        starts = {turn.start.index: turn for turn in self.session.turns}
        order: list[tuple[Turn | None, list[Entry | Scrap]]] = []
        loose: list[Entry | Scrap] = []
        for entry in self._list_lines():
            turn = self.session.find_turn(entry) if isinstance(entry, Entry) else None
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

    def _list_lines(self) -> list[Entry | Scrap]:
        """List the session's entries and the broken lines in its file, in file order."""
        scraps = [] if self.session.is_part else self.session.file.scraps
        return sorted([*self.session.entries, *scraps], key=lambda item: item.offset)

    def _add_entries(self, turn: Turn | None, entries: Iterable[Entry | Scrap]) -> None:
        number = turn.number if turn else 0
        waiting = list(turn.further) if turn else []
        for entry in entries:
            place = LinePlace(entry.offset, entry.size)
            if isinstance(entry, Scrap):
                self._add_meta(entry, place, number)
                continue
            message = self.messages.get(entry.index)
            if message is not None and message.key not in self.fillers:
                self._add_answer(message, entry, place, number)
            elif message is not None:
                self._add_meta(entry, place, number)
            elif calls := self.results.get(entry.index):
                self._result_places += [(call.message, place) for call in calls]
            elif compaction := self.summaries.get(entry.index):
                self._add_summary(compaction, place)
            elif turn is not None and entry is turn.start:
                self._add_item("prompt", entry, place, number)
            else:
                self._add_other(entry, place, number, waiting)

    def _add_answer(self, message: Message, entry: Entry, place: LinePlace, turn: int) -> None:
        """Add a line of a message; all lines of a message form one item, at the position of the first."""
        if item := self.answers.get(message.key):
            item.lines.append(place)
        else:
            self.answers[message.key] = self._add_item("answer", entry, place, turn)

    def _add_item(self, kind: ItemKind, entry: Entry, place: LinePlace, turn: int) -> TimelineItem:
        item = TimelineItem(self._make_key(entry), kind, entry.timestamp, [place], [], turn)
        self.items.append(item)
        return item

    def _make_key(self, entry: Entry) -> str:
        uuid = entry.uuid
        first = uuid is not None and self.session.file.by_uuid.get(uuid) == entry.index
        return uuid if uuid and first else f"@{entry.offset}"

    def _add_summary(self, compaction: Compaction, place: LinePlace) -> None:
        """Add a summary to its boundary's item, wherever the two are."""
        key = self._make_key(compaction.boundary)
        item = next((item for item in reversed(self.items) if item.key == key), None)
        if item is not None:
            item.lines.append(place)
        else:
            self._late[key] = place

    def _add_other(self, entry: Entry, place: LinePlace, turn: int, waiting: list[str]) -> None:
        kind = classify_entry(self.session.file, entry, waiting)
        if kind == "meta":
            self._add_meta(entry, place, turn)
            return
        item = self._add_item(kind, entry, place, turn)
        if late := self._late.pop(item.key, None):
            item.lines.append(late)

    def _add_meta(self, entry: Entry | Scrap, place: LinePlace, turn: int) -> None:
        """Add bookkeeping, joining it with any bookkeeping directly before it."""
        last = self.items[-1] if self.items else None
        if last is not None and last.kind == "meta" and len(self.items) > self._chapter_start:
            last.lines.append(place)
        elif isinstance(entry, Scrap):
            self.items.append(TimelineItem(f"@{entry.offset}", "meta", None, [place], [], turn))
        else:
            self._add_item("meta", entry, place, turn)


def _build_chapter(turn: Turn, first: int, count: int) -> Chapter:
    usage = sum_usage(turn.messages)
    return Chapter(
        turn.number,
        first,
        count,
        turn.kind,
        shorten_title(origin.summary or turn.text if (origin := turn.origin) else turn.text),
        turn.started_at,
        turn.ended_at,
        turn.duration_ms,
        turn.outcome,
        len(turn.calls),
        sum(call.is_error is True for call in turn.calls) + sum(message.is_error for message in turn.messages),
        usage.output_tokens,
        max(map(count_context_tokens, turn.messages), default=0),
        usage.cost_usd,
        usage.unpriced_tokens > 0,
        sum(map(_count_thoughts, turn.messages)),
    )


def _count_thoughts(message: Message) -> int:
    heads = (entry.message for entry in message.lines)
    return sum(block.type in _THINKING_TYPES for head in heads if head for block in head.blocks)


def shorten_title(text: str) -> str:
    """Return the start of the text on one line."""
    return " ".join(text[: 4 * MAX_TITLE_CHARS].split())[:MAX_TITLE_CHARS]
