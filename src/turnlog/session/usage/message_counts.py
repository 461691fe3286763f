"""Usage of assistant messages, counted line by line: the largest value of each field, and how reliable it is.

The lines of a message repeat its usage and id, both within one file and in the copies that forks and branches make. A
`MessageCounts` is what one file records about a message; `merge_counts` joins several. A request that is billed in
addition to the message, such as an advisor's, is counted like a separate message, with the key `<message
key>#<position>`.
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
"""How many characters to keep of values that a file can make arbitrarily long."""
ECHO_SIDE = 2
_USUAL_TERMS = frozenset((None, "", "standard", "not_available", "global"))


class CountedMessage(Protocol):
    """The fields of a line's `message` that are needed for counting."""

    @property
    def id(self) -> str | None:
        """The id that all lines of the message share."""

    @property
    def model(self) -> str | None:
        """The model that answered."""

    @property
    def stop_reason(self) -> str | None:
        """Why the answer ended, or None if not yet known."""

    @property
    def usage(self) -> LineUsage | None:
        """The token counts on the line."""


class CountedLine(Protocol):
    """The fields of a line that are needed for counting, from an `Entry` or another decoded form."""

    @property
    def type(self) -> str | None:
        """`assistant` for a line that is counted."""

    @property
    def uuid(self) -> str | None:
        """The line's own id."""

    @property
    def timestamp(self) -> str | None:
        """When the line was written."""

    @property
    def version(self) -> str | None:
        """The version of the client that wrote the line."""

    @property
    def is_sidechain(self) -> bool | None:
        """Whether a sub-agent wrote the line."""

    @property
    def message(self) -> CountedMessage | None:
        """The message of which the line is a part."""


class CountedHead(Struct, gc=False):
    """The counted fields of a line's `message`."""

    model: str | None = None
    id: str | None = None
    stop_reason: str | None = None
    usage: LineUsage | None = None


class EchoLine(Struct, gc=False):
    """A sub-agent's line as repeated in `data.message` of a progress entry in the session."""

    type: str | None = None
    timestamp: str | None = None
    message: CountedHead | None = None
    uuid: str | None = None
    version: str | None = None
    """The version of the enclosing entry; the line itself has none."""
    is_sidechain: bool | None = True


class MessageCounts(Struct, gc=False, array_like=True):
    """The largest value of each field on any line of a message."""

    model: str | None
    first: str
    """The timestamp of its first line in the first file that contains it."""
    last: str
    """The latest timestamp of its lines in that file."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_1h: int = 0
    web_searches: int = 0
    lowest: int = -1
    """The smallest output count on any line, or -1 if no line states any usage yet."""
    stopped: bool = False
    """Whether a line states a stop reason."""
    sidechain: int = 0
    """1 if a sub-agent wrote it, or ECHO_SIDE if the file contains only echoes of it."""
    version: str | None = None
    """The version of the client that wrote its last line."""
    terms: str | None = None
    """`speed|service_tier|inference_geo` if one of them is unusual."""
    letters: int = 0
    """The number of characters in its text, thinking and inputs, which the caller counts."""
    requests: str | None = None
    """The tokens of each of its requests, if there were several (`iterations.write_requests`)."""

    @property
    def tokens(self) -> PricedTokens:
        """The tokens grouped by price."""
        long = self.cache_creation_1h
        short = self.cache_creation_input_tokens - long
        return PricedTokens(
            self.input_tokens, self.output_tokens, self.cache_read_input_tokens, short, long, self.web_searches
        )

    @property
    def quality(self) -> Quality:
        """How reliable the output tokens are."""
        if self.lowest < 0:
            return "missing"
        grew = self.output_tokens > self.lowest
        return judge_usage_quality(stopped=self.stopped, grew=grew, version=self.version, sidechain=self.sidechain > 0)


def judge_usage_quality(*, stopped: bool, grew: bool, version: str | None, sidechain: bool) -> Quality:
    """Determine how reliable a message's output tokens are, based on the client version (docs/format.md).

    A stop reason is written only once the counts are final. Without one, clients up to 2.1.7 often have the true count
    on the last line; 2.1.8 to 2.1.29 have the placeholder from the start of the stream on every line; 2.1.30 to 2.1.62
    sometimes have growing counts; newer clients omit the stop reason only for an interrupted answer or in a sub-agent's
    file.
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
    """Parse a client version for comparison; an unknown version sorts last."""
    parts = (version or "").split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else (999,)


def count_echo(found: dict[str, MessageCounts], entry: Body, name: str, offset: int) -> MessageCounts | None:
    """Add the sub-agent's line that a progress entry repeats, and count its characters; ignore other entries."""
    data = entry.get("data")
    inner = data.get("message") if isinstance(data, dict) else None
    if not isinstance(inner, dict):
        return None
    version = entry.get("version")
    fields = inner | {"version": version if isinstance(version, str) else None, "is_sidechain": True}
    try:
        line = convert(fields, EchoLine)
    except CONVERSION_ERRORS:
        line = fit_struct(EchoLine, fields)
    best = count_line(found, line, name, offset, ECHO_SIDE)
    message = inner.get("message")
    if best is not None and isinstance(message, dict):
        best.letters += _count_letters(message.get("content"))
    return best


def _count_letters(content: object) -> int:
    """Count the characters in the text, thinking and inputs of a message's content."""
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return sum(_count_chars(block.get(key)) for block in blocks for key in ("text", "thinking", "input"))


def _count_chars(value: object) -> int:
    if isinstance(value, dict | list):
        return sum(map(_count_chars, value.values() if isinstance(value, dict) else value))
    return len(value) if isinstance(value, str) else 0


def count_line(
    found: dict[str, MessageCounts], line: CountedLine, name: str, offset: int, side: int = 0
) -> MessageCounts | None:
    """Add one line to the messages of its file; `name` is the file's name, and `offset` is the line's position.

    Return the message, or None if the line is not part of a model's answer. `side` is ECHO_SIDE for a line that a
    progress entry repeats.
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
        if not usage.iterations:
            _raise_counts(best, usage, usage.cache_creation)
            return best
        iterations = split_iterations(usage, best.model)
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
    """Add a request that is billed in addition to the message whose line records it."""
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
    """Raise each count to the value on a line if that is larger."""
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
        # The total does not always match the sum of the lifetimes.
        if (both := long + (writes.ephemeral_5m_input_tokens or 0)) > value:
            value = both
    if best.cache_creation_input_tokens < value <= MAX_MESSAGE_TOKENS:
        best.cache_creation_input_tokens = value
    if (tools := usage.server_tool_use) is not None and (value := tools.web_search_requests or 0):
        best.web_searches = max(best.web_searches, min(value, MAX_WEB_SEARCHES))
    best.terms = _describe_unusual_terms(usage.speed, usage.service_tier, usage.inference_geo) or best.terms


def _describe_unusual_terms(speed: str | None, tier: str | None, geo: str | None) -> str | None:
    if speed in _USUAL_TERMS and tier in _USUAL_TERMS and geo in _USUAL_TERMS:
        return None
    return "|".join((term or "")[:MAX_UNUSUAL_CHARS] for term in (speed, tier, geo))


def merge_counts(parts: Sequence[MessageCounts]) -> MessageCounts:
    """Merge what several files record about a message: the first file's time and client, and the largest numbers.

    An echo is treated as the first record only if there is no other; of copies with the same time, the first argument
    comes first. The lines in all files together determine the quality, but the first file provides the client version:
    a copy keeps the numbers from an old client and may have the version of a new one.
    """
    leader = find_leading_copy(parts)
    merged = copy(leader)
    for other in parts:
        if other is not leader:
            _take_larger_counts(merged, other)
    return merged


def find_leading_copy(parts: Sequence[MessageCounts]) -> MessageCounts:
    """Return the copy that recorded the message first."""
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
