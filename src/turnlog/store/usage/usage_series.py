"""Usage by day, project and model, for charts that stack it and for the sessions behind a part of a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from turnlog.store.usage.time_zones import format_day
from turnlog.store.usage.usage_reports import UsageRequest, build_day_expression, build_usage_scope

if TYPE_CHECKING:
    import apsw

_SERIES_QUERY = """
    SELECT {day}, spend_row.session, spend_row.model, sum(cost), sum(input + output + cache_read + cache_write_5m
        + cache_write_1h), sum(messages)
    FROM (SELECT * {rows}) AS spend_row GROUP BY 1, 2, 3
"""


class UsagePoint(NamedTuple):
    """The usage of one session with one model on one day."""

    day: str
    session: int
    project: str
    model: str
    cost: int
    """In pico dollars."""
    tokens: int
    messages: int


def list_usage_points(db: apsw.Connection, request: UsageRequest) -> list[UsagePoint]:
    """List usage by day, session and model; messages whose time is unknown are left out."""
    wanted, stretches = build_usage_scope(db, request, is_by_day=True)
    wanted = wanted.with_condition("hour >= 0")
    query = _SERIES_QUERY.format(day=build_day_expression(stretches), rows=wanted.sql)
    names = dict(db.execute("SELECT id, text FROM name"))
    projects = dict(
        db.execute(
            "SELECT session.id, coalesce(cwd, name.text) FROM session JOIN name ON name.id = project"
            " LEFT JOIN file ON file.session = session.id AND file.kind = 'session'"
        )
    )
    return [
        UsagePoint(format_day(day), session, str(projects.get(session)), names.get(model) or "unknown", *sums)
        for day, session, model, *sums in db.execute(query, wanted.values)
    ]
