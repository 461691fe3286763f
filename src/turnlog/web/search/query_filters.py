"""Shows the filters of a query as controls, and changes a query when a control changes.

The query contains the whole state: a control only writes into it. Filters that are negated, are in parentheses, or have
several values are left as typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from turnlog.store.search.query_tokens import QueryLexer
from turnlog.store.search.syntax import QueryError, QueryFilter

FILTER_CONTROLS = ("project", "session", "role", "kind", "tool", "model", "error", "after", "before")
_SPECIAL_CHARS = frozenset(' \t\n,"()')


class PlacedFilter(NamedTuple):
    """A top-level filter of a query, with its position in the text."""

    name: str
    values: tuple[str, ...]
    start: int
    end: int


def read_filters(query: str) -> dict[str, str]:
    """Return the filters that controls can show, by name; several values are joined with commas."""
    return {item.name: ",".join(item.values) for item in _find_filters(query) if item.name in FILTER_CONTROLS}


def change_filters(query: str, changes: Mapping[str, str]) -> str:
    """Change some filters of a query; an empty value removes a filter."""
    for name, value in changes.items():
        query = _replace_filter(query, name, value.strip())
    return query


def apply_changed_controls(query: str, before: str, controls: Mapping[str, str]) -> str:
    """Update a query with the controls that changed since they were shown for the query `before`."""
    old = read_filters(before)
    return change_filters(query, {name: value for name, value in controls.items() if value != old.get(name, "")})


def quote_filter_value(value: str) -> str:
    """Quote a value for use in a query if it needs quotes."""
    if not _SPECIAL_CHARS & set(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _replace_filter(query: str, name: str, value: str) -> str:
    for item in reversed([item for item in _find_filters(query) if item.name == name]):
        query = query[: item.start] + query[item.end :]
    rest = " ".join(query.split()) if '"' not in query else query.strip()
    if not value:
        return rest
    if _has_or(rest):
        rest = f"({rest})"
    return f"{rest} {name}:{quote_filter_value(value)}".strip()


def _find_filters(query: str) -> Iterator[PlacedFilter]:
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
