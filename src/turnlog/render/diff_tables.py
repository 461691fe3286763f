"""A change to a file as two tables: unified and side by side.

The page contains both, and a checkbox switches between them without a script. Changes within a line are marked if the
line has a counterpart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from turnlog.render.highlight import CodePiece, Highlighter
from turnlog.render.html_escape import escape_to_markup
from turnlog.render.jinja_templates import render_pieces
from turnlog.session.files.patches import Hunk

MAX_SHOWN_ROWS = 60
"""How many rows are shown before the fold."""
MAX_SPLIT_LINES = 2_000
"""The maximum number of lines in a change that is shown side by side."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MAX_MARKED_LINE_CHARS = 1_000
_MAX_MARKED_WORDS = 120
_MAX_COLOURED_LINE_CHARS = 8_000
CharSpan: TypeAlias = tuple[int, int]


class DiffLine(NamedTuple):
    """A line of the old or the new text."""

    sign: str
    """A space, `-`, `+`, or a backslash for a remark."""
    old: int | None
    new: int | None
    html: Markup


class DiffPair(NamedTuple):
    """Two lines side by side; remarks and hunk headers span both columns."""

    left: DiffLine | None
    right: DiffLine | None


class DiffTables(NamedTuple):
    """The visible and the folded rows of each table."""

    unified: tuple[Markup, Markup]
    split: tuple[Markup, Markup] | None
    """None if there is nothing to show side by side."""
    rest: tuple[int, int]
    """The number of folded rows in each table."""
    added: int
    removed: int


def build_diff_tables(hunks: Sequence[Hunk], language: str, highlighter: Highlighter) -> DiffTables:
    """Build the rows of both tables."""
    lines: list[DiffLine] = []
    for number, hunk in enumerate(hunks):
        if number or (len(hunks) > 1 and hunk.old_start > 1):
            lines.append(DiffLine("@", None, None, escape_to_markup(hunk.title)))
        lines += _iter_lines(hunk, language, highlighter)
    added, removed = (sum(line.sign == sign for line in lines) for sign in "+-")
    unified = [_render_unified_row(line) for line in lines]
    pairs = list(_pair_lines(lines)) if added and removed and len(lines) <= MAX_SPLIT_LINES else []
    split = [_render_split_row(pair) for pair in pairs]
    return DiffTables(
        _split_rows(unified),
        _split_rows(split) if split else None,
        (_count_folded_rows(unified), _count_folded_rows(split)),
        added=added,
        removed=removed,
    )


def _count_folded_rows(rows: Sequence[str]) -> int:
    return len(rows) - MAX_SHOWN_ROWS if len(rows) > MAX_SHOWN_ROWS * 1.25 else 0


def _split_rows(rows: Sequence[str]) -> tuple[Markup, Markup]:
    end = len(rows) - _count_folded_rows(rows)
    return Markup("".join(rows[:end])), Markup("".join(rows[end:]))


# -- lines


def _iter_lines(hunk: Hunk, language: str, highlighter: Highlighter) -> Iterator[DiffLine]:
    """Yield the lines of a hunk with their numbers, colours and marks."""
    signs = [line[:1] for line in hunk.lines]
    texts = [line[1:].rstrip("\r").replace("\n", "\u2424") for line in hunk.lines]
    marks = _find_marks(signs, texts)
    pieces = _colour_lines(signs, texts, language, highlighter)
    old, new = hunk.old_start, hunk.new_start
    for at, sign in enumerate(signs):
        if sign not in (" ", "-", "+"):
            yield DiffLine("\\", None, None, escape_to_markup(texts[at].strip()))
            continue
        is_long = len(texts[at]) > _MAX_COLOURED_LINE_CHARS
        html = (
            render_pieces(texts[at])
            if is_long
            else Markup("".join(_render_marked_pieces(pieces[at], marks.get(at, ()))))
        )
        yield DiffLine(sign, old if sign != "+" else None, new if sign != "-" else None, html)
        old, new = old + (sign != "+"), new + (sign != "-")


def _colour_lines(
    signs: Sequence[str], texts: Sequence[str], language: str, highlighter: Highlighter
) -> dict[int, list[CodePiece]]:
    """Colour the lines of the old and the new text, each as a whole, because tokens can span lines."""
    found: dict[int, list[CodePiece]] = {}
    for side in "-+" if "-" in signs else "+":
        places = [at for at, sign in enumerate(signs) if sign in (" ", side)]
        if side in signs or not found:
            found.update(
                zip(places, highlighter.highlight_lines("\n".join(texts[at] for at in places), language), strict=True)
            )
    return found


def _find_marks(signs: Sequence[str], texts: Sequence[str]) -> dict[int, list[CharSpan]]:
    """Map the index of each changed line to the spans that differ from the line's counterpart."""
    found: dict[int, list[CharSpan]] = {}
    for removed, added in _iter_change_blocks(signs):
        for one, other in zip(removed, added, strict=False):
            spans = find_changed_spans(texts[one], texts[other])
            if spans:
                found[one], found[other] = spans
    return found


def _iter_change_blocks(signs: Sequence[str]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield runs of removed lines, each with the run of added lines that follows."""
    removed: list[int] = []
    added: list[int] = []
    for at, sign in enumerate([*signs, " "]):
        if sign == "-" and not added:
            removed.append(at)
        elif sign == "+" and removed:
            added.append(at)
        elif sign != "\\":
            if removed and added:
                yield removed, added
            removed, added = ([at], []) if sign == "-" else ([], [])


def find_changed_spans(old: str, new: str) -> tuple[list[CharSpan], list[CharSpan]] | None:
    """Find where two lines differ; None if they have too little in common for marks to help."""
    if max(len(old), len(new)) > _MAX_MARKED_LINE_CHARS:
        return None
    one, other = _WORD.findall(old), _WORD.findall(new)
    if max(len(one), len(other)) > _MAX_MARKED_WORDS:
        return None
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    same = sum(len("".join(one[block.a : block.a + block.size]).strip()) for block in matcher.get_matching_blocks())
    if same * 2.5 < max(len(old.strip()), len(new.strip())):
        return None
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return _to_char_spans(one, ((step[1], step[2]) for step in steps)), _to_char_spans(
        other, ((step[3], step[4]) for step in steps)
    )


def _to_char_spans(words: Sequence[str], places: Iterable[CharSpan]) -> list[CharSpan]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[last]) for first, last in places if first < last]


def _render_marked_pieces(pieces: Iterable[CodePiece], spans: Sequence[CharSpan]) -> Iterator[str]:
    """Render the pieces of a line as HTML, split where a mark starts or ends."""
    at = 0
    for piece in pieces:
        for start, end, is_marked in _cut_at_spans(at, at + len(piece.text), spans):
            html = CodePiece(piece.kind, piece.text[start - at : end - at]).html
            yield f'<span class="ch">{html}</span>' if is_marked else html
        at += len(piece.text)


def _cut_at_spans(start: int, end: int, spans: Sequence[CharSpan]) -> Iterator[tuple[int, int, bool]]:
    for first, last in spans:
        if last <= start or first >= end:
            continue
        if first > start:
            yield start, first, False
        yield max(first, start), min(last, end), True
        start = min(last, end)
    if start < end:
        yield start, end, False


# -- rows


_ROW_CLASSES = {"+": "add", "-": "del", " ": "same", "@": "place", "\\": "remark"}


def _render_unified_row(line: DiffLine) -> str:
    if line.sign in "@\\":
        return f'<tr class="{_ROW_CLASSES[line.sign]}"><td colspan="3">{line.html}</td></tr>\n'
    return (
        f"<tr "
        f'class="{_ROW_CLASSES[line.sign]}">{_render_number(line.old)}{_render_number(line.new)}{_render_cell(line)}</tr>\n'
    )


def _render_split_row(pair: DiffPair) -> str:
    left, right = pair
    if left is not None and left.sign in "@\\":
        return f'<tr class="{_ROW_CLASSES[left.sign]}"><td colspan="4">{left.html}</td></tr>\n'
    sides = _render_side(left, left.old if left else None), _render_side(right, right.new if right else None)
    return f"<tr>{''.join(sides)}</tr>\n"


def _render_side(line: DiffLine | None, number: int | None) -> str:
    if line is None:
        return '<td class="n"></td><td class="nothing"></td>'
    kind = _ROW_CLASSES[line.sign]
    return f'<td class="n {kind}">{number}</td><td class="c {kind}">{line.html}</td>'


def _render_number(number: int | None) -> str:
    return '<td class="n"></td>' if number is None else f'<td class="n">{number}</td>'


def _render_cell(line: DiffLine) -> str:
    return f'<td class="c"><span class="sign">{line.sign}</span>{line.html}</td>'


def _pair_lines(lines: Iterable[DiffLine]) -> Iterator[DiffPair]:
    """Pair removed lines with the added lines that replace them."""
    removed: list[DiffLine] = []
    added: list[DiffLine] = []
    for line in lines:
        if line.sign == "-" and not added:
            removed.append(line)
        elif line.sign == "+":
            added.append(line)
        else:
            yield from _pair_block(removed, added)
            removed, added = ([line], []) if line.sign == "-" else ([], [])
            if line.sign != "-":
                yield DiffPair(line, line)
    yield from _pair_block(removed, added)


def _pair_block(removed: Sequence[DiffLine], added: Sequence[DiffLine]) -> Iterator[DiffPair]:
    for at in range(max(len(removed), len(added))):
        yield DiffPair(removed[at] if at < len(removed) else None, added[at] if at < len(added) else None)
