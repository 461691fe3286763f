"""Long texts: how much of one is shown at once, and what the rest is called."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.render.figures import count, size

LINES = 60
CHARACTERS = 8_192
_SLACK = 1.25
"""A rest that is smaller than this part of what is shown is shown with it: a fold must be worth opening."""


class Folded(NamedTuple):
    """A text in two parts."""

    head: str
    rest: str
    label: str
    """What the rest is, such as `412 more lines`."""

    @property
    def lines(self) -> int:
        """How many lines stand before the rest."""
        return self.head.count("\n") + 1


def folded(text: str, lines: int = LINES, characters: int = CHARACTERS) -> Folded:
    """A text cut where it gets long, at the end of a line where there is one; nothing is lost."""
    end = _place(text, lines, characters)
    if end is None:
        return Folded(text, "", "")
    if text[end] == "\n":
        head, rest = text[:end], text[end + 1 :]
        return Folded(head, rest, count(rest.count("\n") + (not rest.endswith("\n")), "more line"))
    return Folded(text[:end], text[end:], f"{size(len(text) - end)} more")


def parted(text: str, lines: int = LINES, characters: int = CHARACTERS) -> Folded:
    """A Markdown text cut between two paragraphs, outside of blocks of code; nothing is lost."""
    if len(text) <= characters * _SLACK and text.count("\n") <= lines * _SLACK:
        return Folded(text, "", "")
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
        return Folded(text, "", "")
    return Folded(text[:end], rest, count(rest.count("\n") + (not rest.endswith("\n")), "more line"))


def _place(text: str, lines: int, characters: int) -> int | None:
    """Where the rest begins: at the end of a line, or within a very long one."""
    if len(text) <= characters * _SLACK and text.count("\n") <= lines * _SLACK:
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
