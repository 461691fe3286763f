"""Runs in which a client leaves a session: by /clear, /exit or a signal; and those with a second client."""

from __future__ import annotations

import signal

from tests.interop.live.replies import ANSWER, DONE, LINGER, answer, run, say
from tests.interop.live.stage import Player, Stage


def clear(stage: Stage) -> None:
    """The person leaves the session by /clear, and begins another one."""
    player = stage.open_client([answer(say("Yes.", ANSWER))])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(4)
    player.clear()
    stage.stay(LINGER)
    player.prompt("hello again")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(LINGER)


def leave(stage: Stage) -> None:
    """The person ends the client by /exit."""
    player = _greet(stage)
    player.prompt("/exit")
    player.wait_for("ended")
    stage.stay(LINGER)


def terminate_idle(stage: Stage) -> None:
    """The client is terminated while it is idle, as when its window is closed."""
    player = _greet(stage)
    player.seat.send_signal(signal.SIGTERM)
    player.wait_for("ended")
    stage.stay(LINGER)


def kill_idle(stage: Stage) -> None:
    """The client is killed while it is idle."""
    player = _greet(stage)
    player.seat.send_signal(signal.SIGKILL)
    player.wait_for("ended")
    stage.stay(LINGER)


def kill_answering(stage: Stage) -> None:
    """The client is killed while the model answers."""
    player = stage.open_client([answer(say("Yes.", ANSWER), say("Never sent.", 60.0))])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    player.prompt("and now")
    player.wait_for("working")
    stage.stay(5)
    player.seat.send_signal(signal.SIGKILL)
    player.wait_for("ended")
    stage.stay(LINGER)


def terminate_tool(stage: Stage) -> None:
    """The client is terminated while a command runs."""
    player = stage.open_client([answer(run("./work 60"), DONE)])
    player.prompt("run the long job")
    player.wait_for("tool")
    stage.stay(5)
    player.seat.send_signal(signal.SIGTERM)
    player.wait_for("ended")
    stage.stay(LINGER)


def kill_permission(stage: Stage) -> None:
    """The client is killed while a command waits for permission."""
    player = stage.open_client([answer(run("touch a.txt"), DONE)])
    player.prompt("make a file")
    player.wait_for("permission")
    stage.stay(5)
    player.seat.send_signal(signal.SIGKILL)
    player.wait_for("ended")
    stage.stay(LINGER)


def resume(stage: Stage) -> None:
    """An old session is resumed."""
    player = _greet(stage)
    player.prompt("/exit")
    player.wait_for("ended")
    stage.stay(4)
    again = stage.open_client([answer(run("./work 3"), DONE)], resume=player.seat.session_id)
    stage.stay(4)
    again.prompt("go on")
    again.wait_for("working", "tool")
    again.wait_for("idle")
    stage.stay(LINGER)


def two_sessions(stage: Stage) -> None:
    """Two clients work in one folder."""
    first = stage.open_client([answer(run("touch a.txt"), DONE)])
    second = stage.open_client([answer(run("./work 10"), DONE)])
    first.prompt("make a file")
    second.prompt("run the job")
    first.wait_for("permission")
    second.wait_for("tool")
    stage.stay(8)
    first.press("1")
    first.wait_for("idle")
    second.wait_for("idle")
    stage.stay(3)
    first.prompt("/exit")
    first.wait_for("ended")
    stage.stay(LINGER)


def _greet(stage: Stage) -> Player:
    player = stage.open_client([answer(say("Yes.", ANSWER))])
    player.prompt("hello")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(4)
    return player
