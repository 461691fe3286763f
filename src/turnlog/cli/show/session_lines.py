"""The lines of a session: its header and the requested turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.api.lookup import find_leaf
from turnlog.cli.show.header import render_session_header
from turnlog.cli.show.story import SessionStory
from turnlog.cli.terminal import TerminalScreen
from turnlog.errors import UsageError
from turnlog.render.figures import format_count
from turnlog.session.lineage import find_current_leaf_uuid, list_turns_to
from turnlog.session.session import Session
from turnlog.session.turns import Turn

ALL_BRANCHES = "all"
_MAX_NAMED_BRANCHES = 10
_TURN_RANGE = re.compile(r"(\d*)\.\.(\d*)|(\d+)")


class ShowOptions(NamedTuple):
    """The parts of a session to show."""

    turns: str | None = None
    branch: str | None = None
    thinking: bool = False
    full: bool = False


class ChosenTurns(NamedTuple):
    """The turns to show, and a remark about the others."""

    turns: list[Turn]
    note: str | None


def render_session_lines(session: Session, wish: ShowOptions, screen: TerminalScreen) -> Iterator[str]:
    """Render a session; invalid options raise an error before the first line."""
    chosen = _choose_turns(session, wish)
    story = SessionStory(session, screen, thinking=wish.thinking, full=wish.full)
    return _render_lines(session, chosen, story, screen, whole=wish.turns is None)


def _render_lines(
    session: Session, chosen: ChosenTurns, story: SessionStory, screen: TerminalScreen, *, whole: bool
) -> Iterator[str]:
    if whole:
        yield from render_session_header(session, screen)
    if chosen.note:
        yield screen.paint(chosen.note, "yellow")
    for turn in chosen.turns:
        if whole:
            yield from story.render_before(turn)
        yield ""
        yield from story.render_turn(turn)
    if whole:
        yield from story.render_after(chosen.turns)


def _choose_turns(session: Session, wish: ShowOptions) -> ChosenTurns:
    if wish.turns is not None:
        return ChosenTurns(_find_numbered_turns(session.turns, wish.turns), None)
    if wish.branch == ALL_BRANCHES or (wish.branch is None and not session.graph.branches):
        return ChosenTurns(session.turns, None)
    leaf = find_current_leaf_uuid(session) if wish.branch is None else find_leaf(session, wish.branch)
    if leaf is None:
        return ChosenTurns(session.turns, None)
    turns = list_turns_to(session, leaf)
    return ChosenTurns(turns, _describe_other_turns(session, turns))


def _find_numbered_turns(turns: list[Turn], wanted: str) -> list[Turn]:
    found = _TURN_RANGE.fullmatch(wanted.strip())
    if found is None:
        raise UsageError(f"--turn {wanted}: not a turn; use a number such as 3 or a range such as 2..5")
    first = int(found[3] or found[1] or 1)
    last = int(found[3] or found[2] or len(turns))
    if not 1 <= first <= last <= len(turns):
        valid = f"turns 1 to {len(turns)}" if len(turns) > 1 else "only turn 1" if turns else "no turns"
        raise UsageError(f"--turn {wanted}: this session has {valid}")
    return turns[first - 1 : last]


def _describe_other_turns(session: Session, shown: list[Turn]) -> str | None:
    """Describe how many turns are on other branches, and how to show them."""
    hidden = len(session.turns) - len(shown)
    if not hidden:
        return None
    here = [turn.index for turn in shown]
    branches: list[str] = []
    for number, leaf in enumerate(session.graph.leaves[:_MAX_NAMED_BRANCHES], 1):
        turns = list_turns_to(session, leaf.uuid or "")
        if [turn.index for turn in turns] != here:
            branches.append(f"--branch {number} ({format_count(len(turns), 'turn')})")
    return f"{format_count(hidden, 'turn')} on other branches: {', '.join([*branches, '--branch all'])}"
