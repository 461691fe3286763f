"""Parses the query language of `turnlog search` into a tree.

    rounding error              both words, in one text
    "cent rounding"             one word directly after the other
    round*                      words with this prefix
    a OR b, a NOT b, a -b       and parentheses; AND may be left out
    project:webshop -tool:Bash  filters (FILTER_HELP); commas between values, quotes around spaces

Only these uppercase words and the filters with a colon are special. Symbols inside a word are part of it: `foo.bar()`,
`--force`, `std::vector` and `main.py:12` are searched as typed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnlog.store.search.query_tokens import QUERY_OPERATORS, QueryLexer, QueryToken
from turnlog.store.search.syntax import (
    AllNode,
    EitherNode,
    NotNode,
    QueryError,
    QueryNode,
    QueryTerm,
    iter_wanted_terms,
)

_MAX_TERMS = 64
_MAX_NESTING = 40


class SearchQuery(NamedTuple):
    text: str
    root: AllNode
    ignored: tuple[str, ...] = ()
    """Parts of it without any letter or digit, which can't be searched."""

    @property
    def terms(self) -> list[QueryTerm]:
        """The words and phrases to search for, in order, excluding those that must be absent."""
        return [node for node in iter_wanted_terms(self.root) if isinstance(node, QueryTerm)]


def parse_query(text: str) -> SearchQuery:
    """Parse a query; raise `QueryError` if it is malformed."""
    parser = _QueryParser(text)
    root = parser.parse_whole()
    return SearchQuery(text, root, tuple(parser.ignored))


class _QueryParser:
    """Builds a tree from tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ignored: list[str] = []
        self.tokens = list(self._drop_ignored(QueryLexer(text).iter_tokens()))
        self.at = 0

    def _drop_ignored(self, tokens: Iterator[QueryToken]) -> Iterator[QueryToken]:
        for token in tokens:
            if token.kind == "ignored":
                self.ignored.append(token.text)
            else:
                yield token

    def parse_whole(self) -> AllNode:
        if sum(token.node is not None for token in self.tokens) > _MAX_TERMS:
            raise QueryError(
                f"more than {_MAX_TERMS} words and filters; shorten the query", self.text, self.tokens[_MAX_TERMS].at
            )
        if len(self.tokens) == 1:
            raise QueryError(self._explain_empty(), self.text, 0)
        root = self._parse_either(0)
        if self._current_token.kind != "end":
            raise QueryError("this parenthesis was never opened", self.text, self._current_token.at)
        return root if isinstance(root, AllNode) else AllNode((root,))

    def _explain_empty(self) -> str:
        if self.ignored:
            return "the query contains no letters or digits; use --substring to search for symbols"
        return "the query is empty"

    @property
    def _current_token(self) -> QueryToken:
        return self.tokens[self.at]

    def _parse_either(self, depth: int) -> QueryNode:
        items = [self._parse_all(depth)]
        while self._current_token.kind == "OR":
            self.at += 1
            items.append(self._parse_all(depth))
        return items[0] if len(items) == 1 else EitherNode(tuple(items))

    def _parse_all(self, depth: int) -> QueryNode:
        items = [self._parse_one(depth)]
        while True:
            if self._current_token.kind == "AND":
                self.at += 1
            elif self._current_token.kind in ("OR", ")", "end"):
                return items[0] if len(items) == 1 else AllNode(tuple(items))
            items.append(self._parse_one(depth))

    def _parse_one(self, depth: int) -> QueryNode:
        token = self._current_token
        if depth > _MAX_NESTING:
            raise QueryError("nested too deeply", self.text, token.at)
        if token.node is not None:
            self.at += 1
            return token.node
        if token.kind in ("NOT", "-"):
            self.at += 1
            item = self._parse_one(depth + 1)
            return item.item if isinstance(item, NotNode) else NotNode(item)
        if token.kind == "(":
            return self._parse_group(token, depth)
        raise self._build_missing_error(token)

    def _parse_group(self, opening: QueryToken, depth: int) -> QueryNode:
        self.at += 1
        node = self._parse_either(depth + 1)
        if self._current_token.kind != ")":
            raise QueryError("this parenthesis is never closed", self.text, opening.at)
        self.at += 1
        return node

    def _build_missing_error(self, token: QueryToken) -> QueryError:
        before = self.tokens[self.at - 1] if self.at else None
        if before is not None and before.kind in (*QUERY_OPERATORS, "-"):
            return QueryError(f"a word or filter must follow this {before.text}", self.text, before.at)
        if token.kind in ("AND", "OR"):
            return QueryError(f"a word or filter must come before this {token.text}", self.text, token.at)
        if before is not None and before.kind == "(":
            reason = "these parentheses are empty" if token.kind == ")" else "this parenthesis is never closed"
            return QueryError(reason, self.text, before.at)
        return QueryError("this parenthesis was never opened", self.text, token.at)
