"""The requests that make up one message (`usage.iterations`), and what the top-level sums omit.

The API may need several requests for one message. The token counts at the top level are the sum of the requests to the
message's own model. Other requests are billed in addition: an advisor's answer, a compaction on the server, or an
abandoned attempt by a different model. Each request has its own price, because price tiers depend on the size of a
single prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from turnlog.entries.entry import CacheWrites, LineUsage, UsageIteration
from turnlog.session.usage.prices import PricedTokens, parse_model_name

MAX_REQUEST_TOKENS = 10_000_000
"""The maximum number of tokens of one kind in a request; a larger number is wrong and would distort every sum."""
_SEPARATE_TYPES = frozenset({"advisor_message", "compaction"})
_ATTEMPT_TYPES = frozenset({"message", "fallback_message"})
"""The API does not bill an attempt that ended before the model produced output."""


class SeparateRequest(NamedTuple):
    """A billed request that is not included in the message's own totals."""

    place: int
    """Its position in the list."""
    kind: str
    model: str | None
    tokens: PricedTokens


class Iterations(NamedTuple):
    """The requests that make up one message; both fields are empty if there was only one request."""

    own: tuple[PricedTokens, ...]
    """The requests that make up the message's sums."""
    separate: tuple[SeparateRequest, ...]


NO_ITERATIONS = Iterations((), ())


def split_iterations(usage: LineUsage, model: str | None) -> Iterations:
    """Separate the requests that make up a message; `model` is the model that answered."""
    iterations = usage.iterations
    if not iterations or (len(iterations) == 1 and not _is_separate(iterations[0], model)):
        return NO_ITERATIONS
    own: list[PricedTokens] = []
    separate: list[SeparateRequest] = []
    for place, item in enumerate(iterations):
        tokens = _to_tokens(item)
        if not _is_separate(item, model):
            own.append(tokens)
        elif tokens.output or (item.type not in _ATTEMPT_TYPES and any(tokens)):
            separate.append(SeparateRequest(place, item.type or "", item.model or model, tokens))
    return Iterations(tuple(own), tuple(separate))


def find_cache_writes(usage: LineUsage, iterations: Iterations) -> CacheWrites | None:
    """Return cache writes by lifetime; the breakdown at the top level covers only the first request."""
    own = iterations.own
    if not own:
        return usage.cache_creation
    return CacheWrites(sum(tokens.cache_write_5m for tokens in own), sum(tokens.cache_write_1h for tokens in own))


def _is_separate(item: UsageIteration, model: str | None) -> bool:
    if item.type in _SEPARATE_TYPES:
        return True
    return (
        item.model is not None and model is not None and parse_model_name(item.model).key != parse_model_name(model).key
    )


def _to_tokens(item: UsageIteration) -> PricedTokens:
    split = item.cache_creation
    long = _to_count(split.ephemeral_1h_input_tokens if split else None)
    short = _to_count(split.ephemeral_5m_input_tokens if split else None)
    written = max(_to_count(item.cache_creation_input_tokens), long + short)
    return PricedTokens(
        _to_count(item.input_tokens),
        _to_count(item.output_tokens),
        _to_count(item.cache_read_input_tokens),
        written - long,
        long,
    )


def _to_count(value: int | None) -> int:
    return value if value is not None and 0 < value <= MAX_REQUEST_TOKENS else 0


def take_largest_counts(one: PricedTokens, other: PricedTokens) -> PricedTokens:
    """Take the larger value of each field; cache writes are compared by total, then by one-hour writes."""
    prompt, output, read, _, long, searches = map(max, one, other)
    written = max(tokens.cache_write_5m + tokens.cache_write_1h for tokens in (one, other))
    return PricedTokens(prompt, output, read, written - long, long, searches)


def divide_tokens(tokens: PricedTokens, own: Iterable[PricedTokens]) -> list[PricedTokens]:
    """Divide a message's tokens by request; the last request gets any tokens that the requests don't account for."""
    requests = list(own)
    if not requests:
        return [tokens]
    rest = PricedTokens(*(whole - sum(part) for whole, part in zip(tokens, zip(*requests, strict=True), strict=True)))
    if min(rest) < 0:  # the list contradicts the sums, which every line states
        return [tokens]
    return [*requests[:-1], PricedTokens(*map(sum, zip(requests[-1], rest, strict=True)))]


def write_requests(own: Iterable[PricedTokens]) -> str:
    """Format requests for a table column: `input,output,cache read,5-minute writes,1-hour writes;…`."""
    return ";".join(",".join(map(str, tokens[:5])) for tokens in own)


def read_requests(text: str | None) -> list[PricedTokens]:
    """Parse the output of `write_requests`."""
    return [PricedTokens(*map(int, part.split(","))) for part in text.split(";")] if text else []
