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

from turnlog.session.calls import WAITS_FOR_PERSON, Call, Detail
from turnlog.session.clock import milliseconds
from turnlog.session.failures import plain
from turnlog.session.texts.texts import strings

if TYPE_CHECKING:
    from turnlog.session.session import Session

LETTERS_A_TOKEN = 4
"""Tokens are estimated from characters: no file tells how many tokens one call took."""
FAILURES = ("failed", "denied", "interrupted")
_OUTCOMES = {"error": "failed", "denied": "denied", "interrupted": "interrupted", "unanswered": "unanswered"}
_TAG = re.compile(r"</?tool_use_error>")
_VARYING = re.compile(
    r"""(?P<text>"[^"\n]{3,}"|'[^'\n]{3,}'|`[^`\n]{3,}`)|(?P<path>(?:[A-Za-z]:)?(?:[\\/][\w.@~+-]+){2,}[\\/]?)"""
    r"""|(?P<id>\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b)|(?P<number>\d+)"""
)
_EXIT = re.compile(r"(?:Error: )?Exit code \d{1,3}")
_LONGEST = 200


class Tally(Struct):
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
    def waits(self) -> bool:
        """Whether such a call ends when a person answers."""
        return self.name in WAITS_FOR_PERSON

    @property
    def tokens_in(self) -> int:
        """The inputs in tokens, estimated."""
        return round(self.given / LETTERS_A_TOKEN)

    @property
    def tokens_out(self) -> int:
        """The results in tokens, estimated."""
        return round(self.got / LETTERS_A_TOKEN)

    @property
    def median(self) -> float | None:
        """The time in the middle of all."""
        return median(self.times) if self.times else None

    @property
    def p95(self) -> float | None:
        """The time that 95 of 100 answered calls did not exceed."""
        return sorted(self.times)[ceil(0.95 * len(self.times)) - 1] if self.times else None


class Named(NamedTuple):
    """A call with the session that holds it."""

    holder: Session
    call: Call


def all_calls(session: Session) -> Iterator[Named]:
    """The calls of a session and its sub-agents, every id once."""
    seen: set[str] = set()
    for holder in (session, *(session.agent_session(agent) for agent in session.agents)):
        for call in holder.calls:
            key = f"{holder.path}{call.id}" if call.id.startswith("@") else call.id
            if key not in seen:
                seen.add(key)
                yield Named(holder, call)


def tallies(session: Session) -> list[Tally]:
    """The calls of a session and its sub-agents by tool, the most used first."""
    found: dict[str, Tally] = {}
    for holder, call in all_calls(session):
        item = found.setdefault(call.name, Tally(call.name, times=[]))
        _count(item, call, holder.detail(call))
    return ordered(found.values())


def _count(item: Tally, call: Call, detail: Detail) -> None:
    item.calls += 1
    item.given += letters([call.name, detail.input])
    item.got += letters(detail.result)
    if outcome := _OUTCOMES.get(detail.outcome):
        setattr(item, outcome, getattr(item, outcome) + 1)
    started, ended = milliseconds(call.started), milliseconds(call.ended)
    if started is not None and ended is not None and ended >= started:
        item.times.append(ended - started)


def letters(value: object) -> int:
    """How many characters the texts in a value have, one under the other."""
    return len(value) if isinstance(value, str) else len("\n".join(strings(value)))


def by_server(tools: Iterable[Tally]) -> list[Tally]:
    """The calls of MCP tools by server."""
    found: dict[str, Tally] = {}
    for tool in tools:
        if server := server_of(tool.name):
            _add(found.setdefault(server, Tally(server, times=[])), tool)
    return ordered(found.values())


def server_of(tool: str) -> str | None:
    """The MCP server of a tool."""
    return tool[5:].split("__", 1)[0] or None if tool.startswith("mcp__") else None


def total(tools: Iterable[Tally]) -> Tally:
    """All calls together."""
    found = Tally("", times=[])
    for tool in tools:
        _add(found, tool)
    return found


def _add(item: Tally, other: Tally) -> None:
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


def ordered(found: Iterable[Tally]) -> list[Tally]:
    """The most used first."""
    return sorted(found, key=lambda item: (-item.calls, item.name))


class Failure(NamedTuple):
    """A message that calls failed with."""

    tool: str
    outcome: str
    """failed, denied or interrupted."""
    message: str
    """Its first line; what differs from call to call is left out: paths, quoted texts, ids, numbers."""
    calls: int


def failures(session: Session) -> list[Failure]:
    """The messages of failed calls, the most frequent first."""
    found: Counter[tuple[str, str, str]] = Counter()
    for holder, call in all_calls(session):
        detail = holder.detail(call)
        if (outcome := _OUTCOMES.get(detail.outcome, "")) in FAILURES:
            found[call.name, outcome, normalised(plain(detail.result))] += 1
    return [Failure(*key, calls) for key, calls in found.most_common()]


def normalised(text: str) -> str:
    """The first line of a message without what differs from call to call; an exit code with the line below it."""
    lines = [line.strip() for line in _TAG.sub("", text[:4000]).split("\n")]
    said = [line for line in lines if line]
    if said and _EXIT.fullmatch(said[0]):
        return ": ".join([said[0], *map(_without_varying, said[1:2])])[:_LONGEST]
    return _without_varying(said[0])[:_LONGEST] if said else ""


def _without_varying(line: str) -> str:
    return _VARYING.sub(lambda part: "N" if part.lastgroup == "number" else "…", line[:1000])
