"""`turnlog quest --tty`: draws the quest in the terminal, or prints it as lines in a pipe."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from turnlog.api.config import data_dir, load_config
from turnlog.api.quest import open_quest_feed, read_quest_profile, read_quest_script
from turnlog.cli.live.key_terminal import KeyTerminal, can_read_keys, open_key_terminal, write_out
from turnlog.cli.live.live_area import measure_terminal
from turnlog.cli.output import print_remark
from turnlog.cli.progress import hide_work
from turnlog.cli.quest.quest_screen import QuestScreen
from turnlog.cli.terminal import is_on_terminal, to_visible_line
from turnlog.quest.feed import QuestFeed
from turnlog.quest.game_event import GameEvent
from turnlog.quest.profile import QuestProfile
from turnlog.quest.replay_script import QuestScript
from turnlog.quest.story_lines import StoryTeller
from turnlog.render.json_bytes import to_plain_value

FRAME_SECONDS = 1 / 12
_ALTERNATE_SCREEN, _NORMAL_SCREEN = "\x1b[?1049h", "\x1b[?1049l"


class QuestSource(Protocol):
    """Where game events come from: live sessions, or a script."""

    def read_snapshot(self) -> dict[str, Any]:
        """Return the party and the profile at the start."""

    def take_events(self, seconds: float) -> list[GameEvent]:
        """Return the events of the next seconds; live events don't wait while the screen is paused."""

    @property
    def is_over(self) -> bool:
        """Whether there will be no further event."""

    @property
    def problem(self) -> str | None:
        """Why nothing can be counted; None if it can, or need not be."""

    @property
    def is_live(self) -> bool:
        """Whether events happen now, and what a person chooses is saved."""


class LiveSource:
    """The sessions of this machine."""

    is_over, is_live = False, True

    def __init__(self, feed: QuestFeed) -> None:
        self._feed = feed
        self._next = 0.0

    @property
    def problem(self) -> str | None:
        return self._feed.problem

    def read_snapshot(self) -> dict[str, Any]:
        return {"sessions": self._feed.build_snapshot()["sessions"], "profile": to_plain_value(read_quest_profile())}

    def take_events(self, seconds: float) -> list[GameEvent]:
        if time.monotonic() < self._next:
            return []
        events = self._feed.poll()
        self._next = time.monotonic() + self._feed.pause_seconds
        return events


class ScriptSource:
    """A replay, or the demo."""

    is_live, problem = False, None

    def __init__(self, script: QuestScript, profile: QuestProfile) -> None:
        self._script = script
        self._profile = profile
        self._at = 0.0
        self._place = 0

    @property
    def is_over(self) -> bool:
        return self._place == len(self._script.events)

    def read_snapshot(self) -> dict[str, Any]:
        return {"sessions": [], "profile": to_plain_value(self._profile)}

    def take_events(self, seconds: float) -> list[GameEvent]:
        self._at += seconds
        begin = self._place
        while not self.is_over and self._script.events[self._place].at <= self._at:
            self._place += 1
        return self._script.events[begin : self._place]

    def skip_to_next(self) -> float:
        """Go to the time of the next event; return how much time that skips."""
        if self.is_over:
            return 0.0
        skipped = max(self._script.events[self._place].at - self._at, 0.0)
        self._at += skipped
        return skipped


def play_in_terminal(session: str | None, replay: str | None, *, demo: bool, speed: float | None) -> None:
    """Draw the quest until a key ends it; in a pipe, or without colours, print it as lines."""
    source = _open_source(session, replay, demo=demo)
    is_drawn = is_on_terminal() and can_read_keys() and not os.environ.get("NO_COLOR")
    if not is_drawn:
        _print_story(source, speed)
        return
    colour = os.environ.get("COLORTERM", "") in ("truecolor", "24bit")
    with open_key_terminal() as terminal, _open_alternate_screen():
        _run(terminal, source, QuestScreen(true_colour=colour), speed or 1.0)


def _open_source(session: str | None, replay: str | None, *, demo: bool) -> QuestSource:
    config = load_config()
    if demo:
        from turnlog.quest.demo_script import build_demo

        return ScriptSource(*build_demo())
    if replay:
        return ScriptSource(read_quest_script(replay, config=config, notify=print_remark), read_quest_profile())
    return LiveSource(open_quest_feed(session, config=config))


@contextmanager
def _open_alternate_screen() -> Iterator[None]:
    """Draw on the other screen of the terminal, so that its lines are as before afterwards."""
    write_out(_ALTERNATE_SCREEN)
    try:
        yield
    finally:
        write_out(_NORMAL_SCREEN)


def _run(terminal: KeyTerminal, source: QuestSource, screen: QuestScreen, speed: float) -> None:
    screen.start(source.read_snapshot(), data_dir() if source.is_live else None, speed)
    signature, before = _read_profile_time(), time.monotonic()
    while not screen.is_quitting:
        for key in terminal.wait_for_keys(max(FRAME_SECONDS - (time.monotonic() - before), 0.0)):
            screen.press(key)
        if terminal.is_stop_requested:
            write_out(_NORMAL_SCREEN)
            terminal.stop()
            write_out(_ALTERNATE_SCREEN)
            screen.forget_frame()
        now = time.monotonic()
        seconds, before = now - before, now
        if source.is_live and (changed := _read_profile_time()) != signature:
            signature = changed
            screen.apply({"game": "profile", "profile": to_plain_value(read_quest_profile())})
        _advance(source, screen, seconds)
        size = measure_terminal()
        write_out(screen.draw(size.columns, size.lines))


def _advance(source: QuestSource, screen: QuestScreen, seconds: float) -> None:
    now = time.localtime()
    passed = 0.0 if screen.is_paused else seconds * (1.0 if source.is_live else screen.speed)
    if screen.take_step() and isinstance(source, ScriptSource):
        passed = source.skip_to_next()
    screen.pass_time(passed, now.tm_hour * 60 + now.tm_min)
    if source.is_live or passed or not screen.is_paused:
        for event in source.take_events(passed):
            screen.add_event(event)
        screen.trouble = source.problem or ""


def _read_profile_time() -> int:
    try:
        return (data_dir() / Path("quest.sqlite3")).stat().st_mtime_ns
    except OSError:
        return 0


def _print_story(source: QuestSource, speed: float | None) -> None:
    """Print events as lines; a script waits between them only if a speed is given."""
    hide_work()
    teller = StoryTeller()
    teller.name_heroes(source.read_snapshot()["sessions"])
    try:
        while not source.is_over:
            pause = 0.2 if source.is_live or speed else 3600.0
            events = source.take_events(pause * (speed or 1.0))
            lines = [line for event in events if (line := teller.write_line(event))]
            if sys.stdout is not None and lines:
                sys.stdout.write("".join(f"{to_visible_line(line)}\n" for line in lines))
                sys.stdout.flush()
            if source.is_live or speed:
                time.sleep(pause)
    except KeyboardInterrupt:
        pass
