"""How long a call took: the time between its line and its result, if that is the time in which a tool worked.

It is not if a person was asked for permission in between, if the result came after the session was resumed, or if the
call only launched something that went on in the background. Only the newest clients record that a person decided;
otherwise, a time that no tool of the kind needs is taken for a wait. Measured on 2,766 calls of published sessions: the
longest reading took 4 s, and 25 of 653 edits have more than a minute between call and result.
"""

from __future__ import annotations

from turnlog.session.calls import AGENT_TOOLS, TOOLS_WAITING_FOR_PERSON, Call, CallDetail, find_tool_family
from turnlog.session.clock import to_epoch_milliseconds

_MINUTE_MS = 60_000
MAX_OTHER_CALL_MINUTES = 60
_MAX_CALL_MINUTES = {"reading": 1, "writing": 1, "planning": 1, "skills": 1, "web": 10, "agents": 24 * 60}
"""The longest time that a call of a family works; a longer one has waited."""
MAX_LAUNCH_MS = 2000
"""An agent that ended sooner was only launched: no model answers in this time."""


def measure_call_ms(call: Call, detail: CallDetail, run: tuple[str | None, str | None] | None = None) -> float | None:
    """Return how long a call worked, in milliseconds; None if unknown.

    `run` is when the sub-agent that the call launched began and ended.
    """
    if detail.outcome == "launched":
        return _subtract(*run) if run is not None else None
    took = _subtract(call.started_at, call.ended_at)
    return None if took is None or detail.was_decided_by_person else find_working_time(call.name, took)


def find_working_time(tool: str, took_ms: float) -> float | None:
    """Return the time between a call and its result, or None if the tool can't have worked as long as that.

    Tools that wait for a person by nature keep their times.
    """
    is_work = tool in TOOLS_WAITING_FOR_PERSON or took_ms <= get_longest_call_ms(tool)
    return took_ms if is_work else None


def get_longest_call_ms(tool: str) -> int:
    """Return the longest time that a call to this tool works."""
    return _MAX_CALL_MINUTES.get(find_tool_family(tool), MAX_OTHER_CALL_MINUTES) * _MINUTE_MS


def is_launch(tool: str, took_ms: float) -> bool:
    """Return whether a call to a sub-agent took so little that it only launched the agent."""
    return tool in AGENT_TOOLS and took_ms < MAX_LAUNCH_MS


def _subtract(started: str | None, ended: str | None) -> float | None:
    first, last = to_epoch_milliseconds(started), to_epoch_milliseconds(ended)
    return last - first if first is not None and last is not None and last >= first else None
