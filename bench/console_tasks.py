"""The tasks that `bench.tasks` runs for the console of `turnlog chat`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

_ANSWER = """## Part {number}

A paragraph with **strong** words, `code` and a [link](https://example.org/{number}), long enough to be wrapped between
its words at least once, whatever the width of the terminal may be.

| File | Lines | What it does |
|---|---:|---|
| `src/part_{number}.py` | {number} | reads the settings, and writes what it found there to the log |
| `src/other.py` | 12 | nothing of note |

1. first, which is short
   - nested *item*, which is longer than that

```python
def compute_{number}(value: int) -> int:
    return value * {number}
```

"""
_CHARS_PER_TOKEN = 4
_FIRST_SHARE = 10
"""The memory is taken for the first time after this part of the turns."""


def prepare_rendering(tokens: str, width: str) -> Callable[[], Any]:
    """Prepare to show an answer token by token; report how much is written."""
    from turnlog.agent.console.screen import ConsoleScreen
    from turnlog.agent.console.turn_display import TurnDisplay
    from turnlog.agent.events import AnswerStreamed
    from turnlog.model.events import TextPart
    from turnlog.render.terminal import TerminalScreen

    size = int(tokens) * _CHARS_PER_TOKEN
    text = "".join(_ANSWER.format(number=number) for number in range(size // 300))[:size]
    frames: list[int] = []
    screen = ConsoleScreen(lambda part: frames.append(len(part.encode())), TerminalScreen(True, int(width)))
    display = TurnDisplay(screen)

    def work() -> Any:
        display.activity.begin()
        screen.show_activity(display.activity.render)
        for at in range(0, len(text), _CHARS_PER_TOKEN):
            display.watch(AnswerStreamed(TextPart(0, text[at : at + _CHARS_PER_TOKEN])))
        screen.finish_line()
        return {"bytes": sum(frames), "frames": len(frames), "chars": len(text)}

    return work


def prepare_turn_memory(place: str, count: str) -> Callable[[], Any]:
    """Prepare a session that is shown at a console; report its memory early and late, and what it sends in the end."""
    from turnlog.agent.console.screen import ConsoleScreen
    from turnlog.agent.console.turn_display import TurnDisplay
    from turnlog.agent.person import Nobody
    from turnlog.agent.session_starter import SessionStarter
    from turnlog.agent.start_options import StartOptions
    from turnlog.model.cancel import Cancel
    from turnlog.model.scripted_model import ScriptedModel
    from turnlog.render.terminal import TerminalScreen

    from .agent_tasks import script_answers

    cwd, home = Path(place).resolve(), Path(tempfile.mkdtemp(dir=place))
    environ = {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home), "ANTHROPIC_API_KEY": "bench"}
    scripted = ScriptedModel(script_answers(cwd / "read.txt"))
    display = TurnDisplay(ConsoleScreen(len, TerminalScreen(True, 80)), str(cwd))
    starter = SessionStarter(cwd, home, environ, scripted)

    def work() -> Any:
        session = starter.begin_session(StartOptions(), display.watch, Nobody())
        before = 0.0
        for number in range(int(count)):
            session.loop.run_turn("What does read.txt say? Answer in a few words.", Cancel())
            scripted.requests.clear()
            if number + 1 == int(count) // _FIRST_SHARE:
                before = read_memory()
        sent = len(json.dumps(session.loop.encode_next_request()))
        session.close()
        return {"before": before, "after": read_memory(), "sent": sent}

    return work


def read_memory() -> float:
    """Return how much memory this process uses now, in MB."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS:")), 0.0)
