"""A session as lines for people: a header, then turn after turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.cli.branch import leaf_of
from turnlog.cli.show.header import header
from turnlog.cli.show.story import Story
from turnlog.cli.terminal import Screen
from turnlog.errors import UsageError
from turnlog.render.figures import count
from turnlog.session.lineage import current_leaf, turns_to
from turnlog.session.session import Session
from turnlog.session.turns import Turn

ALL = "all"
_NAMED = 10
"""So many branches are named."""
_RANGE = re.compile(r"(\d*)\.\.(\d*)|(\d+)")


class Wish(NamedTuple):
    """What of a session is to be shown."""

    turns: str | None = None
    branch: str | None = None
    thinking: bool = False
    full: bool = False


class Chosen(NamedTuple):
    """The turns to show, and what to say about the others."""

    turns: list[Turn]
    note: str | None


def tell(session: Session, wish: Wish, screen: Screen) -> Iterator[str]:
    """The lines of a session; wrong wishes are refused before the first line."""
    chosen = _chosen(session, wish)
    story = Story(session, screen, thinking=wish.thinking, full=wish.full)
    return _lines(session, chosen, story, screen, whole=wish.turns is None)


def _lines(session: Session, chosen: Chosen, story: Story, screen: Screen, *, whole: bool) -> Iterator[str]:
    if whole:
        yield from header(session, screen)
    if chosen.note:
        yield screen.paint(chosen.note, "yellow")
    for turn in chosen.turns:
        if whole:
            yield from story.before(turn)
        yield ""
        yield from story.turn(turn)
    if whole:
        yield from story.after(chosen.turns)


def _chosen(session: Session, wish: Wish) -> Chosen:
    if wish.turns is not None:
        return Chosen(_numbered(session.turns, wish.turns), None)
    if wish.branch == ALL or (wish.branch is None and not session.graph.branches):
        return Chosen(session.turns, None)
    leaf = current_leaf(session) if wish.branch is None else leaf_of(session, wish.branch)
    if leaf is None:
        return Chosen(session.turns, None)
    turns = turns_to(session, leaf)
    return Chosen(turns, _others(session, turns))


def _numbered(turns: list[Turn], wanted: str) -> list[Turn]:
    """The turns that a number or a range names."""
    found = _RANGE.fullmatch(wanted.strip())
    if found is None:
        raise UsageError(f"--turn {wanted}: give a number, as in 3, or a range, as in 2..5")
    first = int(found[3] or found[1] or 1)
    last = int(found[3] or found[2] or len(turns))
    if not 1 <= first <= last <= len(turns):
        valid = f"1 to {len(turns)}" if len(turns) > 1 else "1 only" if turns else "none: it has no turns"
        raise UsageError(f"--turn {wanted}: the turns of this session are {valid}")
    return turns[first - 1 : last]


def _others(session: Session, shown: list[Turn]) -> str | None:
    """How many turns lie elsewhere, and how to see them."""
    hidden = len(session.turns) - len(shown)
    if not hidden:
        return None
    here = [turn.index for turn in shown]
    branches: list[str] = []
    for number, leaf in enumerate(session.graph.leaves[:_NAMED], 1):
        turns = turns_to(session, leaf.uuid or "")
        if [turn.index for turn in turns] != here:
            branches.append(f"--branch {number} ({count(len(turns), 'turn')})")
    return f"{count(hidden, 'turn')} on other branches: {', '.join([*branches, '--branch all'])}"
