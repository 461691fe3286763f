"""The part of a text that shows why it matched, on one line.

The index records that a text matches, but not where. The typed terms are searched for in the text again, in the same
way: ignoring case and accents, as whole words or parts of identifiers, with any symbols between them.
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
"""About how many characters are shown."""
_BLOCK_CHARS = 40_000
"""Longer texts are searched in pieces of this size, up to the first match."""
_MAX_MATCH_CHARS = 400
_MAX_MATCHES_PER_TERM = 60
_WORD_PATTERN = re.compile(r"[^\W_]+")
_WHITE_SPACE = re.compile(r"\s+")
_WORD_GAP = r"[\W_]{0,40}?"


class Snippet(NamedTuple):
    """A piece of text on one line."""

    text: str
    ranges: tuple[tuple[int, int], ...] = ()
    """The ranges of the matches in it."""
    terms: int = 0
    """How many of the terms it contains."""
    exact: int = 0
    """How many of the terms it contains exactly as typed."""


class _TermMatch(NamedTuple):
    start: int
    end: int
    term: int
    is_exact: bool


def build_snippet_around(text: str, span: tuple[int, int], width: int = SNIPPET_CHARS) -> Snippet:
    """Cut out the part of the text around a span."""
    start = max(span[0] - width, 0)
    piece = text[start : span[0] + 4 * width]
    end = min(span[1] - start, len(piece), span[0] - start + 2 * width)
    match = _TermMatch(span[0] - start, end, 0, is_exact=True)
    return _cut_snippet(piece, [match], width, start > 0, start + len(piece) < len(text))


class TermFinder:
    def __init__(self, terms: Sequence[QueryTerm], width: int = SNIPPET_CHARS) -> None:
        self.terms = terms
        self.width = width
        self.patterns = [_compile_term(term) for term in terms]
        self.typed = [re.sub(r"^[\W_]+|[\W_]+$", "", term.text) for term in terms]

    def build_snippet(self, text: str) -> Snippet:
        """Return the best part of the text, or its start if it contains none of the terms."""
        width = self.width
        if "\x1b" in text:
            text = remove_terminal_escapes(text)
        for start in range(0, max(len(text), 1), _BLOCK_CHARS):
            piece = text[start : start + _BLOCK_CHARS + _MAX_MATCH_CHARS]
            if matches := sorted(self._find_term_matches(piece)):
                first, last = _choose_window(matches, width)
                return _cut_snippet(piece, matches[first : last + 1], width, start > 0, start + len(piece) < len(text))
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
    """Maps each letter to lower case without accents."""

    def __missing__(self, code: int) -> int:
        char = chr(code)
        plain = unicodedata.normalize("NFD", char)[0].lower()
        self[code] = folded = ord(plain[0]) if not unicodedata.combining(char) else code
        return folded


_LETTER_FOLDS = _LetterFolds()


def fold_letters(text: str) -> str:
    """Convert text to lower case without accents, keeping its length."""
    # If no letter has a removable accent, this is three times as fast. The lower case of a sigma depends on its
    # neighbours.
    if text.isascii() or (unicodedata.is_normalized("NFD", text) and "\u03a3" not in text):
        return text.lower()
    return text.translate(_LETTER_FOLDS)


def _is_word_edge(text: str, at: int) -> bool:
    """Return whether a word, or a part of an identifier, starts or ends at a position."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if not (before.isalnum() and after.isalnum()) or before > "\u0e00" or after > "\u0e00":
        return True
    if before.isdigit() != after.isdigit() or (after.isupper() and not before.isupper()):
        return True
    return after.isupper() and text[at + 1 : at + 2].islower()


def _choose_window(matches: Sequence[_TermMatch], width: int) -> tuple[int, int]:
    """Return the first and last match in the section with the most terms, exact terms and matches."""
    best, chosen = (0, 0, 0), (0, 0)
    starts = [match.start for match in matches]
    for first, match in enumerate(matches):
        last = max(bisect_left(starts, match.start + width) - 1, first)
        inside = matches[first : min(last + 1, first + 20)]
        score = (len({item.term for item in inside}), sum(item.is_exact for item in inside), len(inside))
        if score > best:
            best, chosen = score, (first, last)
    return chosen


def _cut_snippet(text: str, matches: Sequence[_TermMatch], width: int, is_before: bool, is_after: bool) -> Snippet:
    """Cut the text around the given matches, with each run of white space reduced to one space."""
    begin, end = _find_bounds(text, matches, width)
    pieces, ranges, copied = [], [], begin
    length = 0

    def add(part: str) -> None:
        nonlocal length
        plain = _WHITE_SPACE.sub(" ", part)
        pieces.append(plain)
        length += len(plain)

    if is_before or text[:begin].strip():
        add("… ")
    for match in matches:
        if match.start < copied or match.end > end:
            continue
        add(text[copied : match.start])
        start = length
        add(text[match.start : match.end])
        ranges.append((start, length))
        copied = match.end
    add(text[copied:end].rstrip())
    if is_after or text[end:].strip():
        add(" …")
    terms = {match.term for match in matches}
    exact = {match.term for match in matches if match.is_exact}
    return Snippet("".join(pieces), tuple(ranges), len(terms), len(exact))


def _find_bounds(text: str, matches: Sequence[_TermMatch], width: int) -> tuple[int, int]:
    """Choose the bounds of a snippet, with the matches in the middle and, where possible, whole words at the ends."""
    if not matches:
        begin = len(text) - len(text.lstrip())
        return begin, _find_word_end(text, begin + width)
    first, last = matches[0].start, min(max(match.end for match in matches), matches[0].start + 2 * width)
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
    """Return the end of the last whole word before a position, unless it is far away."""
    if end >= len(text):
        return len(text)
    space = max(text.rfind(" ", end - 20, end), text.rfind("\n", end - 20, end))
    return space if space > 0 else end
