"""The rules of progress: which experience a session earns, and when it wins a bonus chest.

    progress = SessionProgress()
    for deed in list_deeds(event, progress):
        reward = apply_deed(progress, deed)

Only what has happened counts: a call earns experience when its result shows that it succeeded. A deed has a key that
depends on what happened and when, but not on the file that records it, so an event counts once even if it is read live
and again later, or if its message was copied to another session.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from math import isqrt
from typing import Literal, NamedTuple

from msgspec import Struct, field

from turnlog.live.events.event import (
    MAIN_ACTOR,
    AgentFinished,
    AnyEvent,
    CallFinished,
    ContextFilled,
    Event,
    SessionStarted,
    Thought,
    TodosChanged,
)
from turnlog.quest.game_event import XpGrant
from turnlog.session.clock import parse_timestamp

DeedKind = Literal[
    "read",
    "write",
    "command-ok",
    "command-failed",
    "call",
    "think",
    "hard",
    "harder",
    "ultra",
    "todo",
    "agent",
    "tokens",
]
DEED_XP: dict[DeedKind, int] = {
    "read": 5,
    "write": 10,
    "command-ok": 15,
    "command-failed": 5,
    "call": 0,
    "think": 10,
    "hard": 25,
    "harder": 35,
    "ultra": 45,
    "todo": 20,
    "agent": 30,
    "tokens": 0,
}
STREAK_XP = 5
"""Added for each successful command after the first in a row."""
FLOW_PEAK_XP = 100
LEVEL_XP = 100
"""Level n takes n² times this much experience."""

FLOW_STEP = 0.05
FLOW_REST_SECONDS = 5.0
FLOW_DECAY_PER_SECOND = 0.03
_FLOW_KINDS = frozenset({"read", "write", "command-ok", "command-failed", "call", "think", "hard", "harder", "ultra"})
_CALL_KINDS = frozenset({"read", "write", "command-ok", "command-failed", "call"})
_TASK_TOOLS = frozenset({"BashOutput", "KillShell", "KillBash", "TaskOutput", "TaskStop", "Monitor"})
"""Tools of the category `run` that start no command of their own."""

BonusReason = Literal["flow", "streak", "todos", "marathon"]
BONUS_CHANCES: dict[BonusReason, float] = {"flow": 0.30, "streak": 0.20, "todos": 0.25, "marathon": 0.40}
BONUS_STREAK, BONUS_TODOS, BONUS_CALLS = 10, 5, 200


class Deed(NamedTuple):
    """Something that counts."""

    kind: DeedKind
    key: int
    """What identifies it, wherever it is recorded: a signed number of 64 bits."""
    actor: str
    seconds: float | None
    """When it happened, in seconds since 1970."""
    amount: int = 1
    """How many tokens; 1 for everything else."""


class DeedReward(NamedTuple):
    """What a deed earned."""

    grants: tuple[XpGrant, ...]
    has_peaked: bool = False
    """Whether the flow meter is full for the first time in this session."""

    @property
    def xp(self) -> int:
        return sum(grant.amount for grant in self.grants)


class SessionProgress(Struct):
    """What the rules remember of a session."""

    is_whole: bool = False
    """Whether it was seen from its start: only then is the first list of tasks news."""
    streaks: dict[str, int] = field(default_factory=dict)
    """How many commands of each actor have succeeded in a row."""
    best_streak: int = 0
    todos_done: dict[str, list[int]] = field(default_factory=dict)
    """The completed tasks on each actor's list."""
    todos_at: dict[str, str] = field(default_factory=dict)
    """When each actor's list changed last: an older list is not news, even if a slow reader brings it."""
    todos: int = 0
    calls: int = 0
    flow: float = 0.0
    flow_at: float | None = None
    has_peaked: bool = False
    rolled: list[BonusReason] = field(default_factory=list)
    """The bonus chests whose chance has been used, won or not."""
    bonus: BonusReason | None = None


def compute_level(xp: int) -> int:
    """Return the level for an amount of experience: level n starts at 100 n²."""
    return isqrt(max(xp, 0) // LEVEL_XP)


def compute_level_xp(level: int) -> int:
    """Return the experience at which a level starts."""
    return LEVEL_XP * level * level


def is_command(event: CallFinished) -> bool:
    """Return whether a call ran a command, rather than looked after one."""
    return event.category == "run" and event.tool not in _TASK_TOOLS


def hash_parts(*parts: object) -> int:
    """Return a signed number of 64 bits that identifies some values, the same in every process."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), signed=True)


def list_deeds(event: AnyEvent, progress: SessionProgress) -> list[Deed]:
    """Return what counts in an event."""
    match event:
        case SessionStarted():
            progress.is_whole = True
        case CallFinished():
            kind = _judge_call(event)
            return [_build_deed(kind, event, "result", event.call, event.outcome)] if kind else []
        case Thought():
            level: DeedKind = "think" if event.level == "none" else event.level
            return [_build_deed(level, event, "think", event.text[:200])]
        case AgentFinished() if event.outcome == "ok":
            return [_build_deed("agent", event, "agent", event.call)]
        case ContextFilled() if event.actor == MAIN_ACTOR:
            return [_build_deed("tokens", event, "tokens", event.tokens)._replace(amount=event.tokens)]
        case TodosChanged():
            return list(_find_completed_todos(event, progress))
    return []


def _judge_call(event: CallFinished) -> DeedKind | None:
    """Return what a finished call counts as; None if it didn't take place, or continues."""
    if event.outcome not in ("ok", "failed"):
        return None
    if is_command(event):
        return "command-ok" if event.outcome == "ok" else "command-failed"
    if event.outcome == "ok" and event.category in ("read", "web"):
        return "read"
    return "write" if event.outcome == "ok" and event.category == "write" else "call"


def _build_deed(kind: DeedKind, event: Event, *parts: object) -> Deed:
    place = (event.time,) if event.time else (event.session, event.actor, event.offset)
    moment = parse_timestamp(event.time)
    return Deed(kind, hash_parts(*place, *parts), event.actor, moment.timestamp() if moment else None)


def _find_completed_todos(event: TodosChanged, progress: SessionProgress) -> Iterator[Deed]:
    """Yield the tasks that this list completes; the first list of a session that was joined late shows no news."""
    if event.time is not None:
        if event.time <= progress.todos_at.get(event.actor, ""):
            return
        progress.todos_at[event.actor] = event.time
    done = [item.text for item in event.items if item.status == "completed"]
    known = progress.todos_done.get(event.actor)
    progress.todos_done[event.actor] = [hash_parts(text) for text in done]
    if known is None and not progress.is_whole and event.actor == MAIN_ACTOR:
        return
    for text in dict.fromkeys(done):
        if hash_parts(text) not in (known or ()):
            yield _build_deed("todo", event, "todo", text)


def apply_deed(progress: SessionProgress, deed: Deed, *, is_own: bool = True) -> DeedReward:
    """Advance the progress of a session; a deed that another session was rewarded for earns nothing again."""
    grants = list_base_grants(deed)
    if deed.kind in ("command-ok", "command-failed"):
        streak = progress.streaks.get(deed.actor, 0) + 1 if deed.kind == "command-ok" else 0
        progress.streaks[deed.actor] = streak
        if streak > 1:
            grants.append(XpGrant(STREAK_XP, "streak"))
        if is_own:
            progress.best_streak = max(progress.best_streak, streak)
    if is_own:
        progress.calls += deed.kind in _CALL_KINDS
        progress.todos += deed.kind == "todo"
    has_peaked = deed.actor == MAIN_ACTOR and deed.kind in _FLOW_KINDS and _raise_flow(progress, deed.seconds)
    if has_peaked:
        grants.append(XpGrant(FLOW_PEAK_XP, "flow"))
    return DeedReward(tuple(grants), has_peaked) if is_own else DeedReward(())


def list_base_grants(deed: Deed) -> list[XpGrant]:
    """Return what a deed earns by itself, without streaks and flow."""
    amount = DEED_XP[deed.kind]
    return [XpGrant(amount, _name_reason(deed.kind))] if amount else []


def _name_reason(kind: DeedKind) -> str:
    if kind in ("command-ok", "command-failed"):
        return "bash"
    return "think" if kind in ("hard", "harder", "ultra") else kind


def measure_flow(progress: SessionProgress, seconds: float | None) -> float:
    """Return how full the flow meter is at a time: after five seconds of silence, it falls."""
    if seconds is None or progress.flow_at is None:
        return progress.flow
    silence = max(seconds - progress.flow_at - FLOW_REST_SECONDS, 0.0)
    return max(progress.flow - silence * FLOW_DECAY_PER_SECOND, 0.0)


def _raise_flow(progress: SessionProgress, seconds: float | None) -> bool:
    """Raise the flow meter; return whether it is full for the first time in this session."""
    progress.flow = min(round(measure_flow(progress, seconds) + FLOW_STEP, 6), 1.0)
    if seconds is not None:
        progress.flow_at = max(seconds, progress.flow_at or seconds)
    if progress.flow < 1.0 or progress.has_peaked:
        return False
    progress.has_peaked = True
    return True


def roll_bonus(session: str, progress: SessionProgress) -> BonusReason | None:
    """Return the bonus chest that a session has just won: each reason has one chance, and a session wins one chest.

    The chance is decided by the session's id, so that counting again gives the same result.
    """
    met: dict[BonusReason, bool] = {
        "flow": progress.has_peaked,
        "streak": progress.best_streak >= BONUS_STREAK,
        "todos": progress.todos >= BONUS_TODOS,
        "marathon": progress.calls >= BONUS_CALLS,
    }
    for reason, is_met in met.items():
        if is_met and reason not in progress.rolled and progress.bonus is None:
            progress.rolled.append(reason)
            if _draw_share("bonus", session, reason) < BONUS_CHANCES[reason]:
                progress.bonus = reason
                return reason
    return None


def _draw_share(*parts: object) -> float:
    """Return a number from 0 to 1 that is fixed by some values."""
    return (hash_parts(*parts) & 0xFFFF_FFFF) / 0x1_0000_0000
