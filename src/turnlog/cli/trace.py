"""`turnlog trace`: sessions for tracing backends."""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {
    "status": "turnlog.cli.trace_status:status",
    "flush": "turnlog.cli.trace_flush:flush",
    "backfill": "turnlog.cli.trace_backfill:backfill",
    "show": "turnlog.cli.trace_show:show",
}
HIDDEN = {"work": "turnlog.cli.trace_work:work"}
"""What the hook starts; nobody else needs it."""


class _Group(click.Group):
    """A group that imports a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order to learn them in."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        place = COMMANDS.get(cmd_name) or HIDDEN.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command), place
        return command


@click.group(cls=_Group)
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
