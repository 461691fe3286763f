"""`turnlog context`: what fills the context window of a session."""

from __future__ import annotations

import click


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
    from turnlog.cli.branch import find_leaf
    from turnlog.cli.config import load_config
    from turnlog.cli.named import open_named_session
    from turnlog.cli.output import print_json, print_lines
    from turnlog.errors import Refused
    from turnlog.session.window.advice import choose_advice
    from turnlog.session.window.filling import compute_window_fill
    from turnlog.session.window.presets import estimate_savings

    config = load_config()
    with open_named_session(session, config) as found:
        from turnlog.cli.terminal import detect_screen
        from turnlog.cli.usage.fullness import ContextReport, render_context_report, to_context_report_document

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
