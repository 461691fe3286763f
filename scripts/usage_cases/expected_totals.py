"""What a correct count returns: sums and costs by plain arithmetic, from the list prices below."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

# US dollars for a million tokens: input, output, cache read, five-minute write, one-hour write.
PRICES: dict[str, tuple[str, str, str, str, str]] = {
    "claude-fable-5": ("10", "50", "1", "12.5", "20"),
    "claude-opus-5": ("5", "25", "0.5", "6.25", "10"),
    "claude-opus-4-5-20251101": ("5", "25", "0.5", "6.25", "10"),
    "claude-haiku-4-5-20251001": ("1", "5", "0.1", "1.25", "2"),
    "claude-sonnet-4-5-20250929": ("3", "15", "0.3", "3.75", "6"),
    "claude-sonnet-4-6": ("3", "15", "0.3", "3.75", "6"),
}
LONG_CONTEXT = ("6", "22.5", "0.6", "7.5", "12")
"""Sonnet 4.5, and Sonnet 4.6 until 2026-03-13, for a whole request with a prompt above 200,000 tokens."""
SEARCH = Fraction(10, 1000)
QUALITIES = ("final", "partial", "placeholder", "missing")


@dataclass(frozen=True)
class CountedMessage:
    """A message that counts."""

    model: str = "claude-opus-5"
    input: int = 0
    output: int = 0
    read: int = 0
    short: int = 0
    long: int = 0
    searches: int = 0
    quality: str = "final"
    session: str | None = None
    """The name of the session that pays, if the case requires it."""
    days: dict[str, str] = field(default_factory=dict)
    """The day by time zone, if the case requires it."""
    prices: tuple[str, str, str, str, str] | None = None
    factor: str = "1"
    is_further: bool = False
    """Whether this is another request of the previous message, with its own price, and not a message itself."""

    @property
    def tokens(self) -> tuple[int, int, int, int, int]:
        """The tokens by type of price."""
        return self.input, self.output, self.read, self.short, self.long

    @property
    def cost(self) -> Fraction | None:
        """The cost in US dollars, or None if the model has no known price."""
        prices = self.prices or PRICES.get(self.model)
        if prices is None:
            return None
        million = sum(Fraction(price) * number for price, number in zip(prices, self.tokens, strict=True))
        return million * Fraction(self.factor) / 1_000_000 + self.searches * SEARCH


def sum_messages(messages: Iterable[CountedMessage]) -> dict[str, Any]:
    items = list(messages)
    return {
        "messages": sum(not item.is_further for item in items),
        "input_tokens": sum(item.input for item in items),
        "output_tokens": sum(item.output for item in items),
        "cache_read_input_tokens": sum(item.read for item in items),
        "cache_creation_input_tokens": sum(item.short + item.long for item in items),
        "cost_usd": float(sum((item.cost or Fraction(0) for item in items), Fraction(0))),
        "unpriced_tokens": sum(sum(item.tokens) for item in items if item.cost is None),
        "quality": {name: sum(item.quality == name and not item.is_further for item in items) for name in QUALITIES},
    }
