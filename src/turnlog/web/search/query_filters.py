"""Filters of a query as controls: which ones a query has, and a query with one of them changed.

The query is all there is: a control only writes into it. What stands inside of parentheses, is negated or has several
values is left as it is typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from turnlog.store.search.query_tokens import QueryLexer
from turnlog.store.search.syntax import QueryError, QueryFilter

FILTER_CONTROLS = ("project", "session", "role", "kind", "tool", "model", "error", "after", "before")
_SPECIAL_CHARS = frozenset(' \t\n,"()')


class PlacedFilter(NamedTuple):
    """A filter at the top of a query, and where it stands."""

    name: str
    values: tuple[str, ...]
    start: int
    end: int


def read_filters(query: str) -> dict[str, str]:
    """The filters that controls can show, by name; several values stand side by side with commas."""
    return {item.name: ",".join(item.values) for item in _find_filters(query) if item.name in FILTER_CONTROLS}


def change_filters(query: str, changes: Mapping[str, str]) -> str:
    """A query with some filters changed; an empty value takes one away."""
    for name, value in changes.items():
        query = _replace_filter(query, name, value.strip())
    return query


def apply_changed_controls(query: str, before: str, controls: Mapping[str, str]) -> str:
    """A query, and controls that were shown beside another one: those that were changed since are written into it."""
    shown = read_filters(before)
    return change_filters(query, {name: value for name, value in controls.items() if value != shown.get(name, "")})


def quote_filter_value(value: str) -> str:
    """A value as it can stand in a query."""
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
    """Whether something at the top of a query may do for something else."""
    depth = 0
    try:
        for token in QueryLexer(query).iter_tokens():
            depth += (token.kind == "(") - (token.kind == ")")
            if token.kind == "OR" and depth == 0:
                return True
    except QueryError:
        pass
    return False
