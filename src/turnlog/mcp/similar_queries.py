"""Queries with similar words in place of those that nothing contains.

The words come from the index, which also contains those of secrets, so all of them are used, however many: the hits are
proven, and then depend only on the words of redacted texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from turnlog.store.index.words import fold_word
from turnlog.store.search.loose_search import Vocabulary, is_single_word, replace_words
from turnlog.store.search.query import SearchQuery
from turnlog.store.search.search import LoosenedWord
from turnlog.store.search.syntax import AllNode, QueryTerm

if TYPE_CHECKING:
    import apsw

    from turnlog.session.texts.texts import SearchText

_MAX_SIMILAR_WORDS = 2000
"""A part that more words contain is a letter or two, and means nothing in particular."""
_MAX_HIGHLIGHTED_TERMS = 64
_WORD_PATTERN = re.compile(r"[^\W_]+")


def iter_similar_queries(
    db: apsw.Connection, query: SearchQuery, has_word: Callable[[SearchQuery], bool]
) -> Iterator[SearchQuery]:
    """Yield queries with words that start with, contain or resemble those that no text contains."""
    words = [term for term in query.terms if is_single_word(term)]
    lost = [term for term in words if not has_word(SearchQuery(term.text, AllNode((term,))))] or words
    if not lost:
        return
    yield replace_words(query, {term: LoosenedWord(term.text, "prefix", ()) for term in lost})
    vocabulary = Vocabulary(db)
    ways = {term: list(vocabulary.iter_similar_words(fold_word(term.text), "said")) for term in lost}
    for number in range(max(map(len, ways.values()))):
        found = {term: lists[number] for term, lists in ways.items() if number < len(lists)}
        replaced = {
            term: LoosenedWord(term.text, "spelling", tuple(words))
            for term, words in found.items()
            if 0 < len(words) <= _MAX_SIMILAR_WORDS
        }
        if replaced:
            yield replace_words(query, replaced)


def select_shown_terms(terms: Sequence[QueryTerm], texts: Iterable[SearchText]) -> Sequence[QueryTerm]:
    """Return the terms to show in an excerpt; of many similar words, those that the texts contain."""
    if len(terms) <= _MAX_HIGHLIGHTED_TERMS:
        return terms
    words = {fold_word(word) for text in texts for word in _WORD_PATTERN.findall(text.words)}
    return [term for term in terms if fold_word(term.text) in words][:_MAX_HIGHLIGHTED_TERMS]
