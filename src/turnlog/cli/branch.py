"""The branch of a session that a word means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.session.session import Session


def find_leaf(session: Session, wanted: str) -> str:
    """The entry that a branch ends with, by the branch's number or the entry's uuid or the start of it."""
    leaves = session.graph.leaves
    if wanted.isdecimal() and len(wanted) < 6:
        if not 1 <= int(wanted) <= len(leaves):
            raise UsageError(f"--branch {wanted}: the branches of this session are 1 to {len(leaves)}")
        return leaves[int(wanted) - 1].uuid or ""
    found = list({row.uuid for row in session.graph.rows if row.uuid and row.uuid.startswith(wanted.lower())})
    if len(found) != 1:
        problem = "several entries begin so; give more of it" if found else "no entry of this session begins so"
        raise UsageError(f"--branch {wanted}: {problem}")
    return found[0]
