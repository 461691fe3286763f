"""`turnlog show`: one session, readable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from turnlog.api.lookup import find_leaf
from turnlog.cli.show.header import render_session_header
from turnlog.cli.show.story import SessionStory
from turnlog.cli.terminal import TerminalScreen
from turnlog.errors import UsageError
from turnlog.render.figures import format_count
from turnlog.session.lineage import find_current_leaf_uuid, list_turns_to
from turnlog.session.session import Session
from turnlog.session.turns import Turn

if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.session.session import Session


@click.command()
@click.argument("session")
@click.option("-t", "--turn", metavar="N|A..B", help="Only this turn, or these; they are numbered from 1.")
@click.option("--thinking", is_flag=True, help="Also what the model thought.")
@click.option("--full", is_flag=True, help="Shorten nothing.")
@click.option(
    "--branch", metavar="K|UUID|all", help="The branch with this number, or that ends with this entry; or all."
)
@click.option("--redact", is_flag=True, help="Replace API keys, tokens and passwords by marks.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def show(
    session: str, turn: str | None, thinking: bool, full: bool, branch: str | None, redact: bool, as_json: bool
) -> None:
    """Show one session: its turns, calls with results in short, sub-agents below their calls.

    SESSION is a path, an id or the start of one, a title, or `last`. Where a conversation branches (after a
    rewind), the branch that the client would resume is shown.

    \b
    Examples:
      turnlog show last
      turnlog show bee7dbd3 --turn 2 --full
      turnlog show "Fix cent rounding" --thinking
      turnlog show last --full --redact > for-a-colleague.txt
      turnlog show last --json | jq .usage
    """
    from turnlog.api.config import load_config
    from turnlog.cli.output import print_json

    config = load_config()
    with _open(session, config, redact) as (found, restore_paths):
        if as_json:
            from turnlog.session.session_document import to_session_document

            print_json(restore_paths(to_session_document(found)))
        else:
            _print_session(found, ShowOptions(turn, branch, thinking, full), config)


@contextmanager
def _open(name: str, config: Config, redact: bool) -> Iterator[tuple[Session, Callable[[Any], Any]]]:
    """Open a session, or its copy without secrets, and give what puts the paths of the original into its facts."""
    from datetime import timedelta

    from turnlog.cli.named_sessions import locate_named_session, open_named_session

    if not redact:
        with open_named_session(name, config) as session:
            yield session, lambda value: value
        return
    from turnlog.export.redaction import ExportRedaction
    from turnlog.redact.rules import SecretRules
    from turnlog.session.session import Session

    path = locate_named_session(name, config)
    redaction = ExportRedaction(SecretRules())
    redaction.learn_secrets([path])
    with (
        redaction.copy_redacted(path) as copy,
        Session.open(copy, gap=timedelta(minutes=config.gap_minutes)) as session,
    ):
        yield session, partial(_with_paths, str(copy.parent), redaction.text(str(path.parent)))


def _with_paths(copied: str, original: str, value: Any) -> Any:
    """A JSON value in which the folder of the copy is that of the original."""
    if isinstance(value, str):
        return original + value.removeprefix(copied) if value.startswith(copied) else value
    if isinstance(value, dict):
        return {key: _with_paths(copied, original, item) for key, item in value.items()}
    return [_with_paths(copied, original, item) for item in value] if isinstance(value, list) else value


def _print_session(session: Session, wish: ShowOptions, config: Config) -> None:
    from turnlog.cli.output import print_lines
    from turnlog.cli.terminal import detect_screen

    print_lines(render_session_lines(session, wish, detect_screen(config.color)))


ALL_BRANCHES = "all"
_MAX_NAMED_BRANCHES = 10
"""So many branches are named."""
_TURN_RANGE = re.compile(r"(\d*)\.\.(\d*)|(\d+)")


class ShowOptions(NamedTuple):
    """What of a session is to be shown."""

    turns: str | None = None
    branch: str | None = None
    thinking: bool = False
    full: bool = False


class ChosenTurns(NamedTuple):
    """The turns to show, and what to say about the others."""

    turns: list[Turn]
    note: str | None


def render_session_lines(session: Session, wish: ShowOptions, screen: TerminalScreen) -> Iterator[str]:
    """The lines of a session; wrong wishes are refused before the first line."""
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
    """The turns that a number or a range names."""
    found = _TURN_RANGE.fullmatch(wanted.strip())
    if found is None:
        raise UsageError(f"--turn {wanted}: give a number, as in 3, or a range, as in 2..5")
    first = int(found[3] or found[1] or 1)
    last = int(found[3] or found[2] or len(turns))
    if not 1 <= first <= last <= len(turns):
        valid = f"1 to {len(turns)}" if len(turns) > 1 else "1 only" if turns else "none: it has no turns"
        raise UsageError(f"--turn {wanted}: the turns of this session are {valid}")
    return turns[first - 1 : last]


def _describe_other_turns(session: Session, shown: list[Turn]) -> str | None:
    """How many turns lie elsewhere, and how to see them."""
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
