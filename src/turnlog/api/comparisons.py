"""Compares two sessions, or two branches of one: where they part, and how they differ after that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from turnlog.api.config import Config, load_config
from turnlog.api.lookup import Notify, find_leaf, open_session
from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.redact.redactor import Redactor
    from turnlog.session.session import Session
    from turnlog.session.turns import Turn

_MAX_PROMPT_CHARS = 400


class ComparedTurn(Struct, frozen=True):
    """A turn of one side, after the two part."""

    turn: int
    started: str | None
    prompt: str
    """The beginning of what was typed, or what a background task reported in short, with secrets masked."""
    outcome: str
    calls: int
    failed: int
    cost_usd: float


class ComparedSide(Struct, frozen=True):
    """One side of a comparison; the figures leave out what both sides share, and sub-agents."""

    session_id: str | None
    path: str
    title: str | None
    branch: str | None
    """The last entry of the branch; None if the session has only one."""
    started: str | None
    ended: str | None
    turns: int
    """All turns, including those that both sides share."""
    own: list[ComparedTurn]
    outcome: str | None
    """How its last turn ended."""
    calls: int
    failed: int
    output_tokens: int
    cost_usd: float
    unpriced_tokens: int


class ComparedFile(Struct, frozen=True):
    """A file that at least one side touched after they part."""

    path: str
    left_reads: int
    left_writes: int
    right_reads: int
    right_writes: int


class SessionComparison(Struct, frozen=True):
    """Two sessions or branches side by side."""

    shared_turns: int
    """How many turns both sides begin with."""
    parts_within: bool
    """Whether both sides start the next turn with the same prompt, but go on differently."""
    left: ComparedSide
    right: ComparedSide
    files: list[ComparedFile]
    """Files that differ in how often they were written come first."""


def compare_sessions(
    left: str | Path,
    right: str | Path | None = None,
    *,
    left_branch: str | None = None,
    right_branch: str | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
) -> SessionComparison:
    """Compare two sessions, or two branches of one session if `right` is omitted.

    Sessions are paths, ids, starts of ids, titles or `last`; branches are numbers or uuids, as in `turnlog show`.
    """
    from turnlog.redact.redactor import Redactor

    if right is None and (left_branch is None or right_branch is None):
        raise UsageError("name two sessions, or one session and two branches (--branch 1 --other-branch 2)")
    config = config or load_config()
    redactor = Redactor()
    with open_session(left, config, notify) as first, open_session(left if right is None else right, config) as second:
        turns = _list_turns(first, left_branch), _list_turns(second, right_branch)
        shared = _count_shared_turns(*turns)
        own = [side[shared:] for side in turns]
        return SessionComparison(
            shared,
            _starts_alike(*own),
            _build_side(first, left_branch, turns[0], own[0], redactor),
            _build_side(second, right_branch, turns[1], own[1], redactor),
            _compare_files(first, own[0], second, own[1]),
        )


def _list_turns(session: Session, branch: str | None) -> list[Turn]:
    from turnlog.session.lineage import find_current_leaf_uuid, list_turns_to

    leaf = find_leaf(session, branch) if branch is not None else None
    if leaf is None and session.graph.branches:
        leaf = find_current_leaf_uuid(session)
    return list(session.turns) if leaf is None else list_turns_to(session, leaf)


def _count_shared_turns(left: Sequence[Turn], right: Sequence[Turn]) -> int:
    """Count the turns at the beginning with the same prompt, answers and calls."""
    shared = 0
    for one, other in zip(left, right, strict=False):
        if _identify_turn(one) != _identify_turn(other):
            break
        shared += 1
    return shared


def _identify_turn(turn: Turn) -> tuple[object, ...]:
    """Return what copies of a turn have in common: forks have new entries, but the same messages and calls."""
    return (
        turn.kind,
        turn.text,
        tuple(message.key for message in turn.messages),
        tuple(call.id for call in turn.calls),
    )


def _starts_alike(left: Sequence[Turn], right: Sequence[Turn]) -> bool:
    return bool(left and right) and (left[0].kind, left[0].text) == (right[0].kind, right[0].text)


def _build_side(
    session: Session, branch: str | None, turns: Sequence[Turn], own: Sequence[Turn], redactor: Redactor
) -> ComparedSide:
    from turnlog.session.message_usage import sum_usage

    usage = sum_usage(message for turn in own for message in turn.messages)
    compared = [_build_turn(turn, redactor) for turn in own]
    title = session.title
    return ComparedSide(
        session_id=session.session_id,
        path=str(session.path),
        title=None if title is None else redactor.redact_text(title),
        branch=None if branch is None else find_leaf(session, branch),
        started=turns[0].started_at if turns else None,
        ended=turns[-1].ended_at if turns else None,
        turns=len(turns),
        own=compared,
        outcome=turns[-1].outcome if turns else None,
        calls=sum(turn.calls for turn in compared),
        failed=sum(turn.failed for turn in compared),
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost_usd,
        unpriced_tokens=usage.unpriced_tokens,
    )


def _build_turn(turn: Turn, redactor: Redactor) -> ComparedTurn:
    from turnlog.session.message_usage import sum_usage

    return ComparedTurn(
        turn.number,
        turn.started_at,
        redactor.redact_text((turn.origin and turn.origin.summary) or turn.text)[:_MAX_PROMPT_CHARS],
        turn.outcome,
        len(turn.calls),
        sum(call.is_error is True for call in turn.calls),
        sum_usage(turn.messages).cost_usd,
    )


def _compare_files(left: Session, own: Sequence[Turn], right: Session, other: Sequence[Turn]) -> list[ComparedFile]:
    from turnlog.session.touched_files import list_touched_files

    sides = [
        {item.path: item for item in list_touched_files(session.file, [call for turn in turns for call in turn.calls])}
        for session, turns in ((left, own), (right, other))
    ]
    found = []
    for path in sorted({*sides[0], *sides[1]}):
        counts = [(item.reads, item.writes) if (item := side.get(path)) else (0, 0) for side in sides]
        found.append(ComparedFile(path, *counts[0], *counts[1]))
    return sorted(found, key=lambda item: (item.left_writes == item.right_writes, item.path))
