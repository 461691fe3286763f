"""Loosens a query that finds nothing: its words are replaced with words that start with, contain or resemble them.

Each way is tried only if the previous ones find nothing, and the answer reports what was searched for instead: hits for
other words are never mixed with hits for the words that were typed. Words in titles, prompts and answers are tried
first; there are ten times as many other words, and reading those takes a second per gigabyte.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from heapq import nsmallest

import apsw

from turnlog.store.index.facets import FACET_MARK
from turnlog.store.index.shards import list_full_text_tables, list_text_schemas
from turnlog.store.index.words import fold_word, to_query_text
from turnlog.store.search.match_expression import plan_search
from turnlog.store.search.passages import PassageReader
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.search import LoosenedWord, LooseningWay, SearchOptions, SearchOutcome, search_index
from turnlog.store.search.syntax import AllNode, EitherNode, QueryNode, QueryTerm
from turnlog.store.search.trashed_sessions import NOTHING_TRASHED, TrashedSessions

_WORD_PATTERN = re.compile(r"[^\W_]+")
_LOOSENING_ORDER: tuple[tuple[LooseningWay, str], ...] = (
    ("prefix", ""),
    ("substring", "said"),
    ("spelling", "said"),
    ("substring", "done"),
    ("spelling", "done"),
)
"""The ways to loosen a word, in order, and the table whose words each one uses."""
_MAX_VOCABULARY_SECONDS = 2.0
"""Reading the words of an index stops after this time; in a very large index, a word may be missed."""
_MAX_LOOSENED_WORDS = 30
"""How many words of the index replace one word of the query."""
_MIN_LETTERS: dict[LooseningWay, int] = {"prefix": 2, "substring": 3, "spelling": 4}
_LONG_WORD_LETTERS = 7
_MAX_WORD_LETTERS = 40
"""Longer words are ids and hashes, which are not typed by hand."""


def search_loosely(
    db: apsw.Connection,
    query: SearchQuery,
    options: SearchOptions,
    read: PassageReader,
    trash: TrashedSessions = NOTHING_TRASHED,
) -> SearchOutcome:
    """Search for the words that were typed or, if that finds nothing, for similar ones."""
    outcome = search_index(db, plan_search(db, query), options, read, trash)
    if outcome.total or outcome.left_out.hits:
        return outcome
    vocabulary = Vocabulary(db)
    words = [term for term in query.terms if is_single_word(term)]
    lost = [term for term in words if not vocabulary.has(fold_word(term.text))] or words
    tried: set[tuple[LoosenedWord, ...]] = set()
    for first in range(len(_LOOSENING_ORDER)):
        replacements = {term: way for term in lost if (way := _loosen_term(vocabulary, term, first))}
        ways = tuple(replacements.values())
        if not ways or ways in tried:
            continue
        tried.add(ways)
        other = replace_words(query, replacements)
        loose = search_index(db, plan_search(db, other), options, read, trash)
        if loose.total:
            return loose._replace(loosened=ways)
    return outcome


def is_single_word(term: QueryTerm) -> bool:
    """Return whether a term is a single word, which may be loosened; a phrase is taken literally."""
    return (
        not term.is_phrase
        and [term.text] == _WORD_PATTERN.findall(to_query_text(term.text))
        and len(term.text) <= _MAX_WORD_LETTERS
    )


def _loosen_term(vocabulary: Vocabulary, term: QueryTerm, first: int) -> LoosenedWord | None:
    """Return the first way of loosening a term, from number `first` on, that finds words in the index."""
    word = fold_word(term.text)
    for how, table in _LOOSENING_ORDER[first:]:
        if len(word) < _MIN_LETTERS[how] or (how == "prefix" and term.is_prefix):
            continue
        if words := vocabulary.find(how, word, table):
            return LoosenedWord(term.text, how, tuple(words))
    return None


def replace_words(query: SearchQuery, replacements: dict[QueryTerm, LoosenedWord]) -> SearchQuery:
    """Replace words of a query, except where they must be absent."""
    return query._replace(root=AllNode((_replace_terms(query.root, replacements),)))


def _replace_terms(node: QueryNode, replacements: dict[QueryTerm, LoosenedWord]) -> QueryNode:
    match node:
        case QueryTerm():
            way = replacements.get(node)
            if way is None:
                return node
            if way.how == "prefix":
                return QueryTerm(node.text, node.at, is_prefix=True)
            return EitherNode(tuple(QueryTerm(word, node.at) for word in way.words))
        case AllNode():
            return AllNode(tuple(_replace_terms(item, replacements) for item in node.items))
        case EitherNode():
            return EitherNode(tuple(_replace_terms(item, replacements) for item in node.items))
    return node


class Vocabulary:
    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._words: dict[str, list[str]] = {}
        for schema, table in list_full_text_tables(db):
            name = _name_vocabulary(schema, table)
            db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab ({schema}, {table}, row)")

    def has(self, word: str) -> bool:
        """Return whether any text contains a word."""
        return any(
            self._db.execute(f"SELECT 1 FROM {_name_vocabulary(schema, table)} WHERE term = ?", (word,)).get
            for schema, table in list_full_text_tables(self._db)
        )

    def find(self, how: LooseningWay, word: str, table: str) -> list[str]:
        """Find words similar to a word in one of the tables or, by prefix, in both."""
        match how:
            case "prefix":
                return self._list_prefixed_words(word)
            case "substring":
                return nsmallest(
                    _MAX_LOOSENED_WORDS,
                    (other for other in self._list_all_words(table) if word in other and other != word),
                    len,
                )
            case "spelling":
                return _find_nearest_words(self._list_all_words(table), word)

    def iter_similar_words(self, word: str, table: str) -> Iterator[list[str]]:
        """Yield all words that contain a word, then all whose spelling differs in one letter, then in two."""
        words = self._list_all_words(table)
        if len(word) >= _MIN_LETTERS["substring"]:
            yield [other for other in words if word in other and other != word]
        if len(word) >= _MIN_LETTERS["spelling"]:
            yield from (_list_words_at_distance(words, word, most) for most in range(1, _count_wrong_letters(word) + 1))

    def _list_prefixed_words(self, start: str) -> list[str]:
        words: dict[str, None] = {}
        for schema, table in list_full_text_tables(self._db):
            query = f"SELECT term FROM {_name_vocabulary(schema, table)} WHERE term > ? AND term < ? LIMIT ?"
            rows = self._db.execute(query, (start, start + "\U0010ffff", _MAX_LOOSENED_WORDS))
            words.update((str(word), None) for (word,) in rows)
        return list(words)[:_MAX_LOOSENED_WORDS]

    def _list_all_words(self, table: str) -> list[str]:
        if table not in self._words:
            until, words = time.monotonic() + _MAX_VOCABULARY_SECONDS, dict[str, None]()
            for schema in list_text_schemas(self._db, table):
                query = f"SELECT term FROM {_name_vocabulary(schema, table)} WHERE term < ?"
                for number, (word,) in enumerate(self._db.execute(query, (FACET_MARK,))):
                    if len(str(word)) <= _MAX_WORD_LETTERS:
                        words[str(word)] = None
                    if number % 1000 == 0 and time.monotonic() > until:
                        break
            self._words[table] = list(words)
        return self._words[table]


def _name_vocabulary(schema: str, table: str) -> str:
    """Return the name of the table with the words of a full-text table."""
    return f"temp.words_in_{schema}_{table}"


def _find_nearest_words(words: list[str], word: str) -> list[str]:
    """Return the words whose spelling is closest: at most one letter differs, or two in long words."""
    for distance in range(1, _count_wrong_letters(word) + 1):
        if similar := _list_words_at_distance(words, word, distance):
            return similar[:_MAX_LOOSENED_WORDS]
    return []


def _count_wrong_letters(word: str) -> int:
    """Return in how many letters a similar word may differ."""
    return 1 if len(word) < _LONG_WORD_LETTERS else 2


def _list_words_at_distance(words: list[str], word: str, distance: int) -> list[str]:
    return [
        other for other in _select_similar_words(words, word, distance) if _measure_distance(word, other) == distance
    ]


def _select_similar_words(words: list[str], word: str, distance: int) -> Iterator[str]:
    """Yield the words that may be this close; most others are excluded by their length or their letters."""
    letters = set(word)
    for other in words:
        if abs(len(other) - len(word)) <= distance and len(letters.symmetric_difference(other)) <= 2 * distance:
            yield other


def _measure_distance(one: str, other: str) -> int:
    """Count the letters to add, drop, change, or swap with a neighbour to turn one word into the other."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        row = [at]
        for place, mark in enumerate(other, 1):
            cost = min(last[place] + 1, row[-1] + 1, last[place - 1] + (letter != mark))
            if at > 1 and place > 1 and letter == other[place - 2] and one[at - 2] == mark:
                cost = min(cost, before[place - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
