"""The board on a terminal: it follows the sessions, and keys open one in the browser or copy its resume command."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from turnlog.api.watch import BoardSession, EventWatch
from turnlog.cli.live.key_terminal import open_key_terminal
from turnlog.cli.live.live_area import LiveArea, measure_terminal
from turnlog.cli.live.session_table import COLUMN_TITLES, EMPTY_BOARD_LINES, render_session
from turnlog.cli.terminal import TerminalScreen, detect_screen, to_visible_line
from turnlog.cli.web.page_opener import PageOpener
from turnlog.entries.resume_command import build_resume_command

_KEY_HELP = "↑↓ choose   Enter open in the browser   c copy the resume command   q quit"
_SHORT_KEY_HELP = "↑↓  Enter open  c copy  q quit"
_UP_KEYS, _DOWN_KEYS = ("\x1b[A", "\x1bOA", "k"), ("\x1b[B", "\x1bOB", "j")
_OPEN_KEYS, _COPY_KEYS, _QUIT_KEYS = ("\r", "\n", "o"), ("c", "y"), ("q", "\x1b")


def show_board(project: str | None, *, demo: bool = False) -> None:
    """Show the board until a person quits."""
    with ExitStack() as stack:
        opened = stack.enter_context(_open_watch(project, demo=demo))
        terminal = stack.enter_context(open_key_terminal())
        area = LiveArea(_write)
        stack.callback(area.close, erase=True)
        pages = PageOpener()
        stack.callback(pages.close)
        screen = BoardScreen(opened, area, pages)
        try:
            while not screen.is_over:
                screen.refresh()
                for key in terminal.wait_for_keys(opened.pause_seconds):
                    screen.press(key)
                if terminal.is_stop_requested:
                    area.close(erase=True)
                    terminal.stop()
        except KeyboardInterrupt:
            pass


@contextmanager
def _open_watch(project: str | None, *, demo: bool) -> Iterator[EventWatch]:
    if not demo:
        yield EventWatch(project=project)
        return
    from turnlog.live.demo_player import DemoPlayer

    player = DemoPlayer()
    try:
        opened = EventWatch(project=project, config_dirs=[player.config_dir])
        player.start()
        yield opened
    finally:
        player.close()


class BoardScreen:
    """What the terminal shows, and which session is chosen."""

    def __init__(self, opened: EventWatch, area: LiveArea, pages: PageOpener) -> None:
        self._opened = opened
        self._area = area
        self._pages = pages
        self._sessions: list[BoardSession] = []
        self._chosen = ""
        """The file of the chosen session: rows move, but the choice stays with its session."""
        self._remark = ""
        self.is_over = False

    def refresh(self) -> None:
        """Show the present states."""
        self._opened.poll()
        self._sessions = self._opened.list_sessions()
        if self._sessions and self._place is None:
            self._chosen = self._sessions[0].path
        self._area.update([], self._render())

    @property
    def _place(self) -> int | None:
        return next((at for at, one in enumerate(self._sessions) if one.path == self._chosen), None)

    # -- keys

    def press(self, key: str) -> None:
        """React to a key."""
        self._remark = ""
        if key in _QUIT_KEYS:
            self.is_over = True
        elif self._place is None:
            return
        elif key in _UP_KEYS or key in _DOWN_KEYS:
            place = self._place + (1 if key in _DOWN_KEYS else -1)
            self._chosen = self._sessions[min(max(place, 0), len(self._sessions) - 1)].path
        elif key in _OPEN_KEYS:
            self._open_session(self._sessions[self._place])
        elif key in _COPY_KEYS:
            self._copy_command(self._sessions[self._place])

    def _open_session(self, session: BoardSession) -> None:
        self._remark = f"Opening {to_visible_line(session.title)} …"
        self._area.update([], self._render())
        self._remark = self._pages.open(f"/live/{session.ref}")

    def _copy_command(self, session: BoardSession) -> None:
        """Copy the command through the terminal (OSC 52), and print it, since not every terminal allows that."""
        folder = session.project if Path(session.project).is_absolute() else None
        command = build_resume_command(session.session_id, folder)
        encoded = base64.b64encode(command.encode("utf-8", "replace")).decode()
        _write(f"\x1b]52;c;{encoded}\x07")
        self._area.update([to_visible_line(command)], self._render())
        self._remark = "Copied, if your terminal allows it; the command is also printed above."

    # -- lines

    def _render(self) -> list[str]:
        screen, now = detect_screen(), datetime.now(UTC)
        width = screen.width or 80
        keys = _KEY_HELP if len(_KEY_HELP) < width else _SHORT_KEY_HELP
        foot = screen.paint(screen.fit(self._remark or keys, 1), "dim")
        if not self._sessions:
            return [*(line for text in EMPTY_BOARD_LINES for line in screen.wrap_prose(text, "dim")), "", foot]
        blocks = list(self._render_blocks(screen, now))
        room = max(measure_terminal().lines - 4, 3)
        return [*_choose_visible(blocks, self._place or 0, room), "", foot]

    def _render_blocks(self, screen: TerminalScreen, now: datetime) -> Iterator[list[str]]:
        """Yield the lines of each session, the first of a column with its heading."""
        inner = screen._replace(width=(screen.width or 80) - 2)
        column = ""
        for session in self._sessions:
            lines: list[str] = []
            if session.column != column:
                count = sum(one.column == session.column for one in self._sessions)
                lines += ["", screen.paint(f"{COLUMN_TITLES[session.column]} ({count})", "bold")][not column :]
                column = session.column
            mark = screen.paint("▌", "cyan") if session.path == self._chosen else " "
            if session.path == self._chosen and not screen.color:
                mark = ">"
            lines += [f"{mark} {line}" for line in render_session(session, inner, now)]
            yield lines


def _choose_visible(blocks: list[list[str]], place: int, rows: int) -> list[str]:
    """Choose the lines that fit, so that the chosen block is among them."""
    first = last = place
    used = len(blocks[place])
    while True:
        if last + 1 < len(blocks) and used + len(blocks[last + 1]) <= rows:
            last += 1
            used += len(blocks[last])
        elif first > 0 and used + len(blocks[first - 1]) <= rows:
            first -= 1
            used += len(blocks[first])
        else:
            break
    lines = [line for block in blocks[first : last + 1] for line in block]
    hidden = len(blocks) - (last - first + 1)
    return lines[:rows] + ([f"… {hidden} more"] if hidden else [])


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
