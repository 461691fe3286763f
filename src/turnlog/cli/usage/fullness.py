"""What fills a context window, as lines for people and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from turnlog.cli.show.gist import asked, first_line
from turnlog.cli.terminal import Screen, line, pad, width
from turnlog.cli.when import size
from turnlog.errors import UsageError
from turnlog.render.figures import count
from turnlog.session.session import Session
from turnlog.session.window.advice import Advice
from turnlog.session.window.filling import UNSEEN, Filling, Heavy, TurnFill
from turnlog.session.window.pieces import GROUPS, Piece, words
from turnlog.session.window.presets import Saving

_TURNS = 20
"""So many of the last turns are listed."""
_WHAT = 200
_SYSTEM = {"": "system prompt and tools", "later": "added later by the client"}
_WORDS = {"system": "not in the file", "summary": "summary"}


class Report(NamedTuple):
    """All that is told about a session's window."""

    session: Session
    filling: Filling
    savings: list[Saving]
    advice: Advice
    turn: int | None

    def turns(self) -> list[TurnFill]:
        """The turns to tell of; an unknown number is refused."""
        found = self.filling.turns()
        if self.turn is None:
            return found
        chosen = [item for item in found if item.number == self.turn]
        if not chosen:
            numbers = [item.number for item in found]
            valid = f"{numbers[0]} to {numbers[-1]}" if numbers else "none"
            raise UsageError(f"--turn {self.turn}: the turns of this conversation are {valid}")
        return chosen


# -- lines


def lines(report: Report, screen: Screen) -> Iterator[str]:
    """The report for people; wrong wishes are refused before the first line."""
    return _lines(report, report.turns(), screen)


def _lines(report: Report, turns: list[TurnFill], screen: Screen) -> Iterator[str]:
    session, filling = report.session, report.filling
    yield screen.paint(screen.fit(line((session.title or "")[:1000]) or "(no title)"), "bold")
    yield from _head(filling)
    if report.turn is None:
        yield ""
        yield from _parts(filling, screen)
    yield ""
    yield from _turns(turns, screen)
    yield ""
    yield from _heaviest(report, screen)
    if report.turn is None:
        yield ""
        yield from _savings(report, screen)
    yield ""
    yield from _method(filling)


def _head(filling: Filling) -> Iterator[str]:
    model = line(filling.model or "no model has answered yet")
    if filling.window is None:
        yield f"{model} · the size of its window is not known"
    else:
        yield f"{model} · window {filling.window:,} tokens · the client compacts at about {filling.threshold or 0:,}"
    if filling.measured is None:
        yield "measured   no request of this conversation states what it held"
    else:
        yield f"measured   the last request held {filling.measured:,} tokens{_of(filling.measured, filling.window)}"
    yield f"estimated  the next one would hold {filling.estimate:,} tokens{_of(filling.estimate, filling.window)}"


def _of(tokens: int, window: int | None) -> str:
    return f" ({tokens / window:.1%} of the window)" if window else ""


def _parts(filling: Filling, screen: Screen) -> Iterator[str]:
    """What fills the window by group, with the kinds below those that have several."""
    parts, whole = filling.parts(), filling.estimate
    rows = [("filled with", "tokens", "share", "pieces")]
    for group in (UNSEEN, *GROUPS):
        own = [part for part in parts if part.group == group]
        if not own:
            continue
        tokens = sum(part.tokens for part in own)
        rows.append((_WORDS.get(group, group), f"{tokens:,}", _share(tokens, whole), _some(sum(p.pieces for p in own))))
        for part in own if own[0].kind or len(own) > 1 else []:
            name = _SYSTEM[part.kind] if group == UNSEEN else line(part.kind)[:60] or "other"
            rows.append((f"  {name}", f"{part.tokens:,}", _share(part.tokens, whole), _some(part.pieces)))
    yield from _table(rows, screen)


def _some(number: int) -> str:
    return f"{number:,}" if number else ""


def _turns(turns: list[TurnFill], screen: Screen) -> Iterator[str]:
    shown = turns[-_TURNS:]
    used = [group for group in GROUPS if any(group in turn.added for turn in shown)]
    rows = [("turn", "measured", "growth", *(f"+{group}" for group in used))]
    for turn in shown:
        growth = "" if turn.growth is None else f"{turn.growth:+,}"
        measured = "" if turn.measured is None else f"{turn.measured:,}"
        added = (f"{turn.added[group]:,}" if group in turn.added else "" for group in used)
        rows.append((str(turn.number), measured, growth, *added))
    yield from _table(rows, screen)
    if len(turns) > len(shown):
        yield f"({count(len(turns) - len(shown), 'earlier turn')}: --turn N shows one, --json all)"


def _heaviest(report: Report, screen: Screen) -> Iterator[str]:
    found, whole = report.filling.heaviest(report.turn), report.filling.estimate
    rows = [("heaviest", "tokens", "share", "turn")]
    rows += [(_kind(h.piece), f"{h.tokens:,}", _share(h.tokens, whole), str(h.piece.turn or "")) for h in found]
    table = list(_table(rows, screen))
    taken = max(map(width, table), default=0) + 2
    yield table[0]
    for text, heavy in zip(table[1:], found, strict=True):
        yield f"{pad(text, taken)}{screen.fit(_what(report.session, heavy.piece), taken)}".rstrip()


def _kind(piece: Piece) -> str:
    kind = line(piece.kind)[:40]
    return f"{piece.group} {kind}" if kind else piece.group


def _what(session: Session, piece: Piece) -> str:
    """What a piece is about, on one line; made visible."""
    call = next((call for call in session.calls if call.id == piece.call), None) if piece.call else None
    if call is not None:
        return asked(session.detail(call).input, piece.row.cwd)[:_WHAT]
    text = words(session, piece)
    return first_line(text)[:_WHAT] if text.strip() else ""


def _savings(report: Report, screen: Screen) -> Iterator[str]:
    limit = report.filling.window
    rows = [("stripped", "tokens", "saved", "of window", "in the file")]
    for item in report.savings:
        share = _share(item.after, limit) if limit else ""
        less = f"−{size(item.bytes)}" if item.bytes else "–"
        rows.append((item.preset.name, f"{item.after:,}", f"{item.saved:,}", share, less))
    table = list(_table(rows, screen))
    yield table[0]
    for text, item in zip(table[1:], report.savings, strict=True):
        yield f"{text}  {item.preset.about}"
    action = report.advice.action or "nothing to do"
    name = f" ({report.advice.preset.name})" if report.advice.preset else ""
    yield screen.paint(f"Advice: {action}{name}.", "bold") + f" {line(report.advice.reason)}"


def _method(filling: Filling) -> Iterator[str]:
    yield (
        "Measured: input, cache read and cache written of a request, as its answer states them; per turn, of its last"
        " request. Growth: against the turn before."
    )
    rate = f"{filling.rate:.3f} tokens per byte of text"
    if filling.steps:
        rate += f", the median of {count(filling.steps, 'step')} between requests"
    else:
        rate += ", the usual rate, because nothing in this conversation tells it"
    yield (
        f"Estimated: everything else, at {rate}; images by their pixels. Not in the file: what the first request held"
        " beyond what the file shows. A turn's last answer is in the next request. Thinking counts as sent; of older"
        " models the API drops that of earlier turns."
    )


def _share(tokens: int, whole: int) -> str:
    return f"{tokens / whole:.1%}" if whole else ""


def _table(rows: Sequence[tuple[str, ...]], screen: Screen) -> Iterator[str]:
    """Columns: the first to the left, numbers to the right; the first row is the head."""
    widths = [max(width(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [pad(row[0], widths[0]), *(cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:], strict=True))]
        text = "  ".join(cells).rstrip()
        yield screen.paint(text, "dim") if number == 0 else text


# -- JSON


def document(report: Report) -> dict[str, Any]:
    """The report for programs."""
    session, filling, turns = report.session, report.filling, report.turns()
    return {
        "session_id": session.session_id,
        "path": str(session.path) if session.path else None,
        "model": filling.model,
        "window": filling.window,
        "threshold": filling.threshold,
        "compacted": filling.compacted,
        "measured": {"tokens": filling.measured, "requests": len(filling.requests)},
        "estimated": {
            "tokens": filling.estimate,
            "tokens_per_byte": round(filling.rate, 4),
            "steps": filling.steps,
            "not_in_file": filling.unseen,
            "not_in_file_later": filling.later,
            "parts": [part._asdict() for part in filling.parts()],
        },
        "turns": [turn._asdict() for turn in turns],
        "heaviest": [_heavy(report, item) for item in filling.heaviest(report.turn)],
        "presets": [_saving(item) for item in report.savings],
        "advice": {
            "action": report.advice.action,
            "preset": report.advice.preset.name if report.advice.preset else None,
            "reason": report.advice.reason,
        },
    }


def _heavy(report: Report, item: Heavy) -> dict[str, Any]:
    piece, whole = item.piece, report.filling.estimate
    return {
        "group": piece.group,
        "kind": piece.kind,
        "turn": piece.turn or None,
        "entry": piece.row.uuid,
        "call_id": piece.call or None,
        "tokens": item.tokens,
        "share": round(item.tokens / whole, 4) if whole else None,
        "what": _what(report.session, piece),
    }


def _saving(item: Saving) -> dict[str, Any]:
    return {
        "name": item.preset.name,
        "before": item.before,
        "after": item.after,
        "saved": item.saved,
        "bytes": item.bytes,
    }
