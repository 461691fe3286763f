"""The client is killed or interrupted at any moment of a turn with tools: the session goes on, with valid requests.

`TURNLOG_FAULTS` says how many moments are tried of each kind; each has a number, by which it can be tried again.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.agent.api import Api
from tests.agent.client import Client, on_disk, sound
from tests.agent.desk import Desk, call, reply, says
from tests.agent.rules import drop_cache_mark
from tests.agent.waits import finish, wait_until
from tests.interop.classify import Object
from turnlog.agent.compaction import SUMMARY_INSTRUCTION

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="processes are not killed by signals there")]

KILLS = int(os.environ.get("TURNLOG_FAULTS", "10"))
THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"}
ECHO = call("Bash", command="echo hi")
TASKS = [
    call("Task", description="x", prompt=prompt, subagent_type="Explore", run_in_background=False)
    for prompt in ("One", "Two")
]
SCRIPT = [
    reply(THOUGHT, says("I look."), ECHO, call("Bash", command="cat /nowhere"), ECHO, pace=0.002),
    reply(says("Others look."), *TASKS, pace=0.002),
    reply(call("TodoWrite", todos=[{"content": "a", "status": "pending", "activeForm": "a"}]), ECHO, pace=0.002),
    reply(says("<summary>So far.</summary>"), usage={"input_tokens": 10}),
    *(reply(says("Done."), pace=0.004) for _ in range(4)),
]
SCRIPT[2]["usage"] = {"input_tokens": 990_000}
AGENTS = {name: [reply(ECHO, pace=0.002), f"{name}."] for name in ("One", "Two")}
REQUESTS = 9
"""So many requests the whole turn makes."""
WORDS = ("-p", "first", "--model", "opus")


def start_turn(desk: Desk, chance: random.Random) -> subprocess.Popen[str]:
    """A turn at work, at some moment of it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", *WORDS],
        cwd=desk.cwd,
        env=desk.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    wanted = chance.randrange(REQUESTS + 1)
    wait_until(lambda: len(desk.mock.requests) >= wanted or process.poll() is not None)
    time.sleep(chance.random() * 0.08)
    return process


@pytest.mark.parametrize("number", range(KILLS))
def test_a_client_that_is_killed_leaves_a_session_that_goes_on(tmp_path: Path, number: int) -> None:
    with Api(SCRIPT, AGENTS) as api:
        desk = Desk(tmp_path, api)
        process = start_turn(desk, random.Random(number))
        process.kill()
        finish(process)
        goes_on(desk)
        assert api.refused == []


@pytest.mark.parametrize("number", range(KILLS))
def test_a_client_that_is_interrupted_says_so_and_the_session_goes_on(tmp_path: Path, number: int) -> None:
    with Api(SCRIPT, AGENTS) as api:
        desk = Desk(tmp_path, api)
        process = start_turn(desk, random.Random(1000 + number))
        for _ in range(1 + number % 2):  # the second time it does not even wait for what is at work
            process.send_signal(signal.SIGINT)
            time.sleep(0.01)
        out, complaint = finish(process)
        if api.requests:  # before, the interpreter itself may be interrupted
            assert complaint in ("", "turnlog: interrupted\n")
        assert (process.returncode, out.count("\n") <= 1) in [(0, True), (1, True), (130, True), (-signal.SIGINT, True)]
        goes_on(desk)
        assert api.refused == []


def is_written(asked: list[Object], written: list[Object]) -> bool:
    """Whether all that was sent last is on disk; a summary that is asked for is not, and replaces what was."""
    bodies = [body for body in asked if any(tool["name"] == "Task" for tool in body["tools"])]
    if (
        not bodies
        or bodies[-1]["messages"][-1]["content"][-1].get("text") == SUMMARY_INSTRUCTION
        or len(written[0]["content"][0]["text"]) > 100
    ):
        return True
    sent = [
        pair
        for pair in list_spoken_blocks(bodies[-1]["messages"])
        if "<system-reminder>" not in str(pair[1].get("text"))
    ]
    return list_spoken_blocks(written)[: len(sent)] == sent


def list_spoken_blocks(messages: list[Object]) -> list[tuple[str, Object]]:
    """Who says what, block by block."""
    return [(message["role"], drop_cache_mark(block)) for message in messages for block in message["content"]]


def goes_on(desk: Desk) -> None:
    """Take the session up again, if anything was written of it."""
    written = [*desk.config.glob("projects/*/*.jsonl")]
    for path in written:
        sound(path)
        assert is_written(desk.requests, on_disk(path))
    with Client(desk, is_continued=bool(written)) as client:
        for text in ("second", "third"):
            assert client.say(text).reason == "finished"
