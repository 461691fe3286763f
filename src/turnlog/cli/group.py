"""The top-level command group, and groups that import a command only when it is used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import click

from turnlog._version import __version__
from turnlog.cli.table import (
    COMMAND_SECTIONS,
    COMMANDS,
    COMPLETION_VARIABLE,
    DEFAULT_COMMAND,
    PIPED_COMMAND,
    CommandRow,
)


class LazyGroup(click.Group):
    """A group whose commands come from a table."""

    rows: Mapping[str, CommandRow] = COMMANDS
    sections: Mapping[str, Sequence[str]] = COMMAND_SECTIONS
    """The command names by purpose; if empty, the help shows one list."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the commands in the table's order, which is the recommended order for learning them."""
        return [name for name, row in self.rows.items() if not row.is_hidden]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command with that name."""
        row = self.rows.get(cmd_name)
        if row is None:
            return None
        command = row.load()
        assert isinstance(command, click.Command), row.module
        if COMPLETION_VARIABLE in os.environ:
            from turnlog.cli.shell.session_names import complete_sessions

            complete_sessions(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first word names, or suggest the closest match."""
        if args[0] not in self.rows and not ctx.resilient_parsing:
            raise click.NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table without importing them."""
        listed = self.list_commands(ctx)
        sections = self.sections or {"Commands": listed}
        width = max(map(len, listed))
        for title, names in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self.rows[name].help) for name in names if name in listed])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Without a command, turnlog runs `turnlog {DEFAULT_COMMAND}`, or `turnlog {PIPED_COMMAND}` in a pipe.",
)
@click.version_option(__version__, "-V", "--version", prog_name="turnlog", message="%(prog)s %(version)s")
def turnlog() -> None:
    """Read, search, follow, count, trace, share, keep and edit the sessions that Claude Code writes."""
