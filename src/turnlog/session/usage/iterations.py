"""The requests behind one message: `usage.iterations`, and what of it the sums at the top level leave out.

The API may need several requests for one message. Those of the message's own model add up to the token counts at the
top level. Others are billed on top of that: an advisor's answer, a compaction on the server, an attempt of another
model that was broken off and replaced. Each request has a price of its own: tiers depend on the size of one prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from turnlog.entries.entry import CacheWrites, Usage, UsageIteration
from turnlog.session.usage.prices import Tokens, name

MAX_REQUEST_TOKENS = 10_000_000
"""No request has more tokens of a kind: a number above is no count, and would spoil every sum that it is in."""
_ALWAYS_SEPARATE = frozenset({"advisor_message", "compaction"})
_ATTEMPTS = frozenset({"message", "fallback_message"})
"""The API does not bill an attempt that ended before the model had said anything."""


class SeparateRequest(NamedTuple):
    """A request that is billed and not in the message's own sums."""

    place: int
    """Where it stands in the list."""
    kind: str
    model: str | None
    tokens: Tokens


class Iterations(NamedTuple):
    """The requests behind one message; both empty where there is nothing to tell apart."""

    own: tuple[Tokens, ...]
    """Those that the message's sums are made of."""
    separate: tuple[SeparateRequest, ...]


NO_ITERATIONS = Iterations((), ())


def split_iterations(usage: Usage, model: str | None) -> Iterations:
    """Tell the requests of a message apart; `model` is the one that answered."""
    listed = usage.iterations
    if not listed or (len(listed) == 1 and not _is_separate(listed[0], model)):
        return NO_ITERATIONS
    own: list[Tokens] = []
    separate: list[SeparateRequest] = []
    for place, item in enumerate(listed):
        tokens = _tokens_of(item)
        if not _is_separate(item, model):
            own.append(tokens)
        elif tokens.output or (item.type not in _ATTEMPTS and any(tokens)):
            separate.append(SeparateRequest(place, item.type or "", item.model or model, tokens))
    return Iterations(tuple(own), tuple(separate))


def cache_writes(usage: Usage, iterations: Iterations) -> CacheWrites | None:
    """What was written to the cache by lifetime: at the top level stands the split of the first request alone."""
    own = iterations.own
    if not own:
        return usage.cache_creation
    return CacheWrites(sum(tokens.cache_write_5m for tokens in own), sum(tokens.cache_write_1h for tokens in own))


def _is_separate(item: UsageIteration, model: str | None) -> bool:
    if item.type in _ALWAYS_SEPARATE:
        return True
    return item.model is not None and model is not None and name(item.model).key != name(model).key


def _tokens_of(item: UsageIteration) -> Tokens:
    split = item.cache_creation
    long = _count(split.ephemeral_1h_input_tokens if split else None)
    short = _count(split.ephemeral_5m_input_tokens if split else None)
    written = max(_count(item.cache_creation_input_tokens), long + short)
    return Tokens(
        _count(item.input_tokens),
        _count(item.output_tokens),
        _count(item.cache_read_input_tokens),
        written - long,
        long,
    )


def _count(value: int | None) -> int:
    return value if value is not None and 0 < value <= MAX_REQUEST_TOKENS else 0


def largest_counts(one: Tokens, other: Tokens) -> Tokens:
    """The larger value of each field; cache writes are compared as a whole, then those for an hour."""
    given, output, read, _, long, searches = map(max, one, other)
    written = max(tokens.cache_write_5m + tokens.cache_write_1h for tokens in (one, other))
    return Tokens(given, output, read, written - long, long, searches)


def divide(tokens: Tokens, own: Iterable[Tokens]) -> list[Tokens]:
    """A message's tokens by request; what the requests do not account for goes to the last one."""
    requests = list(own)
    if not requests:
        return [tokens]
    rest = Tokens(*(whole - sum(part) for whole, part in zip(tokens, zip(*requests, strict=True), strict=True)))
    if min(rest) < 0:  # the list and the sums contradict each other: the sums are what every line states
        return [tokens]
    return [*requests[:-1], Tokens(*map(sum, zip(requests[-1], rest, strict=True)))]


def write_requests(own: Iterable[Tokens]) -> str:
    """Some requests as text, for a column of a table: `input,output,read,written for 5 minutes,for an hour;…`."""
    return ";".join(",".join(map(str, tokens[:5])) for tokens in own)


def read_requests(text: str | None) -> list[Tokens]:
    """What `write_requests` wrote."""
    return [Tokens(*map(int, part.split(","))) for part in text.split(";")] if text else []
