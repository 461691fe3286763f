"""What the client's own totals say beside the counted messages, in words."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from turnlog.render.figures import format_cost_usd, format_count
from turnlog.session.client_totals import ClientTotals, ModelTotals

MAX_NAMED_MODELS = 20
_REST_LABELS = {
    "more": "Requests without a message",
    "carried_over": "Carried over by the fork, or without a message",
}


def describe_client_totals(totals: ClientTotals | None) -> Iterator[str]:
    """Yield a line for what each model did besides the counted messages, and one for the client's own total."""
    if totals is None:
        return
    if totals.agreement == "less":
        yield f"Client's own total: {format_cost_usd(totals.whole.cost_usd) or '$0'}; it does not cover all messages"
        return
    for model, rest in islice(totals.rest.items(), MAX_NAMED_MODELS):
        yield f"{_REST_LABELS[totals.agreement]}: {model}, {_format_totals(rest)}"
    if totals.rest:
        yield f"Client's own total: {_format_totals(totals.whole)}{_describe_later(totals.later_messages)}"


def _format_totals(totals: ModelTotals) -> str:
    parts = [f"{totals.input:,} in", f"{totals.output:,} out"]
    parts += [f"{totals.cache_read:,} read from cache"] if totals.cache_read else []
    parts += [f"{totals.cache_write:,} written to cache"] if totals.cache_write else []
    parts += [format_count(totals.web_searches, "web search", "web searches")] if totals.web_searches else []
    return f"{', '.join(parts)} · {format_cost_usd(totals.cost_usd) or '$0'}"


def _describe_later(count: int) -> str:
    return f" (without the last {format_count(count, 'message')})" if count else ""
