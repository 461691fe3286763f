"""The pieces that a query is made of: words, phrases, filters, operators and parentheses, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.store.search.syntax import Filter, QueryError, Term, Value

FILTERS = {
    "project": "a folder, its name or a part of that",
    "session": "the start of an id, a title, or `last`",
    "role": "user, assistant, tool, system",
    "kind": "what the text is: prompt, answer, thinking, call, result, …",
    "tool": "the tool that was called, or whose result it is",
    "model": "the model that answered",
    "file": "a path that a call names, or a part of one",
    "error": "yes: failed calls and errors of the API; no: everything else",
    "after": "a day, a time, `yesterday`, or how long ago: `7d`",
    "before": "likewise",
}
"""The filters and what they take."""
_MIN_FILTER_LETTERS = 3
"""With so many letters the start of a filter's name is taken for the filter."""
_MEANT = {"since": "after", "until": "before", "path": "file", "type": "kind", "in": "project", "is": "error"}
"""Names of filters elsewhere."""

OPERATORS = ("AND", "OR", "NOT")
_FILTER = re.compile(r"([A-Za-z]+):(?!//|:)")
_MINUS = re.compile(r'-(?=[\w"(./~])')


class Token(NamedTuple):
    """A piece of a query."""

    kind: str
    """(, ), -, AND, OR, NOT, term, filter, ignored, end"""
    text: str
    at: int
    node: Term | Filter | None = None


class Lexer:
    """Cuts a query into tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def tokens(self) -> Iterator[Token]:
        """The pieces, and an end behind them."""
        while True:
            while self.at < len(self.text) and self.text[self.at].isspace():
                self.at += 1
            if self.at >= len(self.text):
                yield Token("end", "", len(self.text))
                return
            yield self._next()

    def _next(self) -> Token:
        start, char = self.at, self.text[self.at]
        if char in "()":
            self.at += 1
            return Token(char, char, start)
        if char == '"':
            phrase = self._quoted()
            return self._term(phrase, start, self._starred(), is_phrase=True)
        if _MINUS.match(self.text, start):
            self.at += 1
            return Token("-", char, start)
        if found := _FILTER.match(self.text, start):
            name = found[1].lower()
            if name in FILTERS:
                self.at = found.end()
                return Token("filter", found[0], start, Filter(name, tuple(self._values(found[0])), start))
            self._refuse_typo(name, start)
        word = self._bare(stop="")
        if word in OPERATORS:
            return Token(word, word, start)
        return self._term(word.rstrip("*") if word.endswith("*") else word, start, word.endswith("*"))

    def _term(self, text: str, start: int, is_prefix: bool, is_phrase: bool = False) -> Token:
        if not has_words(text):
            return Token("ignored", self.text[start : self.at], start)
        # The star means a prefix only behind a letter or digit: `foo(*` has none.
        term = Term(text, start, is_prefix and has_words(text[-1]), is_phrase)
        return Token("term", text, start, term)

    def _starred(self) -> bool:
        is_star = self.text[self.at : self.at + 1] == "*"
        self.at += is_star
        return is_star

    def _refuse_typo(self, name: str, start: int) -> None:
        """Raise if a word with a colon looks like a filter that there is not."""
        from difflib import get_close_matches  # dear, and hardly ever needed

        begun = [known for known in FILTERS if len(name) >= _MIN_FILTER_LETTERS and known.startswith(name)]
        meant = _MEANT.get(name) or next(iter((*begun, *get_close_matches(name, FILTERS, 1, 0.75))), None)
        if meant:
            reason = f'there is no filter {name}:; did you mean {meant}:? As a word: "{name}:"'
            raise QueryError(reason, self.text, start)

    def _quoted(self) -> str:
        """The text between two quotes."""
        start = self.at
        kept: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return "".join(kept)
            if char == "\\" and self.text[self.at : self.at + 1] in ('"', "\\"):
                char = self.text[self.at]
                self.at += 1
            kept.append(char)
        raise QueryError("this quote is never closed", self.text, start)

    def _bare(self, stop: str) -> str:
        """A word: it ends at a space, a quote, or a parenthesis that it has not opened itself."""
        start, own = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            if char.isspace() or char == '"' or char in stop or (char == ")" and own == 0):
                break
            own += (char == "(") - (char == ")")
            self.at += 1
        return self.text[start : self.at]

    def _values(self, name: str) -> Iterator[Value]:
        while True:
            start = self.at
            value = self._quoted() if self.text[self.at : self.at + 1] == '"' else self._bare(stop=",")
            if not value.strip():
                takes = FILTERS[name[:-1].lower()]
                raise QueryError(f'{name} needs a value: {takes}. As a word: "{name}"', self.text, start)
            yield Value(value.strip(), start)
            if self.text[self.at : self.at + 1] != ",":
                return
            self.at += 1


def has_words(text: str) -> bool:
    """Whether a text has anything that the index takes for a word."""
    return any(char.isalnum() for char in text)
