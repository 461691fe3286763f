"""Carrying out `turnlog fork`."""

from __future__ import annotations

from turnlog.cli.config import Config
from turnlog.cli.edit.made import print_new_session, to_new_session_document
from turnlog.cli.named import open_named_session
from turnlog.cli.output import print_json, print_lines
from turnlog.edit.clone import clone_session
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork import check_fork_resumes, fork_session
from turnlog.edit.fork.linear import linearise_draft
from turnlog.edit.fork.points import parse_fork_point
from turnlog.errors import Unreadable
from turnlog.session.session import Session


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
