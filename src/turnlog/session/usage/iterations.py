"""The requests behind one message: `usage.iterations`, and what of it the sums at the top level leave out.

The API may need several requests for one message. Those of the message's own model add up to the token counts at the
top level. Others are billed on top of that: an advisor's answer, a compaction on the server, an attempt of another
model that was broken off and replaced. Each request has a price of its own: tiers depend on the size of one prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from turnlog.entries.entry import CacheWrites, LineUsage, UsageIteration
from turnlog.session.usage.prices import PricedTokens, parse_model_name

MAX_REQUEST_TOKENS = 10_000_000
"""No request has more tokens of a kind: a number above is no count, and would spoil every sum that it is in."""
_SEPARATE_TYPES = frozenset({"advisor_message", "compaction"})
_ATTEMPT_TYPES = frozenset({"message", "fallback_message"})
"""The API does not bill an attempt that ended before the model had said anything."""


class SeparateRequest(NamedTuple):
    """A request that is billed and not in the message's own sums."""

    place: int
    """Where it stands in the list."""
    kind: str
    model: str | None
    tokens: PricedTokens


class Iterations(NamedTuple):
    """The requests behind one message; both empty where there is nothing to tell apart."""

    own: tuple[PricedTokens, ...]
    """Those that the message's sums are made of."""
    separate: tuple[SeparateRequest, ...]


NO_ITERATIONS = Iterations((), ())


def split_iterations(usage: LineUsage, model: str | None) -> Iterations:
    """Tell the requests of a message apart; `model` is the one that answered."""
    listed = usage.iterations
    if not listed or (len(listed) == 1 and not _is_separate(listed[0], model)):
        return NO_ITERATIONS
    own: list[PricedTokens] = []
    separate: list[SeparateRequest] = []
    for place, item in enumerate(listed):
        tokens = _to_tokens(item)
        if not _is_separate(item, model):
            own.append(tokens)
        elif tokens.output or (item.type not in _ATTEMPT_TYPES and any(tokens)):
            separate.append(SeparateRequest(place, item.type or "", item.model or model, tokens))
    return Iterations(tuple(own), tuple(separate))


def find_cache_writes(usage: LineUsage, iterations: Iterations) -> CacheWrites | None:
    """What was written to the cache by lifetime: at the top level stands the split of the first request alone."""
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
    """The larger value of each field; cache writes are compared as a whole, then those for an hour."""
    given, output, read, _, long, searches = map(max, one, other)
    written = max(tokens.cache_write_5m + tokens.cache_write_1h for tokens in (one, other))
    return PricedTokens(given, output, read, written - long, long, searches)


def divide_tokens(tokens: PricedTokens, own: Iterable[PricedTokens]) -> list[PricedTokens]:
    """A message's tokens by request; what the requests do not account for goes to the last one."""
    requests = list(own)
    if not requests:
        return [tokens]
    rest = PricedTokens(*(whole - sum(part) for whole, part in zip(tokens, zip(*requests, strict=True), strict=True)))
    if min(rest) < 0:  # the list and the sums contradict each other: the sums are what every line states
        return [tokens]
    return [*requests[:-1], PricedTokens(*map(sum, zip(requests[-1], rest, strict=True)))]


def write_requests(own: Iterable[PricedTokens]) -> str:
    """Some requests as text, for a column of a table: `input,output,read,written for 5 minutes,for an hour;…`."""
    return ";".join(",".join(map(str, tokens[:5])) for tokens in own)


def read_requests(text: str | None) -> list[PricedTokens]:
    """What `write_requests` wrote."""
    return [PricedTokens(*map(int, part.split(","))) for part in text.split(";")] if text else []
