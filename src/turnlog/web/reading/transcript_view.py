"""Resolves an address on the reading pages to a session or one of its sub-agents, on one of its branches."""

from __future__ import annotations

import shutil
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

from starlette.requests import Request

from turnlog.errors import NotFound
from turnlog.session.timeline.timeline import Chapter, FillStep, TimelineAgent, TimelineHead, TimelineItem
from turnlog.session.turns import RESUME_GAP
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import SessionManifest
from turnlog.store.archive.restore import resolve_restore_path, restore_generation
from turnlog.store.timelines.kept_timeline import KeptTimeline
from turnlog.web.answers import get_machine
from turnlog.web.machine import IndexedSession, Machine

MAX_COPIES = 4
_copy_lock = threading.Lock()


def restore_archived_copy(machine: Machine, session: IndexedSession) -> Path:
    """Restore a deleted session from the archive to a temporary copy; raise `NotFound` if the archive has none."""
    archive = Archive(machine.data_dir)
    manifest = _find_manifest(archive, session)
    if manifest is None:
        raise NotFound(f"{session.uuid} was deleted and is not in the archive")
    folder = machine.index.parent / "opened" / f"{manifest.name}-{manifest.generation}"
    path = resolve_restore_path(folder, manifest.main)
    with _copy_lock:
        if not path.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            restore_generation(archive, manifest, folder, keep_times=True)
            _remove_old_copies(folder)
    return path


def _find_manifest(archive: Archive, session: IndexedSession) -> SessionManifest | None:
    fitting = [item for item in archive.list_sessions() if item.session_id == session.uuid]
    exact = (item for item in fitting for file in item.files if item.to_absolute_path(file) == str(session.path))
    return next(exact, fitting[0] if fitting else None)


def _remove_old_copies(newest: Path) -> None:
    others = sorted((path for path in newest.parent.iterdir() if path != newest), key=lambda path: path.stat().st_mtime)
    for path in others[: max(len(others) - MAX_COPIES + 1, 0)]:
        shutil.rmtree(path, ignore_errors=True)


MAX_AGENT_ID_CHARS = 300
_ITEMS_PER_READ = 1_280
_COMPACTION_POSITIONS: WeakKeyDictionary[KeptTimeline, dict[str | None, dict[str, int]]] = WeakKeyDictionary()
"""The positions of compactions, remembered with the timeline because finding them reads all items."""


class ItemLocation(NamedTuple):
    item: TimelineItem
    position: int
    leaf: str | None
    """The branch; None for the current one."""


class TranscriptView:
    """One sequence of items: a branch of a session or of a sub-agent."""

    def __init__(
        self,
        session: IndexedSession,
        timeline: KeptTimeline,
        leaf: str | None,
        agent: str | None,
        main: TimelineHead,
        gap: timedelta = RESUME_GAP,
    ) -> None:
        self.session = session
        self.timeline = timeline
        self.leaf = leaf
        """The requested branch; None for the current one."""
        self.agent = agent
        self.main = main
        """The session's head; the same as `head` unless this is a sub-agent."""
        self.gap = gap
        """The minimum pause before a turn that counts as a resumption."""

    @property
    def head(self) -> TimelineHead:
        """Everything except the items."""
        return self.timeline.head

    @cached_property
    def count(self) -> int:
        """The number of items."""
        return self.timeline.count_items(self.leaf)

    def read_items(self, first: int, count: int) -> list[TimelineItem]:
        return self.timeline.read_items(self.leaf, first, count) if count > 0 else []

    @cached_property
    def chapters(self) -> list[tuple[int, Chapter]]:
        """The chapters of the branch, each with the position of its first item."""
        own = [self.head.chapters[place] for place in self.timeline.get_branch(self.leaf).chapters]
        return list(zip(accumulate((chapter.count for chapter in own), initial=0), own, strict=False))

    @cached_property
    def turns(self) -> list[tuple[int, Chapter]]:
        """The chapters that are turns."""
        return [pair for pair in self.chapters if pair[1].turn]

    @cached_property
    def chapters_by_turn(self) -> dict[int, Chapter]:
        """The turns of all branches by their numbers."""
        return {chapter.turn: chapter for chapter in self.head.chapters if chapter.turn}

    @cached_property
    def turn_total(self) -> int:
        """The number of turns on all branches, which is also the highest number that a turn can have."""
        return max(self.chapters_by_turn, default=0)

    @cached_property
    def agents_by_turn(self) -> Counter[int]:
        """How many sub-agents each turn started."""
        return Counter(agent.turn for agent in self.main.agents) if self.agent is None else Counter()

    @cached_property
    def agent_cost_by_turn(self) -> Mapping[int, float]:
        """What the sub-agents that each turn started cost, in dollars, including those that they started."""
        return self.main.sum_agent_costs() if self.agent is None else {}

    @property
    def compactions(self) -> dict[str, int]:
        """The position of each compaction, by key."""
        known = _COMPACTION_POSITIONS.setdefault(self.timeline, {})
        if self.leaf not in known:
            wanted = range(0, self.count, _ITEMS_PER_READ) if self.head.compactions else range(0)
            found = (
                (first + at, item)
                for first in wanted
                for at, item in enumerate(self.read_items(first, _ITEMS_PER_READ))
            )
            known[self.leaf] = {item.key: position for position, item in found if item.kind == "compaction"}
        return known[self.leaf]

    def iter_steps(self) -> Iterator[tuple[int, FillStep]]:
        """Yield how full the context window was at each message of the branch, with the message's position."""
        firsts = [chapter.first for _, chapter in self.chapters]
        for step in self.timeline.read_steps():
            place = bisect_right(firsts, step.item) - 1
            if place >= 0:
                position, chapter = self.chapters[place]
                if step.item - chapter.first < chapter.count:
                    yield position + step.item - chapter.first, step

    @property
    def helper(self) -> TimelineAgent | None:
        """The sub-agent whose transcript this is."""
        return next((found for found in self.main.agents if found.agent_id == self.agent), None)

    # -- addresses

    @property
    def address(self) -> str:
        """The address of the transcript's page."""
        return agent_address(self.session.ref, self.agent) if self.agent else f"/s/{self.session.ref}"

    @property
    def api(self) -> str:
        """The address that scripts call."""
        return f"/api/s/{self.session.ref}"

    def build_query(self, **values: object) -> str:
        """Build the query part of an address, including the branch."""
        params = {name: value for name, value in {**values, "branch": self.leaf}.items() if value is not None}
        return f"?{urlencode(params)}" if params else ""

    def build_agent_query(self, **values: object) -> str:
        """Build the query part of an address that takes the sub-agent as a parameter."""
        params = {name: value for name, value in {**values, "agent": self.agent}.items() if value is not None}
        return f"?{urlencode(params)}" if params else ""

    def permalink(self, key: str, leaf: str | None = None) -> str:
        """Return the address of an item, which works without scripts."""
        return item_address(self.address, key, leaf or self.leaf)

    def turn_link(self, number: int) -> str:
        return f"{self.address}{self.build_query(turn=number)}#t-{number}"

    def locate_line(self, offset: int) -> ItemLocation | None:
        """Find the item that shows the line at an offset, on this branch or else on another branch."""
        for leaf in (self.leaf, *(line.leaf for line in self.head.branches)):
            position = self.timeline.find_position_at(leaf, offset)
            if position is not None:
                item = self.timeline.read_items(leaf, position, 1)[0]
                is_there = any(place[0] == offset for place in (*item.lines, *item.results))
                return ItemLocation(item, position, leaf) if is_there else None
        return None


def agent_address(ref: str, agent: str) -> str:
    return f"/s/{ref}/agent/{quote(agent, safe='', errors='replace')}"


def item_address(page: str, key: str, leaf: str | None = None) -> str:
    """Return the address of an item; the server renders its surroundings, and the script scrolls to it."""
    params = {"branch": leaf, "at": key} if leaf else {"at": key}
    return f"{page}?{urlencode(params, errors='replace')}#i-{quote(key, safe='@', errors='replace')}"


def open_transcript_view(request: Request, *, soon: bool = False) -> TranscriptView:
    """Resolve a request; raise `NotFound` if that fails.

    With `soon`, only the start of a large unread session is returned at first.
    """
    machine = get_machine(request)
    session = machine.find_session(request.path_params["ref"])
    agent = request.path_params.get("agent") or request.query_params.get("agent") or None
    leaf = request.query_params.get("branch") or None
    if session.is_gone:
        session = session._replace(path=restore_archived_copy(machine, session))
    if agent is not None and len(agent) > MAX_AGENT_ID_CHARS:
        raise NotFound("no such sub-agent")
    is_hasty = soon and agent is None and leaf is None
    main = (
        machine.timelines.get_timeline_soon(session.path) if is_hasty else machine.timelines.get_timeline(session.path)
    )
    timeline = machine.timelines.get_timeline(session.path, agent) if agent else main
    if leaf is not None:
        timeline.get_branch(leaf)
    return TranscriptView(session, timeline, leaf, agent, main.head, machine.gap)
