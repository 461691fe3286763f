"""A query as a tree: terms that must match, terms that must not match, and alternatives."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from turnlog.errors import UsageError


class QueryError(UsageError):
    """A malformed query, with the position of the error."""

    def __init__(self, reason: str, query: str, at: int) -> None:
        super().__init__(reason)
        self.query = query
        self.at = at


class QueryTerm(Struct, frozen=True):
    """A word or a phrase."""

    text: str
    at: int
    is_prefix: bool = False
    is_phrase: bool = False


class FilterValue(Struct, frozen=True):
    """A value of a filter, with its position."""

    text: str
    at: int


class QueryFilter(Struct, frozen=True):
    """A filter; one of its values must match."""

    name: str
    values: tuple[FilterValue, ...]
    at: int


class NotNode(Struct, frozen=True):
    """A node that must not match."""

    item: QueryNode


class AllNode(Struct, frozen=True):
    """Nodes that must all match."""

    items: tuple[QueryNode, ...]


class EitherNode(Struct, frozen=True):
    """Nodes, at least one of which must match."""

    items: tuple[QueryNode, ...]


QueryNode = QueryTerm | QueryFilter | NotNode | AllNode | EitherNode


def iter_wanted_terms(node: QueryNode) -> Iterator[QueryTerm | QueryFilter]:
    """Yield the terms and filters of a tree that are not negated."""
    if isinstance(node, QueryTerm | QueryFilter):
        yield node
    elif isinstance(node, AllNode | EitherNode):
        for item in node.items:
            yield from iter_wanted_terms(item)


def iter_all_terms(node: QueryNode) -> Iterator[QueryTerm | QueryFilter]:
    """Yield the terms and filters of a tree, including negated ones."""
    if isinstance(node, NotNode):
        yield from iter_all_terms(node.item)
    elif isinstance(node, AllNode | EitherNode):
        for item in node.items:
            yield from iter_all_terms(item)
    else:
        yield node
