"""Sums over the `spend` table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import apsw

PICO_PER_DOLLAR = 10**12


class UsageSum(NamedTuple):
    """The usage of a set of messages; amounts of money are in pico dollars."""

    messages: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    searches: int = 0
    cost: int = 0
    saved: int = 0
    unpriced: int = 0
    """Tokens of models without a known price."""
    final: int = 0
    partial: int = 0
    placeholder: int = 0
    missing: int = 0
    estimate: int = 0
    """The estimated output tokens beyond the recorded ones, for messages without a final count."""
    first: int | None = None
    """When the earliest message ended, in seconds since 1970."""
    last: int | None = None

    @property
    def cache_write(self) -> int:
        """Tokens written to the cache, for both lifetimes."""
        return self.cache_write_5m + self.cache_write_1h

    @property
    def tokens(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def doubtful_messages(self) -> int:
        """Messages without a final count."""
        return self.partial + self.placeholder + self.missing


COST_SUM = "CAST(total(cost) AS INTEGER)"
"""The sum of costs: `sum` fails beyond SQLite's integers, which made-up token counts can exceed."""
_SAVED_SUM = COST_SUM.replace("cost", "saved")
_SUMS = [{"cost": COST_SUM, "saved": _SAVED_SUM}.get(name, f"sum({name})") for name in UsageSum._fields[:-2]]
_SUM_COLUMNS = ", ".join([*_SUMS, "min(nullif(first, 0))", "max(nullif(last, 0))"])


class SpendFilter(NamedTuple):
    """The rows of `spend` to include."""

    table: str = "spend"
    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def with_condition(self, condition: str, *values: Any) -> SpendFilter:
        return SpendFilter(self.table, (*self.conditions, condition), (*self.values, *values))

    @property
    def sql(self) -> str:
        """The FROM and WHERE clauses."""
        return f"FROM {self.table}" + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")


def sum_spend(db: apsw.Connection, wanted: SpendFilter) -> UsageSum:
    """Add up all rows."""
    (row,) = db.execute(f"SELECT {_SUM_COLUMNS} {wanted.sql}", wanted.values)
    return UsageSum._make(row) if row[0] else UsageSum()


def sum_spend_by(db: apsw.Connection, wanted: SpendFilter, what: str) -> Iterator[tuple[Any, UsageSum]]:
    """Yield one sum for each value of an SQL expression."""
    for value, *row in db.execute(f"SELECT {what}, {_SUM_COLUMNS} {wanted.sql} GROUP BY 1", wanted.values):
        yield value, UsageSum._make(row)


def sum_whole_sessions(db: apsw.Connection) -> dict[int, UsageSum]:
    """Sum the whole usage of each session, including messages that are charged to another session."""
    return dict(sum_spend_by(db, SpendFilter(), "session")) | {
        session: add_usage_sums(models.values()) for session, models in sum_sharing_sessions(db).items()
    }


def sum_sharing_sessions(db: apsw.Connection) -> dict[int, dict[int | None, UsageSum]]:
    """Sum the whole usage of the sessions that share messages with others, by model."""
    from turnlog.store.index.spend_table import select_shared_spend

    sums: dict[Any, dict[int | None, UsageSum]] = {}
    for _, session, model, *row in select_shared_spend(db):
        models = sums.setdefault(session, {})
        models[model] = add_usage_sums((models.get(model, UsageSum()), UsageSum._make(row)))
    return sums


def add_usage_sums(sums: Iterable[UsageSum]) -> UsageSum:
    rows = list(sums)
    if not rows:
        return UsageSum()
    columns = list(zip(*rows, strict=True))
    firsts, lasts = ([time for time in column if time is not None] for column in columns[-2:])
    return UsageSum._make((*map(sum, columns[:-2]), min(firsts, default=None), max(lasts, default=None)))


LETTERS_PER_TOKEN = 4
"""A rough average for inputs and results; answers have fewer (`store.index.spend_table`)."""


class ToolUsageRow(NamedTuple):
    """The calls to one tool."""

    tool: str | None
    calls: int = 0
    failed: int = 0
    unanswered: int = 0
    given: int = 0
    """The number of characters in the inputs."""
    got: int = 0
    """The number of characters in the results."""

    @property
    def tokens(self) -> int:
        """An estimate of the tokens in inputs and results."""
        return (self.given + self.got) // LETTERS_PER_TOKEN
