"""`turnlog watch`: show what sessions are doing while they work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from turnlog.errors import UsageError

if TYPE_CHECKING:
    from turnlog.api.watch import BoardSession, EventWatch
    from turnlog.cli.live.session_table import ActorTexts
    from turnlog.cli.terminal import TerminalScreen
    from turnlog.live.events.event import AnyEvent

_TABLE_SECONDS = 0.5
"""How often the table is computed while nothing happens."""
_EMPTY_LINES = (
    "No session is active.",
    "As soon as Claude Code works in a session on this machine, it appears here:",
    "what it is doing and since when, its context, its cost, its sub-agents and its latest text.",
    "To see how that looks, press Ctrl-C and run: turnlog watch --demo",
)


@click.command()
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="Watch every session on this machine (the default).")
@click.option(
    "-p", "--project", metavar="FOLDER", help="Watch only sessions in this folder, or in folders with this name."
)
@click.option("--since", metavar="TIME", help="Include events from the last 10m, 2h or 1d, or since a time.")
@click.option("--demo", is_flag=True, help="Watch a made-up session, which is played in a temporary folder.")
@click.option("--json", "as_json", is_flag=True, help="Print each event as one line of JSON (docs/events.md).")
def watch(session: str | None, everything: bool, demo: bool, as_json: bool, **values: Any) -> None:
    """Show what sessions are doing while they work.

    On a terminal, events scroll up as lines, and a table at the bottom shows each session: what it is doing and since
    when, how full its context is, its cost, its sub-agents and its latest text. In a pipe, each event is one line:
    time, session, main or the sub-agent, kind and text. By default, only new events are shown; --since includes
    earlier ones. Ctrl-C ends it. SESSION is a path, an id or the start of one, a title, or `last`; without it, all
    sessions are watched.

    \b
    Examples:
      turnlog watch
      turnlog watch last
      turnlog watch --project webshop --since 10m
      turnlog watch --json | jq -r 'select(.event == "question") | .questions[]'
    """
    if session is not None and (everything or demo):
        raise UsageError(f"SESSION and --{'all' if everything else 'demo'} can't be combined")
    from turnlog.cli.progress import hide_work

    with _open_watch(session, demo=demo, **values) as opened, _end_by_signals():
        hide_work()
        if as_json:
            from turnlog.cli.output import print_json_line

            _print_events(opened, print_json_line)
        elif _is_live_terminal():
            _show_live(opened)
        else:
            from turnlog.cli.live.event_lines import render_plain_event
            from turnlog.cli.output import print_lines

            _print_events(opened, lambda event: print_lines([render_plain_event(event)]))


@contextmanager
def _open_watch(session: str | None, *, demo: bool, project: str | None, since: str | None) -> Iterator[EventWatch]:
    from turnlog.api.watch import EventWatch, parse_since

    start = parse_since(since) if since else None
    if not demo:
        yield EventWatch(session, project=project, since=start)
        return
    from turnlog.live.demo_player import DemoPlayer

    player = DemoPlayer()
    try:
        opened = EventWatch(project=project, since=start, config_dirs=[player.config_dir])
        player.start()
        yield opened
    finally:
        player.close()


@contextmanager
def _end_by_signals() -> Iterator[None]:
    """Stop watching on Ctrl-C or a termination signal."""
    import signal

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]
    previous = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _is_live_terminal() -> bool:
    import os

    from turnlog.cli.terminal import is_on_terminal

    return is_on_terminal() and os.environ.get("TERM") != "dumb"


def _print_events(opened: EventWatch, write: Callable[[AnyEvent], object]) -> None:
    """Print events as they happen, until the reader closes the pipe."""
    import time

    if sys.stdout is None:
        return
    while not _is_reader_gone():
        events = opened.poll()
        for event in events:
            write(event)
        if events:
            sys.stdout.flush()
        time.sleep(opened.pause_seconds)


def _is_reader_gone() -> bool:
    """Return whether the reader has closed the pipe; otherwise only writing the next event would reveal it."""
    import select

    if not hasattr(select, "poll") or sys.stdout is None:
        return False
    poller = select.poll()
    poller.register(sys.stdout.fileno(), 0)
    return any(flags & (select.POLLERR | select.POLLNVAL) for _, flags in poller.poll(0))


def _show_live(opened: EventWatch) -> None:
    import time

    from turnlog.cli.live.event_lines import is_worth_a_line, render_event
    from turnlog.cli.live.live_area import LiveArea
    from turnlog.cli.live.session_table import ActorTexts
    from turnlog.cli.terminal import detect_screen

    area, texts = LiveArea(_write), ActorTexts()
    labels: dict[tuple[str, str], str] = {}
    sessions: list[BoardSession] = []
    listed = float("-inf")
    try:
        while True:
            events = opened.poll()
            texts.add_all(events)
            screen = detect_screen()
            if events or time.monotonic() - listed >= _TABLE_SECONDS:
                listed = time.monotonic()
                sessions = opened.list_sessions()
                labels = _build_labels(opened, sessions)
            lines = [
                render_event(event, labels.get((event.session, event.actor), event.session[:8]), screen)
                for event in events
                if is_worth_a_line(event)
            ]
            area.update(lines, _render_table(opened, sessions, texts, screen))
            time.sleep(opened.pause_seconds)
    finally:
        area.close()


def _build_labels(opened: EventWatch, sessions: Sequence[BoardSession]) -> dict[tuple[str, str], str]:
    """Name each actor: a session by its folder, a sub-agent by its task."""
    from turnlog.cli.live.session_table import get_folder_name
    from turnlog.live.events.event import MAIN_ACTOR

    labels: dict[tuple[str, str], str] = {}
    for session in sessions:
        labels[session.session_id, MAIN_ACTOR] = get_folder_name(session.project)
        for member in opened.list_agents(session):
            labels[session.session_id, member.agent_id] = member.description or member.type or member.agent_id
    return labels


def _render_table(
    opened: EventWatch, sessions: Sequence[BoardSession], texts: ActorTexts, screen: TerminalScreen
) -> list[str]:
    from datetime import UTC, datetime

    from turnlog.cli.live.live_area import measure_terminal
    from turnlog.cli.live.session_table import render_session, render_within

    now = datetime.now(UTC)
    active = [session for session in sessions if session.column != "ended"]
    rule = screen.paint("─" * ((screen.width or 80) - 1), "dim")
    if not active:
        return [rule, *(line for text in _EMPTY_LINES for line in screen.wrap_prose(text, "dim"))]
    rows = max(measure_terminal().lines * 2 // 3, 4)
    return [
        rule,
        *render_within(active, rows - 1, lambda one: render_session(one, screen, now, texts, opened.list_agents(one))),
    ]


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
