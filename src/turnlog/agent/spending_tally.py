"""Counts what a session has used and spent, and enforces its limits."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from turnlog.agent.setup import TurnLimits
from turnlog.model.answer import ModelAnswer
from turnlog.session.usage.prices import PricedTokens, compute_cost


class LimitReached(Exception):
    """Raised when a limit is reached (`max_turns`, `budget`) or can't be enforced (`error`)."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ModelSpending(Struct):
    """The tokens and cost of one model."""

    tokens: PricedTokens = PricedTokens()
    dollars: float = 0.0


class SpendingTally:
    """The usage of one actor; a session's usage includes that of its sub-agents."""

    def __init__(self, above: SpendingTally | None = None) -> None:
        self.models: dict[str, ModelSpending] = {}
        self.requests = 0
        self.milliseconds = 0.0
        """Time spent waiting for the model."""
        self._above = above
        """The session's tally, which includes the usage of sub-agents, since they share one budget."""
        self._unpriced: str | None = None
        self._lock = threading.Lock()

    @property
    def dollars(self) -> float:
        """The total cost of all models that have a known price."""
        return sum(used.dollars for used in self.models.values())

    def add_answer(self, answer: ModelAnswer, milliseconds: float) -> None:
        tokens = count_priced_tokens(answer.usage)
        price = compute_cost(answer.model, tokens).usd
        with self._lock:
            used = self.models.setdefault(answer.model, ModelSpending())
            used.tokens = PricedTokens(*(one + another for one, another in zip(used.tokens, tokens, strict=True)))
            used.dollars += price or 0.0
            self.requests += 1
            self.milliseconds += milliseconds
            if price is None:
                self._unpriced = answer.model
        if self._above is not None:
            self._above.add_answer(answer, milliseconds)

    def check_limits(self, limits: TurnLimits, turns: int) -> None:
        """Raise LimitReached if a limit has been reached or can't be enforced."""
        if limits.turns is not None and turns >= limits.turns:
            raise LimitReached("max_turns", f"Reached the maximum number of turns ({limits.turns})")
        self.check_budget(limits)

    def check_budget(self, limits: TurnLimits) -> None:
        """Raise LimitReached if the budget is used up or can't be enforced."""
        if limits.dollars is None:
            return
        session = self._above or self
        if session._unpriced:
            raise LimitReached("error", f"The price of {session._unpriced} is unknown, so the budget can't be enforced")
        if session.dollars >= limits.dollars:
            raise LimitReached("budget", f"Reached the budget of ${limits.dollars:g}: ${session.dollars:.4f} spent")


def count_priced_tokens(usage: Mapping[str, Any]) -> PricedTokens:
    """Convert the API's usage into token counts by price category."""

    def number(name: str, of: Mapping[str, Any] = usage) -> int:
        value = of.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    split = usage.get("cache_creation")
    split = split if isinstance(split, Mapping) else {}
    hour = number("ephemeral_1h_input_tokens", split)
    written = number("cache_creation_input_tokens")
    server = usage.get("server_tool_use")
    searches = number("web_search_requests", server) if isinstance(server, Mapping) else 0
    return PricedTokens(
        input=number("input_tokens"),
        output=number("output_tokens"),
        cache_read=number("cache_read_input_tokens"),
        cache_write_5m=max(written - hour, number("ephemeral_5m_input_tokens", split)),
        cache_write_1h=hour,
        web_searches=searches,
    )


def count_window_tokens(usage: Mapping[str, Any]) -> int:
    """Return how many tokens of the window a request and its answer occupy."""
    return sum(count_priced_tokens(usage)[:5])  # without web searches, which are not tokens
