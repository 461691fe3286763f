"""`turnlog trace`: sessions for tracing backends."""

from __future__ import annotations

import click

from turnlog.cli.group import LazyGroup
from turnlog.cli.table import CommandRow

TRACE_COMMANDS = {
    "show": CommandRow(".trace.show", "Draw the spans of a session, a tree for each turn."),
    "backfill": CommandRow(".trace.backfill", "Send sessions that are there already."),
    "status": CommandRow(".trace.status", "Say what was sent to each target, and what waits."),
    "flush": CommandRow(".trace.flush", "Send now what waits in the outbox."),
    "work": CommandRow(".trace.work", "What the hook starts in the background.", is_hidden=True),
}


class _TraceGroup(LazyGroup):
    """The commands of tracing, each imported when it is used."""

    rows = TRACE_COMMANDS
    sections = {}  # noqa: RUF012 - one list is enough for a few


@click.group(cls=_TraceGroup)
def trace() -> None:
    """Send sessions to tracing backends: Langfuse, Phoenix, MLflow, anything that takes OpenTelemetry.

    Each turn becomes a trace of its requests to the model, its calls and its sub-agents. Every span is sent once,
    when it is final; what a backend does not take now waits in the outbox on disk, and is not lost. `turnlog hook
    install` has the client start it after each turn; `turnlog trace backfill` sends what is there already.

    \b
    Examples:
      turnlog trace show last           the span tree of a session
      turnlog trace backfill --since 7d
      turnlog trace status              what was sent, what waits, and why
      turnlog trace flush               try again now
    """
