"""`turnlog statusline`: print a line about the current session, for Claude Code's status line.

Claude Code runs the fast path in `status_text`, which `turnlog.__main__` starts without click; this module contains the
help and the setup.
"""

from __future__ import annotations

import click

SNIPPET = """\
{
  "statusLine": {
    "type": "command",
    "command": "turnlog statusline"
  }
}"""


@click.command()
@click.option("--format", "template", metavar="TEMPLATE", help="Template for the line, with field names in braces.")
@click.option("--install", is_flag=True, help="Print the lines to add to settings.json, without changing the file.")
def statusline(template: str | None, install: bool) -> int | None:
    """Print a status line for Claude Code.

    Claude Code runs this command and passes it information about the session as JSON on standard input. The line shows
    the model, the folder, the git branch, how full the context window is, the cost of the session, today's cost (if
    turnlog has an index), and the time left in the five-hour block. Unknown values are left out, and the command never
    fails. The fill level is yellow from 60% and red from 80%, unless NO_COLOR is set.

    To use the status line, add this to ~/.claude/settings.json (`turnlog statusline --install` prints it):

    \b
      "statusLine": {"type": "command", "command": "turnlog statusline"}

    \b
    Fields for --format: model, folder, branch, context, percent, tokens, window,
    cost, today, block, limit, session and version (see docs/statusline.md).

    \b
    Examples:
      turnlog statusline --install
      turnlog statusline --format "{model} {percent} of {window} {cost}" < status.json
    """
    if install:
        from turnlog.cli.output import print_lines

        print_lines([SNIPPET])
        return None
    from turnlog.cli.statusline.status_text import run_statusline

    return run_statusline([] if template is None else ["--format", template])
