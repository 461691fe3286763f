"""The player of `turnlog replay` in a real terminal: nothing moves by itself in these sessions, only by keys."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.desk import Terminal
from tests.agent.waits import wait_until
from tests.live.replay.model_terminal import ModelTerminal
from tests.session.build import Build

pytestmark = pytest.mark.slow

LEFT, RIGHT = "\x1b[D", "\x1b[C"


def build_session() -> Build:
    build = Build(step=4000)
    for number in range(1, 6):
        build.prompt(f"Please do number {number}", f"p{number}")
        build.call(f"c{number}", "Bash", {"command": f"echo {number}"}, uuid=f"k{number}")
        build.result(f"c{number}", f"output {number}")
        build.answer(f"Number {number} is done.", uuid=f"a{number}")
    return build


class Player(Terminal):
    """The player, and the screen that a person sees."""

    def see(self, text: str) -> ModelTerminal:
        """Press nothing, wait until something is written, and return the screen."""
        self.expect(text)
        return self.screen

    @property
    def screen(self) -> ModelTerminal:
        model = ModelTerminal(100, 24)
        model.feed(self.text)
        return model

    def resize(self, columns: int, rows: int = 24) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def has_echo(self) -> bool:
        """Whether the terminal echoes keys and waits for whole lines, as a shell expects."""
        wanted = termios.ICANON | termios.ECHO
        return bool(termios.tcgetattr(self._fd)[3] & wanted == wanted)

    @property
    def pid(self) -> int:
        return self._process.pid


@contextmanager
def open_player(folder: Path, *words: str, speed: str = "1") -> Iterator[Player]:
    path = build_session().write(folder)
    keep = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    command = [sys.executable, "-m", "turnlog", "replay", str(path), "--max-gap", "10h", "--speed", speed, *words]
    found = Player(command, folder, {**keep, "TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "1"}, (24, 100))
    try:
        yield found
    finally:
        found.close()


def test_a_dot_shows_one_event_after_the_other_and_pauses(tmp_path: Path) -> None:
    with open_player(tmp_path) as player:
        player.expect("> Please do number 1")
        player.see("▶ 1x  turn 1 of 5")
        player.send(".")
        player.expect("● Bash echo 1")
        screen = player.see("‖ 1x  turn 1 of 5")
        assert "Bash echo 1" in screen.screen[-2], "the spinner names what is running"
        player.send(".")
        player.expect("⎿ output 1")
        player.send(".")
        player.expect("Number 1 is done.")
        player.send("q")
        assert player.wait_for_end() == 0
        lines = [line for line in player.screen.text.splitlines() if line]
        assert lines == [
            "▶ Please do number 1",
            "  /home/dana/webshop · Claude Code 2.1.325",
            "> Please do number 1",
            "● Bash echo 1",
            "  ⎿ output 1",
            "Number 1 is done.",
            "· worked for 3 h 20 min",
        ]


def test_space_pauses_and_plays_on(tmp_path: Path) -> None:
    with open_player(tmp_path) as player:
        player.expect("▶ 1x")
        player.send(" ")
        player.expect("‖ 1x")
        player.send(" ")
        player.expect("▶ 1x")
        player.send("q")
        assert player.wait_for_end() == 0


def test_arrows_go_by_turns_and_plus_and_minus_change_the_speed(tmp_path: Path) -> None:
    with open_player(tmp_path) as player:
        player.expect("turn 1 of 5")
        player.send(RIGHT)
        player.expect("── turn 2 ─")
        player.expect("> Please do number 2")
        player.send(RIGHT)
        player.expect("── turn 3 ─")
        player.expect("turn 3 of 5")
        player.send(LEFT)
        player.expect("── turn 2 ─")
        player.send("+")
        player.expect("2x")
        player.send("]")
        player.expect("4x")
        player.send("-[[")
        player.expect("0.5x")
        player.send("q")
        assert player.wait_for_end() == 0
        assert player.screen.text.count("> Please do number 2") == 2, "the scrollback keeps what was shown"


def test_a_turn_or_a_time_can_be_typed(tmp_path: Path) -> None:
    with open_player(tmp_path) as player:
        player.expect("turn 1 of 5")
        player.send("g")
        player.expect("Go to turn or time")
        player.send("9\x7f4\r")
        player.expect("── turn 4 ─")
        player.send("g1:00\r")
        player.expect("── turn 1 ─")
        player.send("gnonsense\r")
        player.expect("nonsense: not a turn or a time")
        player.send("g\x1b")
        player.expect("turn 1 of 5")
        player.send("5")
        player.expect("── turn 3 ─")
        player.send("?")
        player.expect("pause or go on")
        player.send("\x1b[F")
        player.expect("■ 1x  turn 5 of 5")
        player.send("q")
        assert player.wait_for_end() == 0


def test_a_replay_runs_to_its_end_and_waits_there(tmp_path: Path) -> None:
    with open_player(tmp_path, "--max-gap", "10ms", speed="32") as player:
        player.expect("■ 32x  turn 5 of 5")
        assert "Number 5 is done." in player.text
        player.send(" ")
        player.expect("── turn 1 ─")
        player.send("q")
        assert player.wait_for_end() == 0


def test_the_bottom_line_follows_the_width_of_the_window(tmp_path: Path) -> None:
    with open_player(tmp_path) as player:
        player.expect("? help")
        player.resize(40)
        player.expect("▶ 1x  turn 1 of 5  0:00")
        player.resize(90)
        player.expect("? help")
        player.send("q")
        assert player.wait_for_end() == 0


@pytest.mark.parametrize("key", ["q", "\x03", "\x04"])
def test_the_terminal_is_restored_whatever_ends_the_player(tmp_path: Path, key: str) -> None:
    with open_player(tmp_path) as player:
        player.expect("▶ 1x")
        assert not player.has_echo()
        player.send(key)
        assert player.wait_for_end() == (130 if key == "\x03" else 0)
        assert player.has_echo()
        assert player.screen.is_cursor_visible
        assert "turn 1 of 5" not in player.screen.text, "the bottom line is gone"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_the_terminal_is_restored_when_the_player_is_ended(tmp_path: Path, number: int) -> None:
    with open_player(tmp_path) as player:
        player.expect("▶ 1x")
        os.kill(player.pid, number)
        assert player.wait_for_end() == 130
        assert player.has_echo()
        assert player.screen.is_cursor_visible


def test_ctrl_z_gives_the_terminal_back_until_the_player_goes_on(tmp_path: Path) -> None:
    with open_player(tmp_path) as player:
        player.expect("▶ 1x")
        player.send("\x1a")
        player.expect("\x1b[?25h")
        wait_until(lambda: Path(f"/proc/{player.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        assert player.has_echo()
        os.kill(player.pid, signal.SIGCONT)
        player.expect("▶ 1x  turn 1 of 5")
        assert not player.has_echo()
        player.send("q")
        assert player.wait_for_end() == 0
