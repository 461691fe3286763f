"""`turnlog context`: show what fills a session's context window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from turnlog.cli.terminal import TerminalScreen, measure_width, pad_to_cells, to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.context import ContextReport, HeavyBlock
    from turnlog.session.window.window_fill import TurnFill


@click.command()
@click.argument("session")
@click.option(
    "--branch",
    "--leaf",
    "branch",
    metavar="K|UUID",
    help="Branch to examine, by number or by the uuid of its last entry.",
)
@click.option("-t", "--turn", type=click.IntRange(min=1), metavar="N", help="Show only what this turn added.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def context(session: str, branch: str | None, turn: int | None, as_json: bool) -> None:
    """Show what fills a session's context window and what you could strip.

    The report covers the conversation that Claude Code would resume now: after a compaction, the summary and everything
    since then. The fill level is measured, because every answer records it. The sizes of the parts are estimated from
    their text and scaled to match the measurement. Each number is marked as measured or estimated. The report also
    shows what stripping a clone with each preset would save; nothing is written. SESSION is a path (of a session or a
    sub-agent), an id, an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog context last
      turnlog context last --turn 12          the largest pieces of one turn
      turnlog context last --branch 2         a branch that Claude Code would not resume
      turnlog context last --json | jq .advice
    """
    from turnlog.api.config import load_config
    from turnlog.api.context import describe_context
    from turnlog.api.documents import to_document
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    report = describe_context(session, branch=branch, turn=turn, config=config, notify=print_remark)
    if as_json:
        print_json(to_document(report))
    else:
        print_lines(render_context_report(report, detect_screen(config.color), is_whole=turn is None))


_MAX_LISTED_TURNS = 20
"""Number of recent turns to list."""
_UNSEEN_NAMES = {"": "system prompt and tools", "later": "added later by Claude Code"}
_GROUP_NAMES = {"system": "not in the file", "summary": "summary"}


def render_context_report(report: ContextReport, screen: TerminalScreen, *, is_whole: bool) -> Iterator[str]:
    """Render the report; `is_whole` adds the parts that cover all turns."""
    yield screen.paint(screen.fit(to_visible_line((report.title or "")[:1000]) or "(no title)"), "bold")
    yield from _render_head(report)
    if is_whole:
        yield ""
        yield from _render_parts(report, screen)
    yield ""
    yield from _render_turns(report.turns, screen)
    yield ""
    yield from _render_heaviest(report, screen)
    if is_whole:
        yield ""
        yield from _render_savings(report, screen)
    yield ""
    yield from _explain_method(report)


def _render_head(report: ContextReport) -> Iterator[str]:
    model = to_visible_line(report.model or "no model has answered yet")
    if report.window is None:
        yield f"{model} · window size unknown"
    else:
        yield f"{model} · window {report.window:,} tokens · Claude Code compacts at about {report.threshold or 0:,}"
    measured, estimated = report.measured.tokens, report.estimated.tokens
    if measured is None:
        yield "measured   no request in this conversation recorded its size"
    else:
        share = _format_window_share(measured, report.window)
        yield f"measured   the last request had {measured:,} tokens{share}"
    share = _format_window_share(estimated, report.window)
    yield f"estimated  the next one would have {estimated:,} tokens{share}"


def _format_window_share(tokens: int, window: int | None) -> str:
    return f" ({tokens / window:.1%} of the window)" if window else ""


def _render_parts(report: ContextReport, screen: TerminalScreen) -> Iterator[str]:
    """Render what fills the window by group, with a breakdown of each group that has several kinds."""
    from turnlog.session.window.pieces import PIECE_GROUPS
    from turnlog.session.window.window_fill import UNSEEN_GROUP

    parts, whole = report.estimated.parts, report.estimated.tokens
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
    from turnlog.session.window.pieces import PIECE_GROUPS

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
    rows = [("heaviest", "tokens", "share", "turn")]
    for block in report.heaviest:
        share = _format_share(block.tokens, report.estimated.tokens)
        rows.append((_name_kind(block), f"{block.tokens:,}", share, str(block.turn or "")))
    table = list(_render_table(rows, screen))
    taken = max(map(measure_width, table), default=0) + 2
    yield table[0]
    for text, block in zip(table[1:], report.heaviest, strict=True):
        yield f"{pad_to_cells(text, taken)}{screen.fit(block.what, taken)}".rstrip()


def _name_kind(block: HeavyBlock) -> str:
    kind = to_visible_line(block.kind)[:40]
    return f"{block.group} {kind}" if kind else block.group


def _render_savings(report: ContextReport, screen: TerminalScreen) -> Iterator[str]:
    rows = [("stripped", "tokens", "saved", "of window", "in the file")]
    for item in report.presets:
        share = _format_share(item.after, report.window) if report.window else ""
        less = f"−{format_size(item.bytes)}" if item.bytes else "–"
        rows.append((item.name, f"{item.after:,}", f"{item.saved:,}", share, less))
    table = list(_render_table(rows, screen))
    yield table[0]
    for text, item in zip(table[1:], report.presets, strict=True):
        yield f"{text}  {item.about}"
    action = report.advice.action or "nothing to do"
    name = f" ({report.advice.preset})" if report.advice.preset else ""
    yield screen.paint(f"Advice: {action}{name}.", "bold") + f" {to_visible_line(report.advice.reason)}"


def _explain_method(report: ContextReport) -> Iterator[str]:
    yield (
        "Measured: input, cache read and cache written of a request, as its answer states them; per turn, of its last"
        " request. Growth: compared with the turn before."
    )
    rate = f"{report.estimated.tokens_per_byte:.3f} tokens per byte of text"
    if report.estimated.steps:
        rate += f", the median of {format_count(report.estimated.steps, 'step')} between requests"
    else:
        rate += ", the usual rate, because this conversation doesn't show its own"
    yield (
        f"Estimated: everything else, at {rate}; images by their pixels. Not in the file: what the first request"
        " contained beyond what the file shows. A turn's last answer is in the next request. Thinking counts as"
        " sent; for older models, the API drops thinking from earlier turns."
    )


def _format_share(tokens: int, whole: int) -> str:
    return f"{tokens / whole:.1%}" if whole else ""


def _render_table(rows: Sequence[tuple[str, ...]], screen: TerminalScreen) -> Iterator[str]:
    """Align the first column to the left and the others to the right; the first row is the header."""
    widths = [max(measure_width(row[at]) for row in rows) for at in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [
            pad_to_cells(row[0], widths[0]),
            *(cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:], strict=True)),
        ]
        text = "  ".join(cells).rstrip()
        yield screen.paint(text, "dim") if number == 0 else text
