"""Completes a query that somebody is still typing, so that results appear before its last word is complete."""

from __future__ import annotations

from collections.abc import Sequence

from turnlog.store.search.query_tokens import QueryLexer, QueryToken
from turnlog.store.search.syntax import QueryError, QueryTerm

_MIN_PREFIX_CHARS = 2
"""Nearly every text has a word that starts with a given letter."""


def complete_typed_query(text: str) -> str:
    """Close an open quote, and let the last word match all words that start with it."""
    for candidate in (text, f'{text}"'):
        try:
            tokens = list(QueryLexer(candidate).iter_tokens())[:-1]
        except QueryError:
            continue
        is_closed_phrase = candidate == text and text.endswith('"')
        return f"{candidate}*" if not is_closed_phrase and _is_unfinished(tokens) else candidate
    return text


def _is_unfinished(tokens: Sequence[QueryToken]) -> bool:
    """Return whether a query ends with a wanted word that may go on."""
    term = tokens[-1].node if tokens else None
    if not isinstance(term, QueryTerm) or term.is_prefix or not term.text[-1].isalnum():
        return False
    if len(tokens) > 1 and tokens[-2].kind in ("-", "NOT"):
        return False
    return len(term.text) >= _MIN_PREFIX_CHARS or not term.text.isascii()
