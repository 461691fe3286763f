"""The tasks that `bench.tasks` runs for the console client."""

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
    """Prepare a session whose turns each call a tool; report the CPU seconds of the last turns and the bytes written.

    The last turns alternate with turns of a new session, so that a busy moment affects both equally. If `url` is empty,
    the scripted model answers within the process; otherwise, the server at `url` does, and it must request `read.txt`
    in every other answer.
    """
    from turnlog.agent.person import Nobody
    from turnlog.agent.session_starter import SessionStarter
    from turnlog.agent.start_options import StartOptions
    from turnlog.model.scripted_model import ScriptedModel

    cwd, home = Path(place).resolve(), Path(tempfile.mkdtemp(dir=place))
    environ = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home), "ANTHROPIC_API_KEY": "bench"}
    scripted = ScriptedModel(script_answers(cwd / "read.txt"))
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
    """Return the CPU seconds that one turn takes."""
    from turnlog.model.cancel import Cancel

    before = time.process_time()
    outcome = loop.run_turn("What does read.txt say? Answer in a few words.", Cancel())
    seconds = time.process_time() - before
    if (outcome.reason, outcome.turns) != ("finished", 2):
        raise ValueError(f"unexpected outcome of a turn: {outcome}")
    return seconds


def script_answers(path: Path) -> Iterator[ModelAnswer]:
    """Alternate between a call that reads the file and a final answer."""
    from turnlog.model.answer import ModelAnswer

    number = 0
    while True:
        number += 1
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": str(path)}}
        yield ModelAnswer((call,), "tool_use", _USAGE, f"msg_{number}_a", _MODEL)
        text = {"type": "text", "text": "It says so in a line of it."}
        yield ModelAnswer((text,), "end_turn", _USAGE, f"msg_{number}_b", _MODEL)
