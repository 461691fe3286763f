"""Tokens and money: what every answer used, and what the session has cost so far."""

from __future__ import annotations

from datetime import datetime

from demo.ids import Row, estimate_tokens, pick_number
from demo.journal import Journal

PRICES = {"claude-opus-5-5": (4.0, 20.0, 0.2), "claude-haiku-4-5-20251001": (1.0, 5.0, 0.1)}
"""US dollars per million tokens: input, output and cache reads."""


class Ledger(Journal):
    """A journal that counts tokens and costs."""

    def _count_usage(self, model: str, blocks: list[Row], searches: int) -> Row:
        if (self.clock - self._last_call).total_seconds() > (3600 if self.hour else 300):
            self._cached, self._fresh = 0, self._cached + self._fresh
        self._last_call = self.clock
        read, written, plain = self._cached, self._fresh, pick_number(f"{self.name}{len(self.rows)}", 2, 9)
        out = estimate_tokens(blocks)
        thought = sum(estimate_tokens(raw["thinking"]) for raw in blocks if raw["type"] == "thinking")
        self._cached, self._fresh = read + written, out
        self._fresh += sum(300 for raw in blocks if raw["type"] == "tool_use")
        self._add_spending(model, plain, out, read, written, thought, searches)
        split = {
            "ephemeral_5m_input_tokens": 0 if self.hour else written,
            "ephemeral_1h_input_tokens": written if self.hour else 0,
        }
        usage: Row = {
            "input_tokens": plain,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
        }
        if not self.late:
            return {**usage, "cache_creation": split, "output_tokens": out, "service_tier": "standard"}
        usage |= {"output_tokens": out}
        if self.newest:
            usage |= {"output_tokens_details": {"thinking_tokens": thought}}
        usage |= {
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": split,
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        }
        return usage | ({"fallback_credit": None} if self.newest else {})

    def _add_spending(self, model: str, plain: int, out: int, read: int, written: int, thought: int, web: int) -> None:
        total = self.spent.setdefault(
            model,
            {
                "inputTokens": 0,
                "outputTokens": 0,
                "thinkingTokens": 0,
                "cacheReadInputTokens": 0,
                "cacheCreationInputTokens": 0,
                "cacheCreationEphemeral5mInputTokens": 0,
                "cacheCreationEphemeral1hInputTokens": 0,
                "webSearchRequests": 0,
                "costUSD": 0.0,
            },
        )
        for key, value in (
            ("inputTokens", plain),
            ("outputTokens", out),
            ("thinkingTokens", thought),
            ("cacheReadInputTokens", read),
            ("cacheCreationInputTokens", written),
            ("cacheCreationEphemeral5mInputTokens", written),
            ("webSearchRequests", web),
        ):
            total[key] += value
        if model in PRICES:
            into, outof, cached = PRICES[model]
            cost = ((plain + 1.25 * written) * into + read * cached + out * outof) / 1e6 + web * 0.01
            total["costUSD"] = round(total["costUSD"] + cost, 6)

    def count_context_tokens(self) -> int:
        """Return how many tokens the context contains now."""
        return self._cached + self._fresh

    def drop_context(self, keep: int) -> None:
        """Compact the context to `keep` tokens, none of which are cached."""
        self._cached, self._fresh = 0, keep

    def add_cost_row(self) -> None:
        """Add the running totals that the newest client records."""
        spent = {model: dict(total) for model, total in self.spent.items()}
        busy = sum(total["outputTokens"] for total in spent.values()) * 19
        start = datetime.fromisoformat(next(r["timestamp"] for r in self.rows if "timestamp" in r))
        self.rows.append(
            {
                "type": "cost-state",
                "sessionId": self.sid,
                "totalCostUSD": round(sum(total["costUSD"] for total in spent.values()), 6),
                "totalAPIDuration": busy,
                "totalAPIDurationWithoutRetries": busy,
                "totalToolDuration": busy // 3,
                "totalLinesAdded": self.lines[0],
                "totalLinesRemoved": self.lines[1],
                "totalDuration": round((self.clock - start).total_seconds() * 1000),
                "startTime": int(start.timestamp() * 1000),
                "modelUsage": spent,
                "hasUnknownModelCost": any(model not in PRICES for model in spent),
            }
        )
