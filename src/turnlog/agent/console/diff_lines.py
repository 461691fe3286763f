"""The lines of a diff in a terminal: cut where somebody only looks, whole where they decide."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.render.figures import format_count
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import cut_to_cells, make_visible, measure_width
from turnlog.session.files.patches import Hunk

MAX_DIFF_LINES = 60
"""Lines that somebody who only looks is shown."""
CARRIAGE_RETURN = "\r"
_MAX_LINE_CELLS = 400


def render_diff_lines(hunks: tuple[Hunk, ...], look: Look, longest: int | None = MAX_DIFF_LINES) -> Iterator[str]:
    """The lines of a diff, with their numbers; those that come are green, those that go red. `longest` None: whole.

    How lines end is shown where they don't all end alike.
    """
    is_alike = all(text.endswith(CARRIAGE_RETURN) for hunk in hunks for text in hunk.lines)
    found = [row for number, hunk in enumerate(hunks) for row in _number_hunk_lines(hunk, is_first=number == 0)]
    kept = found if longest is None else found[:longest]
    wide = max((len(str(number)) for _, number, _ in kept if number), default=0)
    room = max((look.width or _MAX_LINE_CELLS) - 5, 10)
    for sign, number, text in kept:
        told = (
            f"{number or '':>{wide}} {sign} "
            f"{make_visible((text.rstrip(CARRIAGE_RETURN) if is_alike else text).expandtabs(4))}"
        )
        style = {"+": "green", "-": "red"}.get(sign, "dim")
        shown = (
            [cut_to_cells(told, room)]
            if longest is not None
            else wrap_to_cells(told, room if look.width else len(told))
        )
        yield from (look.paint(row, style) for row in shown)
    if len(found) > len(kept):
        yield look.paint(f"… {format_count(len(found) - len(kept), 'more line')}", "dim")


def wrap_to_cells(text: str, cells: int) -> list[str]:
    """A visible text in lines of at most so many cells; nothing is left out."""
    if measure_width(text) <= cells:
        return [text]
    found, used = [""], 0
    for char in text:
        needed = measure_width(char)
        if used + needed > cells and used:
            found.append("")
            used = 0
        found[-1] += char
        used += needed
    return found


def _number_hunk_lines(hunk: Hunk, *, is_first: bool) -> Iterator[tuple[str, int | None, str]]:
    if not is_first:
        yield "…", None, ""
    old, new = hunk.old_start, hunk.new_start
    for text in hunk.lines:
        sign = text[0]
        if sign == "\\":
            yield "\\", None, text[2:]
            continue
        yield sign, old if sign == "-" else new, text[1:]
        old, new = old + (sign != "+"), new + (sign != "-")
