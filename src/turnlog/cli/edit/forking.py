"""Carrying out `turnlog fork`."""

from __future__ import annotations

from turnlog.cli.config import Config
from turnlog.cli.edit.made import made_document, tell_made
from turnlog.cli.named import opened
from turnlog.cli.output import dump, say
from turnlog.edit.clone import clone
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork import fork, must_go_on
from turnlog.edit.fork.linear import linear
from turnlog.edit.fork.points import point
from turnlog.errors import Unreadable
from turnlog.session.session import Session


def run(name: str, at: str, config: Config, *, portable: bool, title: str | None, dry_run: bool, as_json: bool) -> None:
    """Make the fork and say what was made."""
    with opened(name, config) as session:
        if session.path is None or not session.turns:
            raise Unreadable(f"{session.path}: holds no conversation that could be forked; `turnlog doctor` says why")
        wanted = point(session, at)
        cut = fork(session, Draft.of(session.file), wanted).transcript()
        if portable:
            cut = linear(Session(cut), Draft.of(cut)).transcript()
        must_go_on(session, cut)
        # Judged already, and by what it was at the point: the whole session has more, such as its last compaction.
        made = None if dry_run else clone(session.path, Draft.of(cut), verb="fork", title=title)
    if as_json:
        document = made_document(made) if made else None
        at_all = {"at": wanted.leaf, "point": wanted.words}
        dump({"session": str(session.path), "dry_run": dry_run, **at_all, "made": document})
        return
    say([f"It {'goes' if made else 'would go'} on {wanted.words}."])
    if made is not None:
        tell_made(made)
    else:
        say(["Nothing was written: this was a dry run."])
