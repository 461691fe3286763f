"""The filter of the insights page: which usage to count, and how to divide it over time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from turnlog.store.lake.lake_index import LAKE_TIME_ZONE
from turnlog.store.usage.usage_reports import UsageRequest, parse_usage_request
from turnlog.web.answers import get_machine
from turnlog.web.insights import breakdown
from turnlog.web.insights.time_axis import PERIOD_NAMES
from turnlog.web.machine import Machine
from turnlog.web.slices.slice_address import SliceAddress

TIME_RANGES = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year", "all": "all time"}
_DEFAULT_RANGE = "30d"
_MAX_VALUE_CHARS = 8192
"""More than a path has."""


class InsightsFilter(NamedTuple):
    range: str = ""
    """One of TIME_RANGES; if empty, the days from `since` to `until`."""
    since: str = ""
    until: str = ""
    project: str = ""
    model: str = ""
    by: str = ""
    """What the stacked chart is divided by: `project` if empty."""
    measure: str = ""
    """What it adds up: `cost` if empty."""
    per: str = ""
    """The periods of the charts over time, a key of PERIOD_NAMES; if empty, the page chooses them."""
    timezone: str = ""
    """The time zone of the days: this machine's if empty. It is not part of an address."""

    def address(self, path: str = "/insights", **changes: str) -> str:
        """Return the address for this filter with some changes."""
        values = self._replace(**changes, timezone="")._asdict()
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{path}?{query}" if query else path

    def to_usage_request(self, kind: str = "daily") -> UsageRequest:
        """Convert the filter to an index request; raise `UsageError` if it is invalid."""
        values = (self.first_day, self.until, self.project, self.model, self.timezone)
        return parse_usage_request(kind, *(value or None for value in values))

    def list_dimensions(self, is_lake: bool) -> list[str]:
        """List what the stacked chart can be divided by."""
        missing = {"tool"} if is_lake else {"model"} if self.measure == "calls" else set()
        return [name for name in breakdown.DIMENSIONS if name not in missing]

    @property
    def today(self) -> date:
        return datetime.now(UTC).date() if self.timezone else date.today()  # noqa: DTZ011 - local days

    @property
    def first_day(self) -> str:
        """The first day of the range; empty if all days are wanted."""
        if self.range and self.range != "all":
            return (self.today - timedelta(days=int(self.range[:-1]) - 1)).isoformat()
        return self.since

    def to_slice_address(self) -> SliceAddress:
        """Return the address of the sessions behind all figures of the page."""
        usage = self.to_usage_request()
        since, until = (day.isoformat() if day else "" for day in (usage.since, usage.until))
        return SliceAddress(since, until, self.project, self.model)


def parse_insights_filter(request: Request) -> InsightsFilter:
    values = {name: request.query_params.get(name, "")[:_MAX_VALUE_CHARS] for name in InsightsFilter._fields}
    values |= {name: values[name].strip() for name in ("since", "until")}  # the names come from lists
    values["measure"] = values["measure"] if values["measure"] in breakdown.MEASURES else ""
    dimensions = InsightsFilter(measure=values["measure"]).list_dimensions(bool(get_machine(request).lake))
    values["by"] = values["by"] if values["by"] in dimensions else ""
    values["per"] = values["per"] if values["per"] in PERIOD_NAMES else ""
    values["timezone"] = LAKE_TIME_ZONE if get_machine(request).lake else ""
    if values["range"] not in TIME_RANGES:
        values["range"] = ""
    if not (values["range"] or values["since"] or values["until"]):
        values["range"] = _DEFAULT_RANGE if _has_recent_usage(get_machine(request)) else "all"
    if values["range"] and (values["since"] or values["until"]):
        values["range"] = ""
    return InsightsFilter(**values)


def _has_recent_usage(machine: Machine) -> bool:
    """Return whether there is any usage in the default range."""
    days = int(_DEFAULT_RANGE[:-1])
    query = "SELECT EXISTS (SELECT 1 FROM spend WHERE hour >= unixepoch() / 3600 - ?)"
    return bool(machine.store.db.execute(query, (days * 24,)).get)
