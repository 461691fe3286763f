"""`turnlog compare`: show two sessions or branches side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.rows import render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.comparisons import ComparedSide, SessionComparison

_MAX_TURNS = 20


@click.command()
@click.argument("session")
@click.argument("other", required=False)
@click.option("--branch", metavar="B", help="Branch of SESSION: its number, or the start of an entry's uuid.")
@click.option("--other-branch", metavar="B", help="Branch of OTHER or, without OTHER, a second branch of SESSION.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def compare(session: str, other: str | None, branch: str | None, other_branch: str | None, as_json: bool) -> None:
    """Show where two sessions or two branches part, and how they differ in files, cost and outcome.

    Turns at the beginning with the same prompt, answers and calls are shared, as in a fork or a clone; the figures
    leave them out. SESSION and OTHER are paths, ids, id prefixes, titles or `last`. Without OTHER, two branches of
    SESSION are compared.

    \b
    Examples:
      turnlog compare bee7dbd3 138b775a
      turnlog compare last --branch 1 --other-branch 2
      turnlog compare bee7dbd3 138b775a --json
    """
    from turnlog.api.comparisons import compare_sessions
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    found = compare_sessions(
        session, other, left_branch=branch, right_branch=other_branch, config=config, notify=print_remark
    )
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_comparison(found, detect_screen(config.color)))


def render_comparison(found: SessionComparison, screen: TerminalScreen) -> Iterator[str]:
    """Render the figures of both sides, then their turns, then the files."""
    left, right = found.left, found.right
    shared = format_count(found.shared_turns, "shared turn")
    if not left.own and not right.own:
        yield f"{shared}; the two sides are the same."
        return
    within = "; then the same prompt went differently" if found.parts_within else ""
    yield shared + within + "."
    yield ""
    rows = (
        ("session", *(_name_side(side) for side in (left, right))),
        ("own turns", *(f"{len(side.own)} of {side.turns}" for side in (left, right))),
        ("last turn", *(side.outcome or "·" for side in (left, right))),
        ("calls", *(f"{side.calls} ({side.failed} failed)" for side in (left, right))),
        ("output tokens", *(f"{side.output_tokens:,}" for side in (left, right))),
        ("cost", *(time_format.format_money(side.cost_usd) for side in (left, right))),
    )
    yield from render_table_rows(("", "left", "right"), rows, screen, range(0))
    for name, side in (("left", left), ("right", right)):
        yield ""
        yield screen.paint(f"{name}: own turns", "cyan")
        if not side.own:
            yield "  none"
        for turn in side.own[:_MAX_TURNS]:
            facts = f"{turn.outcome}, {format_count(turn.calls, 'call')}, {time_format.format_money(turn.cost_usd)}"
            yield screen.fit(f"  {turn.turn}  {facts}  {to_visible_line(turn.prompt)}")
        if len(side.own) > _MAX_TURNS:
            yield f"  … {len(side.own) - _MAX_TURNS} more"
    if found.files:
        yield ""
        files = (
            (
                f"{item.left_writes}/{item.left_reads}",
                f"{item.right_writes}/{item.right_reads}",
                to_visible_line(item.path),
            )
            for item in found.files
        )
        yield from render_table_rows(("left", "right", "file (changes/reads)"), files, screen, range(2))


def _name_side(side: ComparedSide) -> str:
    branch = f" branch {side.branch[:8]}" if side.branch else ""
    return f"{(side.session_id or '?')[:8]}{branch} {to_visible_line(side.title or '')}".strip()
