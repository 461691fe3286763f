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
    from turnlog.cli.branch import leaf_of
    from turnlog.cli.config import load
    from turnlog.cli.named import opened
    from turnlog.cli.output import dump, say
    from turnlog.errors import Refused
    from turnlog.session.window.advice import advice
    from turnlog.session.window.filling import filling
    from turnlog.session.window.presets import savings

    config = load()
    with opened(session, config) as found:
        from turnlog.cli.terminal import screen
        from turnlog.cli.usage.fullness import Report, document, lines

        try:
            filled = filling(found, leaf_of(found, branch) if branch is not None else None)
        except Refused as reason:
            raise Refused(f"{found.path}: {reason}") from None
        saved = savings(filled, found.file.entries)
        report = Report(found, filled, saved, advice(filled, saved), turn)
        if as_json:
            dump(document(report))
        else:
            say(lines(report, screen(config.color)))
