"""Calls by tool: how many there were, how they ended, how long they took, and the size of their inputs and results.

Durations are those of `session.call_times`: they leave out times in which a person was asked for permission, as far as
that can be told. Questions and plans always wait for a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.session.call_times import measure_call_ms
from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON, Call, CallDetail
from turnlog.session.failures import to_result_text
from turnlog.session.texts.texts import list_readable_strings

if TYPE_CHECKING:
    from turnlog.session.session import Session

LETTERS_PER_TOKEN = 4
"""Tokens are estimated from characters, because files don't record how many tokens a call took."""
FAILURE_OUTCOMES = ("failed", "denied", "interrupted")
_TALLY_FIELDS = {"error": "failed", "denied": "denied", "interrupted": "interrupted", "unanswered": "unanswered"}
_ERROR_TAG = re.compile(r"</?tool_use_error>")
_VARYING_PARTS = re.compile(
    r"""(?P<text>"[^"\n]{3,}"|'[^'\n]{3,}'|`[^`\n]{3,}`)|(?P<path>(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?)"""
    r"""|(?P<id>\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b)|(?P<number>\d+)"""
)
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code \d{1,3}")
_MAX_MESSAGE_CHARS = 200


class ToolTally(Struct):
    """The calls to one tool or one MCP server."""

    name: str
    calls: int = 0
    failed: int = 0
    """Calls that failed with an error; over many sessions, calls with any error."""
    denied: int | None = 0
    """None if the source does not record denials."""
    interrupted: int | None = 0
    unanswered: int = 0
    times: list[float] = []
    """The durations of the answered calls in milliseconds, as far as they are known."""
    given: int = 0
    """The number of characters in the inputs."""
    got: int = 0
    """The number of characters in the results."""

    @property
    def failures(self) -> int:
        """The number of calls that failed, were denied or were interrupted."""
        return self.failed + (self.denied or 0) + (self.interrupted or 0)

    @property
    def waits_for_person(self) -> bool:
        """Whether calls to this tool end only when a person answers."""
        return self.name in TOOLS_WAITING_FOR_PERSON

    @property
    def tokens_in(self) -> int:
        """The estimated tokens of the inputs."""
        return round(self.given / LETTERS_PER_TOKEN)

    @property
    def tokens_out(self) -> int:
        """The estimated tokens of the results."""
        return round(self.got / LETTERS_PER_TOKEN)

    @property
    def median(self) -> float | None:
        """The median duration in milliseconds."""
        return median(self.times) if self.times else None

    @property
    def p95(self) -> float | None:
        """The 95th percentile of the durations in milliseconds."""
        return sorted(self.times)[ceil(0.95 * len(self.times)) - 1] if self.times else None


class SessionCall(NamedTuple):
    holder: Session
    call: Call


def list_all_calls(session: Session) -> Iterator[SessionCall]:
    """Yield the calls in a session and its sub-agents, each id only once."""
    seen: set[str] = set()
    for holder in (session, *(session.open_agent_session(agent) for agent in session.agents)):
        for call in holder.calls:
            key = f"{holder.path}{call.id}" if call.id.startswith("@") else call.id
            if key not in seen:
                seen.add(key)
                yield SessionCall(holder, call)


def count_calls_by_tool(session: Session) -> list[ToolTally]:
    """Count the calls in a session and its sub-agents by tool, most used first."""
    found: dict[str, ToolTally] = {}
    runs = {agent.agent_id: session.open_agent_session(agent).span for agent in session.agents}
    for holder, call in list_all_calls(session):
        item = found.setdefault(call.name, ToolTally(call.name, times=[]))
        _count_call(item, call, holder.read_detail(call), runs.get(call.agent_id or ""))
    return sort_tallies(found.values())


def _count_call(
    item: ToolTally, call: Call, detail: CallDetail, run: tuple[str | None, str | None] | None = None
) -> None:
    item.calls += 1
    item.given += count_letters([call.name, detail.input])
    item.got += count_letters(detail.result)
    if outcome := _TALLY_FIELDS.get(detail.outcome):
        setattr(item, outcome, getattr(item, outcome) + 1)
    took = measure_call_ms(call, detail, run)
    if took is not None:
        item.times.append(took)


def count_letters(value: object) -> int:
    """Count the characters in all strings in a value, joined by line breaks."""
    return len(value) if isinstance(value, str) else len("\n".join(list_readable_strings(value)))


def sum_tallies_by_server(tools: Iterable[ToolTally]) -> list[ToolTally]:
    """Sum the calls to MCP tools by server."""
    found: dict[str, ToolTally] = {}
    for tool in tools:
        if server := parse_mcp_server(tool.name):
            _add_tally(found.setdefault(server, ToolTally(server, times=[])), tool)
    return sort_tallies(found.values())


def parse_mcp_server(tool: str) -> str | None:
    """Return the MCP server of a tool, or None for other tools."""
    return tool[5:].split("__", 1)[0] or None if tool.startswith("mcp__") else None


def sum_tallies(tools: Iterable[ToolTally]) -> ToolTally:
    total = ToolTally("", times=[])
    for tool in tools:
        _add_tally(total, tool)
    return total


def _add_tally(item: ToolTally, other: ToolTally) -> None:
    item.calls += other.calls
    item.failed += other.failed
    item.unanswered += other.unanswered
    item.denied = None if item.denied is None or other.denied is None else item.denied + other.denied
    item.interrupted = (
        None if item.interrupted is None or other.interrupted is None else item.interrupted + other.interrupted
    )
    item.times += other.times
    item.given += other.given
    item.got += other.got


def sort_tallies(found: Iterable[ToolTally]) -> list[ToolTally]:
    """Sort tallies by number of calls, most used first."""
    return sorted(found, key=lambda item: (-item.calls, item.name))


class FailureMessage(NamedTuple):
    """An error message and the number of calls that failed with it."""

    tool: str
    outcome: str
    """failed, denied or interrupted."""
    message: str
    """Its first line, without the parts that differ between calls: paths, quoted strings, ids and numbers."""
    calls: int


def count_failure_messages(session: Session) -> list[FailureMessage]:
    """Count the error messages of failed calls, most frequent first."""
    found: Counter[tuple[str, str, str]] = Counter()
    for holder, call in list_all_calls(session):
        detail = holder.read_detail(call)
        if (outcome := _TALLY_FIELDS.get(detail.outcome, "")) in FAILURE_OUTCOMES:
            found[call.name, outcome, normalise_error_text(to_result_text(detail.result))] += 1
    return [FailureMessage(*key, calls) for key, calls in found.most_common()]


def normalise_error_text(text: str) -> str:
    """Return a message's first line (and the next, after an exit code) without the parts that vary between calls."""
    lines = [line.strip() for line in _ERROR_TAG.sub("", text[:4000]).split("\n")]
    lines = [line for line in lines if line]
    if lines and _EXIT_CODE.fullmatch(lines[0]):
        return ": ".join([lines[0], *map(_replace_varying_parts, lines[1:2])])[:_MAX_MESSAGE_CHARS]
    return _replace_varying_parts(lines[0])[:_MAX_MESSAGE_CHARS] if lines else ""


def _replace_varying_parts(line: str) -> str:
    return _VARYING_PARTS.sub(lambda part: "N" if part.lastgroup == "number" else "…", line[:1000])
