"""`turnlog ls`: the sessions of this machine, newest first, from their two ends alone."""

from __future__ import annotations

import click


@click.command()
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("-a", "--all", "everything", is_flag=True, help="Also files that hold no conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def ls(project: str | None, everything: bool, as_json: bool) -> None:
    """List the sessions of this machine, newest first.

    The first column is enough to name a session in other commands. Files without a conversation (empty ones,
    warm-ups, mere titles) are left out and counted. A machine without sessions shows the demo.

    \b
    Examples:
      turnlog ls
      turnlog ls --project .            sessions of this folder
      turnlog ls --project webshop      sessions of folders with such a name
      turnlog ls --json | jq -r '.sessions[0].path'
    """
    from turnlog.cli.config import data_dir, load
    from turnlog.cli.named import folders
    from turnlog.cli.output import dump, remark, say
    from turnlog.cli.sessions.catalogue import catalogue, document, table
    from turnlog.cli.sessions.warning import warning
    from turnlog.cli.terminal import screen

    config = load()
    found = catalogue(folders(config), project, everything)
    if found.is_demo:
        remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    elif words := warning(found, data_dir()):
        remark(words)
    if as_json:
        dump(document(found))
        return
    say(table(found, screen(config.color)))
    if found.hidden:
        remark(f"{found.hidden} without a conversation not shown; --all shows them.")
