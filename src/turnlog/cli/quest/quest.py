"""`turnlog quest`: show the sessions as a pixel-art adventure."""

from __future__ import annotations

import click

from turnlog.cli.group import LazyGroup
from turnlog.cli.table import CommandRow
from turnlog.errors import UsageError

QUEST_COMMANDS = {
    "profile": CommandRow(".quest.profile", "Show what the sessions have earned: level, items and counts."),
}


class _QuestGroup(LazyGroup):
    """The commands of the quest; each is imported when it is used."""

    rows = QUEST_COMMANDS
    sections = {}  # noqa: RUF012 - a few commands need no sections


@click.group(cls=_QuestGroup, invoke_without_command=True)
@click.option("--session", metavar="SESSION", help="Follow only this session.")
@click.option("--replay", metavar="SESSION", help="Play back this session instead of following live ones.")
@click.option("--demo", is_flag=True, help="Play a made-up adventure, which needs no sessions.")
@click.option("--tty", is_flag=True, help="Draw in the terminal; in a pipe, print what happens as lines.")
@click.option(
    "--speed", type=click.FloatRange(0.25, 64), help="With --tty: the speed of --replay and --demo (default: 1)."
)
@click.pass_context
def quest(
    ctx: click.Context, session: str | None, replay: str | None, demo: bool, tty: bool, speed: float | None
) -> None:
    """Show the sessions on this machine as a pixel-art adventure.

    Each session is a hero and each sub-agent a companion: they read, fight errors, rest while the conversation is
    compacted, and say when they wait for you. Without --tty, the page opens in the browser. With --tty, the adventure
    is drawn in the terminal: Tab opens the wardrobe, Space pauses, the arrow keys choose, q quits and ? lists all keys.
    What happens while you watch counts for your profile. SESSION is a path, an id or the start of one, a title, or
    `last`.

    \b
    Examples:
      turnlog quest
      turnlog quest --demo
      turnlog quest --tty --replay last --speed 8
      turnlog quest profile --rebuild   count all sessions of this machine
    """
    if ctx.invoked_subcommand is not None:
        if session or replay or demo or tty or speed:
            raise UsageError(f"the options of `turnlog quest` don't apply to `turnlog quest {ctx.invoked_subcommand}`")
        return
    if sum(map(bool, (session, replay, demo))) > 1:
        raise UsageError("use only one of --session, --replay and --demo")
    if speed is not None and not (tty and (replay or demo)):
        raise UsageError("--speed requires --tty and either --replay or --demo")
    if tty:
        from turnlog.cli.quest.terminal_quest import play_in_terminal

        play_in_terminal(session, replay, demo=demo, speed=speed)
        return
    _open_page(session, replay, demo=demo)


def _open_page(session: str | None, replay: str | None, *, demo: bool) -> None:
    """Open the page of a running server, or start one for it."""
    from turnlog.api.lookup import locate_session
    from turnlog.cli.output import print_lines, print_remark
    from turnlog.cli.web.page_opener import PageOpener, find_running_server
    from turnlog.cli.web.web import run_web

    path = "/quest"
    if demo:
        path += "?demo=1"
    elif session or replay:
        found = locate_session(session or replay or "", notify=print_remark)
        path += f"?{'session' if session else 'replay'}={found.stem}"
    if find_running_server() is not None:
        print_lines([PageOpener().open(path)])
    else:
        run_web(None, None, path)
