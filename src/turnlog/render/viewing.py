"""Views of the items of a timeline: one for each, made from nothing but the lines that belong to it.

So a view is the same whether the whole session is open or only an excerpt of it. What earlier calls tell of later ones
(the list of tasks before a change) is known as far as the given items go back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnlog.entries.entry import Entry
from turnlog.render.answers import Answers
from turnlog.render.events import named, notified, reported, told
from turnlog.render.gists import row
from turnlog.render.pictures import held
from turnlog.render.values import fields, number, rows, text
from turnlog.render.view import AnyView, Compaction, Event, Meta, Prompt
from turnlog.session.prompts import Prompt as Understood
from turnlog.session.prompts import read, read_queued, understand
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import Compacted, Head, Item

__all__ = ["views"]


def views(excerpt: Excerpt, items: Sequence[Item], head: Head | None = None) -> list[AnyView]:
    """What there is to show of some items of a timeline, in order; the head adds what only the whole session tells."""
    maker = _Views(excerpt, head)
    return [maker.view(item) for item in items]


class _Views:
    def __init__(self, excerpt: Excerpt, head: Head | None) -> None:
        self.excerpt = excerpt
        self.file = excerpt.session.file
        self.answers = Answers(excerpt, head.agents if head else ())
        self.compactions = {found.key: found for found in head.compactions} if head else {}

    def view(self, item: Item) -> AnyView:
        """One item."""
        entry = self.excerpt.entry(item.lines[0]) if item.lines else None
        if entry is None or item.kind == "meta":
            return self._meta(item)
        match item.kind:
            case "prompt":
                return self._prompt(item, entry, understand(self.file, entry))
            case "typed":
                return self._typed(item, entry)
            case "answer":
                return self.answers.view(item) or self._meta(item)
            case "compaction":
                return self._compaction(item, entry)
        return self._event(item, entry)

    # -- prompts

    def _prompt(self, item: Item, entry: Entry, said: Understood, kind: str | None = None) -> Prompt:
        offset = self.excerpt.offset(entry)
        words, context = said.text, said.context
        if said.kind == "notification":
            words, report = notified(said.text), reported(said.text)
            context = (*context, ("result", report)) if report else context
        pictures = tuple(found.picture for found in held(self.file.body(entry), offset) if found.owner is None)
        return Prompt(
            item.key, item.turn, item.time, offset, kind or said.kind, words, context, pictures,
            said.speaker.kind, said.speaker.name,
        )  # fmt: skip

    def _typed(self, item: Item, entry: Entry) -> Prompt:
        """What was typed while a turn was at work: an attachment of new clients, a note in the queue of old ones."""
        body = self.file.body(entry)
        attachment = fields(body.get("attachment"))
        said = read_queued(attachment) if attachment else read({"message": {"content": body.get("content")}})
        return self._prompt(item, entry, said, "typed")

    # -- what else happened

    def _event(self, item: Item, entry: Entry) -> Event:
        offset = self.excerpt.offset(entry)
        found = told(self.file, entry)
        if found is None:
            return Event(item.key, item.turn, item.time, offset, "system", named(self.file, entry), "note")
        return Event(item.key, item.turn, item.time, offset, *found)

    def _compaction(self, item: Item, entry: Entry) -> Compaction:
        offset = self.excerpt.offset(entry)
        known = self.compactions.get(item.key) or _stated(item.key, self.file.body(entry))
        summary = next((found for place in item.lines[1:] if (found := self.excerpt.entry(place))), None)
        words = understand(self.file, summary).text if summary else ""
        return Compaction(
            item.key, item.turn, item.time, offset, known.trigger, known.before, known.after, known.entries,
            known.preserved, words,
        )  # fmt: skip

    def _meta(self, item: Item) -> Meta:
        found = [(place[0], self.excerpt.at(place[0])) for place in item.lines]
        shown = tuple(row(self.file, line, offset) for offset, line in found if line is not None)
        return Meta(item.key, item.turn, item.time, item.lines[0][0] if item.lines else 0, shown)


def _stated(key: str, body: dict[str, Any]) -> Compacted:
    """What a boundary itself says of its compaction."""
    facts = fields(body.get("compactMetadata"))
    before, after = number(facts.get("preTokens")), number(facts.get("postTokens"))
    kept = len(rows(fields(facts.get("preservedMessages")).get("uuids")))
    return Compacted(key, text(facts.get("trigger")) or None, before, after, 0, kept)
