"""The `spend` table: usage by hour, session and model, computed from the `answer` table.

A message that appears in several files is counted once: the session whose file has it first is charged, with the
largest of the numbers. An echo in a progress entry is charged only if there is no other copy; among files that have the
message at the same time, a fork is charged last. Deleted files are counted: when Claude Code cleans up, last month's
bill doesn't change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeVar

import apsw
from msgspec.structs import astuple

from turnlog.session.clock import to_epoch_seconds
from turnlog.session.usage.iterations import divide_tokens, read_requests
from turnlog.session.usage.message_counts import QUALITIES, MessageCounts, find_leading_copy, merge_counts
from turnlog.session.usage.prices import PicoRates, PricedTokens, find_pico_rates, find_price
from turnlog.store.index import price_mark

UNKNOWN_HOUR = -1
"""The hour of messages whose time is unknown."""
_MAX_WAITING_ROWS = 1000
"""How many messages of one part are added at a time."""
LETTERS_IN_ESTIMATE, TOKENS_IN_ESTIMATE = 5, 2
"""The ratio of letters to tokens, measured on final answers, which have 2.2 to 2.8 letters per token."""
_COST_PLACES = slice(7, 9)
"""The places of `cost` and `saved` among the columns of `spend` after the first three."""
_MAX_COST = 1 << 62
"""In pico dollars; made-up token counts can cost more, which SQLite can't store."""
_QUALITY_NUMBERS = {quality: place for place, quality in enumerate(QUALITIES)}
_ISO_TIME_GLOB = "GLOB '2[0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9]Z'"
_ANSWER_QUERY = f"""
    SELECT key, file, iif(last {_ISO_TIME_GLOB}, unixepoch(last), NULL), model, first, last, input, output, cache_read,
        cache_write, cache_write_1h, searches, lowest, stopped, sidechain, version, terms, letters, requests
    FROM answer
"""
_SHARING_QUERY = """
    WITH copied AS (SELECT key FROM answer GROUP BY key HAVING count(*) > 1),
        placed AS (
            SELECT DISTINCT answer.key, session FROM copied
            JOIN answer ON answer.key = copied.key JOIN file ON file.id = answer.file
        )
    SELECT DISTINCT session FROM placed WHERE key IN (SELECT key FROM placed GROUP BY key HAVING count(*) > 1)
"""

_Part = TypeVar("_Part", bound=Hashable)
AnswerRow = tuple[Any, ...]
"""A row of `answer`; after key and file comes the end of the message in seconds since 1970, if known."""
TimePlacer = Callable[[int], int]
"""Maps seconds since 1970 to the number in the column `hour`."""


class StaleSpend(NamedTuple):
    """Rows of `spend` that must be recomputed."""

    sessions: frozenset[int] = frozenset()
    since: int | None = None
    """The first of their hours; None if there are none."""


def renew_spend(db: apsw.Connection, sessions: Collection[int] | None, since: int = UNKNOWN_HOUR) -> None:
    """Recompute the rows of the given sessions from an hour on, or all rows; requires an open transaction."""
    if sessions is not None and not price_mark.is_spend_current(db):
        sessions, since = None, UNKNOWN_HOUR
    if sessions is None:
        db.execute("DELETE FROM spend")
        price_mark.remember_pricing(db)
    else:
        which = "session IN (SELECT value FROM json_each(?))"
        db.execute(f"DELETE FROM spend WHERE {which} AND hour >= ?", (_to_json_list(sessions), since))
    fill_spend_table(db, "spend", sessions, since=since)


def fill_spend_table(
    db: apsw.Connection,
    table: str,
    sessions: Collection[int] | None,
    place: TimePlacer | None = None,
    since: int = UNKNOWN_HOUR,
) -> None:
    """Add the rows of the given sessions, or of all sessions, to a table with the columns of `spend`."""
    ledger = _open_ledger(db, place or _to_hour)
    ledger.add(_iter_paid_answers(_select_answers(db, sessions, since), ledger.files))
    wanted = None if sessions is None else frozenset(sessions)
    marks = ",".join("?" * 20)
    db.executemany(f"INSERT INTO {table} VALUES ({marks})", ledger.build_rows(wanted, since))


def select_shared_spend(db: apsw.Connection) -> Iterable[tuple[int | None, ...]]:
    """Return rows with the columns of `spend` for the sessions that share messages with others.

    In `spend`, the session that has a message first is charged for it. Here, each session is charged for all of its
    messages, with the numbers in its own files.
    """
    ledger = _open_ledger(db)
    for (session,) in db.execute(_SHARING_QUERY).fetchall():
        files = "SELECT id FROM file WHERE session = ?"
        ledger.add(
            _iter_paid_answers(
                db.execute(f"{_ANSWER_QUERY} WHERE file IN ({files}) ORDER BY key", (session,)), ledger.files
            )
        )
    return ledger.build_rows(None, UNKNOWN_HOUR)


def iter_divided_spend(
    db: apsw.Connection, find_part: Callable[[int, str], _Part]
) -> Iterator[tuple[_Part, tuple[int | None, ...]]]:
    """Yield rows with the columns of `spend` for each part of the messages; `find_part` gets a file and a key."""
    ledgers: dict[_Part, _SpendLedger] = {}
    waiting: dict[_Part, list[AnswerRow]] = {}
    for row in _iter_paid_answers(_select_answers(db, None, UNKNOWN_HOUR), _SpendFiles(db)):
        part = find_part(row[1], row[0])
        rows = waiting.setdefault(part, [])
        rows.append(row)
        if len(rows) == _MAX_WAITING_ROWS:
            ledgers.setdefault(part, _open_ledger(db)).add(rows)
            rows.clear()
    for part, rows in waiting.items():
        ledger = ledgers.setdefault(part, _open_ledger(db))
        ledger.add(rows)
        for columns in ledger.build_rows(None, UNKNOWN_HOUR):
            yield part, columns


def sum_file_spend(counts: dict[str, MessageCounts]) -> Iterable[tuple[Any, ...]]:
    """Sum the messages in one file; the rows have the columns of `spend`, with session 0 and the models' names."""
    ledger = _SpendLedger({0: _SpendFile(0, is_fork=False, path="")}, lambda name: name, _to_hour)
    ledger.add(("", 0, None, *astuple(best)) for best in counts.values())
    return ledger.build_rows(None, UNKNOWN_HOUR)


def join_spend_rows(rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    """Add up rows of `spend` with the same hour, session and model; limit costs to what SQLite can store."""
    joined: dict[tuple[Any, ...], tuple[int, ...]] = {}
    for row in rows:
        key, columns = row[:3], row[3:]
        joined[key] = _add_columns(joined[key], columns) if key in joined else columns
    return ((*key, *_limit_costs(columns)) for key, columns in joined.items())


def _limit_costs(columns: tuple[int, ...]) -> tuple[int, ...]:
    cost, saved = columns[_COST_PLACES]
    if abs(cost) <= _MAX_COST and abs(saved) <= _MAX_COST:
        return columns
    cost, saved = (max(-_MAX_COST, min(amount, _MAX_COST)) for amount in (cost, saved))
    return (*columns[: _COST_PLACES.start], cost, saved, *columns[_COST_PLACES.stop :])


def find_stale_spend(db: apsw.Connection, keys: Iterable[str]) -> StaleSpend:
    """Find the rows of `spend` that these messages affect.

    A message never ends before its first line, and its first line never changes.
    """
    rows: list[Any] = db.execute(
        f"SELECT session, min(iif(first {_ISO_TIME_GLOB}, coalesce(unixepoch(first), -1), -1)) FROM answer"
        " JOIN file ON file.id = answer.file WHERE key IN (SELECT value FROM json_each(?)) GROUP BY session",
        (json.dumps(list(keys)),),
    ).fetchall()
    since = min((first // 3600 if first > 0 else UNKNOWN_HOUR for _, first in rows), default=None)
    return StaleSpend(frozenset(session for session, _ in rows), since)


def _to_hour(seconds: int) -> int:
    return seconds // 3600


def _to_json_list(numbers: Iterable[int]) -> str:
    return f"[{','.join(map(str, numbers))}]"


class _SpendFile(NamedTuple):
    session: int
    is_fork: bool
    path: str


class _SpendFiles(dict[int, _SpendFile]):
    """The files by number, loaded on demand, because a refresh needs only a few."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def __missing__(self, number: int) -> _SpendFile:
        query = "SELECT session, forked_from IS NOT NULL, path FROM file WHERE id = ?"
        (row,) = self._db.execute(query, (number,))
        file = self[number] = _SpendFile(*row)
        return file


def _select_answers(db: apsw.Connection, sessions: Collection[int] | None, since: int) -> Iterable[AnswerRow]:
    """Select all answers, or those in the given sessions from an hour on, each next to its copies in other files."""
    if sessions is None:
        return db.execute(f"{_ANSWER_QUERY} ORDER BY key")
    files = "SELECT id FROM file WHERE session IN (SELECT value FROM json_each(?1))"
    late = f"last >= strftime('%Y-%m-%dT%H', ?2 * 3600, 'unixepoch') OR last NOT {_ISO_TIME_GLOB}"
    keys = f"SELECT key FROM answer WHERE file IN ({files}) AND (?2 = {UNKNOWN_HOUR} OR {late})"
    return db.execute(f"{_ANSWER_QUERY} WHERE key IN ({keys}) ORDER BY key", (_to_json_list(sessions), since))


def _iter_paid_answers(answers: Iterable[AnswerRow], files: dict[int, _SpendFile]) -> Iterator[AnswerRow]:
    """Yield every message once, with the numbers from the file that is charged."""
    copies: list[AnswerRow] = []
    for row in answers:
        if copies and row[0] != copies[0][0]:
            yield copies[0] if len(copies) == 1 else _merge_answer_copies(copies, files)
            copies.clear()
        copies.append(row)
    if copies:
        yield _merge_answer_copies(copies, files)


def _merge_answer_copies(rows: list[AnswerRow], files: dict[int, _SpendFile]) -> AnswerRow:
    rows.sort(key=lambda row: files[row[1]][1:])
    parts = [MessageCounts(*row[3:]) for row in rows]
    payer = rows[next(at for at, part in enumerate(parts) if part is find_leading_copy(parts))]
    return (*payer[:3], *astuple(merge_counts(parts)))


_SpendKey = tuple[int, int, Any, PicoRates | None]
"""The hour, the session, the model, and the rates per token."""


def _open_ledger(db: apsw.Connection, place: TimePlacer = _to_hour) -> _SpendLedger:
    """Return a ledger for rows of `answer`."""
    models: dict[int | None, str] = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
    return _SpendLedger(_SpendFiles(db), models.get, place)


class _SpendLedger:
    """Running sums of messages."""

    def __init__(self, files: dict[int, _SpendFile], get_model_name: Callable[[Any], str | None], place: TimePlacer):
        self.files = files
        self._get_model_name = get_model_name
        self._place = place
        self._sums: dict[_SpendKey, list[int]] = {}

    def add(self, answers: Iterable[AnswerRow]) -> None:
        """Add messages, in one loop without function calls, since there may be hundreds of thousands of them."""
        files, place, rates_of, quality_of, all_sums = (
            self.files,
            self._place,
            cache(self._find_flat_rates),
            _judge_quality,
            self._sums,
        )
        for row in answers:
            _, file, ended, model, first, last, fresh, output, read, written, long, searches = row[:12]
            lowest, stopped, sidechain, version, terms, letters, requests = row[12:]
            if ended is None:
                ended = max(to_epoch_seconds(last), 0)
            rates, stated = rates_of(model, terms), output
            hour, session = place(ended) if ended else UNKNOWN_HOUR, files[file].session
            if rates == ():
                tokens = PricedTokens(fresh, output, read, written - long, long, searches)
                first_request, *others = divide_tokens(tokens, read_requests(requests)) if requests else (tokens,)
                name, pricing_terms = self._get_model_name(model), split_price_terms(terms)
                for further in others:
                    own_rates = find_pico_rates(name, further, *pricing_terms, first)
                    self._add_request((hour, session, model, own_rates), further, ended)
                fresh, output, read, short, long, searches = first_request
                written = short + long
                rates = find_pico_rates(name, first_request, *pricing_terms, first)
            key = (hour, session, model, rates)
            sums = all_sums.get(key)
            if sums is None:
                sums = all_sums[key] = [0] * 12 + [ended, ended]
            quality = quality_of(lowest < 0, stopped, stated > lowest, version, sidechain)
            sums[0] += 1
            sums[1] += fresh
            sums[2] += output
            sums[3] += read
            sums[4] += written - long
            sums[5] += long
            sums[6] += searches
            sums[7 + quality] += 1
            if quality and (seeming := letters * TOKENS_IN_ESTIMATE // LETTERS_IN_ESTIMATE) > stated:
                sums[11] += seeming - stated
            if ended < sums[12]:
                sums[12] = ended
            elif ended > sums[13]:
                sums[13] = ended

    def _add_request(self, key: _SpendKey, tokens: PricedTokens, ended: int) -> None:
        """Add another request for a message that is already counted."""
        sums = self._sums.setdefault(key, [0] * 12 + [ended, ended])
        for place, count in enumerate(tokens, 1):
            sums[place] += count
        sums[12], sums[13] = min(sums[12], ended), max(sums[13], ended)

    def _find_flat_rates(self, model: int | None, terms: str | None) -> PicoRates | None:
        """Return the rates that all requests to a model share; an empty tuple if they depend on the request."""
        name = self._get_model_name(model)
        price = find_price(name)
        if price is not None and (price.long_context or price.web_search_per_1000 is None):
            return ()
        return find_pico_rates(name, PricedTokens(), *split_price_terms(terms), None)

    def build_rows(self, sessions: Collection[int] | None, since: int) -> Iterable[tuple[Any, ...]]:
        """Build the rows of `spend` for the given sessions, from an hour on."""
        return join_spend_rows(
            (hour, session, model, *build_billed_columns(rates, sums))
            for (hour, session, model, rates), sums in self._sums.items()
            if hour >= since and (sessions is None or session in sessions)
        )


def build_billed_columns(rates: PicoRates | None, sums: list[int]) -> tuple[int, ...]:
    """Compute the columns after the first three, for messages with the same rates."""
    messages, fresh, output, read, short, long, searches, *rest = sums
    if rates is None:
        return messages, fresh, output, read, short, long, searches, 0, 0, fresh + output + read + short + long, *rest
    plain, answer, reading, writing, keeping, search = rates
    cached = read * reading + short * writing + long * keeping
    cost = fresh * plain + output * answer + cached + searches * search
    return messages, fresh, output, read, short, long, searches, cost, (read + short + long) * plain - cached, 0, *rest


def _add_columns(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    sums = map(sum, zip(one[:15], other[:15], strict=True))
    return (*sums, min(one[15], other[15]), max(one[16], other[16]))


@cache
def _judge_quality(missing: bool, stopped: bool, grew: bool, version: str | None, sidechain: int) -> int:
    best = MessageCounts(None, "", "", output_tokens=int(grew), lowest=-1 if missing else 0)
    best.stopped, best.version, best.sidechain = stopped, version, sidechain
    return _QUALITY_NUMBERS[best.quality]


def split_price_terms(terms: str | None) -> tuple[str | None, str | None, str | None]:
    speed, tier, geo = (*(terms or "").split("|"), "", "")[:3]
    return speed or None, tier or None, geo or None
