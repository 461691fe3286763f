"""A usage report from the index, and the sentence that describes what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw

    from turnlog.store.usage.groupings import UsageGrouping
    from turnlog.store.usage.usage_reports import UsageReport, UsageRequest


class UsageReportDetails(NamedTuple):
    """A report and what it was built from."""

    request: UsageRequest
    report: UsageReport
    prices: str | None
    """The date of the price table."""
    is_indexed: bool = True
    """Whether the report comes from the index; a scan of the files does not count calls and text lengths."""
    is_demo: bool = False

    def get_grouping(self) -> UsageGrouping:
        from turnlog.store.usage.groupings import find_grouping

        return find_grouping(self.request.kind)


def load_usage_report(
    db: apsw.Connection, request: UsageRequest, *, is_demo: bool = False, is_growing: bool = False
) -> UsageReportDetails:
    """Build a report from an index; first recompute its sums if the prices or rules have changed.

    While the index `is_growing`, another process writes to it and will recompute the sums itself.
    """
    if not is_growing:
        update_spend_prices(db)
    return read_usage_report(db, request, is_demo=is_demo)


def update_spend_prices(db: apsw.Connection) -> None:
    """Recompute an index's sums if the prices or rules have changed, or if it never had any.

    This writes, so it can't be part of a transaction that reads: call it before the transaction starts.
    """
    from turnlog.store.index.price_mark import is_spend_current

    if not is_spend_current(db):
        from turnlog.store.file_lock import open_write_transaction
        from turnlog.store.index.spend_table import renew_spend

        with open_write_transaction(db):
            renew_spend(db, None)


def read_usage_report(db: apsw.Connection, request: UsageRequest, *, is_demo: bool = False) -> UsageReportDetails:
    """Build a report from the sums that an index has, without writing."""
    from turnlog.store.index.price_mark import read_price_date
    from turnlog.store.usage.groupings import build_usage_report

    return UsageReportDetails(request, build_usage_report(db, request), read_price_date(db), is_demo=is_demo)


def describe_usage_counting(details: UsageReportDetails) -> str:
    request = details.request
    if details.get_grouping().counts_calls:
        return (
            "Counted: tool calls, sub-agents included, every call id once; characters of inputs and results;"
            " tokens are an estimate (four characters per token)."
        )
    place = "this machine's time zone" if request.zone.name == "local" else request.zone.name
    where = details.get_grouping().definition.format(zone=place)
    prices = f"at list prices as of {details.prices}" if details.prices else "at list prices"
    return (
        f"Counted: every message once, sub-agents included{where}. Cost: {prices};"
        " saved: what the cache saved, compared with the price of plain input."
    )
