"""A reader that follows a session as a page does, with items in place of markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from turnlog.live.page_updates import PageUpdate
from turnlog.session.session import Session
from turnlog.session.timeline import item_sequence
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline import LinePlace, TimelineItem


def plain(item: TimelineItem) -> dict[str, Any]:
    """An item as JSON knows it."""
    places = [[list(place) for place in part] for part in (item.lines, item.results)]
    return {"key": item.key, "kind": item.kind, "turn": item.turn, "lines": places[0], "results": places[1]}


def scribe(excerpt: Excerpt, items: Sequence[TimelineItem], agent: str | None) -> list[str]:
    """Write items down as they are; every line of theirs must be in the excerpt."""
    for item in items:
        assert all(excerpt.find_item_at(place[0]) is not None for place in (*item.lines, *item.results))
    return [json.dumps(plain(item)) for item in items]


def whole(session: Session) -> list[dict[str, Any]]:
    """The items of a session that is read at once."""
    found = item_sequence.ItemSequence(session)
    list(found.build_chapters())
    return [plain(item) for item in found.items]


def whole_file(path: Path) -> list[dict[str, Any]]:
    """The items of the whole lines of a file."""
    data = path.read_bytes()
    return whole(Session.from_bytes(data[: data.rfind(b"\n") + 1]))


class Reader:
    """What a page would show."""

    def __init__(self) -> None:
        self.streams: dict[str, list[dict[str, Any]]] = {}
        self.cursor: str | None = None
        self.resets: list[str] = []
        self.agents: dict[str, dict[str, Any]] = {}
        self.gone: list[str] = []
        self.states: list[dict[str, Any]] = []
        self._delivered: dict[str, set[tuple[int, int]]] = {}

    def take(self, events: Iterable[PageUpdate]) -> Reader:
        """Carry out some events."""
        for event in events:
            data = json.loads(event.data)
            match event.name:
                case "reset":
                    self._reset(data)
                case "items":
                    self._items(data)
                case "agent":
                    self.agents[data["agent"]] = data
                case "gone":
                    self.gone.append(data["stream"])
                case "state":
                    self.states.append(data)
                case _:
                    raise AssertionError(f"unknown event {event.name}")
            self.cursor = event.cursor
        return self

    def keys(self, stream: str = "") -> list[str]:
        return [item["key"] for item in self.streams.get(stream, [])]

    def _reset(self, data: dict[str, Any]) -> None:
        self.resets.append(data["reason"])
        for name in [data["stream"]] if data["stream"] is not None else list(self.streams):
            self.streams[name] = []
            self._delivered[name] = set()
        self._items(data)

    def _items(self, data: dict[str, Any]) -> None:
        for part in data["parts"]:
            shown = self.streams.setdefault(part["stream"], [])
            for key in part["gone"]:
                item = next(item for item in shown if item["key"] == key)
                shown.remove(item)
                self._delivered[part["stream"]] -= _places(item)
            for change in part["changes"]:
                self._put(part["stream"], change)

    def _put(self, stream: str, change: dict[str, Any]) -> None:
        shown = self.streams[stream]
        item = json.loads(change["html"])
        assert item["key"] == change["key"]
        delivered = self._delivered.setdefault(stream, set())
        old = next((place for place, one in enumerate(shown) if one["key"] == item["key"]), None)
        assert change["is_new"] is (old is None)
        if old is None:
            after = next((n for n, one in enumerate(shown) if one["key"] == change["after"]), -1)
            assert (after >= 0) is (change["after"] is not None)
            shown.insert(after + 1, item)
            fresh = _places(item)
        else:
            fresh = _places(item) - _places(shown[old])
            shown[old] = item
        assert not fresh & delivered, "delivered twice"
        delivered |= fresh


def _places(item: dict[str, Any]) -> set[tuple[int, int]]:
    return {LinePlace(*place) for place in (*item["lines"], *item["results"])}
