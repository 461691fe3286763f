"""Long text: how much is shown before the fold, how the rest is labelled, and where it is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from turnlog.render.card import Picture, TreeSection
from turnlog.render.figures import format_count, format_size
from turnlog.render.view import AnswerOther, AnyView
from turnlog.session.files.patches import Hunk
from turnlog.session.timeline.timeline import TimelineItem

MAX_SHOWN_LINES = 60
MAX_SHOWN_CHARS = 8_192
_FOLD_SLACK = 1.25
"""A fold must be worth opening: a rest smaller than this share of the visible part is not folded."""


class FoldedText(NamedTuple):
    """Text split into a visible part and a folded rest."""

    head: str
    rest: str
    label: str
    """The label of the rest, such as `412 more lines`."""

    @property
    def lines(self) -> int:
        """The number of lines before the rest."""
        return self.head.count("\n") + 1


def fold_text(text: str, lines: int = MAX_SHOWN_LINES, characters: int = MAX_SHOWN_CHARS) -> FoldedText:
    """Split long text, at the end of a line if possible; nothing is lost."""
    end = _find_fold(text, lines, characters)
    if end is None:
        return FoldedText(text, "", "")
    if text[end] == "\n":
        head, rest = text[:end], text[end + 1 :]
        return FoldedText(head, rest, format_count(rest.count("\n") + (not rest.endswith("\n")), "more line"))
    return FoldedText(text[:end], text[end:], f"{format_size(len(text) - end)} more")


def fold_markdown(text: str, lines: int = MAX_SHOWN_LINES, characters: int = MAX_SHOWN_CHARS) -> FoldedText:
    """Split long Markdown between two paragraphs, outside code blocks; nothing is lost."""
    if len(text) <= characters * _FOLD_SLACK and text.count("\n") <= lines * _FOLD_SLACK:
        return FoldedText(text, "", "")
    at, end, fence = 0, 0, ""
    for number, line in enumerate(text.splitlines(keepends=True)):
        if end and (number >= lines or at > characters):
            break
        sign = line.lstrip()[:3]
        if sign in ("```", "~~~"):
            fence = "" if fence == sign else fence or sign
        at += len(line)
        if not fence and not line.strip():
            end = at
    rest = text[end:]
    if not end or not rest.strip():
        return FoldedText(text, "", "")
    return FoldedText(text[:end], rest, format_count(rest.count("\n") + (not rest.endswith("\n")), "more line"))


def _find_fold(text: str, lines: int, characters: int) -> int | None:
    """Find where the rest starts: at the end of a line, or within a very long one."""
    if len(text) <= characters * _FOLD_SLACK and text.count("\n") <= lines * _FOLD_SLACK:
        return None
    end = -1
    for _ in range(lines):
        next_end = text.find("\n", end + 1, characters + 1)
        if next_end < 0:
            break
        end = next_end
    if end <= 0:
        return characters if len(text) > characters else None
    return end if text[end + 1 :].strip() else None


MAX_TEXT_CHARS = 500_000
"""The maximum number of characters to show of one text; Claude Code cuts tool output much earlier."""

MAX_DIFF_LINES = 2_000
"""The maximum number of lines to show of one hunk of such a large change."""


def shorten_views(
    views: Sequence[AnyView], items: Sequence[TimelineItem], limit: int = MAX_TEXT_CHARS
) -> list[AnyView]:
    """Shorten views with texts that have more characters than the limit."""
    return [
        _shorten_value(view, limit) if _is_large_item(item, limit) else view
        for view, item in zip(views, items, strict=True)
    ]


def _is_large_item(item: TimelineItem, limit: int) -> bool:
    return any(size > limit for _, size in (*item.lines, *item.results))


def _shorten_value(value: Any, limit: int) -> Any:
    match value:
        case str() if len(value) > limit:
            return f"{value[:limit]}\n… {format_count(len(value) - limit, 'more character')}, in the raw entry"
        case Hunk() if len(value.lines) > MAX_DIFF_LINES:
            left_out = format_count(len(value.lines) - MAX_DIFF_LINES, "more line")
            remark = f"\\ … {left_out}, in the raw entry"
            lines = (_shorten_value(line, limit) for line in value.lines[:MAX_DIFF_LINES])
            return value._replace(lines=(*lines, remark))
        case Picture() | TreeSection() | AnswerOther():  # a picture has its own address, and trees are bounded
            return value
        case Struct():
            fields = {name: _shorten_value(getattr(value, name), limit) for name in value.__struct_fields__}
            return replace(value, **fields)
        case tuple():
            values = (_shorten_value(item, limit) for item in value)
            return type(value)(*values) if hasattr(value, "_fields") else tuple(values)
    return value


_MAX_PIECE_CHARS = 4_096


def split_long_text(text: str) -> list[str]:
    """Split text into pieces that a browser lays out one by one; short text is one piece.

    A word of half a million characters takes a browser longer to break into lines than many short ones. Pieces end at
    the end of a line or after a space if possible.
    """
    if len(text) <= 2 * _MAX_PIECE_CHARS:
        return [text] if text else []
    pieces = []
    start = 0
    while start < len(text):
        end = start + _MAX_PIECE_CHARS
        if end < len(text):
            end = next((at + 1 for sign in "\n " if (at := text.rfind(sign, start, end)) > start), end)
        pieces.append(text[start:end])
        start = end
    return pieces
