"""The lines of a diff in a terminal: shortened in results, complete in permission questions."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.render.figures import format_count
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import cut_to_cells, make_visible, measure_width
from turnlog.session.files.patches import Hunk

MAX_DIFF_LINES = 60
"""The maximum number of lines to show for a change that has already been made."""
CARRIAGE_RETURN = "\r"
_MAX_LINE_CELLS = 400


def render_diff_lines(hunks: tuple[Hunk, ...], look: Look, longest: int | None = MAX_DIFF_LINES) -> Iterator[str]:
    """Render the lines of a diff with their numbers: added lines green, removed lines red.

    `longest` limits the number of lines; None means no limit. Carriage returns are shown unless every line has one.
    """
    is_alike = all(text.endswith(CARRIAGE_RETURN) for hunk in hunks for text in hunk.lines)
    lines = [row for number, hunk in enumerate(hunks) for row in _number_hunk_lines(hunk, is_first=number == 0)]
    visible = lines if longest is None else lines[:longest]
    digits = max((len(str(number)) for _, number, _ in visible if number), default=0)
    room = max((look.width or _MAX_LINE_CELLS) - 5, 10)
    for sign, number, text in visible:
        numbered = (
            f"{number or '':>{digits}} {sign} "
            f"{make_visible((text.rstrip(CARRIAGE_RETURN) if is_alike else text).expandtabs(4))}"
        )
        style = {"+": "green", "-": "red"}.get(sign, "dim")
        rows = (
            [cut_to_cells(numbered, room)]
            if longest is not None
            else wrap_to_cells(numbered, room if look.width else len(numbered))
        )
        yield from (look.paint(row, style) for row in rows)
    if len(lines) > len(visible):
        yield look.paint(f"… {format_count(len(lines) - len(visible), 'more line')}", "dim")


def wrap_to_cells(text: str, cells: int) -> list[str]:
    """Wrap visible text into lines of at most `cells` cells without dropping any characters."""
    if measure_width(text) <= cells:
        return [text]
    lines, used = [""], 0
    for char in text:
        needed = measure_width(char)
        if used + needed > cells and used:
            lines.append("")
            used = 0
        lines[-1] += char
        used += needed
    return lines


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
