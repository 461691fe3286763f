"""The exported part of a session, as views in windows, so that a long session needs no more memory than a short one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from turnlog.errors import UsageError
from turnlog.render.render_options import RenderOptions, filter_view
from turnlog.render.view import AnyView
from turnlog.render.view_builder import SessionFacts, build_item_views
from turnlog.session.agents import SubAgent
from turnlog.session.lineage import list_turns_to
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.item_sequence import ItemSequence as Items
from turnlog.session.timeline.item_sequence import shorten_title
from turnlog.session.timeline.timeline import Chapter, Timeline, TimelineAgent, TimelineHead, TimelineItem
from turnlog.session.timeline.timeline_builder import build_timeline

WINDOW_ITEMS = 100
"""How many items are in memory at a time."""
_WORK_AGENT_KINDS = frozenset({"subagent", "workflow", "inline"})
"""Sub-agents that worked on the session's tasks; the others are Claude Code's internal tasks."""

ItemProgress = Callable[[int, int], object]
"""Receives the number of finished items and the total."""


class ExportChoice(NamedTuple):
    """Which part of a session to export."""

    wishes: RenderOptions = RenderOptions()
    first: int | None = None
    """The number of the first turn; None to start at the beginning, including anything before the first turn."""
    last: int | None = None
    leaf: str | None = None
    """The last entry of the branch; None for the branch that Claude Code would resume."""
    all_branches: bool = False
    agents: bool = True
    is_redacted: bool = False
    """Whether the session is a redacted copy."""

    @property
    def is_part(self) -> bool:
        """True if only some turns are exported."""
        return self.first is not None or self.last is not None


class ViewStretch(NamedTuple):
    """The views of consecutive items in one chapter."""

    chapter: Chapter
    views: list[AnyView]


class ExportMaterial:
    """A session and the choice of what to export."""

    def __init__(
        self, session: Session, choice: ExportChoice = ExportChoice(), told: ItemProgress | None = None
    ) -> None:
        self.session = session
        self.choice = choice
        self._report_progress = told or _ignore_progress
        self._taken_agents: set[str] = set()

    @cached_property
    def timeline(self) -> Timeline:
        """The timeline of the whole session."""
        timeline = build_timeline(self.session)
        self.session.close_agents()  # there may be hundreds of them
        return timeline

    @property
    def head(self) -> TimelineHead:
        """The facts about the session as a whole."""
        return self.timeline.head

    @property
    def title(self) -> str:
        """The title of the session on one line, or its id; some formats need nothing else of the timeline."""
        title = shorten_title(self.session.title) if self.session.title else ""
        return " ".join(title.split())[:200] or self.session.session_id or "Session"

    @cached_property
    def chapters(self) -> list[Chapter]:
        chapters = self.head.chapters
        if self.choice.is_part:
            return [chapter for chapter in chapters if chapter.turn in self._list_turn_numbers()]
        if self.choice.all_branches:
            return chapters
        return [chapters[place] for place in self._list_branch_chapters()]

    def _list_branch_chapters(self) -> Sequence[int]:
        leaf = self.choice.leaf
        if leaf is None:
            return self.head.branches[0].chapters
        numbers = {turn.number for turn in list_turns_to(self.session, leaf)}
        return [place for place, item in enumerate(self.head.chapters) if not item.turn or item.turn in numbers]

    def _list_turn_numbers(self) -> range:
        count = len(self.session.turns)
        first = 1 if self.choice.first is None else self.choice.first
        last = count if self.choice.last is None else self.choice.last
        if not 1 <= first <= last <= count:
            valid = f"this session has turns 1 to {count}" if count else "this session has no turns"
            raise UsageError(f"--turns {first}..{last}: {valid}")
        return range(first, last + 1)

    @property
    def left_out(self) -> int:
        """The number of turns that are not exported."""
        return len(self.session.turns) - sum(chapter.turn > 0 for chapter in self.chapters)

    def iter_stretches(self) -> Iterator[ViewStretch]:
        """Yield the exported views in windows; a window never crosses a chapter boundary."""
        wanted = [(chapter, place) for chapter in self.chapters for place in _list_places(chapter)]
        for start in range(0, len(wanted), WINDOW_ITEMS):
            window = wanted[start : start + WINDOW_ITEMS]
            items = [self.timeline.items[place] for _, place in window]
            pairs = zip((chapter for chapter, _ in window), self._iter_views(self.session, items), strict=True)
            for _, group in groupby(pairs, lambda pair: pair[0].first):
                rows = list(group)
                yield ViewStretch(rows[0][0], [view for _, view in rows if view is not None])
            self._report_progress(start + len(window), len(wanted))

    def _iter_views(self, session: Session, items: list[TimelineItem]) -> Iterator[AnyView | None]:
        excerpt = Excerpt.read(session.file.source, items)
        return (filter_view(view, self.choice.wishes) for view in build_item_views(excerpt, items, self._facts))

    @cached_property
    def _facts(self) -> SessionFacts:
        return SessionFacts.from_head(self.head)

    # -- sub-agents

    @cached_property
    def _agents(self) -> dict[str, SubAgent]:
        wanted = self.choice.agents and self.choice.wishes.tools
        return {agent.agent_id: agent for agent in self.session.agents} if wanted else {}

    @cached_property
    def helpers(self) -> dict[str, TimelineAgent]:
        """The sub-agents by id, with what is known about each."""
        return {helper.agent_id: helper for helper in self.head.agents}

    def take_agent_views(self, agent_id: str) -> Iterator[list[AnyView]] | None:
        """Return the views of a sub-agent in windows; None if it does not exist or its views were already returned."""
        agent = self._agents.get(agent_id)
        if agent is None or agent_id in self._taken_agents:
            return None
        self._taken_agents.add(agent_id)
        return self._iter_agent_windows(agent)

    def _iter_agent_windows(self, agent: SubAgent) -> Iterator[list[AnyView]]:
        inner = Session.open(agent.path) if agent.path else self.session.open_agent_session(agent)
        try:
            sequence = Items(inner)
            for _ in sequence.build_chapters():
                pass
            for start in range(0, len(sequence.items), WINDOW_ITEMS):
                views = self._iter_views(inner, sequence.items[start : start + WINDOW_ITEMS])
                yield [replace(view, turn=0) for view in views if view is not None]
        finally:
            if not inner.is_part:
                inner.close()

    def iter_left_agents(self) -> Iterator[str]:
        """Yield the sub-agents that no call started, unless only some turns are exported."""
        for agent_id, agent in self._agents.items() if not self.choice.is_part else ():
            if agent_id not in self._taken_agents and (agent.kind in _WORK_AGENT_KINDS or self.choice.wishes.meta):
                yield agent_id


def _list_places(chapter: Chapter) -> range:
    return range(chapter.first, chapter.first + chapter.count)


def _ignore_progress(done: int, total: int) -> None:
    """The default progress callback, which does nothing."""
