"""`turnlog context`: what fills the context window of a session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

from turnlog.cli.show.call_summary import first_line
from turnlog.cli.terminal import TerminalScreen, make_visible, measure_width, pad_to_cells, to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.edit.strip.presets import Advice, PresetSaving
from turnlog.errors import UsageError
from turnlog.render.call_titles import build_call_title
from turnlog.render.figures import format_count
from turnlog.session.session import Session
from turnlog.session.window.pieces import PIECE_GROUPS, ContextPiece, read_piece_text
from turnlog.session.window.window_fill import UNSEEN_GROUP, HeavyPiece, TurnFill, WindowFill


@click.command()
@click.argument("session")
@click.option(
    "--branch", "--leaf", "branch", metavar="K|UUID", help="The branch with this number, or that ends with this entry."
)
@click.option("-t", "--turn", type=click.IntRange(min=1), metavar="N", help="Only what this turn added.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def context(session: str, branch: str | None, turn: int | None, as_json: bool) -> None:
    """Show what fills the context window of a session, and what could be stripped.

    It is about the conversation that the client would resume now: after a compaction, the summary and what
    followed. How full the window was is measured (every answer states it); what filled it is estimated from the
    texts and fitted to what was measured. Each number says which it is. Nothing is written: the presets only tell
    what a stripped clone would save. SESSION is a path (of a sub-agent's file too), an id or the start of one, a
    title, or `last`.

    \b
    Examples:
      turnlog context last
      turnlog context last --turn 12          the heaviest pieces of one turn
      turnlog context last --branch 2         another branch than the client would resume
      turnlog context last --json | jq .advice
    """
    from turnlog.api.config import load_config
    from turnlog.cli.branch import find_leaf
    from turnlog.cli.named_sessions import open_named_session
    from turnlog.cli.output import print_json, print_lines
    from turnlog.edit.strip.presets import choose_advice, estimate_savings
    from turnlog.errors import Refused
    from turnlog.session.window.window_fill import compute_window_fill

    config = load_config()
    with open_named_session(session, config) as found:
        from turnlog.cli.terminal import detect_screen

        try:
            filled = compute_window_fill(found, find_leaf(found, branch) if branch is not None else None)
        except Refused as reason:
            raise Refused(f"{found.path}: {reason}") from None
        saved = estimate_savings(filled, found.file.entries)
        report = ContextReport(found, filled, saved, choose_advice(filled, saved), turn)
        if as_json:
            print_json(to_context_report_document(report))
        else:
            print_lines(render_context_report(report, detect_screen(config.color)))


_MAX_LISTED_TURNS = 20
"""So many of the last turns are listed."""
_MAX_GIST_CHARS = 200
_UNSEEN_NAMES = {"": "system prompt and tools", "later": "added later by the client"}
_GROUP_NAMES = {"system": "not in the file", "summary": "summary"}


class ContextReport(NamedTuple):
    """All that is told about a session's window."""

    session: Session
    filling: WindowFill
    savings: list[PresetSaving]
    advice: Advice
    turn: int | None

    def choose_turns(self) -> list[TurnFill]:
        """The turns to tell of; an unknown number is refused."""
        found = self.filling.list_turn_fills()
        if self.turn is None:
            return found
        chosen = [item for item in found if item.number == self.turn]
        if not chosen:
            numbers = [item.number for item in found]
            valid = f"{numbers[0]} to {numbers[-1]}" if numbers else "none"
            raise UsageError(f"--turn {self.turn}: the turns of this conversation are {valid}")
        return chosen


# -- lines


def render_context_report(report: ContextReport, screen: TerminalScreen) -> Iterator[str]:
    """The report for people; wrong wishes are refused before the first line."""
    return _render_lines(report, report.choose_turns(), screen)


def _render_lines(report: ContextReport, turns: list[TurnFill], screen: TerminalScreen) -> Iterator[str]:
    session, filling = report.session, report.filling
    yield screen.paint(screen.fit(to_visible_line((session.title or "")[:1000]) or "(no title)"), "bold")
    yield from _render_head(filling)
    if report.turn is None:
        yield ""
        yield from _render_parts(filling, screen)
    yield ""
    yield from _render_turns(turns, screen)
    yield ""
    yield from _render_heaviest(report, screen)
    if report.turn is None:
        yield ""
        yield from _render_savings(report, screen)
    yield ""
    yield from _explain_method(filling)


def _render_head(filling: WindowFill) -> Iterator[str]:
    model = to_visible_line(filling.model or "no model has answered yet")
    if filling.window is None:
        yield f"{model} · the size of its window is not known"
    else:
        yield f"{model} · window {filling.window:,} tokens · the client compacts at about {filling.threshold or 0:,}"
    if filling.measured_tokens is None:
        yield "measured   no request of this conversation states what it held"
    else:
        yield (
            f"measured   the last request held {filling.measured_tokens:,} "
            f"tokens{_format_window_share(filling.measured_tokens, filling.window)}"
        )
    yield (
        f"estimated  the next one would hold {filling.estimate:,} "
        f"tokens{_format_window_share(filling.estimate, filling.window)}"
    )


def _format_window_share(tokens: int, window: int | None) -> str:
    return f" ({tokens / window:.1%} of the window)" if window else ""


def _render_parts(filling: WindowFill, screen: TerminalScreen) -> Iterator[str]:
    """What fills the window by group, with the kinds below those that have several."""
    parts, whole = filling.list_parts(), filling.estimate
    rows = [("filled with", "tokens", "share", "pieces")]
    for group in (UNSEEN_GROUP, *PIECE_GROUPS):
        own = [part for part in parts if part.group == group]
        if not own:
            continue
        tokens = sum(part.tokens for part in own)
        rows.append(
            (
                _GROUP_NAMES.get(group, group),
                f"{tokens:,}",
                _format_share(tokens, whole),
                _format_count(sum(p.pieces for p in own)),
            )
        )
        for part in own if own[0].kind or len(own) > 1 else []:
            name = _UNSEEN_NAMES[part.kind] if group == UNSEEN_GROUP else to_visible_line(part.kind)[:60] or "other"
            rows.append(
                (f"  {name}", f"{part.tokens:,}", _format_share(part.tokens, whole), _format_count(part.pieces))
            )
    yield from _render_table(rows, screen)


def _format_count(number: int) -> str:
    return f"{number:,}" if number else ""


def _render_turns(turns: list[TurnFill], screen: TerminalScreen) -> Iterator[str]:
    shown = turns[-_MAX_LISTED_TURNS:]
    used = [group for group in PIECE_GROUPS if any(group in turn.added for turn in shown)]
    rows = [("turn", "measured", "growth", *(f"+{group}" for group in used))]
    for turn in shown:
        growth = "" if turn.growth is None else f"{turn.growth:+,}"
        measured = "" if turn.measured is None else f"{turn.measured:,}"
        added = (f"{turn.added[group]:,}" if group in turn.added else "" for group in used)
        rows.append((str(turn.number), measured, growth, *added))
    yield from _render_table(rows, screen)
    if len(turns) > len(shown):
        yield f"({format_count(len(turns) - len(shown), 'earlier turn')}: --turn N shows one, --json all)"


def _render_heaviest(report: ContextReport, screen: TerminalScreen) -> Iterator[str]:
    found, whole = report.filling.list_heaviest(report.turn), report.filling.estimate
    rows = [("heaviest", "tokens", "share", "turn")]
    rows += [
        (_name_kind(h.piece), f"{h.tokens:,}", _format_share(h.tokens, whole), str(h.piece.turn or "")) for h in found
    ]
    table = list(_render_table(rows, screen))
    taken = max(map(measure_width, table), default=0) + 2
    yield table[0]
    for text, heavy in zip(table[1:], found, strict=True):
        yield f"{pad_to_cells(text, taken)}{screen.fit(_describe_piece(report.session, heavy.piece), taken)}".rstrip()


def _name_kind(piece: ContextPiece) -> str:
    kind = to_visible_line(piece.kind)[:40]
    return f"{piece.group} {kind}" if kind else piece.group


def _describe_piece(session: Session, piece: ContextPiece) -> str:
    """What a piece is about, on one line; made visible."""
    call = next((call for call in session.calls if call.id == piece.call), None) if piece.call else None
    if call is not None:
        title = build_call_title(call.name, session.read_detail(call).input, call.line.cwd)
        return make_visible(title)
    text = read_piece_text(session, piece)
    return first_line(text)[:_MAX_GIST_CHARS] if text.strip() else ""


def _render_savings(report: ContextReport, screen: TerminalScreen) -> Iterator[str]:
    limit = report.filling.window
    rows = [("stripped", "tokens", "saved", "of window", "in the file")]
    for item in report.savings:
        share = _format_share(item.after, limit) if limit else ""
        less = f"−{format_size(item.bytes)}" if item.bytes else "–"
        rows.append((item.preset.name, f"{item.after:,}", f"{item.saved_tokens:,}", share, less))
    table = list(_render_table(rows, screen))
    yield table[0]
    for text, item in zip(table[1:], report.savings, strict=True):
        yield f"{text}  {item.preset.about}"
    action = report.advice.action or "nothing to do"
    name = f" ({report.advice.preset.name})" if report.advice.preset else ""
    yield screen.paint(f"Advice: {action}{name}.", "bold") + f" {to_visible_line(report.advice.reason)}"


def _explain_method(filling: WindowFill) -> Iterator[str]:
    yield (
        "Measured: input, cache read and cache written of a request, as its answer states them; per turn, of its last"
        " request. Growth: against the turn before."
    )
    rate = f"{filling.rate:.3f} tokens per byte of text"
    if filling.steps:
        rate += f", the median of {format_count(filling.steps, 'step')} between requests"
    else:
        rate += ", the usual rate, because nothing in this conversation tells it"
    yield (
        f"Estimated: everything else, at {rate}; images by their pixels. Not in the file: what the first request held"
        " beyond what the file shows. A turn's last answer is in the next request. Thinking counts as sent; of older"
        " models the API drops that of earlier turns."
    )


def _format_share(tokens: int, whole: int) -> str:
    return f"{tokens / whole:.1%}" if whole else ""


def _render_table(rows: Sequence[tuple[str, ...]], screen: TerminalScreen) -> Iterator[str]:
    """Columns: the first to the left, numbers to the right; the first row is the head."""
    widths = [max(measure_width(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            pad_to_cells(row[0], widths[0]),
            *(cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:], strict=True)),
        ]
        text = "  ".join(cells).rstrip()
        yield screen.paint(text, "dim") if number == 0 else text


# -- JSON


def to_context_report_document(report: ContextReport) -> dict[str, Any]:
    """The report for programs."""
    session, filling, turns = report.session, report.filling, report.choose_turns()
    return {
        "session_id": session.session_id,
        "path": str(session.path) if session.path else None,
        "model": filling.model,
        "window": filling.window,
        "threshold": filling.threshold,
        "compacted": filling.compacted,
        "measured": {"tokens": filling.measured_tokens, "requests": len(filling.requests)},
        "estimated": {
            "tokens": filling.estimate,
            "tokens_per_byte": round(filling.rate, 4),
            "steps": filling.steps,
            "not_in_file": filling.unseen,
            "not_in_file_later": filling.later,
            "parts": [part._asdict() for part in filling.list_parts()],
        },
        "turns": [turn._asdict() for turn in turns],
        "heaviest": [_to_piece_document(report, item) for item in filling.list_heaviest(report.turn)],
        "presets": [_to_saving_document(item) for item in report.savings],
        "advice": {
            "action": report.advice.action,
            "preset": report.advice.preset.name if report.advice.preset else None,
            "reason": report.advice.reason,
        },
    }


def _to_piece_document(report: ContextReport, item: HeavyPiece) -> dict[str, Any]:
    piece, whole = item.piece, report.filling.estimate
    return {
        "group": piece.group,
        "kind": piece.kind,
        "turn": piece.turn or None,
        "entry": piece.row.uuid,
        "call_id": piece.call or None,
        "tokens": item.tokens,
        "share": round(item.tokens / whole, 4) if whole else None,
        "what": _describe_piece(report.session, piece),
    }


def _to_saving_document(item: PresetSaving) -> dict[str, Any]:
    return {
        "name": item.preset.name,
        "before": item.before,
        "after": item.after,
        "saved": item.saved_tokens,
        "bytes": item.bytes,
    }
