"""Usage by day, project and model, for charts that stack it and for the sessions behind a part of a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from turnlog.store.project_folders import load_session_folders
from turnlog.store.usage.time_zones import format_day
from turnlog.store.usage.usage_reports import UsageRequest, build_day_expression, build_usage_scope
from turnlog.store.usage.usage_slices import UNKNOWN_MODEL
from turnlog.store.usage.usage_sums import COST_SUM

if TYPE_CHECKING:
    import apsw

_SERIES_QUERY = """
    SELECT {day}, spend_row.session, spend_row.model, {cost}, sum(input + output + cache_read + cache_write_5m
        + cache_write_1h), sum(messages)
    FROM (SELECT * {rows}) AS spend_row GROUP BY 1, 2, 3
"""


class UsagePoint(NamedTuple):
    """The usage of one session with one model on one day."""

    day: str
    session: int
    project: str
    model: str
    cost: float
    """In pico dollars."""
    tokens: float
    messages: float
    tool: str = ""
    """If the usage is divided by tool."""
    calls: int = 0
    """If calls are counted, nothing else is."""


def list_usage_points(db: apsw.Connection, request: UsageRequest) -> list[UsagePoint]:
    """List usage by day, session and model; messages whose time is unknown are left out."""
    wanted, stretches = build_usage_scope(db, request, is_by_day=True)
    wanted = wanted.with_condition("hour >= 0")
    query = _SERIES_QUERY.format(cost=COST_SUM, day=build_day_expression(stretches), rows=wanted.sql)
    names = dict(db.execute("SELECT id, text FROM name"))
    projects = load_session_folders(db)
    return [
        UsagePoint(format_day(day), session, str(projects.get(session)), names.get(model) or UNKNOWN_MODEL, *sums)
        for day, session, model, *sums in db.execute(query, wanted.values)
    ]
