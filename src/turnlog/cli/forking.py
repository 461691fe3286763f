"""Carrying out `turnlog fork`."""

from __future__ import annotations

from turnlog.cli.config import Config
from turnlog.cli.made import made_document, tell_made
from turnlog.cli.named import opened
from turnlog.cli.output import dump, remark
from turnlog.edit.clone import clone
from turnlog.edit.draft import Draft
from turnlog.edit.fork.fork import fork, must_go_on
from turnlog.edit.fork.linear import linear
from turnlog.edit.fork.points import point
from turnlog.errors import Unreadable
from turnlog.session.session import Session


def run(name: str, at: str, config: Config, *, portable: bool, title: str | None, as_json: bool) -> None:
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
        made = clone(session.path, Draft.of(cut), verb="fork", title=title)
    if as_json:
        dump({**made_document(made), "at": wanted.leaf, "point": wanted.words})
    else:
        remark(f"It goes on {wanted.words}.")
        tell_made(made)
