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
    from turnlog.cli.config import load_config
    from turnlog.cli.output import mention_others, print_json, print_lines, print_remark
    from turnlog.cli.sessions.forest import build_project_forest, render_forest, to_forest_document
    from turnlog.cli.stored import open_index
    from turnlog.cli.terminal import detect_screen
    from turnlog.store.index.changes import read_other_file_count

    config = load_config()
    with open_index(config) as index:
        found = build_project_forest(index.db, project, everything)
        others = read_other_file_count(index.db)
    if as_json:
        print_json(to_forest_document(found))
        return
    print_lines(render_forest(found, detect_screen(config.color)))
    if found.hidden:
        print_remark(f"{found.hidden} without a conversation not shown; --all shows them.")
    mention_others(others)
