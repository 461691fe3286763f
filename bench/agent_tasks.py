"""What is measured of the client, as tasks for `bench.tasks`."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlog.agent.loop import AgentLoop
    from turnlog.model.answer import ModelAnswer

_MODEL = "claude-sonnet-4-5"
_USAGE = {"input_tokens": 20, "output_tokens": 40}


def prepare_turns(place: str, url: str, count: str, compared_turns: str) -> Callable[[], Any]:
    """Turns of a session, each with a call of a tool: CPU seconds of the last ones, and the bytes that each wrote.

    In turns with the last ones those of a new session are measured, so that a busy moment hurts both alike. An empty
    `url` means the scripted model, which answers within the process; else a server is asked, which must call for
    `read.txt` in every other answer.
    """
    from turnlog.agent.person import Nobody
    from turnlog.agent.session_starter import SessionStarter, StartOptions
    from turnlog.model.scripted_model import ScriptedModel

    cwd, home = Path(place).resolve(), Path(tempfile.mkdtemp(dir=place))
    environ = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home), "ANTHROPIC_API_KEY": "bench"}
    scripted = ScriptedModel(_script_answers(cwd / "read.txt"))
    starter = SessionStarter(cwd, home, {**environ, "ANTHROPIC_BASE_URL": url}, None if url else scripted)

    def work() -> Any:
        gc.set_threshold(100_000, 50, 100)  # as the program does
        old, new = (starter.begin_session(StartOptions(), lambda _: None, Nobody()) for _ in range(2))
        sizes, cpu = [0], list[tuple[float, float]]()
        for number in range(int(count)):
            seconds = _time_turn(old.loop)
            sizes.append(old.loop.record.path.stat().st_size)
            if number >= int(count) - int(compared_turns):
                cpu.append((seconds, _time_turn(new.loop)))
            scripted.requests.clear()
        old.close()
        new.close()
        return {"cpu": cpu, "written": [after - before for before, after in pairwise(sizes)]}

    return work


def _time_turn(loop: AgentLoop) -> float:
    """The CPU seconds of one turn."""
    from turnlog.model.cancel import Cancel

    before = time.process_time()
    outcome = loop.run_turn("What does read.txt say? Answer in a few words.", Cancel())
    seconds = time.process_time() - before
    if (outcome.reason, outcome.turns) != ("finished", 2):
        raise ValueError(f"a turn ended otherwise: {outcome}")
    return seconds


def _script_answers(path: Path) -> Iterator[ModelAnswer]:
    """A call for a file, an answer, a call …"""
    from turnlog.model.answer import ModelAnswer

    number = 0
    while True:
        number += 1
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": str(path)}}
        yield ModelAnswer((call,), "tool_use", _USAGE, f"msg_{number}_a", _MODEL)
        text = {"type": "text", "text": "It says so in a line of it."}
        yield ModelAnswer((text,), "end_turn", _USAGE, f"msg_{number}_b", _MODEL)
