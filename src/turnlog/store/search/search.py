"""Searches the index: finds matching texts, newest first, then ranks and groups them by session.

Only a bounded number of texts is ranked: the newest matches from each table (`MAX_NEWEST_TEXTS`). Titles and prompts,
which people remember best, are also searched separately, so that newer answers don't hide older titles and prompts. If
conversation text fills the page, text from tool calls is left out, since it would come last. The snippets are read from
the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import merge
from itertools import islice
from math import log
from typing import Any, Literal, NamedTuple

import apsw

from turnlog.session.texts.texts import TEXT_KINDS
from turnlog.store.index.shards import list_text_runs, list_text_schemas
from turnlog.store.search.match_expression import SearchPlan, exclude_sessions, restrict_to_kinds
from turnlog.store.search.passages import PassagePlace, PassageReader, Passages
from turnlog.store.search.snippet import SNIPPET_CHARS, Snippet, TermFinder
from turnlog.store.search.trashed_sessions import NOTHING_TRASHED, LeftOutHits, TrashedSessions, count_left_out

MAX_NEWEST_TEXTS = 500
"""How many texts are read from each table."""
_EXTRA_KIND_LIMITS = (("title", 100), ("prompt", 200))
"""Kinds that are searched separately if there are older texts, and how many texts are read of each."""
_MAX_FURTHER_TEXTS = 200
_MAX_FURTHER_ROUNDS = 3
_MAX_SINGLE_WORD_TEXTS = 8000
"""How many texts with single words are read if no text contains all of them."""
_WEIGHT_BY_KIND = {
    "title": 8.0,
    "prompt": 5.0,
    "answer": 3.0,
    "peer": 3.0,
    "summary": 2.5,
    "thinking": 1.6,
    "call": 1.8,
    "result": 1.0,
    "attachment": 0.8,
    "system": 0.6,
    "meta": 0.5,
    "other": 0.5,
}
"""How likely each kind of text is to be what people search for."""
_KIND_WEIGHTS = tuple(_WEIGHT_BY_KIND[kind] for kind in TEXT_KINDS)
_HALF_LIFE_SECONDS = 45 * 86_400
_KIND_NAMES = list(TEXT_KINDS)
_FULL_TEXT_TABLES = ("said", "done")

LooseningWay = Literal["prefix", "substring", "spelling"]
IndexTextRow = tuple[int, int, int, int, int]
"""A row of the table `text`: id, file, offset, kind, time."""


class SearchOptions(NamedTuple):
    """The size and order of the results."""

    limit: int = 20
    """How many sessions to return."""
    hits: int = 3
    """How many hits per session."""
    newest: bool = False
    """Newest first instead of best first."""
    context: int = 0
    """How many texts before and after each hit to include."""
    width: int = SNIPPET_CHARS
    """About how many characters of a text to show."""


class HitNeighbour(NamedTuple):
    """Text before or after a hit."""

    kind: str
    time: int
    snippet: Snippet | None


class IndexHit(NamedTuple):
    """A text that matches."""

    id: int
    file: int
    offset: int
    kind: str
    time: int
    """In seconds since 1970; 0 if unknown."""
    snippet: Snippet | None
    """None if the text can no longer be read."""
    before: tuple[HitNeighbour, ...] = ()
    after: tuple[HitNeighbour, ...] = ()


class HitGroup(NamedTuple):
    session: int
    total: int
    """How many hits there are among the texts that were read."""
    time: int
    """The time of the newest hit or, if no hit has a time, the end of the session."""
    score: float
    rows: list[tuple[float, IndexTextRow]]
    """All hits, each with its score."""
    hits: tuple[IndexHit, ...] = ()
    """The hits to show."""


class LoosenedWord(NamedTuple):
    """A word in a query, and the words that were searched for instead."""

    typed: str
    how: LooseningWay
    words: tuple[str, ...]
    """Words from the index; for a prefix, only some of the words that start with it."""


class SearchOutcome(NamedTuple):
    groups: list[HitGroup]
    total: int
    """How many texts match; a lower bound if `is_bounded`."""
    sessions: int
    """How many sessions contain such texts; a lower bound if `is_bounded`."""
    is_bounded: bool = False
    is_scattered: bool = False
    """Whether no text contains all terms, so that the sessions contain them in different texts."""
    unread: int = 0
    """How many hits are shown without their text, because it can no longer be read."""
    cut: tuple[str, ...] = ()
    """Words that are part of more identifiers than were searched."""
    left_out: LeftOutHits = LeftOutHits()
    """Matches in turnlog's trash."""
    loosened: tuple[LoosenedWord, ...] = ()
    """The words that found nothing, and what was searched for instead (`loose_search`)."""
    plan: SearchPlan | None = None
    """What was searched for; for loosened words, their replacements."""


def search_index(
    db: apsw.Connection,
    plan: SearchPlan,
    options: SearchOptions,
    read: PassageReader,
    trash: TrashedSessions = NOTHING_TRASHED,
) -> SearchOutcome:
    """Find the texts that match a plan, except those in the trash."""
    engine = _SearchEngine(db, plan, options, read, trash.sql_bound)
    outcome = engine.find_hits()._replace(plan=plan)
    if not trash.sessions:
        return outcome
    return outcome._replace(left_out=count_left_out(db, trash, engine.widest, engine.times))


class _SearchEngine:
    def __init__(
        self, db: apsw.Connection, plan: SearchPlan, options: SearchOptions, read: PassageReader, bound: str
    ) -> None:
        self.db = db
        self.plan = plan
        self.options = options
        self.passages = Passages(db, read)
        self.finder = TermFinder(plan.terms, options.width)
        self.is_bounded = False
        self.cut: tuple[str, ...] = ()
        self.widest = plan.expression
        self.times = plan.sql_bounds
        self.bounds = self.times + bound

    def find_hits(self) -> SearchOutcome:
        # The cost of a prefix is paid before the first text is found.
        rows = self._select_fitting(self.plan.expression, any(term.is_prefix for term in self.plan.terms))
        is_scattered = False
        if self.options.newest or len(self._list_sessions(rows)) < self.options.limit:
            rows, is_scattered = self._widen_rows(rows)
        elif self.plan.terms:
            self.is_bounded = True
        groups = self._build_groups(rows)
        best_groups = [self._add_shown_hits(group) for group in self._choose_best_groups(groups)]
        unread = sum(hit.snippet is None for group in best_groups for hit in group.hits)
        is_bounded = self.is_bounded or bool(self.cut)
        return SearchOutcome(best_groups, len(rows), len(groups), is_bounded, is_scattered, unread, self.cut)

    def _widen_rows(self, rows: list[IndexTextRow]) -> tuple[list[IndexTextRow], bool]:
        """Add matches by parts of identifiers; if nothing matches, find sessions that contain every term somewhere.

        The second value is True in the latter case.
        """
        wide = self.plan.wide()
        self.widest = wide.expression or self.widest
        if not rows and self._lacks_piece(wide.pieces):
            return [], False
        if wide.expression:
            self.cut = wide.cut
            rows = self._select_fitting(wide.expression, True, rows)
        if rows or len(wide.pieces) < 2:
            return rows, False
        scattered = self._select_scattered(wide.pieces)
        return scattered, bool(scattered)

    def _select_fitting(
        self, expression: str, is_expensive: bool, known: Sequence[IndexTextRow] = ()
    ) -> list[IndexTextRow]:
        """Select the newest matching texts, and texts from more sessions if there are few; `known` rows come first.

        An expensive expression runs once, with a higher limit.
        """
        most = 3 * MAX_NEWEST_TEXTS if is_expensive else MAX_NEWEST_TEXTS
        said = self._select_newest("said", expression, most)
        rows = [*known, *said]
        if len(said) == most and not is_expensive:
            rows += [
                row
                for kind, most in _EXTRA_KIND_LIMITS
                for row in self._select_newest("said", restrict_to_kinds(expression, [kind]), most)
            ]
            rows += self._select_further("said", expression, rows)
        if self.options.newest or len(self._list_sessions(rows)) < self.options.limit:
            done = self._select_newest("done", expression, MAX_NEWEST_TEXTS)
            rows += done
            if len(done) == MAX_NEWEST_TEXTS:
                rows += self._select_further("done", expression, rows, is_expensive)
        else:
            self.is_bounded = True
        return list(dict.fromkeys(rows))

    def _select_further(
        self, table: str, expression: str, rows: list[IndexTextRow], is_expensive: bool = False
    ) -> list[IndexTextRow]:
        """Select texts from other sessions while there are fewer sessions than requested."""
        known, further = self._list_sessions(rows), list[IndexTextRow]()
        rounds = 1 if is_expensive else _MAX_FURTHER_ROUNDS
        for _ in range(rounds):
            most = _MAX_FURTHER_TEXTS * _MAX_FURTHER_ROUNDS // rounds
            more = (
                self._select_newest(table, exclude_sessions(expression, known), most)
                if len(known) < self.options.limit
                else []
            )
            if not more:
                break
            further += more
            known |= self._list_sessions(more)
        return further

    def _select_newest(self, table: str, expression: str, most: int) -> list[IndexTextRow]:
        found: list[Any] = [
            self.db.execute(
                f"SELECT text.id, file, offset, kind, time FROM {schema}.{table} CROSS JOIN {schema}.text"
                f" ON text.id = {table}.rowid WHERE {table} MATCH ?{self.bounds}"
                f" ORDER BY {table}.rowid DESC LIMIT {most}",
                (expression,),
            )
            for schema in list_text_schemas(self.db, table)
        ]
        # Each shard is read only as far as its rows are among the newest of all.
        rows: list[Any] = found[0].fetchall() if len(found) == 1 else list(islice(merge(*found, reverse=True), most))
        self.is_bounded |= 1 < len(rows) == most
        return rows

    def _lacks_piece(self, pieces: Sequence[str]) -> bool:
        """Return whether the index lacks any required term; short expressions run first."""
        shortest_first = sorted(pieces, key=len)
        return not all(
            any(self._select_newest(table, piece, 1) for table in _FULL_TEXT_TABLES) for piece in shortest_first
        )

    def _select_scattered(self, pieces: Sequence[str]) -> list[IndexTextRow]:
        """Select texts that contain single terms, in sessions that contain all of them."""
        most = _MAX_SINGLE_WORD_TEXTS // len(pieces)
        rows_by_piece = [
            [row for table in _FULL_TEXT_TABLES for row in self._select_newest(table, piece, most)] for piece in pieces
        ]
        common = set.intersection(*map(self._list_sessions, rows_by_piece))
        files = self.passages.get_files(row[1] for rows in rows_by_piece for row in rows)
        return list(dict.fromkeys(row for rows in rows_by_piece for row in rows if files[row[1]].session in common))

    def _list_sessions(self, rows: Iterable[IndexTextRow]) -> set[int]:
        numbers = {row[1] for row in rows}
        files = self.passages.get_files(numbers)
        return {files[number].session for number in numbers}

    def _build_groups(self, rows: Iterable[IndexTextRow]) -> list[HitGroup]:
        """Group the texts by session, best or newest session first."""
        newest = max((row[4] for row in rows), default=0)
        files = self.passages.get_files({row[1] for row in rows})
        by_session: dict[int, list[tuple[float, IndexTextRow]]] = {}
        times: dict[int, int] = {}
        for row in rows:
            file = files[row[1]]
            time, session = row[4] or file.end, file.session
            score = weigh_text(row[3], time, newest)
            by_session.setdefault(session, []).append((score, row))
            if times.get(session, 0) <= time:
                times[session] = time
        groups = [_group_rows(session, members, times[session]) for session, members in by_session.items()]
        return sorted(groups, key=self._rank_group)

    def _rank_group(self, group: HitGroup) -> tuple[float, float, int]:
        first, second = (group.time, group.score) if self.options.newest else (group.score, group.time)
        return -first, -second, -group.session

    def _choose_best_groups(self, groups: list[HitGroup]) -> list[HitGroup]:
        """Choose the groups to show; also read the best texts of a few others, because exact matches come first."""
        limit = self.options.limit
        if self.options.newest or not self.plan.terms or not groups:
            return groups[:limit]
        near = [self._weigh_group(group) for group in groups[: limit + 5]]
        return sorted(near, key=self._rank_group)[:limit]

    def _weigh_group(self, group: HitGroup) -> HitGroup:
        first = self._build_hit(max(group.rows)[1])
        if first.snippet is None:
            return group._replace(score=group.score / 2)
        factor = weigh_snippet(first.snippet, len(self.plan.terms))
        return group._replace(score=group.score * factor, hits=(first,))

    def _add_shown_hits(self, group: HitGroup) -> HitGroup:
        """Add the texts of a group's best hits; hits with the same text are shown once."""
        known = {hit.id: hit for hit in group.hits}
        rows = sorted(group.rows, key=self._rank_row, reverse=True)
        hits: dict[str, IndexHit] = {}
        for _, row in rows[: 3 * self.options.hits]:
            if len(hits) == self.options.hits:
                break
            hit = known.get(row[0]) or self._build_hit(row)
            hits.setdefault(hit.snippet.text if hit.snippet else f"gone {hit.id}", hit)
        return group._replace(hits=tuple(self._add_context(hit) for hit in hits.values()))

    def _rank_row(self, scored: tuple[float, IndexTextRow]) -> tuple[float, int]:
        score, row = scored
        return (row[4] if self.options.newest else score), row[0]

    def _build_hit(self, row: IndexTextRow) -> IndexHit:
        number, file, offset, kind, time = row
        snippet = self.passages.build_snippet(PassagePlace(file, offset, _KIND_NAMES[kind]), self.finder)
        return IndexHit(number, file, offset, _KIND_NAMES[kind], time, snippet)

    def _add_context(self, hit: IndexHit) -> IndexHit:
        if not self.options.context:
            return hit
        before = read_neighbours(self.db, self.passages, hit, -self.options.context)
        return hit._replace(before=before, after=read_neighbours(self.db, self.passages, hit, self.options.context))


def weigh_text(kind: int, time: int, newest: int) -> float:
    """Return how likely a text is what people search for; the oldest gets half of the score of its kind."""
    age = (newest - time) / _HALF_LIFE_SECONDS if time < newest else 0.0
    return _KIND_WEIGHTS[kind] * (0.5 + 0.5 / (1.0 + age))


def weigh_snippet(snippet: Snippet, terms: int) -> float:
    """Return the factor of a text whose excerpt contains many of the terms, or contains them as typed."""
    return 1 + 0.6 * snippet.exact / terms + 0.4 * snippet.terms / terms


def _group_rows(session: int, rows: list[tuple[float, IndexTextRow]], time: int) -> HitGroup:
    """Score a session by its texts: many matches score higher than one, but not much higher than one good match."""
    best = max(rows)[0] * (1 + 0.15 * log(len(rows)))
    return HitGroup(session, len(rows), time, best, rows)


def read_neighbours(db: apsw.Connection, passages: Passages, hit: IndexHit, count: int) -> tuple[HitNeighbour, ...]:
    """Read the `count` texts after a hit in the same file, or before it if the count is negative."""
    is_before, most = count < 0, abs(count)
    order = "DESC" if is_before else "ASC"
    query = f"SELECT offset, kind, time FROM text WHERE kind != ? AND id BETWEEN ? AND ? ORDER BY id {order} LIMIT ?"
    runs = list_text_runs(db, hit.file)
    rows: list[Any] = []
    for first, last in reversed(runs) if is_before else runs:
        ends = (first, min(last, hit.id - 1)) if is_before else (max(first, hit.id + 1), last)
        if ends[0] <= ends[1] and len(rows) < most:
            rows += db.execute(query, (_KIND_NAMES.index("other"), *ends, most - len(rows)))
    beginning = TermFinder(())
    neighbours = [
        HitNeighbour(
            _KIND_NAMES[kind],
            time,
            passages.build_snippet(PassagePlace(hit.file, offset, _KIND_NAMES[kind]), beginning),
        )
        for offset, kind, time in rows
    ]
    return tuple(neighbours[::-1] if is_before else neighbours)
