"""Searches for texts that match as an agent may see them; everything in the answer depends on redacted text alone.

The texts that the index suggests are ranked, and read and proven in that order, until enough sessions have one. What is
not proven leaves no trace: no count, place or order depends on it. (Only the time that a search takes does.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from turnlog.mcp.proof_table import ProofTable
from turnlog.mcp.query_proof import KIND_NAMES, QueryProof, SuggestedText, Suggestions
from turnlog.mcp.redacted_names import RedactedNames
from turnlog.mcp.similar_queries import iter_similar_queries, select_shown_terms
from turnlog.session.texts.texts import SearchText
from turnlog.store.search.passages import PassagePlace, Passages, build_best_snippet
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.search import weigh_snippet, weigh_text
from turnlog.store.search.snippet import Snippet, TermFinder
from turnlog.store.search.syntax import AllNode, QueryNode, QueryTerm, iter_wanted_terms

if TYPE_CHECKING:
    from turnlog.mcp.project_scope import ReadableSession
    from turnlog.mcp.redacted_sessions import RedactedSessions
    from turnlog.mcp.redacting_reader import RedactingReader
    from turnlog.store.search.match_expression import SearchPlan
    from turnlog.store.store import Store

MAX_EXCERPT_CHARS = 220
_MAX_HITS = 3
_MAX_READ_HITS = 9
"""How many proven texts of a session are read to find three whose excerpts differ."""
_SPARE_SESSIONS = 5
"""How many more sessions are read than shown, because exact matches come first."""


class ProvenHit(NamedTuple):
    """A text that matches as an agent may see it."""

    file: int
    offset: int
    kind: str
    time: int
    snippet: Snippet


class ProvenSession(NamedTuple):
    """A session with such texts."""

    session: int
    rank: tuple[float, float]
    hits: tuple[ProvenHit, ...]
    has_more: bool = False


class ProvenOutcome(NamedTuple):
    sessions: list[ProvenSession]
    is_scattered: bool = False
    """Whether no text matches, but each session contains all words."""
    is_loosened: bool = False
    """Whether these are hits for similar words."""


class _RankedTexts:
    """The suggested texts of one session, best first."""

    def __init__(self, session: int) -> None:
        self.session = session
        self.rows: list[tuple[float, SuggestedText]] = []
        self._at = 0

    @property
    def rank(self) -> float:
        """How good the next text is."""
        return self.rows[self._at][0]

    @property
    def is_empty(self) -> bool:
        return self._at == len(self.rows)

    def take(self) -> SuggestedText:
        self._at += 1
        return self.rows[self._at - 1][1]

    def __lt__(self, other: _RankedTexts) -> bool:
        return (-self.rank, -self.session) < (-other.rank, -other.session)


class ProvenSearch:
    """One search."""

    def __init__(
        self,
        store: Store,
        reader: RedactingReader,
        sessions: RedactedSessions,
        readable: Iterable[ReadableSession],
        scope: tuple[QueryNode, ...],
        *,
        limit: int,
        newest: bool,
    ) -> None:
        self._db = store.db
        self._limit = limit
        self._is_newest = newest
        self._allowed = {item.number for item in readable}
        self._redact_text = sessions.redact_text
        self._names = RedactedNames(sessions.redact_text)
        self._passages = Passages(store.db, reader.read_passage)
        bound = reader.source.find_trashed(store.db).sql_bound
        self._suggestions = Suggestions(store.db, self._names, scope, bound)
        self._table = ProofTable()
        self._owners: dict[int, int] = dict(store.db.execute("SELECT id, session FROM file"))
        self._now = max((self._passages.get_file(file).end for file in self._list_allowed_files()), default=0)

    def find(self, query: SearchQuery) -> ProvenOutcome:
        """Find the words that were typed or, if that finds nothing, similar ones."""
        if found := self._find_exact(query):
            return ProvenOutcome(found)
        if found := self._find_scattered(query):
            return ProvenOutcome(found, is_scattered=True)
        for similar in iter_similar_queries(self._db, query, self._has_word):
            plan = self._suggestions.plan(similar)
            if found := self._search(similar, plan, plan.expression):
                return ProvenOutcome(found, is_loosened=True)
        return ProvenOutcome([])

    def _list_allowed_files(self) -> Iterator[int]:
        files = [file for file, session in self._owners.items() if session in self._allowed]
        self._passages.get_files(files)
        return iter(files)

    def _find_exact(self, query: SearchQuery) -> list[ProvenSession]:
        """Search for words as typed and, if few sessions contain them, also for parts of identifiers."""
        plan = self._suggestions.plan(query)
        found = self._search(query, plan, plan.expression)
        wide = plan.wide().expression if len(found) < self._limit else None
        return self._search(query, plan, wide) if wide else found

    def _search(self, query: SearchQuery, plan: SearchPlan, expression: str) -> list[ProvenSession]:
        proof = QueryProof(self._db, query, self._table, self._names)
        waiting = self._rank_texts(self._suggestions.list_texts(expression, plan))
        chosen = list(self._prove_sessions(waiting, proof))
        chosen.sort(key=lambda pair: self._weigh_hit(pair[0], proof), reverse=True)
        return [self._complete(hit, texts, proof) for hit, texts in chosen[: self._limit]]

    def _rank_texts(self, rows: Iterable[SuggestedText]) -> list[_RankedTexts]:
        by_session: dict[int, _RankedTexts] = {}
        for row in rows:
            session = self._owners[row.file]
            if session in self._allowed:
                texts = by_session.setdefault(session, _RankedTexts(session))
                texts.rows.append((self._weigh_row(row), row))
        for texts in by_session.values():
            texts.rows.sort(key=lambda pair: (-pair[0], -pair[1].id))
        heapify(waiting := list(by_session.values()))
        return waiting

    def _weigh_row(self, row: SuggestedText) -> float:
        time = row.time or self._passages.get_file(row.file).end
        return time if self._is_newest else weigh_text(row.kind, time, self._now)

    def _prove_sessions(
        self, waiting: list[_RankedTexts], proof: QueryProof
    ) -> Iterator[tuple[ProvenHit, _RankedTexts]]:
        """Yield the best proven text of the best sessions, each with the texts of the session that are left."""
        left = self._limit + (0 if self._is_newest else _SPARE_SESSIONS)
        while waiting and left:
            texts = heappop(waiting)
            if hit := self._prove(texts.take(), proof):
                left -= 1
                yield hit, texts
            elif not texts.is_empty:
                heappush(waiting, texts)

    def _prove(self, row: SuggestedText, proof: QueryProof) -> ProvenHit | None:
        """Read a text without its secrets, and return it if it still matches."""
        kind = KIND_NAMES[row.kind]
        place = PassagePlace(row.file, row.offset, kind)
        texts = [self._redact(text) for text in self._passages.list_texts(place)]
        matches = proof.select_matches(row, texts, self._owners[row.file]) if texts else []
        finder = TermFinder(select_shown_terms(proof.terms, matches), MAX_EXCERPT_CHARS)
        snippet = build_best_snippet(matches, finder)
        return ProvenHit(row.file, row.offset, kind, row.time, snippet) if snippet else None

    def _redact(self, text: SearchText) -> SearchText:
        """Redact a text once more, as answers are: a line keeps names that mean something to the client."""
        paths = tuple(map(self._redact_text, text.paths))
        return SearchText(text.kind, self._redact_text(text.words), paths)

    def _weigh_hit(self, hit: ProvenHit, proof: QueryProof) -> tuple[float, float]:
        time = hit.time or self._passages.get_file(hit.file).end
        score = weigh_text(KIND_NAMES.index(hit.kind), time, self._now)
        if proof.terms:
            score *= weigh_snippet(hit.snippet, len(proof.terms))
        return (time, score) if self._is_newest else (score, time)

    def _complete(self, first: ProvenHit, texts: _RankedTexts, proof: QueryProof) -> ProvenSession:
        """Add the next best texts of a session, up to one more than are shown; equal excerpts are shown once."""
        hits = {first.snippet.text: first}
        read = 1
        while not texts.is_empty and read < _MAX_READ_HITS and len(hits) <= _MAX_HITS:
            if hit := self._prove(texts.take(), proof):
                read += 1
                hits.setdefault(hit.snippet.text, hit)
        listed = tuple(hits.values())
        rank = self._weigh_hit(first, proof)
        return ProvenSession(texts.session, rank, listed[:_MAX_HITS], len(listed) > _MAX_HITS)

    def _find_scattered(self, query: SearchQuery) -> list[ProvenSession]:
        """Find sessions that contain every required word, in different texts; the newest session comes first."""
        pieces = [query._replace(root=piece) for piece in _split_query(query)]
        if len(pieces) < 2:
            return []
        proofs = [QueryProof(self._db, piece, self._table, self._names) for piece in pieces]
        by_piece = [self._suggest_by_session(piece) for piece in pieces]
        common = set.intersection(*(set(texts) for texts in by_piece))
        found: list[ProvenSession] = []
        for session in sorted(common, key=self._find_end, reverse=True):
            hits = [self._prove_first(texts[session], proof) for texts, proof in zip(by_piece, proofs, strict=True)]
            proven = tuple(hit for hit in hits if hit)
            if len(proven) == len(pieces):
                found.append(ProvenSession(session, (0, 0), tuple(dict.fromkeys(proven))[:_MAX_HITS]))
            if len(found) == self._limit:
                break
        return found

    def _suggest_by_session(self, query: SearchQuery) -> dict[int, _RankedTexts]:
        plan = self._suggestions.plan(query)
        rows = self._suggestions.list_texts(plan.wide().expression or plan.expression, plan)
        return {texts.session: texts for texts in self._rank_texts(rows)}

    def _prove_first(self, texts: _RankedTexts, proof: QueryProof) -> ProvenHit | None:
        while not texts.is_empty:
            if hit := self._prove(texts.take(), proof):
                return hit
        return None

    def _find_end(self, session: int) -> tuple[int, int]:
        files = [file for file, owner in self._owners.items() if owner == session]
        return max(self._passages.get_file(file).end for file in files), session

    def _has_word(self, query: SearchQuery) -> bool:
        """Return whether any text that may be read contains a word."""
        proof = QueryProof(self._db, query, self._table, self._names)
        plan = self._suggestions.plan(query)
        waiting = self._rank_texts(self._suggestions.list_texts(plan.expression, plan))
        return next(self._prove_sessions(waiting, proof), None) is not None


def _split_query(query: SearchQuery) -> Iterator[AllNode]:
    """Yield, for each required word, what a text with it must match: the word and everything else but the words."""
    required = [
        item for item in query.root.items if any(isinstance(node, QueryTerm) for node in iter_wanted_terms(item))
    ]
    rest = [item for item in query.root.items if item not in required]
    yield from (AllNode((item, *rest)) for item in required)
