"""A report of usage for programs: as a JSON document, with what is counted in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.store.usage.time_zones import format_client_time
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR, UsageSum

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.groupings import UsageGrouping
    from turnlog.store.usage.usage_reports import UsageReport, UsageReportRow, UsageRequest
    from turnlog.store.usage.usage_sums import ToolUsageRow

USAGE_QUALITIES = ("final", "partial", "placeholder", "missing")


class UsageReportDetails(NamedTuple):
    """A report, and what it was made from."""

    request: UsageRequest
    report: UsageReport
    prices: str | None
    """The day of the price table."""
    is_indexed: bool = True
    """Whether it comes out of the index; else the files were scanned, which tells nothing of calls and letters."""
    is_demo: bool = False

    def get_grouping(self) -> UsageGrouping:
        """What its rows are."""
        from turnlog.store.usage.groupings import find_grouping

        return find_grouping(self.request.kind)


def load_usage_report(db: apsw.Connection, request: UsageRequest, *, is_demo: bool = False) -> UsageReportDetails:
    """A report out of an index; where prices or rules are newer than its sums, these are made again first."""
    from turnlog.store.index.price_mark import is_spend_current, read_price_date
    from turnlog.store.usage.groupings import build_usage_report

    if not is_spend_current(db):
        from turnlog.store.file_lock import open_write_transaction
        from turnlog.store.index.spend_table import renew_spend

        with open_write_transaction(db):
            renew_spend(db, None)
    return UsageReportDetails(request, build_usage_report(db, request), read_price_date(db), is_demo=is_demo)


def to_usage_document(shown: UsageReportDetails) -> dict[str, Any]:
    """A report as a JSON document."""
    request, report = shown.request, shown.report
    total = {"calls": to_all_calls_document(shown)} if shown.get_grouping().counts_calls else {}
    return {
        "kind": request.kind,
        "definition": describe_usage_counting(shown),
        "timezone": request.zone.name,
        "since": request.since and request.since.isoformat(),
        "until": request.until and request.until.isoformat(),
        "project": request.project,
        "model": request.model,
        "prices": shown.prices,
        "sessions": report.sessions,
        "gone_sessions": report.gone,
        "sessions_with_usage": report.with_usage,
        "demo": shown.is_demo,
        "rows": list_row_documents(shown),
        "total": {**to_amounts_document(report.total), **total},
    }


def list_row_documents(shown: UsageReportDetails) -> list[dict[str, Any]]:
    """The rows of a report under the names of the document."""
    grouping = shown.get_grouping()
    if grouping.counts_calls:
        return [{"tool": row.tool, **_to_calls_document(row)} for row in shown.report.tools]
    return [_to_row_document(row, grouping) for row in shown.report.rows]


def _to_row_document(row: UsageReportRow, grouping: UsageGrouping) -> dict[str, Any]:
    found = {**grouping.to_document(row.labels), **to_amounts_document(row.sum)}
    return found if row.whole is None else {**found, "whole": to_amounts_document(row.whole)}


def to_amounts_document(found: UsageSum) -> dict[str, Any]:
    """A sum under the names that the API has for its parts."""
    return {
        "messages": found.messages,
        "input_tokens": found.input,
        "output_tokens": found.output,
        "cache_read_input_tokens": found.cache_read,
        "cache_creation_input_tokens": found.cache_write,
        "cache_creation_5m": found.cache_write_5m,
        "cache_creation_1h": found.cache_write_1h,
        "web_searches": found.searches,
        "cost_usd": found.cost / PICO_PER_DOLLAR,
        "cache_saved_usd": found.saved / PICO_PER_DOLLAR,
        "unpriced_tokens": found.unpriced,
        "quality": {name: getattr(found, name) for name in USAGE_QUALITIES},
        "estimated_further_output_tokens": found.estimate,
        "first": found.first if found.first is None else format_client_time(found.first),
        "last": found.last if found.last is None else format_client_time(found.last),
    }


def to_all_calls_document(shown: UsageReportDetails) -> dict[str, Any]:
    """The calls of all tools together."""
    from turnlog.store.usage.tool_usage import sum_tool_usage

    return _to_calls_document(sum_tool_usage(shown.report.tools))


def _to_calls_document(row: ToolUsageRow) -> dict[str, Any]:
    return {
        "calls": row.calls,
        "failed": row.failed,
        "unanswered": row.unanswered,
        "input_characters": row.given,
        "result_characters": row.got,
        "estimated_tokens": row.tokens,
    }


def describe_usage_counting(shown: UsageReportDetails) -> str:
    """What is counted, in words."""
    request = shown.request
    if shown.get_grouping().counts_calls:
        return (
            "Counted: calls of tools, sub-agents included, every call id once; characters of inputs and results;"
            " tokens are an estimate (four characters a token)."
        )
    place = "this machine's time zone" if request.zone.name == "local" else request.zone.name
    where = shown.get_grouping().definition.format(zone=place)
    return (
        f"Counted: every message once, sub-agents included{where}. Cost: at list prices of {shown.prices or 'no date'};"
        " saved: what the cache spared, against the price of plain input."
    )
