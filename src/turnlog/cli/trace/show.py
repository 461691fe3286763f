"""`turnlog trace show`: draw the span tree of a session."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option("-t", "--turn", metavar="N", type=click.IntRange(1), help="Show only the trace of this turn.")
@click.option(
    "--nest", is_flag=True, help="Nest calls below the generation that made them, instead of placing them next to it."
)
@click.option(
    "--content",
    type=click.Choice(("full", "redacted", "none")),
    default="redacted",
    show_default=True,
    help="Amount of text to include with --json.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the spans with all attributes as JSON (see docs/json.md).")
def show(session: str, turn: int | None, nest: bool, content: str, as_json: bool) -> None:
    """Show a session's spans as a tracing backend would, with one tree per turn.

    The output includes every span, whether it has been sent or not. Nothing is sent, and you don't need a target.
    SESSION is a path, an id, an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog trace show last
      turnlog trace show last --turn 3 --nest
      turnlog trace show last --json | jq '.traces[].spans[].name'
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.trace_spans import open_traces, trace_session
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen
    from turnlog.cli.trace.span_tree import render_span_trees

    if as_json:
        found = trace_session(session, turn=turn, nest=nest, content=content, notify=print_remark)  # type: ignore[arg-type]
        print_json(to_document(found))
        return
    config = load_config()
    with open_traces(session, turn, config=config, notify=print_remark) as traces:
        print_lines(render_span_trees(traces, detect_screen(config.color), nest=nest))
