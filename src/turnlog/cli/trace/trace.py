"""`turnlog trace`: send sessions to tracing backends."""

from __future__ import annotations

import click

from turnlog.cli.group import LazyGroup
from turnlog.cli.table import CommandRow

TRACE_COMMANDS = {
    "show": CommandRow(".trace.show", "Show a session's spans, with one tree per turn."),
    "backfill": CommandRow(".trace.backfill", "Send existing sessions to the tracing backends."),
    "status": CommandRow(".trace.status", "Show what was sent to each target and what is waiting."),
    "flush": CommandRow(".trace.flush", "Send the spans in the outbox now."),
    "work": CommandRow(".trace.work", "Run the worker that the hook starts in the background.", is_hidden=True),
}


class _TraceGroup(LazyGroup):
    """The tracing commands, each imported when it is used."""

    rows = TRACE_COMMANDS
    sections = {}  # noqa: RUF012 - a few commands need no sections


@click.group(cls=_TraceGroup)
def trace() -> None:
    """Send sessions to tracing backends: Langfuse, Phoenix, MLflow, or any other that supports OpenTelemetry.

    Each turn becomes a trace of its model requests, calls and sub-agents. Every span is sent once, when it is final. If
    a backend can't be reached, spans wait in an outbox on disk and are not lost. `turnlog hook install` makes Claude
    Code send each turn when it ends; `turnlog trace backfill` sends existing sessions.

    \b
    Examples:
      turnlog trace show last           show the span trees of a session
      turnlog trace backfill --since 7d
      turnlog trace status              show what was sent and what is waiting
      turnlog trace flush               send what is waiting
    """
