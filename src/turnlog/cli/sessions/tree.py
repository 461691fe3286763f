"""`turnlog tree`: projects, sessions, and what was forked or copied from what."""

from __future__ import annotations

import click


@click.command()
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("-a", "--all", "everything", is_flag=True, help="Also files that hold no conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def tree(project: str | None, everything: bool, as_json: bool) -> None:
    """Show projects, their sessions, and below each session what came from it.

    Git worktrees of one repository stand together. Forks and copies hang below what they came from: by what the
    files say, and by messages they have in common. Sessions that were deleted stay in the tree as long as the index
    knows them.

    \b
    Examples:
      turnlog tree
      turnlog tree --project webshop
      turnlog tree --json | jq '.projects[].sessions[] | select(.children != [])'
    """
    from turnlog.cli.config import load
    from turnlog.cli.output import dump, mention_others, remark, say
    from turnlog.cli.sessions.forest import document, forest, lines
    from turnlog.cli.stored import store
    from turnlog.cli.terminal import screen
    from turnlog.store.index.changes import read_others

    config = load()
    with store(config) as index:
        found = forest(index.db, project, everything)
        others = read_others(index.db)
    if as_json:
        dump(document(found))
        return
    say(lines(found, screen(config.color)))
    if found.hidden:
        remark(f"{found.hidden} without a conversation not shown; --all shows them.")
    mention_others(others)
