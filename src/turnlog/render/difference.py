"""A change of a file as two tables: unified, and side by side.

Both are there, and a box that the reader ticks shows the one or the other, without any script. What changed within a
line is marked where the line has a counterpart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeAlias

from markupsafe import Markup

from turnlog.render.highlight import Highlighter, Piece
from turnlog.render.visible import shown
from turnlog.session.files.patches import Hunk

SHOWN = 60
"""So many rows are shown at once."""
WIDEST = 2_000
"""A change of more lines is shown unified only."""
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MARKED_LINE = 1_000
_MARKED_WORDS = 120
Span: TypeAlias = tuple[int, int]


class Line(NamedTuple):
    """A line of one of the two texts."""

    sign: str
    """A space, `-`, `+`, or a backslash for a remark."""
    old: int | None
    new: int | None
    html: Markup


class Pair(NamedTuple):
    """Two lines that stand side by side; remarks and places of hunks go over both."""

    left: Line | None
    right: Line | None


class Tables(NamedTuple):
    """What is shown, and what is folded: rows of each of the two tables."""

    unified: tuple[Markup, Markup]
    split: tuple[Markup, Markup] | None
    """None where there is nothing to stand side by side."""
    rest: tuple[int, int]
    """How many rows are folded in each."""
    added: int
    removed: int


def tables(hunks: Sequence[Hunk], language: str, highlighter: Highlighter) -> Tables:
    """The rows of both tables."""
    lines: list[Line] = []
    for number, hunk in enumerate(hunks):
        if number or (len(hunks) > 1 and hunk.old_start > 1):
            lines.append(Line("@", None, None, shown(hunk.title)))
        lines += _lines(hunk, language, highlighter)
    added, removed = (sum(line.sign == sign for line in lines) for sign in "+-")
    unified = [_unified_row(line) for line in lines]
    pairs = list(_pairs(lines)) if added and removed and len(lines) <= WIDEST else []
    split = [_split_row(pair) for pair in pairs]
    return Tables(
        _parts(unified), _parts(split) if split else None, (_rest(unified), _rest(split)), added=added, removed=removed
    )


def _rest(rows: Sequence[str]) -> int:
    return len(rows) - SHOWN if len(rows) > SHOWN * 1.25 else 0


def _parts(rows: Sequence[str]) -> tuple[Markup, Markup]:
    end = len(rows) - _rest(rows)
    return Markup("".join(rows[:end])), Markup("".join(rows[end:]))


# -- lines


def _lines(hunk: Hunk, language: str, highlighter: Highlighter) -> Iterator[Line]:
    """The lines of a hunk with their numbers, colours and marks."""
    signs = [line[:1] for line in hunk.lines]
    texts = [line[1:].rstrip("\r").replace("\n", "\u2424") for line in hunk.lines]
    marks = _marks(signs, texts)
    pieces = _pieces(signs, texts, language, highlighter)
    old, new = hunk.old_start, hunk.new_start
    for at, sign in enumerate(signs):
        if sign not in (" ", "-", "+"):
            yield Line("\\", None, None, shown(texts[at].strip()))
            continue
        html = Markup("".join(_marked(pieces[at], marks.get(at, ()))))
        yield Line(sign, old if sign != "+" else None, new if sign != "-" else None, html)
        old, new = old + (sign != "+"), new + (sign != "-")


def _pieces(
    signs: Sequence[str], texts: Sequence[str], language: str, highlighter: Highlighter
) -> dict[int, list[Piece]]:
    """The coloured pieces of each line; each text is coloured as a whole, since tokens go over lines."""
    found: dict[int, list[Piece]] = {}
    for side in "-+" if "-" in signs else "+":
        places = [at for at, sign in enumerate(signs) if sign in (" ", side)]
        if side in signs or not found:
            found.update(zip(places, highlighter.lines("\n".join(texts[at] for at in places), language), strict=True))
    return found


def _marks(signs: Sequence[str], texts: Sequence[str]) -> dict[int, list[Span]]:
    """Where lines differ from their counterparts, by the number of the line."""
    found: dict[int, list[Span]] = {}
    for gone, come in _blocks(signs):
        for one, other in zip(gone, come, strict=False):
            spans = changes(texts[one], texts[other])
            if spans:
                found[one], found[other] = spans
    return found


def _blocks(signs: Sequence[str]) -> Iterator[tuple[list[int], list[int]]]:
    """Runs of lines that went and came, one after the other."""
    gone: list[int] = []
    come: list[int] = []
    for at, sign in enumerate([*signs, " "]):
        if sign == "-" and not come:
            gone.append(at)
        elif sign == "+" and gone:
            come.append(at)
        elif sign != "\\":
            if gone and come:
                yield gone, come
            gone, come = ([at], []) if sign == "-" else ([], [])


def changes(old: str, new: str) -> tuple[list[Span], list[Span]] | None:
    """Where two lines differ, in each; None where they have too little in common for that to help."""
    if max(len(old), len(new)) > _MARKED_LINE:
        return None
    one, other = _WORD.findall(old), _WORD.findall(new)
    if max(len(one), len(other)) > _MARKED_WORDS:
        return None
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    same = sum(len("".join(one[block.a : block.a + block.size]).strip()) for block in matcher.get_matching_blocks())
    if same * 2.5 < max(len(old.strip()), len(new.strip())):
        return None
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    return _spans(one, ((step[1], step[2]) for step in steps)), _spans(other, ((step[3], step[4]) for step in steps))


def _spans(words: Sequence[str], places: Iterable[Span]) -> list[Span]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [(starts[first], starts[last]) for first, last in places if first < last]


def _marked(pieces: Iterable[Piece], spans: Sequence[Span]) -> Iterator[str]:
    """The pieces of a line as HTML, cut where a mark begins or ends."""
    at = 0
    for piece in pieces:
        for start, end, is_marked in _cuts(at, at + len(piece.text), spans):
            html = Piece(piece.kind, piece.text[start - at : end - at]).html
            yield f'<span class="ch">{html}</span>' if is_marked else html
        at += len(piece.text)


def _cuts(start: int, end: int, spans: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
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


_KINDS = {"+": "add", "-": "del", " ": "same", "@": "place", "\\": "remark"}


def _unified_row(line: Line) -> str:
    if line.sign in "@\\":
        return f'<tr class="{_KINDS[line.sign]}"><td colspan="3">{line.html}</td></tr>\n'
    return f'<tr class="{_KINDS[line.sign]}">{_number(line.old)}{_number(line.new)}{_cell(line)}</tr>\n'


def _split_row(pair: Pair) -> str:
    left, right = pair
    if left is not None and left.sign in "@\\":
        return f'<tr class="{_KINDS[left.sign]}"><td colspan="4">{left.html}</td></tr>\n'
    return f"<tr>{_side(left, left.old if left else None)}{_side(right, right.new if right else None)}</tr>\n"


def _side(line: Line | None, number: int | None) -> str:
    if line is None:
        return '<td class="n"></td><td class="nothing"></td>'
    kind = _KINDS[line.sign]
    return f'<td class="n {kind}">{number}</td><td class="c {kind}">{line.html}</td>'


def _number(number: int | None) -> str:
    return '<td class="n"></td>' if number is None else f'<td class="n">{number}</td>'


def _cell(line: Line) -> str:
    return f'<td class="c"><span class="sign">{line.sign}</span>{line.html}</td>'


def _pairs(lines: Iterable[Line]) -> Iterator[Pair]:
    """Lines that went beside those that came in their place."""
    gone: list[Line] = []
    come: list[Line] = []
    for line in lines:
        if line.sign == "-" and not come:
            gone.append(line)
        elif line.sign == "+":
            come.append(line)
        else:
            yield from _beside(gone, come)
            gone, come = ([line], []) if line.sign == "-" else ([], [])
            if line.sign != "-":
                yield Pair(line, line)
    yield from _beside(gone, come)


def _beside(gone: Sequence[Line], come: Sequence[Line]) -> Iterator[Pair]:
    for at in range(max(len(gone), len(come))):
        yield Pair(gone[at] if at < len(gone) else None, come[at] if at < len(come) else None)
