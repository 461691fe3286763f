"""Counts the tokens and cost of many messages, each message only once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import mul
from typing import NamedTuple

from msgspec import Struct

from turnlog.entries.reader import pause_garbage_collector
from turnlog.session.messages import Message, PriceTerms
from turnlog.session.usage.iterations import divide_tokens
from turnlog.session.usage.message_counts import QUALITIES
from turnlog.session.usage.prices import (
    PICO_PER_DOLLAR,
    SYNTHETIC_MODEL,
    UNPRICED_COST,
    Cost,
    CostParts,
    PicoRates,
    PricedTokens,
    compute_cost,
    find_context_window,
    find_pico_rates,
)

_USUAL_TERMS = PriceTerms(None, None, None)


class Usage(Struct):
    """The tokens and cost of a set of messages."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_5m: int = 0
    cache_creation_1h: int = 0
    web_searches: int = 0
    unpriced_tokens: int = 0
    """Tokens of models without a known price; the cost does not include them."""
    quality: dict[str, int] = {}
    """The number of messages of each quality."""
    _pico: int = 0

    @property
    def cost_usd(self) -> float:
        """The cost in US dollars, excluding unpriced tokens."""
        return self._pico / PICO_PER_DOLLAR


class BilledRequest(NamedTuple):
    """One billed request that is part of a message."""

    kind: str
    """`message`, or the type that the list of requests gives: `advisor_message`, `compaction` …"""
    model: str | None
    tokens: PricedTokens
    terms: PriceTerms

    def compute_cost(self, at: str | None) -> Cost:
        """Compute the cost of the request, given the time at which it was sent (`at`)."""
        speed, tier, geo = self.terms
        return compute_cost(self.model, self.tokens, speed=speed, service_tier=tier, geo=geo, at=at)


def list_billed_requests(message: Message) -> list[BilledRequest]:
    """List the requests that make up a message: first those of its own model, then others such as an advisor's."""
    if message.tokens is None:
        return []
    own = _list_own_requests(message, message.tokens)
    return [*own, *list_separate_requests(message)] if message.separate_requests else own


def _list_own_requests(message: Message, tokens: PricedTokens) -> list[BilledRequest]:
    model, terms = message.model, message.terms or _USUAL_TERMS
    if not message.own_requests:  # as in nearly every message
        return [BilledRequest("message", model, tokens, terms)]
    return [BilledRequest("message", model, part, terms) for part in divide_tokens(tokens, message.own_requests)]


def list_separate_requests(message: Message) -> Iterator[BilledRequest]:
    """Yield the requests that are billed in addition to the message's own tokens."""
    if message.separate_requests:
        terms = (message.terms or _USUAL_TERMS)._replace(speed=None)  # only the requested model answers in fast mode
        for _, kind, model, tokens in message.separate_requests:
            yield BilledRequest(kind, model, tokens, terms)


@pause_garbage_collector()
def sum_usage(messages: Iterable[Message]) -> Usage:
    """Sum the usage of messages; repeated messages are counted once, and synthetic ones are not counted."""
    quality: dict[str, int] = dict.fromkeys(QUALITIES, 0)
    billed: dict[PicoRates | None, list[PricedTokens]] = {}
    seen: set[str] = set()
    for message in messages:
        if message.model == SYNTHETIC_MODEL or message.key in seen:
            continue
        seen.add(message.key)
        quality[message.quality] += 1
        quality["final"] += len(message.separate_requests)
        for _, model, tokens, terms in list_billed_requests(message):
            rates = find_pico_rates(model, tokens, *terms, message.started_at)
            billed.setdefault(rates, []).append(tokens)
    # Add up the tokens per rate before multiplying: there are few different rates.
    sums = {rates: _sum_tokens(group) for rates, group in billed.items()}
    unpriced = sums.get(None, PricedTokens())
    every = _sum_tokens(sums.values())
    return Usage(
        every.input,
        every.output,
        every.cache_read,
        every.cache_write_5m + every.cache_write_1h,
        every.cache_write_5m,
        every.cache_write_1h,
        every.web_searches,
        sum_context_tokens(unpriced) + unpriced.output,
        quality,
        sum(sum(map(mul, tokens, rates)) for rates, tokens in sums.items() if rates),
    )


def _sum_tokens(tokens: Iterable[PricedTokens]) -> PricedTokens:
    return PricedTokens(*map(sum, zip(*tokens, strict=True)))


def compute_message_cost(message: Message) -> Cost:
    """Compute the cost of all requests for a message; it is unpriced if any of the models has no known price."""
    return _sum_costs(
        [
            compute_own_cost(message),
            *(request.compute_cost(message.started_at) for request in list_separate_requests(message)),
        ]
    )


def compute_own_cost(message: Message) -> Cost:
    """Compute the cost of a message's own tokens, without separately billed requests."""
    return _sum_costs(
        [
            request.compute_cost(message.started_at)
            for request in _list_own_requests(message, message.tokens or PricedTokens())
        ]
    )


def _sum_costs(costs: list[Cost]) -> Cost:
    if len(costs) == 1:
        return costs[0]
    if any(item.pico is None for item in costs):
        return UNPRICED_COST
    parts = CostParts(*map(sum, zip(*(item.parts for item in costs), strict=True)))
    return Cost(sum(parts), parts)


def sum_context_tokens(tokens: PricedTokens) -> int:
    """Return how many tokens of the context window a request filled."""
    return tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h


def count_context_tokens(message: Message) -> int:
    """Return how many tokens of the context window a message's last request filled, or 0 if unknown."""
    if message.tokens is None or message.is_synthetic:
        return 0
    # A sum over several requests would count the same prompt several times.
    last = sum_context_tokens(message.own_requests[-1]) if message.own_requests else 0
    return last or sum_context_tokens(message.tokens)


class MessageFill(NamedTuple):
    """How full the context window was when a message was requested."""

    message: str
    time: str | None
    tokens: int
    window: int | None
    """The size of the model's window; None for an unknown model."""


def list_message_fills(messages: Iterable[Message]) -> list[MessageFill]:
    """List how full the context window was at each message that records its usage."""
    return [
        MessageFill(message.key, message.started_at, filled, find_context_window(message.model, filled))
        for message in messages
        if (filled := count_context_tokens(message))
    ]
