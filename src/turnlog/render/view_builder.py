"""Builds one view for each item in a timeline, using only the lines that belong to it.

As a result, a view is the same whether the whole session is open or only an excerpt. Context from earlier calls (such
as the task list before a change) is limited to the given items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnlog.entries.entry import Body, Entry, EntryOrScrap, Scrap
from turnlog.entries.reader import Transcript
from turnlog.render.answer_views import AnswerViewBuilder
from turnlog.render.events import describe_entry_event, name_entry, read_notification, read_task_report
from turnlog.render.figures import format_count
from turnlog.render.pictures import find_pictures
from turnlog.render.values import format_scalar, pick_text, to_count, to_dict, to_list, to_short_line
from turnlog.render.view import AnyView, CompactionView, EventView, MetaRow, MetaView, PromptView
from turnlog.session.prompts import Prompt, parse_queued_prompt, parse_user_body, parse_user_entry
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import TimelineAgent, TimelineCompaction, TimelineHead, TimelineItem
from turnlog.work_progress import check_for_stop

# The most descriptive fields of an entry, best first.
_TELLING_FIELDS = (
    "hookName", "command", "displayPath", "filename", "path", "query", "prompt", "text", "content", "lastPrompt",
    "operation", "title", "url", "prUrl", "frameUrl", "status", "message", "reason", "condition", "banner", "newDate",
    "date", "trackingPath", "relocatedCwd", "taskDescription", "output", "messageId", "note", "name", "key", "id",
)  # fmt: skip
_ENVELOPE_FIELDS = frozenset(
    "type subtype uuid parentUuid timestamp sessionId session_id version cwd gitBranch userType isSidechain entrypoint "
    "slug level isMeta agentId".split()
)


def build_meta_row(file: Transcript, item: EntryOrScrap, offset: int) -> MetaRow:
    """Describe an entry or scrap in a row; `offset` is its position in the session's file."""
    return _build_scrap_row(file, item, offset) if isinstance(item, Scrap) else _build_entry_row(file, item, offset)


def _build_entry_row(file: Transcript, entry: Entry, offset: int) -> MetaRow:
    name = f"{entry.name}/{entry.kind}" if entry.kind else entry.name
    return MetaRow(offset, to_short_line(name), entry.timestamp, describe_entry(file, entry), entry.uuid)


def _build_scrap_row(file: Transcript, scrap: Scrap, offset: int) -> MetaRow:
    """Describe bytes that are not an entry.

    They are parsed on their own: the reason why they are not an entry may depend on adjacent bytes, which an excerpt
    lacks.
    """
    inner = Transcript.from_bytes(file.read_raw(scrap).rstrip(b"\r\n") + b"\n")
    found = inner.items[0]
    if isinstance(found, Scrap):
        return MetaRow(offset, f"no entry/{found.kind}", None, to_short_line(found.reason))
    return _build_entry_row(inner, found, offset)


def describe_entry(file: Transcript, entry: Entry) -> str:
    """Describe an entry on one line."""
    event = describe_entry_event(file, entry)
    if event is not None:
        return to_short_line(event.text)
    body = file.read_body(entry)
    if entry.type == "user":
        return to_short_line(parse_user_entry(file, entry).text)
    inner = body.get("attachment") or body.get("data")
    return pick_telling_field(inner) if isinstance(inner, dict) else pick_telling_field(body)


def pick_telling_field(facts: Body) -> str:
    """Return the most descriptive field of an object, or else its first fields."""
    if found := pick_text(*(facts.get(name) for name in _TELLING_FIELDS)):
        return to_short_line(found)
    known = [(name, value) for name, value in facts.items() if name not in _ENVELOPE_FIELDS]
    parts = [f"{to_short_line(name, 40)} {text}" for name, value in known[:12] if (text := _shorten_value(value))]
    return to_short_line(", ".join(parts))


def _shorten_value(value: Any) -> str:
    if isinstance(value, list):
        return format_count(len(value), "item") if value else ""
    if isinstance(value, dict):
        inner = [format_scalar(item) for item in to_dict(value).values() if isinstance(item, str | int) and item]
        return to_short_line(" ".join(inner[:3]), 60)
    return to_short_line(format_scalar(value), 60) if value is not None else ""


__all__ = ["SessionFacts", "build_item_views"]


class SessionFacts(NamedTuple):
    """What views show that only the whole session contains; for many windows of one session, build it once."""

    helpers: Mapping[str, TimelineAgent]
    """The sub-agents by their ids and by the calls that started them."""
    compactions: Mapping[str, TimelineCompaction]

    @classmethod
    def from_head(cls, head: TimelineHead | None) -> SessionFacts:
        """Take the facts from the head of a timeline."""
        agents, compactions = (head.agents, head.compactions) if head else ([], [])
        helpers = {name: agent for agent in agents for name in (agent.agent_id, agent.call_id) if name}
        return cls(helpers, {found.key: found for found in compactions})


def build_item_views(
    excerpt: Excerpt, items: Sequence[TimelineItem], head: TimelineHead | SessionFacts | None = None
) -> list[AnyView]:
    """Build the views of timeline items, in order; `head` adds facts that only the whole session contains."""
    facts = head if isinstance(head, SessionFacts) else SessionFacts.from_head(head)
    builder = _ViewBuilder(excerpt, facts)
    return [builder.build_view(item) for item in items]


class _ViewBuilder:
    def __init__(self, excerpt: Excerpt, facts: SessionFacts) -> None:
        self.excerpt = excerpt
        self.file = excerpt.session.file
        self.answers = AnswerViewBuilder(excerpt, facts.helpers)
        self.compactions = facts.compactions

    def build_view(self, item: TimelineItem) -> AnyView:
        check_for_stop()
        entry = self.excerpt.find_entry(item.lines[0]) if item.lines else None
        if entry is None or item.kind == "meta":
            return self._build_meta(item)
        match item.kind:
            case "prompt":
                return self._build_prompt(item, entry, parse_user_entry(self.file, entry))
            case "typed":
                return self._build_typed(item, entry)
            case "answer":
                return self.answers.build_view(item) or self._build_meta(item)
            case "compaction":
                return self._build_compaction(item, entry)
        return self._build_event(item, entry)

    # -- prompts

    def _build_prompt(self, item: TimelineItem, entry: Entry, prompt: Prompt, kind: str | None = None) -> PromptView:
        offset = self.excerpt.find_offset(entry)
        text, context = prompt.text, prompt.context
        if prompt.kind == "notification":
            text, report = read_notification(prompt.text), read_task_report(prompt.text)
            context = (*context, ("result", report)) if report else context
        pictures = tuple(
            owned.picture for owned in find_pictures(self.file.read_body(entry), offset) if owned.owner is None
        )
        return PromptView(
            item.key, item.turn, item.time, offset, kind or prompt.kind, text, context, pictures,
            prompt.speaker.kind, prompt.speaker.name,
        )  # fmt: skip

    def _build_typed(self, item: TimelineItem, entry: Entry) -> PromptView:
        """Build the view of text typed during a turn: an attachment in new versions, a queue entry in old ones."""
        body = self.file.read_body(entry)
        attachment = to_dict(body.get("attachment"))
        prompt = (
            parse_queued_prompt(attachment)
            if attachment
            else parse_user_body({"message": {"content": body.get("content")}})
        )
        return self._build_prompt(item, entry, prompt, "typed")

    # -- other events

    def _build_event(self, item: TimelineItem, entry: Entry) -> EventView:
        offset = self.excerpt.find_offset(entry)
        event = describe_entry_event(self.file, entry)
        if event is None:
            return EventView(item.key, item.turn, item.time, offset, "system", name_entry(self.file, entry), "note")
        return EventView(item.key, item.turn, item.time, offset, *event)

    def _build_compaction(self, item: TimelineItem, entry: Entry) -> CompactionView:
        offset = self.excerpt.find_offset(entry)
        known = self.compactions.get(item.key) or _read_boundary(item.key, self.file.read_body(entry))
        summary = next((found for place in item.lines[1:] if (found := self.excerpt.find_entry(place))), None)
        text = parse_user_entry(self.file, summary).text if summary else ""
        return CompactionView(
            item.key, item.turn, item.time, offset, known.trigger, known.before, known.after, known.entries,
            known.preserved, text,
        )  # fmt: skip

    def _build_meta(self, item: TimelineItem) -> MetaView:
        lines = [(place[0], self.excerpt.find_item_at(place[0])) for place in item.lines]
        rows = tuple(build_meta_row(self.file, line, offset) for offset, line in lines if line is not None)
        return MetaView(item.key, item.turn, item.time, item.lines[0][0] if item.lines else 0, rows)


def _read_boundary(key: str, body: dict[str, Any]) -> TimelineCompaction:
    """Read the compaction's details from its boundary."""
    facts = to_dict(body.get("compactMetadata"))
    before, after = to_count(facts.get("preTokens")), to_count(facts.get("postTokens"))
    preserved = len(to_list(to_dict(facts.get("preservedMessages")).get("uuids")))
    return TimelineCompaction(key, pick_text(facts.get("trigger")) or None, before, after, 0, preserved)
