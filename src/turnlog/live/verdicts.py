"""What a session seems to be doing, according to one kind of sign; `states` combines them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from turnlog.live.activity import Activity
from turnlog.live.events.event import Confidence
from turnlog.live.signs import SessionSigns
from turnlog.session.calls import find_tool_family
from turnlog.session.clock import parse_timestamp

StateKind = Literal[
    "answering", "running", "retrying", "compacting", "background", "waiting", "permission", "finished",
    "interrupted", "error", "silent", "ended", "left", "empty",
]  # fmt: skip
WORKING_KINDS = frozenset({"answering", "running", "retrying", "compacting"})
PAUSED_KINDS = frozenset({"finished", "interrupted", "error", "empty"})
MOMENT = timedelta(milliseconds=200)
"""How exactly two times can be compared."""
BY_TRANSCRIPT = "the transcript says so"
BY_REPORT = "the client reports it"


class StateVerdict(NamedTuple):
    """A state without the session's figures."""

    kind: StateKind
    words: str
    since: str | None
    confidence: Confidence
    reason: str
    tools: tuple[str, ...] = ()
    """Tools that are running although their calls are not written yet."""


def describe_first_call(fold: Activity) -> str:
    call = next((one for one in fold.calls.values() if find_tool_family(one.name) != "agents"), None)
    return (f"{call.name}: {call.about}" if call.about else call.name) if call else ""


def is_status_newer(verdict: StateVerdict, signs: SessionSigns, than: timedelta = timedelta(0)) -> bool:
    since = parse_timestamp(verdict.since)
    return signs.status_time is not None and since is not None and signs.status_time > since + than


def to_timestamp(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if time else None
