"""A session's timeline, made: its items, and what an outline of them needs."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.session.agents import Agent
from turnlog.session.calls import pair
from turnlog.session.files.touches import TurnsOfAgents, by_file, touches
from turnlog.session.lineage import Descent, current_leaf
from turnlog.session.session import Session
from turnlog.session.timeline.sequence import Sequence, title
from turnlog.session.timeline.timeline import Chapter, Compacted, Fork, Head, Helper, Line, Step, Timeline, Use, Way
from turnlog.session.turns import Turn
from turnlog.session.usage.usage import context_tokens, cost_of, total


def timeline(session: Session) -> Timeline:
    """The timeline of a session, all branches."""
    sequence = Sequence(session)
    chapters = list(sequence.chapters())
    places = {item.key: number for number, item in enumerate(sequence.items)}
    return Timeline(_head(session, chapters, len(sequence.items)), sequence.items, list(_steps(session, places)))


def _head(session: Session, chapters: list[Chapter], items: int) -> Head:
    started, ended = session.span
    branches = _branches(session, chapters)
    turns = TurnsOfAgents(session)
    helpers = [_helper(session, agent, turns.of(agent)) for agent in session.agents]
    usage = session.usage
    return Head(
        session.session_id,
        title(session.title) if session.title else None,
        items,
        chapters,
        branches,
        list(_forks(session, branches)),
        helpers,
        list(_compactions(session)),
        list(_files(session)),
        session.models,
        session.folders,
        session.versions,
        session.git_branches,
        started,
        ended,
        usage.cost_usd,
        usage.unpriced_tokens,
        usage.output_tokens,
        sum(chapter.calls for chapter in chapters) + sum(helper.calls for helper in helpers),
        sum(chapter.errors for chapter in chapters) + sum(helper.errors for helper in helpers),
    )


def _branches(session: Session, chapters: list[Chapter]) -> list[Line]:
    """The lines of descent that end in a leaf of their own, the current one first."""
    current = current_leaf(session)
    if not session.graph.branches:
        return [Line(current or "", list(range(len(chapters))), is_current=True)]
    leaves = [leaf.uuid for leaf in session.graph.leaves if leaf.uuid]
    ordered = dict.fromkeys([*([current] if current else []), *reversed(leaves)])
    descent = Descent(session)
    found: dict[tuple[int, ...], Line] = {}
    for leaf in ordered:
        numbers = {turn.number for turn in descent.turns_to(leaf)}
        own = [place for place, chapter in enumerate(chapters) if not chapter.turn or chapter.turn in numbers]
        found.setdefault(tuple(own), Line(leaf, own, is_current=leaf == current))
    return list(found.values())


def _forks(session: Session, branches: list[Line]) -> Iterator[Fork]:
    if not session.graph.branches:
        return
    leaf_of = Descent(session).first_to_reach(line.leaf for line in branches)
    for branch in session.graph.branches:
        ways = []
        for start in branch.starts:
            if (leaf := leaf_of.get(start.index)) is not None:
                turn = session.turn_of(start)
                words = turn.text if turn and turn.start is start else ""
                ways.append(Way(start.uuid or "", leaf, turn.number if turn else 0, start.timestamp, title(words)))
        if len({way.leaf for way in ways}) > 1:
            yield Fork(branch.fork.uuid or "", ways)


def _helper(session: Session, agent: Agent, turn: Turn | None) -> Helper:
    inner = session.agent_session(agent)
    # Not `inner.calls`: whether it has sub-agents of its own is the session's to know.
    calls = pair(inner.entries, inner.file).all
    usage = total(inner.messages)
    started, ended = inner.span
    return Helper(
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
    )


def _compactions(session: Session) -> Iterator[Compacted]:
    for found in session.compactions:
        key = found.boundary.uuid or f"@{found.boundary.offset}"
        kept = len(found.preserved)
        yield Compacted(key, found.trigger, found.pre_tokens, found.post_tokens, len(found.summarised), kept)


def _files(session: Session) -> Iterator[Use]:
    """The files that were touched, sub-agents included, with the turns in which that was done."""
    for file in by_file(touches(session)):
        done = [touch for touch in file.touches if touch.outcome == "done"]
        reads = {touch.turn.number for touch in done if touch.turn and touch.action in _READS}
        writes = {touch.turn.number for touch in done if touch.turn and touch.action not in _READS}
        yield Use(file.path, sorted(reads), sorted(writes))


_READS = frozenset({"read", "attach", "found"})


def _steps(session: Session, places: dict[str, int]) -> Iterator[Step]:
    for message in session.messages:
        tokens = message.tokens
        if tokens is not None and (filled := context_tokens(message)):
            line = message.lines[0]
            place = places.get(line.uuid or "", places.get(f"@{line.offset}", 0))
            yield Step(place, message.started, filled, tokens.cache_read, tokens.output, cost_of(message).usd or 0.0)
