"""turnlog as programs use it: prompts and answers as lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tests.agent.desk import Desk
from tests.agent.waits import finish

Json = dict[str, Any]
STREAMS = ("-p", "--input-format", "stream-json", "--output-format", "stream-json")


def user(content: Any, **more: Any) -> Json:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def control(name: str, **request: Any) -> Json:
    return {"type": "control_request", "request_id": name, "request": request}


def fed(here: Desk, *messages: Json, more: tuple[str, ...] = ()) -> list[Json]:
    """What is answered to messages that come all at once."""
    done = here.turnlog(*STREAMS, *more, stdin="".join(json.dumps(message) + "\n" for message in messages))
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def kinds(told: list[Json]) -> list[str]:
    return [line.get("subtype") or line["type"] for line in told]


class Talk:
    """A program that talks with turnlog in lines of JSON."""

    def __init__(self, here: Desk, *words: str, environ: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "turnlog", "chat", *STREAMS[1:], *words],
            cwd=here.cwd,
            env={**here.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.told: list[Json] = []

    def say(self, *messages: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
        self.process.stdin.flush()

    def until(self, kind: str) -> Json:
        """Read until something of a kind comes."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(json.loads(line))
            if self.told[-1]["type"] == kind:
                return self.told[-1]
            if self.told[-1]["type"] == "result":  # it waits for the next prompt, and says no more
                break
        raise AssertionError(f"no {kind} in {self.told}")

    def wait_for_request(self) -> Json:
        """Wait until leave is asked for."""
        return self.until("control_request")

    def answer(self, asked: Json, **response: Any) -> None:
        told = {"subtype": "success", "request_id": asked["request_id"], "response": response}
        self.say({"type": "control_response", "response": told})

    def end(self) -> int:
        finish(self.process)
        return self.process.wait()
