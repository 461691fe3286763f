"""The language of `turnlog search`: a query becomes a tree.

    rounding error              both words, in one text
    "cent rounding"             one after the other
    round*                      words that begin so
    a OR b, a NOT b, a -b       and parentheses; AND may be left out
    project:webshop -tool:Bash  filters (FILTERS); several values with commas, quotes around spaces

Only what stands here in capitals or with a colon is special. Signs inside a word are part of it: `foo.bar()`,
`--force`, `std::vector`, `main.py:12` are searched as typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnlog.store.search.syntax import All, Either, Node, Not, QueryError, Term, wanted
from turnlog.store.search.tokens import OPERATORS, Lexer, Token

_MOST_TERMS = 64
_DEEPEST = 40


class Query(NamedTuple):
    """A query, understood."""

    text: str
    root: All
    ignored: tuple[str, ...] = ()
    """What stands in it and has neither letter nor digit."""

    @property
    def terms(self) -> list[Term]:
        """The words and phrases that are looked for, in order; not those that must be absent."""
        return [node for node in wanted(self.root) if isinstance(node, Term)]


def parse(text: str) -> Query:
    """Understand a query; raises QueryError."""
    parser = _Parser(text)
    root = parser.whole()
    return Query(text, root, tuple(parser.ignored))


class _Parser:
    """Makes a tree of tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ignored: list[str] = []
        self.tokens = list(self._meaningful(Lexer(text).tokens()))
        self.at = 0

    def _meaningful(self, tokens: Iterator[Token]) -> Iterator[Token]:
        for token in tokens:
            if token.kind == "ignored":
                self.ignored.append(token.text)
            else:
                yield token

    def whole(self) -> All:
        """The tree of the whole query."""
        if sum(token.node is not None for token in self.tokens) > _MOST_TERMS:
            raise QueryError(f"more than {_MOST_TERMS} words and filters", self.text, self.tokens[_MOST_TERMS].at)
        if len(self.tokens) == 1:
            raise QueryError(self._nothing(), self.text, 0)
        root = self._any(0)
        if self._peek.kind != "end":
            raise QueryError("this parenthesis was never opened", self.text, self._peek.at)
        return root if isinstance(root, All) else All((root,))

    def _nothing(self) -> str:
        if self.ignored:
            return "neither letter nor digit in it; --substring finds signs"
        return "an empty query"

    @property
    def _peek(self) -> Token:
        return self.tokens[self.at]

    def _any(self, depth: int) -> Node:
        items = [self._all(depth)]
        while self._peek.kind == "OR":
            self.at += 1
            items.append(self._all(depth))
        return items[0] if len(items) == 1 else Either(tuple(items))

    def _all(self, depth: int) -> Node:
        items = [self._one(depth)]
        while True:
            if self._peek.kind == "AND":
                self.at += 1
            elif self._peek.kind in ("OR", ")", "end"):
                return items[0] if len(items) == 1 else All(tuple(items))
            items.append(self._one(depth))

    def _one(self, depth: int) -> Node:
        token = self._peek
        if depth > _DEEPEST:
            raise QueryError("nested too deep", self.text, token.at)
        if token.node is not None:
            self.at += 1
            return token.node
        if token.kind in ("NOT", "-"):
            self.at += 1
            item = self._one(depth + 1)
            return item.item if isinstance(item, Not) else Not(item)
        if token.kind == "(":
            return self._group(token, depth)
        raise self._missing(token)

    def _group(self, opened: Token, depth: int) -> Node:
        self.at += 1
        found = self._any(depth + 1)
        if self._peek.kind != ")":
            raise QueryError("this parenthesis is never closed", self.text, opened.at)
        self.at += 1
        return found

    def _missing(self, token: Token) -> QueryError:
        """What to say where a word should stand and something else does."""
        before = self.tokens[self.at - 1] if self.at else None
        if before is not None and before.kind in (*OPERATORS, "-"):
            return QueryError(f"something must follow this {before.text}", self.text, before.at)
        if token.kind in ("AND", "OR"):
            return QueryError(f"something must stand before this {token.text}", self.text, token.at)
        if before is not None and before.kind == "(":
            reason = "nothing in these parentheses" if token.kind == ")" else "this parenthesis is never closed"
            return QueryError(reason, self.text, before.at)
        return QueryError("this parenthesis was never opened", self.text, token.at)
