"""Finds the filters of a query, and changes them.

The query contains the whole state of a search: a choice beside the results only changes its text. Filters that are
negated or in parentheses are left as typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from turnlog.store.search.query_tokens import QueryLexer
from turnlog.store.search.syntax import QueryError, QueryFilter

_SPECIAL_CHARS = frozenset(' \t\n,"()')


class PlacedFilter(NamedTuple):
    """A top-level filter of a query, with its position in the text."""

    name: str
    values: tuple[str, ...]
    start: int
    end: int


def list_filters(query: str) -> list[PlacedFilter]:
    """List the filters that links can change; those of a malformed query end at the mistake."""
    return list(_iter_filters(query))


def list_filter_values(query: str, name: str) -> list[str]:
    """List the values of the filters with a name."""
    return [value for item in _iter_filters(query) if item.name == name for value in item.values]


def change_filters(query: str, changes: Mapping[str, Sequence[str]]) -> str:
    """Give some filters other values; without values, a filter is removed."""
    for name, values in changes.items():
        query = _replace_filter(query, name, values)
    return query


def toggle_filter_value(query: str, name: str, value: str, *, is_single: bool = False) -> str:
    """Add a value to a filter, or remove it; `is_single` is for filters that accept only one."""
    before = list_filter_values(query, name)
    without = [other for other in before if other.casefold() != value.casefold()]
    if len(without) < len(before):
        return _replace_filter(query, name, [] if is_single else without)
    return _replace_filter(query, name, [value] if is_single else [*before, value])


def remove_filter(query: str, item: PlacedFilter) -> str:
    """Remove a filter that `list_filters` found."""
    return _tidy_spaces(query[: item.start] + query[item.end :])


def quote_filter_value(value: str) -> str:
    """Quote a value for use in a query if it needs quotes."""
    if not _SPECIAL_CHARS & set(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _replace_filter(query: str, name: str, values: Sequence[str]) -> str:
    for item in reversed([item for item in _iter_filters(query) if item.name == name]):
        query = query[: item.start] + query[item.end :]
    rest = _tidy_spaces(query)
    if not values:
        return rest
    if _has_or(rest):
        rest = f"({rest})"
    return f"{rest} {name}:{','.join(map(quote_filter_value, values))}".strip()


def _tidy_spaces(query: str) -> str:
    return " ".join(query.split()) if '"' not in query else query.strip()


def _iter_filters(query: str) -> Iterator[PlacedFilter]:
    if _has_or(query):  # each filter belongs to one of the alternatives
        return
    lexer = QueryLexer(query)
    depth, before = 0, ""
    try:
        for token in lexer.iter_tokens():
            depth += (token.kind == "(") - (token.kind == ")")
            if isinstance(token.node, QueryFilter) and depth == 0 and before not in ("-", "NOT"):
                values = tuple(value.text for value in token.node.values)
                yield PlacedFilter(token.node.name, values, token.at, lexer.at)
            before = token.kind
    except QueryError:
        return


def _has_or(query: str) -> bool:
    """Return whether the query has an OR at its top level."""
    depth = 0
    try:
        for token in QueryLexer(query).iter_tokens():
            depth += (token.kind == "(") - (token.kind == ")")
            if token.kind == "OR" and depth == 0:
                return True
    except QueryError:
        pass
    return False
