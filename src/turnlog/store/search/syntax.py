"""A query as a tree: what must be there, what must not, and what one of several may do for."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from turnlog.errors import UsageError


class QueryError(UsageError):
    """A query that can't be understood, and the place where that begins."""

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
    """A value of a filter, and where it stands."""

    text: str
    at: int


class QueryFilter(Struct, frozen=True):
    """A filter: one of its values must fit."""

    name: str
    values: tuple[FilterValue, ...]
    at: int


class NotNode(Struct, frozen=True):
    """What must not be."""

    item: QueryNode


class AllNode(Struct, frozen=True):
    """What must be there together."""

    items: tuple[QueryNode, ...]


class EitherNode(Struct, frozen=True):
    """Of what one thing must be there."""

    items: tuple[QueryNode, ...]


QueryNode = QueryTerm | QueryFilter | NotNode | AllNode | EitherNode


def iter_wanted_terms(node: QueryNode) -> Iterator[QueryTerm | QueryFilter]:
    """The terms and filters of a tree that are not negated."""
    if isinstance(node, QueryTerm | QueryFilter):
        yield node
    elif isinstance(node, AllNode | EitherNode):
        for item in node.items:
            yield from iter_wanted_terms(item)


def iter_all_terms(node: QueryNode) -> Iterator[QueryTerm | QueryFilter]:
    """The terms and filters of a tree, negated ones too."""
    if isinstance(node, NotNode):
        yield from iter_all_terms(node.item)
    elif isinstance(node, AllNode | EitherNode):
        for item in node.items:
            yield from iter_all_terms(item)
    else:
        yield node
