"""The board follows a real client while it works: it shows every state of the screen while the state lasts."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.clients import NEWEST, client
from tests.interop.live.replies import ANSWER, DONE, answer, call, run, say
from tests.interop.live.screen import TrueState
from tests.interop.live.scripts import SETTINGS
from tests.interop.live.stage import Player, Stage
from tests.interop.live.state_judge import ALSO_RIGHT, read_board
from turnlog.live.board import Board

pytestmark = [pytest.mark.interop, pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")]
VERSIONS = (NEWEST, "2.1.45")
MOST_SECONDS = 60
AFTER_PERMISSION: tuple[TrueState, ...] = ("tool", "working", "idle")


class Watcher:
    """A stage whose clients the board follows."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._board = Board([stage.home.config_dir])

    def _read(self, player: Player) -> str:
        self._board.poll()
        rows = {row.session_id: row for row in self._board.rows.values()}
        return read_board(rows.get(player.seat.session_id))

    def expect(self, player: Player, state: TrueState) -> None:
        """Wait until the client is in a state, and then until the board says so."""
        player.wait_for(state)
        end = time.monotonic() + MOST_SECONDS
        while (told := self._read(player)) != state and told not in ALSO_RIGHT.get(state, ()):
            assert time.monotonic() < end, f"the client is {player.state}, the board says {told}"
            assert player.state == state, f"the board still says {told} when the client is {player.state}"
            time.sleep(0.1)


@pytest.fixture(params=VERSIONS)
def watcher(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watcher]:
    version = str(request.param)
    if not client(version).is_file():
        pytest.skip(f"client {version} is not installed")
    with Stage("watched", version, False, SETTINGS, tmp_path) as stage:
        yield Watcher(stage)


def test_a_permission_is_asked_for_and_given(watcher: Watcher) -> None:
    player = watcher.stage.open_client([answer(run("touch a.txt && ./work 6"), DONE)])
    player.prompt("make a file")
    watcher.expect(player, "working")
    watcher.expect(player, "permission")
    player.press("1")
    for state in AFTER_PERMISSION:
        watcher.expect(player, state)


def test_a_command_is_interrupted(watcher: Watcher) -> None:
    player = watcher.stage.open_client([answer(run("./work 60"), DONE)])
    player.prompt("run the long job")
    watcher.expect(player, "tool")
    player.press("Escape")
    watcher.expect(player, "interrupted")


def test_a_queued_prompt_continues_the_turn(watcher: Watcher) -> None:
    player = watcher.stage.open_client([answer(run("./work 8"), say("I saw your note.", ANSWER), DONE)])
    player.prompt("run the job")
    watcher.expect(player, "tool")
    player.prompt("and say hello")
    watcher.expect(player, "working")
    watcher.expect(player, "idle")


def test_a_sub_agent_works_in_the_background(watcher: Watcher) -> None:
    start = call("Task", description="A", prompt="A: look", subagent_type="general-purpose", run_in_background=True)
    agent = answer(run("./work 6", 3.0), say("It is over.", 6.0), kind="agent")
    player = watcher.stage.open_client([answer(start, say("It works in the background.", 3.0), DONE), agent])
    player.prompt("start a helper")
    watcher.expect(player, "background")
    watcher.expect(player, "working")
    watcher.expect(player, "idle")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_client_is_ended_while_it_works(watcher: Watcher, number: int) -> None:
    player = watcher.stage.open_client([answer(run("./work 60"), DONE)])
    player.prompt("run the long job")
    watcher.expect(player, "tool")
    player.seat.send_signal(number)
    watcher.expect(player, "ended")
