"""Longer runs that mix many states, with other waits than the short ones in `scripts`.

The rules for states were never adjusted to these, so they show how well the rules hold in general.
"""

from __future__ import annotations

import signal

from tests.interop.live.replies import ASK, BROKEN, SUMMARY, answer, call, run, say
from tests.interop.live.stage import Stage


def office_day(stage: Stage) -> None:
    """A turn with several commands, one of which needs permission; a second prompt; then a compaction."""
    replies = [
        call("Read", 2.5, words="I read it.", file_path="README.md"),
        run("./work 7", 1.5),
        run("touch b.txt && ./work 2", 5.0),
        say("It is done.", 3.0),
    ]
    player = stage.open_client([answer(SUMMARY, kind="compact"), answer(*replies)])
    player.prompt("look around and run the tests")
    player.wait_for("permission")
    stage.stay(4)
    player.press("1")
    player.wait_for("idle")
    stage.stay(9)
    player.prompt("what did you do")
    player.wait_for("working")
    player.wait_for("idle")
    stage.stay(5)
    player.prompt("/compact")
    player.wait_for("compacting")
    player.wait_for("idle")
    stage.stay(7)


def careful_person(stage: Stage) -> None:
    """A person denies an edit, answers a question, stops a command, leaves and resumes."""
    write = call("Write", 2.5, file_path="notes.md", content="# Notes\n")
    question = {**ASK, "delay": 3.0}
    player = stage.open_client([answer(write, question, run("./work 30", 2.0), say("Yes.", 3.0))])
    player.prompt("write a note")
    player.wait_for("permission")
    stage.stay(6)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(4)
    player.prompt("ask me something")
    player.wait_for("question")
    stage.stay(5)
    player.press("2")
    player.wait_for("tool")
    stage.stay(9)
    player.press("Escape")
    player.wait_for("interrupted", "idle")
    stage.stay(5)
    player.prompt("/exit")
    player.wait_for("ended")
    stage.stay(5)
    again = stage.open_client([answer(say("Welcome back.", 6.0))], resume=player.seat.session_id)
    again.prompt("go on")
    again.wait_for("working")
    again.wait_for("idle")
    stage.stay(5)
    again.seat.send_signal(signal.SIGTERM)
    again.wait_for("ended")
    stage.stay(3)


def bumpy_api(stage: Stage) -> None:
    """The API fails twice, a sub-agent needs permission, and a command goes on in the background."""
    start = call("Task", 3.0, description="BETA", prompt="BETA: look", subagent_type="general-purpose")
    job = run("./work 12", 2.0, run_in_background=True)
    agent = answer(run("touch c.txt && ./work 3", 2.5), say("beta is over", 2.5), kind="agent")
    player = stage.open_client([answer(BROKEN, BROKEN, start, job, say("All done.", 2.5)), agent])
    player.prompt("start a helper and the job")
    player.wait_for("permission")
    stage.stay(7)
    player.press("1")
    player.wait_for("background", "idle")
    stage.stay(20)
    player.wait_for("idle", text="All done.")
    stage.stay(8)
