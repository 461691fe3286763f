"""The branches of a conversation, as the pages let one choose among them."""

from __future__ import annotations

from typing import NamedTuple

from turnlog.session.timeline.timeline import TimelineBranch, TimelineHead

_MAX_LABEL_CHARS = 60


class BranchChoice(NamedTuple):
    leaf: str
    label: str
    """The number that commands take (`--branch 2`), and the last prompt."""
    is_selected: bool


def list_branch_choices(head: TimelineHead, selected: str) -> list[BranchChoice]:
    """List the branches, the current one first; `selected` is a leaf."""
    return [BranchChoice(line.leaf, _describe_branch(head, line), line.leaf == selected) for line in head.branches]


def _describe_branch(head: TimelineHead, line: TimelineBranch) -> str:
    last = next((found for place in reversed(line.chapters) if (found := head.chapters[place]).turn), None)
    words = (last.title[:_MAX_LABEL_CHARS] or last.kind) if last else "no turns"
    number = f"{line.number}: " if line.number else ""
    return f"{number}{words}{' (current)' if line.is_current else ''}"
