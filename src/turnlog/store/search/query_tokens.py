"""The tokens of a query: words, phrases, filters, operators and parentheses, with their positions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.store.search.syntax import FilterValue, QueryError, QueryFilter, QueryTerm

FILTER_HELP = {
    "project": "a folder, its name or a part of its name",
    "session": "the start of an id, a title, or `last`",
    "role": "user, assistant, tool, system",
    "kind": "the kind of text: prompt, answer, thinking, call, result, …",
    "branch": "the Git branch that a session ended on",
    "tool": "the tool that was called, or that returned the result",
    "model": "the model that answered",
    "file": "a path that a call names, or a part of one",
    "error": "yes: failed calls and API errors; no: everything else",
    "after": "a day, a time, `yesterday`, or how long ago: `7d`",
    "before": "the same forms as after",
}
"""The filters and the values that they accept."""
_MIN_FILTER_LETTERS = 3
"""A name with at least this many letters may be the start of a filter's name."""
_FILTER_SYNONYMS = {"since": "after", "until": "before", "path": "file", "type": "kind", "in": "project", "is": "error"}
"""The names of filters in other programs, and turnlog's names for them."""

QUERY_OPERATORS = ("AND", "OR", "NOT")
_FILTER_PREFIX = re.compile(r"([A-Za-z]+):(?!//|:)")
_MINUS_SIGN = re.compile(r'-(?=[\w"(./~])')


class QueryToken(NamedTuple):
    kind: str
    """(, ), -, AND, OR, NOT, term, filter, ignored, end"""
    text: str
    at: int
    node: QueryTerm | QueryFilter | None = None


class QueryLexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def iter_tokens(self) -> Iterator[QueryToken]:
        """Yield the tokens, followed by an end token."""
        while True:
            while self.at < len(self.text) and self.text[self.at].isspace():
                self.at += 1
            if self.at >= len(self.text):
                yield QueryToken("end", "", len(self.text))
                return
            yield self._read_token()

    def _read_token(self) -> QueryToken:
        start, char = self.at, self.text[self.at]
        if char in "()":
            self.at += 1
            return QueryToken(char, char, start)
        if char == '"':
            phrase = self._read_quoted()
            return self._build_term_token(phrase, start, self._take_star(), is_phrase=True)
        if _MINUS_SIGN.match(self.text, start):
            self.at += 1
            return QueryToken("-", char, start)
        if match := _FILTER_PREFIX.match(self.text, start):
            name = match[1].lower()
            if name in FILTER_HELP:
                self.at = match.end()
                return QueryToken(
                    "filter", match[0], start, QueryFilter(name, tuple(self._read_values(match[0])), start)
                )
            self._refuse_typo(name, start)
        word = self._read_bare_word(stop="")
        if word in QUERY_OPERATORS:
            return QueryToken(word, word, start)
        return self._build_term_token(word.rstrip("*") if word.endswith("*") else word, start, word.endswith("*"))

    def _build_term_token(self, text: str, start: int, is_prefix: bool, is_phrase: bool = False) -> QueryToken:
        if not has_words(text):
            return QueryToken("ignored", self.text[start : self.at], start)
        # A star means a prefix only after a letter or digit, not in `foo(*`.
        term = QueryTerm(text, start, is_prefix and has_words(text[-1]), is_phrase)
        return QueryToken("term", text, start, term)

    def _take_star(self) -> bool:
        is_star = self.text[self.at : self.at + 1] == "*"
        self.at += is_star
        return is_star

    def _refuse_typo(self, name: str, start: int) -> None:
        """Raise an error if a word with a colon looks like a misspelled filter."""
        from difflib import get_close_matches  # slow to import, and rarely needed

        completions = [known for known in FILTER_HELP if len(name) >= _MIN_FILTER_LETTERS and known.startswith(name)]
        meant = _FILTER_SYNONYMS.get(name) or next(
            iter((*completions, *get_close_matches(name, FILTER_HELP, 1, 0.75))), None
        )
        if meant:
            reason = f'unknown filter {name}:; did you mean {meant}:? To search for the word, quote it: "{name}:"'
            raise QueryError(reason, self.text, start)

    def _read_quoted(self) -> str:
        """Read the text between two quotes."""
        start = self.at
        chars: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(chars)
            if char == "\\" and self.text[self.at : self.at + 1] in ('"', "\\"):
                char = self.text[self.at]
                self.at += 1
            chars.append(char)
        raise QueryError("this quote is never closed", self.text, start)

    def _read_bare_word(self, stop: str) -> str:
        """Read a word up to a space, a quote, or a closing parenthesis that the word itself did not open."""
        start, own = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char.isspace() or char == '"' or char in stop or (char == ")" and own == 0):
                break
            own += (char == "(") - (char == ")")
            self.at += 1
        return self.text[start : self.at]

    def _read_values(self, name: str) -> Iterator[FilterValue]:
        while True:
            start = self.at
            value = self._read_quoted() if self.text[self.at : self.at + 1] == '"' else self._read_bare_word(stop=",")
            if not value.strip():
                takes = FILTER_HELP[name[:-1].lower()]
                raise QueryError(
                    f'{name} needs a value: {takes}. To search for the word, quote it: "{name}"', self.text, start
                )
            yield FilterValue(value.strip(), start)
            if self.text[self.at : self.at + 1] != ",":
                return
            self.at += 1


def has_words(text: str) -> bool:
    """Return whether text contains anything that the index treats as a word."""
    return any(char.isalnum() for char in text)
