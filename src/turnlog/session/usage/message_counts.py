"""Counting what assistant messages used, line by line: the largest value of each field, and what it is worth.

The lines of a message repeat its usage and its id, in one file and in the copies that forks and branches make. One
`Best` is what one file states of a message; `merge` makes one of several. A request that is billed beside the message,
such as an advisor's, is counted like a message of its own: its key is that of the message with `#` and its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import Literal, Protocol

from msgspec import Struct, convert

from turnlog.entries.entry import Body, CacheWrites, LineUsage
from turnlog.entries.line_decoder import CONVERSION_ERRORS, fit_struct
from turnlog.session.usage.iterations import (
    MAX_REQUEST_TOKENS,
    NO_ITERATIONS,
    SeparateRequest,
    find_cache_writes,
    split_iterations,
    take_largest_counts,
    write_requests,
)
from turnlog.session.usage.prices import SYNTHETIC_MODEL, PricedTokens

Quality = Literal["final", "partial", "placeholder", "missing"]
QUALITIES: tuple[Quality, ...] = ("final", "partial", "placeholder", "missing")
MAX_MESSAGE_TOKENS = MAX_REQUEST_TOKENS
MAX_WEB_SEARCHES = 10_000
MAX_UNUSUAL_CHARS = 40
"""So many characters are kept of words that a file may make as long as it likes."""
ECHO_SIDE = 2
_USUAL_TERMS = frozenset((None, "", "standard", "not_available", "global"))


class CountedMessage(Protocol):
    """What counting needs to know of the `message` of a line."""

    @property
    def id(self) -> str | None:
        """The id that all lines of the message share."""

    @property
    def model(self) -> str | None:
        """Who answered."""

    @property
    def stop_reason(self) -> str | None:
        """Why the answer ended; None while that is not known."""

    @property
    def usage(self) -> LineUsage | None:
        """The token counts that the line states."""


class CountedLine(Protocol):
    """What counting needs to know of a line: an `Entry`, or whatever somebody has decoded."""

    @property
    def type(self) -> str | None:
        """`assistant` for a line that counts."""

    @property
    def uuid(self) -> str | None:
        """Its own id."""

    @property
    def timestamp(self) -> str | None:
        """When it was written."""

    @property
    def version(self) -> str | None:
        """The client that wrote it."""

    @property
    def is_sidechain(self) -> bool | None:
        """Whether a sub-agent said it."""

    @property
    def message(self) -> CountedMessage | None:
        """The message that it is a part of."""


class CountedHead(Struct, gc=False):
    """Of the `message` of a line only what is counted."""

    model: str | None = None
    id: str | None = None
    stop_reason: str | None = None
    usage: LineUsage | None = None


class EchoLine(Struct, gc=False):
    """A line of a sub-agent as a progress entry of the session repeats it, at `data.message`."""

    type: str | None = None
    timestamp: str | None = None
    message: CountedHead | None = None
    uuid: str | None = None
    version: str | None = None
    """Not on the line: it is that of the entry around it."""
    is_sidechain: bool | None = True


class MessageCounts(Struct, gc=False, array_like=True):
    """The largest value that any line of a message states, field by field."""

    model: str | None
    first: str
    """The timestamp of its first line in the file that has it first."""
    last: str
    """The latest timestamp of its lines in that file."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_1h: int = 0
    web_searches: int = 0
    lowest: int = -1
    """The smallest output that a line states; -1 while none states any usage."""
    stopped: bool = False
    """Whether a line states a stop reason."""
    sidechain: int = 0
    """1 if a sub-agent said it, ECHO if the file only has echoes of it."""
    version: str | None = None
    """The client that wrote its last line."""
    terms: str | None = None
    """`speed|service_tier|inference_geo` where one of them is not the usual."""
    letters: int = 0
    """How many characters its text, thinking and inputs have; who counts must say it, `scan` does not."""
    requests: str | None = None
    """What each of its requests used, where there were several (`iterations.write_requests`)."""

    @property
    def tokens(self) -> PricedTokens:
        """The tokens by the price that they have."""
        long = self.cache_creation_1h
        short = self.cache_creation_input_tokens - long
        return PricedTokens(
            self.input_tokens, self.output_tokens, self.cache_read_input_tokens, short, long, self.web_searches
        )

    @property
    def quality(self) -> Quality:
        """How far the output tokens can be trusted."""
        if self.lowest < 0:
            return "missing"
        grew = self.output_tokens > self.lowest
        return judge_usage_quality(stopped=self.stopped, grew=grew, version=self.version, sidechain=self.sidechain > 0)


def judge_usage_quality(*, stopped: bool, grew: bool, version: str | None, sidechain: bool) -> Quality:
    """How far the output tokens of a message can be trusted, by the eras of the client (docs/format.md).

    A stop reason is only written once the counts are final. Without one, old clients (up to 2.1.7) often have the true
    count on the last line; 2.1.8 to 2.1.29 hold the place-holder of the stream's start on every line; 2.1.30 to 2.1.62
    sometimes grow; and newer ones leave it out only when an answer was broken off, or in a sub-agent's file.
    """
    if stopped:
        return "final"
    era = parse_version(version)
    if grew:
        return "final" if era < (2, 1, 8) else "partial"
    if (2, 1, 8) <= era < (2, 1, 63) or sidechain:
        return "placeholder"
    return "partial"


@lru_cache(maxsize=1024)
def parse_version(version: str | None) -> tuple[int, ...]:
    """A client version in an order that can be compared; an unknown one comes last."""
    parts = (version or "").split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else (999,)


def count_echo(found: dict[str, MessageCounts], entry: Body, name: str, offset: int) -> MessageCounts | None:
    """Add the line of a sub-agent that a progress entry repeats, with its letters; other entries change nothing."""
    data = entry.get("data")
    inner = data.get("message") if isinstance(data, dict) else None
    if not isinstance(inner, dict):
        return None
    version = entry.get("version")
    stated = inner | {"version": version if isinstance(version, str) else None, "is_sidechain": True}
    try:
        line = convert(stated, EchoLine)
    except CONVERSION_ERRORS:
        line = fit_struct(EchoLine, stated)
    best = count_line(found, line, name, offset, ECHO_SIDE)
    message = inner.get("message")
    if best is not None and isinstance(message, dict):
        best.letters += _count_letters(message.get("content"))
    return best


def _count_letters(content: object) -> int:
    """The characters of the texts, thinking and inputs in the content of a message."""
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return sum(_count_chars(block.get(key)) for block in blocks for key in ("text", "thinking", "input"))


def _count_chars(value: object) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count_chars, value.values() if isinstance(value, dict) else value))
    return len(value) if isinstance(value, str) else 0


def count_line(
    found: dict[str, MessageCounts], line: CountedLine, name: str, offset: int, side: int = 0
) -> MessageCounts | None:
    """Add one line to the messages of its file; `name` is the file's, `offset` where in it the line begins.

    Gives the message; lines that are no answer of a model change nothing. `side` is ECHO for a line that a progress
    entry repeats.
    """
    message = line.message
    if line.type != "assistant" or message is None or message.model == SYNTHETIC_MODEL:
        return None
    time = line.timestamp or ""
    key = message.id or line.uuid or f"{name}@{offset}"
    best = found.get(key)
    if best is None:
        best = found[key] = MessageCounts(message.model, time, time)
    elif time > best.last:
        best.last = time
    best.version = line.version
    best.sidechain = side or (1 if line.is_sidechain else 0)
    if message.stop_reason is not None:
        best.stopped = True
    if (usage := message.usage) is not None:
        iterations = split_iterations(usage, best.model) if usage.iterations else NO_ITERATIONS
        _raise_counts(best, usage, find_cache_writes(usage, iterations))
        if len(iterations.own) > 1:
            best.requests = write_requests(iterations.own)
        for request in iterations.separate:
            _count_separate(found, f"{key}#{request.place}", request, best, usage, time)
    return best


def _count_separate(
    found: dict[str, MessageCounts],
    key: str,
    request: SeparateRequest,
    message: MessageCounts,
    usage: LineUsage,
    time: str,
) -> None:
    """Add a request that is billed beside the message that a line states it with."""
    best = found.get(key)
    if best is None:
        best = found[key] = MessageCounts(request.model, time, time, lowest=0, stopped=True)
    best.last = max(best.last, time)
    best.version, best.sidechain = message.version, message.sidechain
    best.terms = _describe_unusual_terms(None, usage.service_tier, usage.inference_geo)
    tokens = take_largest_counts(best.tokens, request.tokens)
    best.input_tokens, best.output_tokens, best.cache_read_input_tokens = tokens[:3]
    best.cache_creation_input_tokens = tokens.cache_write_5m + tokens.cache_write_1h
    best.cache_creation_1h = tokens.cache_write_1h


def _raise_counts(best: MessageCounts, usage: LineUsage, writes: CacheWrites | None) -> None:
    """Take over what one line states more of than those before."""
    if (value := usage.input_tokens) and best.input_tokens < value <= MAX_MESSAGE_TOKENS:
        best.input_tokens = value
    value = usage.output_tokens or 0
    if best.output_tokens < value <= MAX_MESSAGE_TOKENS:
        best.output_tokens = value
    if value < best.lowest or best.lowest < 0:
        best.lowest = value if 0 < value <= MAX_MESSAGE_TOKENS else 0
    if (value := usage.cache_read_input_tokens) and best.cache_read_input_tokens < value <= MAX_MESSAGE_TOKENS:
        best.cache_read_input_tokens = value
    value = usage.cache_creation_input_tokens or 0
    if writes is not None:
        long = writes.ephemeral_1h_input_tokens or 0
        if best.cache_creation_1h < long <= MAX_MESSAGE_TOKENS:
            best.cache_creation_1h = long
            best.cache_creation_input_tokens = max(best.cache_creation_input_tokens, long)
        # The total is not always that of the lifetimes.
        if (both := long + (writes.ephemeral_5m_input_tokens or 0)) > value:
            value = both
    if best.cache_creation_input_tokens < value <= MAX_MESSAGE_TOKENS:
        best.cache_creation_input_tokens = value
    if (tools := usage.server_tool_use) is not None and (value := tools.web_search_requests or 0):
        best.web_searches = max(best.web_searches, min(value, MAX_WEB_SEARCHES))
    best.terms = _describe_unusual_terms(usage.speed, usage.service_tier, usage.inference_geo) or best.terms


def _describe_unusual_terms(*words: str | None) -> str | None:
    return (
        "|".join((word or "")[:MAX_UNUSUAL_CHARS] for word in words)
        if any(word not in _USUAL_TERMS for word in words)
        else None
    )


def merge_counts(parts: Sequence[MessageCounts]) -> MessageCounts:
    """What several files say of one message: when and by whom as the first says, the largest of the numbers.

    An echo is only asked where there is nothing else; of copies with the same time the one that is given first. Whether
    the output can be believed is decided by the lines of all files together, but the client that wrote them is that of
    the first: a copy keeps the numbers of an old client and may bear the version of a new one.
    """
    one = find_leading_copy(parts)
    found = copy(one)
    for other in parts:
        if other is not one:
            _take_larger_counts(found, other)
    return found


def find_leading_copy(parts: Sequence[MessageCounts]) -> MessageCounts:
    """Whichever of several copies has the message first."""
    return min(parts, key=lambda best: (best.sidechain == ECHO_SIDE, best.first or "~"))


def _take_larger_counts(found: MessageCounts, other: MessageCounts) -> None:
    found.input_tokens = max(found.input_tokens, other.input_tokens)
    found.output_tokens = max(found.output_tokens, other.output_tokens)
    found.cache_read_input_tokens = max(found.cache_read_input_tokens, other.cache_read_input_tokens)
    found.cache_creation_input_tokens = max(found.cache_creation_input_tokens, other.cache_creation_input_tokens)
    found.cache_creation_1h = max(found.cache_creation_1h, other.cache_creation_1h)
    found.web_searches = max(found.web_searches, other.web_searches)
    found.letters = max(found.letters, other.letters)
    if other.lowest >= 0:
        found.lowest = min(found.lowest, other.lowest) if found.lowest >= 0 else other.lowest
    found.stopped = found.stopped or other.stopped
    found.terms = found.terms or other.terms
    found.model = found.model or other.model
    found.requests = found.requests or other.requests
