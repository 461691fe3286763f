"""The usage in a lake, every message once, with the figures of `turnlog usage`.

Nearly all messages are in one file only: DuckDB sums them, grouped so that all messages of a group have the same price
per token. Messages that several files contain, and those that took several requests, go through the same tables and
the same code as in the index (`store.index.spend_table`), so that the same copy counts with the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from turnlog.session.clock import parse_timestamp
from turnlog.session.usage.message_counts import QUALITIES
from turnlog.session.usage.prices import PricedTokens, find_pico_rates, load_price_table
from turnlog.store.index.spend_table import build_billed_columns, renew_spend, split_price_terms
from turnlog.store.lake.exact_messages import (
    FETCHED_ROWS,
    INSERT_ANSWER,
    ExactMessages,
    NameNumbers,
    build_file_path,
    format_lake_time,
)
from turnlog.store.usage.usage_sums import UsageSum

if TYPE_CHECKING:
    from turnlog.store.lake.lake import Lake

_ENDED_SECONDS = "greatest(coalesce(epoch_us(usage.ended) // 1000000, 0), 0)"
HOUR = f"CASE WHEN {_ENDED_SECONDS} > 0 THEN {_ENDED_SECONDS} // 3600 ELSE -1 END"
_PROMPT = "(input_tokens + cache_read_tokens + cache_write_5m_tokens + cache_write_1h_tokens)"
_ESTIMATE = "CASE WHEN quality <> 'final' THEN greatest(letters * 2 // 5 - output_tokens, 0) ELSE 0 END"
_COUNTED = {
    "messages": "1",
    "fresh": "input_tokens",
    "output": "output_tokens",
    "read": "cache_read_tokens",
    "short": "cache_write_5m_tokens",
    "long": "cache_write_1h_tokens",
    "searches": "web_searches",
    **{f"{name}_count": f"(quality = '{name}')::INTEGER" for name in QUALITIES},
    "estimate": _ESTIMATE,
}
_SUMS = ", ".join(
    [
        f"max({_PROMPT}) AS prompt, epoch_us(min(time)) AS began",
        *(f"sum({value})::BIGINT AS {name}" for name, value in _COUNTED.items()),
        f"min({_ENDED_SECONDS}) AS first_end, max({_ENDED_SECONDS}) AS last_end",
    ]
)
_REGROUPED_SUMS = ", ".join(
    ["max(prompt), min(began)", *(f"sum({name})::BIGINT" for name in _COUNTED), "min(first_end), max(last_end)"]
)
_SpendColumns = tuple[int | None, ...]
"""The columns of `spend` after the first three."""


class SessionLabels(NamedTuple):
    """What the usage of a session can be grouped by."""

    person: str | None
    team: str | None
    project: str | None


class LakeSpend:
    """Sums of the usage in one lake."""

    def __init__(
        self, lake: Lake, since: int | None = None, until: int | None = None, exact: ExactMessages | None = None
    ) -> None:
        """`since` and `until` limit the sums, in seconds since 1970, at full hours; `until` is excluded."""
        self._lake, self._since, self._until = lake, since, until
        self._exact = exact or ExactMessages(lake)

    @cached_property
    def exact_db(self) -> apsw.Connection:
        """An index in memory with the messages whose copies or requests must be looked at one by one."""
        db = apsw.Connection(":memory:")
        db.execute(package_files("turnlog.store").joinpath("schema.sql").read_text("utf-8"))
        _fill_exact_spend(self._lake, db, self._exact)
        return db

    @cached_property
    def _labels(self) -> dict[int, SessionLabels]:
        """The labels of the sessions that have such messages, by number in `exact_db`."""
        rows = self._lake.execute(
            "SELECT DISTINCT file, person, team, project FROM session_rows WHERE file IN"
            f" (SELECT file FROM usage WHERE {self._exact.condition})"
        ).fetchall()
        by_file = {file: SessionLabels(*labels) for file, *labels in rows}
        sessions = self.exact_db.execute("SELECT session, path FROM file")
        return {session: by_file[int(path.rpartition("\t")[2])] for session, path in sessions}

    def sum_usage_by(self, dimension: str) -> dict[str | None, UsageSum]:
        """Sum the usage by person, team, project, model or month."""
        self._prepare_groups()
        sums: dict[str | None, list[_SpendColumns]] = {}
        for name, row in self._iter_priced_sums("grouped", [dimension], _REGROUPED_SUMS):
            sums.setdefault(name, []).append(row)
        for name, row in self._iter_exact_sums(dimension):
            sums.setdefault(name, []).append(row)
        return {name: _add_columns(rows) for name, rows in sums.items()}

    def _prepare_groups(self) -> None:
        """Sum the messages that are in one file only by all dimensions at once, so that they are read only once."""
        bounds = _list_time_conditions(self._since, self._until)
        named = [f"{expression} AS {name}" for name, expression in _DIMENSIONS.items()]
        named += [f"{expression} AS {name}" for name, expression in _list_price_groups().items() if name != "model"]
        self._lake.execute(
            f"CREATE TABLE IF NOT EXISTS grouped AS SELECT {', '.join(named)}, {_SUMS} FROM usage"
            f" WHERE NOT {self._exact.condition} {bounds} GROUP BY ALL"
        )

    def _iter_priced_sums(self, source: str, expressions: Sequence[str], sums: str) -> Iterator[Any]:
        """Yield the values of the expressions and the columns of `spend`, for each group with one price per token."""
        prices = _list_price_groups()
        chosen = [*prices] if source == "grouped" else [f"{value} AS {name}" for name, value in prices.items()]
        query = f"SELECT {', '.join([*expressions, *chosen])}, {sums} FROM {source} GROUP BY ALL"
        result = self._lake.execute(query)
        count, width = len(expressions), len(expressions) + len(prices)
        while rows := result.fetchmany(FETCHED_ROWS):
            for row in rows:
                model, terms, searched = row[count : count + 3]
                prompt, first, *columns = row[width:]
                tokens = PricedTokens(input=prompt or 0, web_searches=int(searched))
                rates = find_pico_rates(model, tokens, *split_price_terms(terms), format_lake_time(first) or None)
                yield (*row[:count], build_billed_columns(rates, columns))

    def _iter_exact_sums(self, dimension: str) -> Iterator[tuple[str | None, _SpendColumns]]:
        models: dict[int | None, str] = dict(self.exact_db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
        since, until = self._since, self._until
        for hour, session, model, *row in self.exact_db.execute("SELECT * FROM spend"):
            if (since is not None and hour * 3600 < since) or (until is not None and not 0 <= hour * 3600 < until):
                continue
            if dimension == "model":
                name = models.get(model)
            elif dimension == "month":
                name = _format_month(hour)
            else:
                name = getattr(self._labels[session], dimension)
            yield name, tuple(row)

    def iter_flat_spend(self) -> Iterator[tuple[Any, ...]]:
        """Yield hour, session key, model and the other columns of `spend`, for messages that are in one file only."""
        source = f"(SELECT * FROM usage WHERE NOT {self._exact.condition}) usage"
        for hour, session, model, row in self._iter_priced_sums(source, [HOUR, "session_key", "model AS name"], _SUMS):
            yield hour, session, model, *row


_DIMENSIONS = {
    "person": "person",
    "team": "team",
    "project": "project",
    "model": "model",
    "month": f"CASE WHEN {_ENDED_SECONDS} > 0 THEN strftime(make_timestamp(epoch_us(usage.ended)), '%Y-%m') END",
}


def _list_time_conditions(since: int | None, until: int | None) -> str:
    first = f" AND {_ENDED_SECONDS} >= {since}" if since is not None else ""
    return first + (f" AND {_ENDED_SECONDS} < {until} AND {_ENDED_SECONDS} > 0" if until is not None else "")


def _fill_exact_spend(lake: Lake, db: apsw.Connection, exact: ExactMessages) -> None:
    """Fill an empty index with the messages to look at one by one, and with their `spend`."""
    names: NameNumbers = {}
    files: dict[int, int] = {}
    with db:
        db.executemany(INSERT_ANSWER, exact.iter_answer_rows(names, files))
        db.executemany("INSERT INTO name VALUES (?, ?, ?)", ((number, *name) for name, number in names.items()))
        _insert_files(lake, db, exact, files)
        renew_spend(db, None)


def _insert_files(lake: Lake, db: apsw.Connection, exact: ExactMessages, files: dict[int, int]) -> None:
    """Add the files that have such messages."""
    rows = lake.execute(
        "SELECT file, session_key, project, file_name, forked_from FROM session_rows"
        f" WHERE file IN (SELECT file FROM usage WHERE {exact.condition})"
    ).fetchall()
    sessions: dict[int, int] = {}
    for file, session_key, project, name, forked_from in rows:
        session = sessions.setdefault(session_key, len(sessions) + 1)
        db.execute(
            "INSERT INTO file (id, path, kind, session, forked_from) VALUES (?, ?, 'session', ?, ?)",
            (files[file], build_file_path(project, name, file), session, forked_from),
        )


def _list_price_groups() -> dict[str, str]:
    """List SQL expressions that separate messages with different prices per token."""
    tiers = {price.long_context for price in load_price_table().models.values() if price.long_context}
    sizes = sorted({tier.above for tier in tiers})
    ends = sorted({end for tier in tiers if (end := tier.until) is not None})
    stops = [time for end in ends if (time := parse_timestamp(f"{end[:10]}T00:00:00Z"))]
    return {
        "model": "model",
        "terms": "terms",
        "searched": "(web_searches > 0)",
        **{f"above_{size}": f"({_PROMPT} > {size})" for size in sizes},
        **{
            f"before_{place}": f"(coalesce(epoch_us(time), 0) < {int(stop.timestamp()) * 1_000_000})"
            for place, stop in enumerate(stops)
        },
    }


def _format_month(hour: int) -> str | None:
    return None if hour < 0 else f"{datetime.fromtimestamp(hour * 3600, UTC):%Y-%m}"


def _add_columns(rows: list[_SpendColumns]) -> UsageSum:
    added = [sum(value or 0 for value in column) for column in list(zip(*rows, strict=True))[:-2]]
    firsts, lasts = ([value for row in rows if (value := row[place])] for place in (-2, -1))
    return UsageSum._make((*added, min(firsts, default=None), max(lasts, default=None)))
