"""Builds a session's timeline: its items, and the facts for an overview of them."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.session.agents import SubAgent
from turnlog.session.calls import pair_calls
from turnlog.session.files.touches import AgentTurns, group_touches_by_file, list_touches
from turnlog.session.lineage import Descent, find_current_leaf_uuid
from turnlog.session.message_usage import compute_message_cost, count_context_tokens, sum_usage
from turnlog.session.session import Session
from turnlog.session.timeline.item_sequence import ItemSequence, shorten_title
from turnlog.session.timeline.timeline import (
    Chapter,
    FillStep,
    Fork,
    ForkPath,
    Timeline,
    TimelineAgent,
    TimelineBranch,
    TimelineCompaction,
    TimelineFile,
    TimelineHead,
)
from turnlog.session.turns import Turn

_FINAL_STOP_REASONS = ("end_turn", "stop_sequence", "max_tokens", "refusal")


def build_timeline(session: Session) -> Timeline:
    """Build the timeline of a session, with all its branches."""
    sequence = ItemSequence(session)
    chapters = list(sequence.build_chapters())
    places = {item.key: number for number, item in enumerate(sequence.items)}
    return Timeline(
        _build_head(session, chapters, len(sequence.items)), sequence.items, list(_list_fill_steps(session, places))
    )


def _build_head(session: Session, chapters: list[Chapter], items: int) -> TimelineHead:
    started, ended = session.span
    branches = _list_branches(session, chapters)
    turns = AgentTurns(session)
    agents = [_build_agent(session, agent, turns.find_turn(agent)) for agent in session.agents]
    usage = session.usage
    return TimelineHead(
        session.session_id,
        shorten_title(session.title) if session.title else None,
        items,
        chapters,
        branches,
        list(_list_forks(session, branches)),
        agents,
        list(_list_compactions(session)),
        list(_list_file_uses(session)),
        session.models,
        session.folders,
        session.versions,
        session.git_branches,
        started,
        ended,
        usage.cost_usd,
        usage.unpriced_tokens,
        usage.output_tokens,
        sum(chapter.calls for chapter in chapters) + sum(agent.calls for agent in agents),
        sum(chapter.errors for chapter in chapters) + sum(agent.errors for agent in agents),
        session.client_totals,
    )


def _list_branches(session: Session, chapters: list[Chapter]) -> list[TimelineBranch]:
    """List the lineages that end in a leaf of their own, with the current one first."""
    current = find_current_leaf_uuid(session)
    if not session.graph.branches:
        return [TimelineBranch(current or "", list(range(len(chapters))), is_current=True)]
    leaves = [leaf.uuid for leaf in session.graph.leaves if leaf.uuid]
    numbers_by_leaf = {leaf.uuid: number for number, leaf in enumerate(session.graph.leaves, start=1)}
    ordered = dict.fromkeys([*([current] if current else []), *reversed(leaves)])
    lines = _ChapterLines(Descent(session), chapters)
    found: dict[int, TimelineBranch] = {}
    for leaf in ordered:
        own = lines.list_chapters_to(leaf)
        found.setdefault(id(own), TimelineBranch(leaf, own, leaf == current, numbers_by_leaf.get(leaf, 0)))
    return list(found.values())


class _ChapterLines:
    """The chapters that lead to each turn, built from those that lead to the turn before it."""

    def __init__(self, descent: Descent, chapters: list[Chapter]) -> None:
        self._descent = descent
        self._places: dict[int, list[int]] = {}
        for place, chapter in enumerate(chapters):
            self._places.setdefault(chapter.turn or 0, []).append(place)
        everywhere = (0, *(turn.number for turn in descent.loose_turns))
        self._common = sorted(place for number in everywhere for place in self._places.pop(number, ()))
        self._known: dict[int, list[int]] = {}

    def list_chapters_to(self, leaf: str) -> list[int]:
        """List the places of the chapters that lead to a leaf; the same list for leaves that the same ones lead to."""
        todo: dict[int, None] = {}
        turn = self._descent.find_last_turn(leaf)
        while turn is not None and turn.number not in self._known and turn.number not in todo:
            todo[turn.number] = None
            turn = self._descent.find_turn_before(turn)
        found = self._known.get(turn.number, self._common) if turn else self._common
        for number in reversed(todo):
            own = self._places.get(number, [])
            found = self._known[number] = sorted([*found, *own]) if own else found
        return found


def _list_forks(session: Session, branches: list[TimelineBranch]) -> Iterator[Fork]:
    if not session.graph.branches:
        return
    leaf_of = Descent(session).map_first_leaves(line.leaf for line in branches)
    for branch in session.graph.branches:
        ways = []
        for start in branch.starts:
            if (leaf := leaf_of.get(start.index)) is not None:
                turn = session.find_turn(start)
                prompt = turn.text if turn and turn.start is start else ""
                ways.append(
                    ForkPath(start.uuid or "", leaf, turn.number if turn else 0, start.timestamp, shorten_title(prompt))
                )
        if len({way.leaf for way in ways}) > 1:
            yield Fork(branch.fork.uuid or "", ways)


def _build_agent(session: Session, agent: SubAgent, turn: Turn | None) -> TimelineAgent:
    inner = session.open_agent_session(agent)
    # Not `inner.calls`: only the session can determine whether this agent has sub-agents.
    calls = pair_calls(inner.entries, inner.file).all
    usage = sum_usage(inner.messages)
    started, ended = inner.span
    return TimelineAgent(
        agent.agent_id,
        agent.kind,
        agent.type,
        agent.description,
        agent.call_id,
        agent.parent_agent_id,
        started,
        ended,
        turn.number if turn else 0,
        len(calls),
        sum(call.is_error is True for call in calls),
        usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        usage.output_tokens,
        usage.cost_usd,
        agent.is_incomplete,
        inner.models,
        _judge_agent_outcome(inner),
    )


def _judge_agent_outcome(inner: Session) -> str:
    last = inner.messages[-1] if inner.messages else None
    if last is None:
        return ""
    if last.is_error:
        return "error"
    return "finished" if last.stop_reason in _FINAL_STOP_REASONS else "open"


def _list_compactions(session: Session) -> Iterator[TimelineCompaction]:
    for compaction in session.compactions:
        key = compaction.boundary.uuid or f"@{compaction.boundary.offset}"
        preserved = len(compaction.preserved)
        yield TimelineCompaction(
            key,
            compaction.trigger,
            compaction.pre_tokens,
            compaction.post_tokens,
            len(compaction.summarised),
            preserved,
        )


def _list_file_uses(session: Session) -> Iterator[TimelineFile]:
    """Yield the files that were touched, including by sub-agents, with the turns that touched them."""
    for file in group_touches_by_file(list_touches(session)):
        done = [touch for touch in file.touches if touch.outcome == "done"]
        reads = {touch.turn.number for touch in done if touch.turn and touch.action in _READ_ACTIONS}
        writes = {touch.turn.number for touch in done if touch.turn and touch.action not in _READ_ACTIONS}
        yield TimelineFile(file.path, sorted(reads), sorted(writes))


_READ_ACTIONS = frozenset({"read", "attach", "found"})


def _list_fill_steps(session: Session, places: dict[str, int]) -> Iterator[FillStep]:
    for message in session.messages:
        tokens = message.tokens
        if tokens is not None and (filled := count_context_tokens(message)):
            line = message.lines[0]
            place = places.get(line.uuid or "", places.get(f"@{line.offset}", 0))
            yield FillStep(
                place,
                message.started_at,
                filled,
                tokens.cache_read,
                tokens.output,
                compute_message_cost(message).usd or 0.0,
            )
