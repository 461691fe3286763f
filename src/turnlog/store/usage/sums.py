"""Sums over the table `spend`, by whatever is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import apsw

PICO = 10**12


class Sum(NamedTuple):
    """What some messages used. Money is in pico dollars."""

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
    """Output tokens that the messages without a final count seem to have beyond what is stated."""
    first: int | None = None
    """When the earliest message ended, in seconds since 1970."""
    last: int | None = None

    @property
    def cache_write(self) -> int:
        """Tokens written to the cache, for both lifetimes."""
        return self.cache_write_5m + self.cache_write_1h

    @property
    def tokens(self) -> int:
        """Tokens of all kinds."""
        return self.input + self.output + self.cache_read + self.cache_write

    @property
    def doubtful(self) -> int:
        """Messages without a final count."""
        return self.partial + self.placeholder + self.missing


_ADDED = Sum._fields[:-2]
_SUMS = ", ".join([*(f"sum({name})" for name in _ADDED), "min(nullif(first, 0))", "max(nullif(last, 0))"])


class Wanted(NamedTuple):
    """Which rows of `spend` count."""

    table: str = "spend"
    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def also(self, condition: str, *values: Any) -> Wanted:
        """The same with one more condition."""
        return Wanted(self.table, (*self.conditions, condition), (*self.values, *values))

    @property
    def sql(self) -> str:
        """From where, and which."""
        return f"FROM {self.table}" + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")


def total(db: apsw.Connection, wanted: Wanted) -> Sum:
    """One sum over all."""
    (row,) = db.execute(f"SELECT {_SUMS} {wanted.sql}", wanted.values)
    return Sum._make(row) if row[0] else Sum()


def by(db: apsw.Connection, wanted: Wanted, what: str) -> Iterator[tuple[Any, Sum]]:
    """One sum for each value of an expression."""
    for value, *row in db.execute(f"SELECT {what}, {_SUMS} {wanted.sql} GROUP BY 1", wanted.values):
        yield value, Sum._make(row)


def whole_sessions(db: apsw.Connection) -> dict[int, Sum]:
    """What each session used in all, also where another session has its messages first and pays for them."""
    return dict(by(db, Wanted(), "session")) | {
        session: added(models.values()) for session, models in sharing_sessions(db).items()
    }


def sharing_sessions(db: apsw.Connection) -> dict[int, dict[int | None, Sum]]:
    """What the sessions that have messages in common with others used in all, by model."""
    from turnlog.store.index.spend import shared_spend

    found: dict[Any, dict[int | None, Sum]] = {}
    for _, session, model, *row in shared_spend(db):
        models = found.setdefault(session, {})
        models[model] = added((models.get(model, Sum()), Sum._make(row)))
    return found


def added(sums: Iterable[Sum]) -> Sum:
    """Several sums as one."""
    rows = list(sums)
    if not rows:
        return Sum()
    columns = list(zip(*rows, strict=True))
    firsts, lasts = ([time for time in column if time is not None] for column in columns[-2:])
    return Sum._make((*map(sum, columns[:-2]), min(firsts, default=None), max(lasts, default=None)))
