"""`turnlog fork`: a new session that goes on from any point of another."""

from __future__ import annotations

import click

from turnlog.api.config import Config
from turnlog.cli.edit.new_session import print_new_session, to_new_session_document
from turnlog.cli.named_sessions import open_named_session
from turnlog.cli.output import print_json, print_lines
from turnlog.edit.clone import clone_session
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork import check_fork_resumes, fork_session
from turnlog.edit.fork.fork_points import parse_fork_point
from turnlog.edit.fork.linear import linearise_draft
from turnlog.errors import Unreadable
from turnlog.session.session import Session


@click.command()
@click.argument("session")
@click.option("--at", "at", required=True, metavar="POINT", help="The last thing that is kept (see above).")
@click.option("--portable", is_flag=True, help="Write it so that every version of the client resumes all of it.")
@click.option("--title", help="The title of the new session; else `Fork of …`.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say where it would go on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def fork(session: str, at: str, portable: bool, title: str | None, dry_run: bool, as_json: bool) -> None:
    """Make a new session that goes on from any message, any branch, or just before a compaction.

    What leads to the point is kept, with what belongs to it; what came after it and other branches are left out. Before
    a compaction the whole earlier conversation is back, word for word. The session itself is not changed. SESSION is a
    path, an id or the start of one, a title, or `last`.

    \b
    The point is
      7              the end of turn 7, as `turnlog show` numbers them
      3f2a09c1       the entry whose uuid begins so, with the results of its calls
      compaction:2   just before the second compaction; compaction:last before the last one
      leaf:2         the end of the second branch, as `turnlog show --branch` numbers them

    \b
    Examples:
      turnlog fork last --at 7
      turnlog fork bee7dbd3 --at compaction:last --title "Before the summary"
      turnlog fork last --at leaf:1 --portable
    """
    from turnlog.api.config import load_config

    run_fork(session, at, load_config(), portable=portable, title=title, dry_run=dry_run, as_json=as_json)


def run_fork(
    name: str, at: str, config: Config, *, portable: bool, title: str | None, dry_run: bool, as_json: bool
) -> None:
    """Make the fork and say what was made."""
    with open_named_session(name, config) as session:
        if session.path is None or not session.turns:
            raise Unreadable(f"{session.path}: holds no conversation that could be forked; `turnlog doctor` says why")
        wanted = parse_fork_point(session, at)
        cut = fork_session(session, Draft.from_transcript(session.file), wanted).to_transcript()
        if portable:
            cut = linearise_draft(Session(cut), Draft.from_transcript(cut)).to_transcript()
        check_fork_resumes(session, cut)
        # Judged already, and by what it was at the point: the whole session has more, such as its last compaction.
        made = None if dry_run else clone_session(session.path, Draft.from_transcript(cut), verb="fork", title=title)
    if as_json:
        document = to_new_session_document(made) if made else None
        at_all = {"at": wanted.leaf, "point": wanted.words}
        print_json({"session": str(session.path), "dry_run": dry_run, **at_all, "made": document})
        return
    print_lines([f"It {'goes' if made else 'would go'} on {wanted.words}."])
    if made is not None:
        print_new_session(made)
    else:
        print_lines(["Nothing was written: this was a dry run."])
