"""`turnlog statusline`: print a line about the current session, for Claude Code's status line.

Claude Code runs `glance`, which `turnlog.__main__` starts without click; this module has the help and the setup.
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
@click.option("--format", "template", metavar="TEMPLATE", help="What to print, with field names in braces.")
@click.option("--install", is_flag=True, help="Print what to add to settings.json, without changing it.")
def statusline(template: str | None, install: bool) -> int | None:
    """Print one line about a session for Claude Code's status line.

    Claude Code sends JSON to its status line command on standard input. The line shows the model, folder, git
    branch, fill of the context window, cost of the session, today's cost (if turnlog has an index), and the time
    left in the five-hour block. It leaves out what is unknown, and never fails. The fill is yellow from 60 % and
    red from 80 %, unless NO_COLOR is set.

    To use it, add this to ~/.claude/settings.json (`turnlog statusline --install` prints it):

    \b
      "statusLine": {"type": "command", "command": "turnlog statusline"}

    \b
    Names for --format: model, folder, branch, context, percent, tokens, window,
    cost, today, block, limit, session, version (docs/statusline.md).

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
