"""The usage of teams and people in the index of a lake."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from turnlog.store.usage.usage_reports import UsageRequest, build_usage_scope
from turnlog.store.usage.usage_sums import UsageSum, sum_spend_by

PEOPLE_LABELS = ("team", "person")


class PeopleUsage(NamedTuple):
    """The usage of one team, or of one person by pseudonym; None if unknown."""

    name: str | None
    sum: UsageSum


def list_people_usage(db: apsw.Connection, request: UsageRequest, label: str) -> list[PeopleUsage]:
    """List the usage by one of PEOPLE_LABELS, the most expensive first."""
    assert label in PEOPLE_LABELS
    wanted, _ = build_usage_scope(db, request)
    expression = f"(SELECT {label} FROM lake_session WHERE lake_session.session = spend.session)"
    rows = [PeopleUsage(name, usage) for name, usage in sum_spend_by(db, wanted, expression)]
    return sorted(rows, key=lambda row: (-row.sum.cost, -row.sum.tokens, row.name or ""))
