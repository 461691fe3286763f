"""Long texts: how much of one is shown at once, and what the rest is called."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.render.figures import format_count, format_size

MAX_SHOWN_LINES = 60
MAX_SHOWN_CHARS = 8_192
_FOLD_SLACK = 1.25
"""A rest that is smaller than this part of what is shown is shown with it: a fold must be worth opening."""


class FoldedText(NamedTuple):
    """A text in two parts."""

    head: str
    rest: str
    label: str
    """What the rest is, such as `412 more lines`."""

    @property
    def lines(self) -> int:
        """How many lines stand before the rest."""
        return self.head.count("\n") + 1


def fold_text(text: str, lines: int = MAX_SHOWN_LINES, characters: int = MAX_SHOWN_CHARS) -> FoldedText:
    """A text cut where it gets long, at the end of a line where there is one; nothing is lost."""
    end = _find_fold(text, lines, characters)
    if end is None:
        return FoldedText(text, "", "")
    if text[end] == "\n":
        head, rest = text[:end], text[end + 1 :]
        return FoldedText(head, rest, format_count(rest.count("\n") + (not rest.endswith("\n")), "more line"))
    return FoldedText(text[:end], text[end:], f"{format_size(len(text) - end)} more")


def fold_markdown(text: str, lines: int = MAX_SHOWN_LINES, characters: int = MAX_SHOWN_CHARS) -> FoldedText:
    """A Markdown text cut between two paragraphs, outside of blocks of code; nothing is lost."""
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
    """Where the rest begins: at the end of a line, or within a very long one."""
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
