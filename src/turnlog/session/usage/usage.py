"""Tokens and cost of many messages, each message once."""

from __future__ import annotations

from collections.abc import Iterable
from operator import mul
from typing import NamedTuple

from msgspec import Struct

from turnlog.entries.reader import collector_off
from turnlog.session.messages import Message, Quality, Terms
from turnlog.session.usage.prices import PICO, SYNTHETIC, Cost, PicoRates, Tokens, cost, pico_rates, window

QUALITIES: tuple[Quality, ...] = ("final", "partial", "placeholder", "missing")
_USUAL = Terms(None, None, None)


class Usage(Struct):
    """What some messages used and cost."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_5m: int = 0
    cache_creation_1h: int = 0
    web_searches: int = 0
    unpriced_tokens: int = 0
    """Tokens of models without a known price; they are not in the cost."""
    quality: dict[str, int] = {}
    """How many messages have which quality."""
    _pico: int = 0

    @property
    def cost_usd(self) -> float:
        """The cost of what can be priced, in US dollars."""
        return self._pico / PICO


@collector_off()
def total(messages: Iterable[Message]) -> Usage:
    """The usage of some messages; a message that is given twice counts once, synthetic ones not at all."""
    quality: dict[str, int] = dict.fromkeys(QUALITIES, 0)
    billed: dict[PicoRates | None, list[Tokens]] = {}
    seen: set[str] = set()
    for message in messages:
        if message.model == SYNTHETIC or message.key in seen:
            continue
        seen.add(message.key)
        quality[message.quality] += 1
        if (tokens := message.tokens) is not None:
            rates = pico_rates(message.model, tokens, *(message.terms or _USUAL), message.started)
            billed.setdefault(rates, []).append(tokens)
    # What one rate applies to is added up first: a sum of products is a product of sums, and few rates occur.
    sums = {rates: _sum(group) for rates, group in billed.items()}
    unpriced = sums.get(None, Tokens())
    every = _sum(sums.values())
    return Usage(
        every.input,
        every.output,
        every.cache_read,
        every.cache_write_5m + every.cache_write_1h,
        every.cache_write_5m,
        every.cache_write_1h,
        every.web_searches,
        context_of(unpriced) + unpriced.output,
        quality,
        sum(sum(map(mul, tokens, rates)) for rates, tokens in sums.items() if rates),
    )


def _sum(tokens: Iterable[Tokens]) -> Tokens:
    return Tokens(*map(sum, zip(*tokens, strict=True)))


def cost_of(message: Message) -> Cost:
    """What a message cost; unpriced when its model has no known price."""
    speed, tier, geo = message.terms or _USUAL
    return cost(message.model, message.tokens or Tokens(), speed=speed, service_tier=tier, geo=geo, at=message.started)


def context_of(tokens: Tokens) -> int:
    """How much of the context window a request filled."""
    return tokens.input + tokens.cache_read + tokens.cache_write_5m + tokens.cache_write_1h


class Fill(NamedTuple):
    """How full the context window was when a message was asked for."""

    message: str
    time: str | None
    tokens: int
    window: int | None
    """The size of the model's window; None for a model that is not known."""


def fills(messages: Iterable[Message]) -> list[Fill]:
    """The filling of the context window at each message that states its usage."""
    return [
        Fill(message.key, message.started, filled, window(message.model, filled))
        for message in messages
        if message.tokens is not None and not message.is_synthetic and (filled := context_of(message.tokens))
    ]
