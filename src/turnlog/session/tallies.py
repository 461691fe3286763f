"""Calls by tool: how many, how they ended, how long they took, and how much went in and out.

The time of a call is that between its line and its result. What in it was work and what was waiting for a person (a
question, a plan, a permission) can't be told apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON, Call, CallDetail
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.failures import to_result_text
from turnlog.session.texts.texts import list_readable_strings

if TYPE_CHECKING:
    from turnlog.session.session import Session

LETTERS_PER_TOKEN = 4
"""Tokens are estimated from characters: no file tells how many tokens one call took."""
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
    """The calls of one tool, or of one MCP server."""

    name: str
    calls: int = 0
    failed: int = 0
    """With an error of their own; over many sessions with any error."""
    denied: int | None = 0
    """None: the source can't tell."""
    interrupted: int | None = 0
    unanswered: int = 0
    times: list[float] = []
    """How long each answered call took, in milliseconds."""
    given: int = 0
    """Characters of the inputs."""
    got: int = 0
    """Characters of the results."""

    @property
    def failures(self) -> int:
        """Calls that came to nothing: failed, denied or interrupted."""
        return self.failed + (self.denied or 0) + (self.interrupted or 0)

    @property
    def waits_for_person(self) -> bool:
        """Whether such a call ends when a person answers."""
        return self.name in TOOLS_WAITING_FOR_PERSON

    @property
    def tokens_in(self) -> int:
        """The inputs in tokens, estimated."""
        return round(self.given / LETTERS_PER_TOKEN)

    @property
    def tokens_out(self) -> int:
        """The results in tokens, estimated."""
        return round(self.got / LETTERS_PER_TOKEN)

    @property
    def median(self) -> float | None:
        """The time in the middle of all."""
        return median(self.times) if self.times else None

    @property
    def p95(self) -> float | None:
        """The time that 95 of 100 answered calls did not exceed."""
        return sorted(self.times)[ceil(0.95 * len(self.times)) - 1] if self.times else None


class SessionCall(NamedTuple):
    """A call with the session that holds it."""

    holder: Session
    call: Call


def list_all_calls(session: Session) -> Iterator[SessionCall]:
    """The calls of a session and its sub-agents, every id once."""
    seen: set[str] = set()
    for holder in (session, *(session.open_agent_session(agent) for agent in session.agents)):
        for call in holder.calls:
            key = f"{holder.path}{call.id}" if call.id.startswith("@") else call.id
            if key not in seen:
                seen.add(key)
                yield SessionCall(holder, call)


def count_calls_by_tool(session: Session) -> list[ToolTally]:
    """The calls of a session and its sub-agents by tool, the most used first."""
    found: dict[str, ToolTally] = {}
    for holder, call in list_all_calls(session):
        item = found.setdefault(call.name, ToolTally(call.name, times=[]))
        _count_call(item, call, holder.read_detail(call))
    return sort_tallies(found.values())


def _count_call(item: ToolTally, call: Call, detail: CallDetail) -> None:
    item.calls += 1
    item.given += count_letters([call.name, detail.input])
    item.got += count_letters(detail.result)
    if outcome := _TALLY_FIELDS.get(detail.outcome):
        setattr(item, outcome, getattr(item, outcome) + 1)
    started, ended = to_epoch_milliseconds(call.started_at), to_epoch_milliseconds(call.ended_at)
    if started is not None and ended is not None and ended >= started:
        item.times.append(ended - started)


def count_letters(value: object) -> int:
    """How many characters the texts in a value have, one under the other."""
    return len(value) if isinstance(value, str) else len("\n".join(list_readable_strings(value)))


def sum_tallies_by_server(tools: Iterable[ToolTally]) -> list[ToolTally]:
    """The calls of MCP tools by server."""
    found: dict[str, ToolTally] = {}
    for tool in tools:
        if server := parse_mcp_server(tool.name):
            _add_tally(found.setdefault(server, ToolTally(server, times=[])), tool)
    return sort_tallies(found.values())


def parse_mcp_server(tool: str) -> str | None:
    """The MCP server of a tool."""
    return tool[5:].split("__", 1)[0] or None if tool.startswith("mcp__") else None


def sum_tallies(tools: Iterable[ToolTally]) -> ToolTally:
    """All calls together."""
    found = ToolTally("", times=[])
    for tool in tools:
        _add_tally(found, tool)
    return found


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
    """The most used first."""
    return sorted(found, key=lambda item: (-item.calls, item.name))


class FailureMessage(NamedTuple):
    """A message that calls failed with."""

    tool: str
    outcome: str
    """failed, denied or interrupted."""
    message: str
    """Its first line; what differs from call to call is left out: paths, quoted texts, ids, numbers."""
    calls: int


def count_failure_messages(session: Session) -> list[FailureMessage]:
    """The messages of failed calls, the most frequent first."""
    found: Counter[tuple[str, str, str]] = Counter()
    for holder, call in list_all_calls(session):
        detail = holder.read_detail(call)
        if (outcome := _TALLY_FIELDS.get(detail.outcome, "")) in FAILURE_OUTCOMES:
            found[call.name, outcome, normalise_error_text(to_result_text(detail.result))] += 1
    return [FailureMessage(*key, calls) for key, calls in found.most_common()]


def normalise_error_text(text: str) -> str:
    """The first line of a message without what differs from call to call; an exit code with the line below it."""
    lines = [line.strip() for line in _ERROR_TAG.sub("", text[:4000]).split("\n")]
    said = [line for line in lines if line]
    if said and _EXIT_CODE.fullmatch(said[0]):
        return ": ".join([said[0], *map(_replace_varying_parts, said[1:2])])[:_MAX_MESSAGE_CHARS]
    return _replace_varying_parts(said[0])[:_MAX_MESSAGE_CHARS] if said else ""


def _replace_varying_parts(line: str) -> str:
    return _VARYING_PARTS.sub(lambda part: "N" if part.lastgroup == "number" else "…", line[:1000])
