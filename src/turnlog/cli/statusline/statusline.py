"""`turnlog statusline`: a line about the session at work, for the client's status line.

What runs each time is `glance`, which `turnlog.__main__` starts without click; this is its help and its setting up.
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
@click.option("--format", "template", metavar="TEMPLATE", help="What to print, with names in braces.")
@click.option("--install", is_flag=True, help="Print what to put into settings.json; nothing is written.")
def statusline(template: str | None, install: bool) -> int | None:
    """Print one line about a session for the client's status line.

    Reads the JSON that Claude Code gives to its status line command on standard input: model, folder, branch of
    git, how full the context window is, what the session cost, what today cost (where turnlog has an index), and
    how long the five-hour block goes on. What is not known is left out; it never fails. The fill is yellow from
    60 %, red from 80 %, unless NO_COLOR is set.

    To use it, put this into ~/.claude/settings.json (`turnlog statusline --install` prints it):

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
