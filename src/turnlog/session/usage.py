"""Tokens and cost of many messages, each message once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from .messages import Message, Quality
from .prices import PICO, Cost, Tokens, cost, window

QUALITIES: tuple[Quality, ...] = ("final", "partial", "placeholder", "missing")


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

    def add(self, message: Message) -> None:
        """Count one message."""
        self.quality[message.quality] = self.quality.get(message.quality, 0) + 1
        tokens = message.tokens
        if tokens is None:
            return
        self.input_tokens += tokens.input
        self.output_tokens += tokens.output
        self.cache_read_input_tokens += tokens.cache_read
        self.cache_creation_input_tokens += tokens.cache_write_5m + tokens.cache_write_1h
        self.cache_creation_5m += tokens.cache_write_5m
        self.cache_creation_1h += tokens.cache_write_1h
        self.web_searches += tokens.web_searches
        pico = cost_of(message).pico
        if pico is None:
            self.unpriced_tokens += context_of(tokens) + tokens.output
        else:
            self._pico += pico


def total(messages: Iterable[Message]) -> Usage:
    """The usage of some messages; a message that is given twice counts once, synthetic ones not at all."""
    found = Usage(quality=dict.fromkeys(QUALITIES, 0))
    seen: set[str] = set()
    for message in messages:
        if message.key not in seen and not message.is_synthetic:
            seen.add(message.key)
            found.add(message)
    return found


def cost_of(message: Message) -> Cost:
    """What a message cost; unpriced when its model has no known price."""
    speed, tier, geo = message.terms or (None, None, None)
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
