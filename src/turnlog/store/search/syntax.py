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


class Term(Struct, frozen=True):
    """A word or a phrase."""

    text: str
    at: int
    is_prefix: bool = False
    is_phrase: bool = False


class Value(Struct, frozen=True):
    """A value of a filter, and where it stands."""

    text: str
    at: int


class Filter(Struct, frozen=True):
    """A filter: one of its values must fit."""

    name: str
    values: tuple[Value, ...]
    at: int


class Not(Struct, frozen=True):
    """What must not be."""

    item: Node


class All(Struct, frozen=True):
    """What must be there together."""

    items: tuple[Node, ...]


class Either(Struct, frozen=True):
    """Of what one thing must be there."""

    items: tuple[Node, ...]


Node = Term | Filter | Not | All | Either


def wanted(node: Node) -> Iterator[Term | Filter]:
    """The terms and filters of a tree that are not negated."""
    if isinstance(node, Term | Filter):
        yield node
    elif isinstance(node, All | Either):
        for item in node.items:
            yield from wanted(item)


def everything(node: Node) -> Iterator[Term | Filter]:
    """The terms and filters of a tree, negated ones too."""
    if isinstance(node, Not):
        yield from everything(node.item)
    elif isinstance(node, All | Either):
        for item in node.items:
            yield from everything(item)
    else:
        yield node
