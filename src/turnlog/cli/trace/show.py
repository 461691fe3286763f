"""`turnlog trace show`: the span tree of a session."""

from __future__ import annotations

import click


@click.command()
@click.argument("session")
@click.option("-t", "--turn", metavar="N", type=click.IntRange(1), help="Only the trace of this turn.")
@click.option("--nest", is_flag=True, help="Put calls under the generation that made them, not beside it.")
@click.option(
    "--content",
    type=click.Choice(("full", "redacted", "none")),
    default="redacted",
    show_default=True,
    help="How much of texts --json shows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the spans with all that would be sent (docs/json.md).")
def show(session: str, turn: int | None, nest: bool, content: str, as_json: bool) -> None:
    """Draw the spans of a session, a tree for each turn, as a tracing backend would show it.

    Nothing is sent, and no target is needed. Every span is drawn, whether it was sent or not. SESSION is a path, an id
    or the start of one, a title, or `last`.

    \b
    Examples:
      turnlog trace show last
      turnlog trace show last --turn 3 --nest
      turnlog trace show last --json | jq '.traces[].spans[].name'
    """
    from turnlog.cli.config import load_config
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.cli.trace.span_tree import render_span_trees, to_traces_document
    from turnlog.cli.trace.strays import find_traceable
    from turnlog.errors import NotFound
    from turnlog.trace.reading import open_traced_session
    from turnlog.trace.spans.content import ContentPolicy
    from turnlog.trace.spans.span import SessionSignals
    from turnlog.trace.spans.spans import build_session_traces

    config = load_config()
    with open_traced_session(find_traceable(session, config)) as found:
        wanted = [
            trace for trace in build_session_traces(found, SessionSignals(over=True)) if turn in (None, trace.number)
        ]
        if turn is not None and not wanted:
            raise NotFound(f"turn {turn} has no trace; `turnlog trace show {session}` shows all")
        if as_json:
            print_json(to_traces_document(wanted, ContentPolicy(content), nest=nest))  # type: ignore[arg-type]
        else:
            print_lines(render_span_trees(wanted, detect_screen(config.color), nest=nest))
