"""The place in a text that shows why it was found, on one line.

The index knows that a text fits, not where. What was typed is looked for in the text again, in the same way: without
regard to case and accents, whole words or parts of identifiers, and whatever signs stand between them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnlog.store.index.words import remove_terminal_escapes, split_identifier, to_query_text
from turnlog.store.search.syntax import QueryTerm

SNIPPET_CHARS = 160
"""About so many characters are shown."""
_BLOCK_CHARS = 40_000
"""Longer texts are looked through in pieces of so many characters, up to the first that fits."""
_MAX_MATCH_CHARS = 400
_MAX_MATCHES_PER_TERM = 60
_WORD_PATTERN = re.compile(r"[^\W_]+")
_WHITE_SPACE = re.compile(r"\s+")
_WORD_GAP = r"[\W_]{0,40}?"


class Snippet(NamedTuple):
    """A piece of a text on one line."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    """Where in it the matches are."""
    terms: int = 0
    """How many of the terms are in it."""
    exact: int = 0
    """How many of the terms are in it exactly as they were typed."""


class _TermMatch(NamedTuple):
    start: int
    end: int
    term: int
    is_exact: bool


def build_snippet_around(text: str, span: tuple[int, int], width: int = SNIPPET_CHARS) -> Snippet:
    """The piece of a text around one place in it."""
    start = max(span[0] - width, 0)
    piece = text[start : span[0] + 4 * width]
    end = min(span[1] - start, len(piece), span[0] - start + 2 * width)
    found = _TermMatch(span[0] - start, end, 0, is_exact=True)
    return _cut_snippet(piece, [found], width, start > 0, start + len(piece) < len(text))


class TermFinder:
    """Finds the terms of one query in texts."""

    def __init__(self, terms: Sequence[QueryTerm], width: int = SNIPPET_CHARS) -> None:
        self.terms = terms
        self.width = width
        self.patterns = [_compile_term(term) for term in terms]
        self.typed = [re.sub(r"^[\W_]+|[\W_]+$", "", term.text) for term in terms]

    def build_snippet(self, text: str) -> Snippet:
        """The best piece of a text; its beginning if nothing of what was typed is in it."""
        width = self.width
        if "\x1b" in text:
            text = remove_terminal_escapes(text)
        for start in range(0, max(len(text), 1), _BLOCK_CHARS):
            piece = text[start : start + _BLOCK_CHARS + _MAX_MATCH_CHARS]
            if found := sorted(self._find_term_matches(piece)):
                first, last = _choose_window(found, width)
                return _cut_snippet(piece, found[first : last + 1], width, start > 0, start + len(piece) < len(text))
            if not self.patterns:
                break
        return _cut_snippet(text[: 4 * width], [], width, False, len(text) > 4 * width)

    def _find_term_matches(self, text: str) -> Iterator[_TermMatch]:
        folded = fold_letters(text)
        for number, (term, pattern) in enumerate(zip(self.terms, self.patterns, strict=True)):
            count = 0
            for match in pattern.finditer(folded):
                start, end = match.span()
                if _is_word_edge(text, start) and (term.is_prefix or _is_word_edge(text, end)):
                    yield _TermMatch(start, end, number, text[start:end] == self.typed[number])
                    count += 1
                    if count >= _MAX_MATCHES_PER_TERM:
                        break


def _compile_term(term: QueryTerm) -> re.Pattern[str]:
    words = _WORD_PATTERN.findall(to_query_text(term.text))
    pieces = [part for word in words for part in (split_identifier(word) if word.isascii() else [word])]
    return re.compile(_WORD_GAP.join(re.escape(fold_letters(piece)) for piece in pieces))


class _LetterFolds(dict[int, int]):
    """A letter for each letter: lower case, without accents."""

    def __missing__(self, code: int) -> int:
        char = chr(code)
        plain = unicodedata.normalize("NFD", char)[0].lower()
        self[code] = found = ord(plain[0]) if not unicodedata.combining(char) else code
        return found


_LETTER_FOLDS = _LetterFolds()


def fold_letters(text: str) -> str:
    """A text as long as the given one, in lower case and without accents."""
    # Where no letter has an accent that could be taken off it, this is thrice as fast. A sigma looks at its neighbours.
    if text.isascii() or (unicodedata.is_normalized("NFD", text) and "\u03a3" not in text):
        return text.lower()
    return text.translate(_LETTER_FOLDS)


def _is_word_edge(text: str, at: int) -> bool:
    """Whether a word, or a part of an identifier, begins or ends here."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (before.isalnum() and after.isalnum()) or before > "\u0e00" or after > "\u0e00":
        return True
    if before.isdigit() != after.isdigit() or (after.isupper() and not before.isupper()):
        return True
    return after.isupper() and text[at + 1 : at + 2].islower()


def _choose_window(found: Sequence[_TermMatch], width: int) -> tuple[int, int]:
    """The first and last match of the stretch that shows most: terms, exact ones, matches."""
    best, chosen = (0, 0, 0), (0, 0)
    starts = [match.start for match in found]
    for first, match in enumerate(found):
        last = max(bisect_left(starts, match.start + width) - 1, first)
        inside = found[first : min(last + 1, first + 20)]
        score = (len({item.term for item in inside}), sum(item.is_exact for item in inside), len(inside))
        if score > best:
            best, chosen = score, (first, last)
    return chosen


def _cut_snippet(text: str, found: Sequence[_TermMatch], width: int, is_before: bool, is_after: bool) -> Snippet:
    """The text around some matches, with the white space in it made one space each."""
    begin, end = _find_bounds(text, found, width)
    shown, ranges, done = [], [], begin
    length = 0

    def add(part: str) -> None:
        nonlocal length
        plain = _WHITE_SPACE.sub(" ", part)
        shown.append(plain)
        length += len(plain)

    if is_before or text[:begin].strip():
        add("… ")
    for match in found:
        if match.start < done or match.end > end:
            continue
        add(text[done : match.start])
        start = length
        add(text[match.start : match.end])
        ranges.append((start, length))
        done = match.end
    add(text[done:end].rstrip())
    if is_after or text[end:].strip():
        add(" …")
    terms = {match.term for match in found}
    exact = {match.term for match in found if match.is_exact}
    return Snippet("".join(shown), tuple(ranges), len(terms), len(exact))


def _find_bounds(text: str, found: Sequence[_TermMatch], width: int) -> tuple[int, int]:
    """From where to where to show a text: the matches in the middle, whole words at the ends where that is near."""
    if not found:
        begin = len(text) - len(text.lstrip())
        return begin, _find_word_end(text, begin + width)
    first, last = found[0].start, min(max(match.end for match in found), found[0].start + 2 * width)
    spare = max(width - (last - first), 40)
    begin = max(first - spare // 2, 0)
    end = min(max(last + spare // 2, begin + width), len(text))
    if begin:
        space = _WHITE_SPACE.search(text, begin, min(begin + 20, first))
        begin = space.end() if space else begin
    else:
        begin = min(len(text) - len(text.lstrip()), first)
    return begin, max(_find_word_end(text, end), last)


def _find_word_end(text: str, end: int) -> int:
    """The end of the last whole word before a place, unless that is far."""
    if end >= len(text):
        return len(text)
    space = max(text.rfind(" ", end - 20, end), text.rfind("\n", end - 20, end))
    return space if space > 0 else end
