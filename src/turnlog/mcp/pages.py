"""Cuts answers to a number of tokens, with a cursor for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from turnlog.errors import UsageError

DEFAULT_ANSWER_TOKENS = 3_000
"""The usual size of an answer by our estimate, which stays below 4,000 tokens of any tokenizer in practice."""
MIN_ANSWER_TOKENS = 300
MAX_ANSWER_TOKENS = 20_000
"""Claude Code refuses answers above 25,000 tokens."""
_BYTES_PER_TOKEN = 3
"""English text has about four bytes per token, code three, and hexadecimal digits a little over two."""
_FRAME_TOKENS = 100
"""What the lines around an answer need."""
_MIN_PIECE_TOKENS = 60
"""A shorter piece of an item isn't worth starting."""
_CURSOR_PATTERN = re.compile(r"(\d{1,9})(?:\.(\d{1,12}))?")

LazyText = Callable[[], str]
"""Renders one item of an answer."""


class AnswerPage(NamedTuple):
    """One part of an answer."""

    text: str
    cursor: str | None
    """Where the next part starts; None if this is the last one."""
    first: int
    """The number of the first item, from 1."""
    last: int


class PageStart(NamedTuple):
    """Where a page starts."""

    item: int = 0
    offset: int = 0
    """Characters of the item that earlier pages contained."""


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text; the estimate is rather too high than too low."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN)


def parse_cursor(cursor: str | None) -> PageStart:
    if not cursor:
        return PageStart()
    match = _CURSOR_PATTERN.fullmatch(cursor.strip())
    if not match:
        raise UsageError("not a cursor; use the one from the previous answer to the same call")
    return PageStart(int(match[1]), int(match[2] or 0))


def cut_page(items: Sequence[LazyText], cursor: str | None, tokens: int) -> AnswerPage:
    """Render as many items as fit; an item that is too long continues on the next page."""
    start = parse_cursor(cursor)
    if items and start.item >= len(items):
        raise UsageError(f"this cursor is past the end: there are {len(items)} items")
    left = tokens - _FRAME_TOKENS
    parts: list[str] = []
    place, offset = start
    while place < len(items):
        text = items[place]()[offset:]
        size = count_tokens(text) + 1
        if size > left:
            if parts and (left < _MIN_PIECE_TOKENS or size <= tokens - _FRAME_TOKENS):
                break
            piece = _cut_text(text, left)
            parts.append(piece)
            return AnswerPage("\n".join(parts), f"{place}.{offset + len(piece)}", start.item + 1, place + 1)
        parts.append(text)
        left -= size
        place, offset = place + 1, 0
    end = str(place) if place < len(items) else None
    return AnswerPage("\n".join(parts), end, start.item + 1, place)


def to_lazy_texts(texts: Iterable[str]) -> list[LazyText]:
    return [_keep_text(text) for text in texts]


def _keep_text(text: str) -> LazyText:
    return lambda: text


def _cut_text(text: str, tokens: int) -> str:
    """Return the start of a text, up to a line end or a space near the limit."""
    data = text[: tokens * _BYTES_PER_TOKEN].encode("utf-8", "replace")[: tokens * _BYTES_PER_TOKEN]
    piece = data.decode("utf-8", "ignore")
    end = max((piece.rfind(mark, len(piece) // 2) for mark in _iter_break_marks()), default=-1)
    return piece[: end + 1] if end > 0 else piece


def _iter_break_marks() -> Iterator[str]:
    yield from ("\n", " ")
