"""`turnlog trace status`: how it stands with each tracing backend."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def status(as_json: bool) -> None:
    """Say what was sent to each target, and what waits.

    What a server does not take now is tried again later, by the next turn's hook or by `turnlog trace flush`. What it
    refuses stays in quarantine, with the server's words, until `turnlog trace flush --quarantined`.

    \b
    Examples:
      turnlog trace status
      turnlog trace status --json | jq '.targets[].pending_spans'
    """
    from turnlog.cli.config import load_config, trace_dir
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.cli.trace.standing import read_tracing_status, render_tracing_status, to_tracing_status_document

    config = load_config()
    state = read_tracing_status(trace_dir(), config.trace)
    if as_json:
        print_json(to_tracing_status_document(state))
    else:
        print_lines(render_tracing_status(state, detect_screen(config.color)))
