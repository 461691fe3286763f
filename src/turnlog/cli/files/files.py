"""`turnlog files`: the files that a session, or all sessions of a project, have read and changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from turnlog.cli.config import Config
    from turnlog.cli.files.touched import Wish
    from turnlog.session.session import Session


@click.command()
@click.argument("session", required=False)
@click.option("-p", "--project", metavar="P", help="All sessions of this folder and those below it, or of that name.")
@click.option("--path", "glob", metavar="GLOB", help="Only files whose path, or the end of it, fits.")
@click.option("-w", "--written", is_flag=True, help="Only files that were written or edited.")
@click.option("-d", "--diff", is_flag=True, help="Rebuild the changes as one patch, in the order they were made.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def files(session: str | None, project: str | None, glob: str | None, written: bool, diff: bool, as_json: bool) -> None:
    """Say which files were read, written and edited, when and by which turn.

    SESSION is a path, an id or the start of one, a title, or `last`; sub-agents are included and named. With
    --project the numbers come from the index, over all sessions of a project.

    --diff prints a patch that `patch -p1` and `git apply` take, as far as the session tells what the files held
    (docs/files.md). Lines that begin with # say whose change it is, and why one can't be rebuilt.

    \b
    Examples:
      turnlog files last
      turnlog files last --written --path 'src/*.py'
      turnlog files last --diff | less
      turnlog files bee7dbd3 --diff --path cart.py > cart.patch
      turnlog files --project webshop --written
    """
    from turnlog.cli.config import load
    from turnlog.cli.files.touched import Wish
    from turnlog.cli.named import opened
    from turnlog.errors import UsageError

    if (session is None) == (project is None):
        raise UsageError("give a SESSION or --project P; `turnlog files last` takes the newest session")
    if diff and session is None:
        raise UsageError("--diff needs a SESSION: changes are rebuilt one session at a time")
    config, wish = load(), Wish(glob, written)
    if project is not None:
        _of_project(project, wish, config, as_json)
        return
    with opened(session or "", config) as found:
        if diff:
            _diffs(found, wish, as_json)
        else:
            _of_session(found, wish, config, as_json)


def _of_session(session: Session, wish: Wish, config: Config, as_json: bool) -> None:
    from turnlog.cli.files.touched import document, table, wanted
    from turnlog.cli.output import dump, say
    from turnlog.cli.terminal import screen

    found = wanted(session, wish)
    if as_json:
        dump(document(session, found))
    else:
        say(table(session, found, screen(config.color)))


def _diffs(session: Session, wish: Wish, as_json: bool) -> None:
    from turnlog.cli.files.diffs import changes, document, patch
    from turnlog.cli.output import dump_list, remark, write_raw

    if as_json:
        dump_list("changes", (document(session, step) for step in changes(session, wish)))
        return
    missing = 0
    for step in changes(session, wish):
        write_raw(patch(session, step))
        missing += step.hunks is None
    if missing:
        remark(f"{missing} of the changes can't be rebuilt; lines that begin with # say why.")


def _of_project(project: str, wish: Wish, config: Config, as_json: bool) -> None:
    from turnlog.cli.files.touched import indexed_document, indexed_table, indexed_wanted
    from turnlog.cli.indexed import sessions_of
    from turnlog.cli.output import dump, say
    from turnlog.cli.stored import store
    from turnlog.cli.terminal import screen
    from turnlog.store.insight.touched import touched

    with store(config) as index:
        ids = sessions_of(index.db, project)
        found = indexed_wanted(touched(index.db, ids), wish)
    if as_json:
        dump(indexed_document(found))
    else:
        say(indexed_table(found, screen(config.color)))
