"""What a session is doing: from its transcript alone, and better where its client says so itself.

    answering      the model is at work
    running        calls are without a result
    compacting     the conversation is being summarised
    waiting        a person is asked something: a question, a plan, or what the client says that it waits for
    permission     a call is silent for long: it may wait for a person's permission; nothing in a transcript tells
    finished       the model had the last word
    interrupted    a person stopped it
    error          the API failed, and no further attempt is made
    silent         it should be at work, but nothing has been written for long
    empty          nothing was said yet

A transcript does not say that a client has ended. One that is registered (`entries.clients`) is open for certain; of
all others only the time that has passed can tell.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct

from turnlog.live.fold import Fold, Open, Task
from turnlog.session.calls import WAITS_FOR_PERSON, family
from turnlog.session.clock import moment
from turnlog.session.usage.prices import window

Kind = Literal[
    "answering", "running", "compacting", "waiting", "permission", "finished", "interrupted", "error", "silent", "empty"
]
Column = Literal["needs", "working", "idle", "ended"]

QUIET = timedelta(seconds=5)
"""Clients that write no stop reason: a text that nothing follows for so long was the last one."""
GIVEN_UP = timedelta(minutes=15)
"""Longer than the longest call takes by default."""
_COMMAND = timedelta(seconds=20)
"""A slash command that nothing follows for so long has done its work without the model."""
_AT_WORK = frozenset({"answering", "running", "compacting"})
_NEEDS = frozenset({"waiting", "permission", "error"})
IDLE_FOR = timedelta(minutes=30)
_ASKING_FOR = timedelta(hours=4)
_PATIENCE = {
    "writing": timedelta(seconds=5),
    "running": timedelta(seconds=30),
    "web": timedelta(seconds=60),
    "mcp": timedelta(seconds=60),
    "other": timedelta(seconds=60),
}
"""How long a call of a family may be silent. Families that need no permission, or wait by their nature, aren't here."""
_NEVER_ASK = frozenset({"bypassPermissions", "dontAsk", "auto"})


class Signs(Struct, frozen=True):
    """What is known beside the transcript."""

    written: datetime | None = None
    """When one of the session's files was last written."""
    is_open: bool = False
    """A client that runs has registered the session."""
    status: str | None = None
    """What that client says that it is doing: busy, shell, idle, waiting."""
    waiting_for: str | None = None
    is_compacting: bool = False
    """The client's own side work on a summary was written last."""


class State(Struct, frozen=True):
    """What a session is doing."""

    kind: Kind
    words: str
    """For people, without the time."""
    since: str | None = None
    """Since when, as the transcript has it."""
    tools: tuple[str, ...] = ()
    """What is running."""
    agents: tuple[str, ...] = ()
    """The sub-agents at work, by what they were asked."""
    tasks: tuple[str, ...] = ()
    """Other work that goes on in the background."""
    is_open: bool = False
    context: int = 0
    window: int | None = None
    """How large the window of its model is; None for a model that is not known."""
    model: str | None = None


NOTHING = Signs()


def state(fold: Fold, now: datetime, signs: Signs = NOTHING) -> State:
    """What a session is doing now."""
    quiet = _quiet(fold, now, signs)
    kind, words, since = _told(fold, quiet, signs)
    kind, words = _corrected(kind, words, quiet, signs)
    agents, tasks = _background(fold, kind)
    if kind in ("finished", "interrupted") and agents and quiet < GIVEN_UP:
        kind, words = "running", _agents_at_work(len(agents))
    return State(
        kind,
        words,
        since,
        tuple(call.name for call in fold.calls.values()) if kind in ("running", "permission") else (),
        agents,
        tasks,
        signs.is_open,
        fold.context,
        window(fold.model, fold.context) if fold.model else None,
        fold.model,
    )


def column(found: State, now: datetime, signs: Signs = NOTHING) -> Column:
    """Where a session belongs on the board."""
    age = now - signs.written if signs.written else timedelta(0)
    if found.kind in _NEEDS and (signs.is_open or age < _ASKING_FOR):
        return "needs"
    if found.kind in _AT_WORK:
        return "working"
    return "idle" if signs.is_open or age < IDLE_FOR else "ended"


def _quiet(fold: Fold, now: datetime, signs: Signs) -> timedelta:
    """How long nothing was written."""
    heard = signs.written or moment(fold.heard)
    return max(now - heard, timedelta(0)) if heard else timedelta(0)


def _told(fold: Fold, quiet: timedelta, signs: Signs) -> tuple[Kind, str, str | None]:
    """What the transcript says."""
    if signs.is_compacting:
        return "compacting", "compacting", fold.heard
    match fold.last:
        case "":
            return "empty", "nothing said yet", None
        case "interrupted":
            return "interrupted", "interrupted", fold.since
        case "error":
            return "error", f"error: {fold.error}" if fold.error else "error", fold.since
        case "finished":
            return "finished", "finished", fold.since
    if fold.calls:
        return _of_calls(list(fold.calls.values()), fold.mode, quiet)
    if (fold.last == "answer" and quiet >= QUIET) or (fold.last == "command" and quiet >= _COMMAND):
        return "finished", "finished", fold.since
    if fold.last == "bash":
        return "running", f"running {fold.prompt}", fold.since
    if fold.retry:
        attempt, most = fold.retry
        return "answering", f"the API failed; attempt {attempt} of {most}", fold.since
    return "answering", "answering", fold.since


def _of_calls(calls: list[Open], mode: str | None, quiet: timedelta) -> tuple[Kind, str, str | None]:
    asked = next((call for call in calls if call.name in WAITS_FOR_PERSON), None)
    if asked is not None:
        words = "asks you to approve a plan" if asked.name == "ExitPlanMode" else f"asks: {asked.about}".rstrip(": ")
        return "waiting", words, asked.since
    suspect = next((call for call in calls if _may_wait(call, mode, quiet)), None)
    if suspect is not None:
        return "permission", f"may wait for permission: {_named(suspect)}", suspect.since
    if len(calls) > 1 and all(family(call.name) == "agents" for call in calls):
        return "running", _agents_at_work(len(calls)), calls[0].since
    first, more = calls[0], len(calls) - 1
    return "running", f"running {_named(first)}" + (f" and {more} more" if more else ""), first.since


def _named(call: Open) -> str:
    return f"{call.name}: {call.about}" if call.about else call.name


def _may_wait(call: Open, mode: str | None, quiet: timedelta) -> bool:
    if call.has_progress or mode in _NEVER_ASK:
        return False
    kind = family(call.name)
    if kind == "writing" and mode == "acceptEdits":
        return False
    return kind in _PATIENCE and quiet >= _PATIENCE[kind]


def _corrected(kind: Kind, words: str, quiet: timedelta, signs: Signs) -> tuple[Kind, str]:
    """What the client says itself is believed, where the transcript leaves it open."""
    if signs.status == "waiting" and kind != "waiting":
        return "waiting", f"waits for you: {signs.waiting_for}" if signs.waiting_for else "waits for you"
    if signs.status in ("busy", "shell") and kind == "permission":
        return "running", words.replace("may wait for permission:", "running", 1)
    if signs.status == "busy" and kind == "finished" and quiet >= QUIET:
        return "answering", "at work"  # hooks, for example
    if signs.status == "idle" and kind in (*_AT_WORK, "permission") and quiet >= QUIET:
        return "finished", "finished"
    if kind in (*_AT_WORK, "permission") and quiet >= GIVEN_UP and not signs.is_open:
        return "silent", "nothing was written for long"
    return kind, words


def _background(fold: Fold, kind: Kind) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if kind == "silent":
        return (), ()
    agents = [call.about or call.name for call in fold.calls.values() if family(call.name) == "agents"]
    agents += [_asked(task) for task in fold.tasks.values() if task.is_agent]
    return tuple(agents), tuple(_asked(task) for task in fold.tasks.values() if not task.is_agent)


def _asked(task: Task) -> str:
    return task.about or task.name


def _agents_at_work(count: int) -> str:
    return "a sub-agent is at work" if count == 1 else f"{count} sub-agents are at work"


def now() -> datetime:
    """The present time."""
    return datetime.now(UTC)
