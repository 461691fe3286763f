"""What a whole conversation looks like at a terminal, and how little is written to show it.

Each view is compared with a file of `goldens/`; `WRITE_GOLDENS=1` writes the files anew.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk, Terminal, call, reply, says, script

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")]
READY = "\x1b[?2004h> "
SIZES = [(80, 24), (120, 40)]
GOLDENS = Path(__file__).parent / "goldens"
CLEARING = re.compile("\x1b\\[[0-3]?J|\x1bc|\x1b\\[\\?(?:47|1047|1049)[hl]|\x1b\\[[0-9;]*[Hr]")
"""Sequences that clear the screen or its scrollback, move to a fixed row, or switch to the other screen."""
ANSWER = """# Findings

Here is **what I found** in the project, in a paragraph that is long enough to be wrapped between its words.

| File | Lines | What it does |
|---|---:|---|
| `src/app.py` | 120 | starts the server and parses all of the arguments that it gets on the command line |
| `src/db.py` | 48 | talks to the database |

1. first
   - nested *item*

```python
def greet(name: str) -> None:
    print(f"hello {name}")
```

> A quote that says something, and says it with so many words that it needs another row of the terminal, or two.

Done: see [docs](https://example.org).
"""
QUESTION = {
    "question": "Which database should the new service use, given that it also runs on the machines of the branches?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "SQLite", "description": "one file, no server, and fast enough for all that a branch will ever keep"},
        {"label": "PostgreSQL", "description": "a server"},
    ],
}
PLAN = (
    "# Plan\n\n1. **Write** a test that fails, in a step of its own, before anything else is changed here\n2. Fix it\n"
)
TODOS = [
    {"content": "Read the code", "status": "completed", "activeForm": "Reading the code"},
    {"content": "Fix the bug", "status": "in_progress", "activeForm": "Fixing the bug"},
    {"content": "Run the tests", "status": "pending", "activeForm": "Running the tests"},
]


@contextmanager
def open_desk(*replies: object, is_trusted: bool = True) -> Iterator[Desk]:
    """A desk, trusted or not, whose path always has the same length, since it decides where lines wrap."""
    with (
        tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as name,
        Api(scenario=script(*replies)) as api,
    ):
        here = Desk(Path(name), api)
        if is_trusted:
            here.trust()
        yield here
        assert api.refused == []


def compare_with_golden(here: Desk, terminal: Terminal, name: str, size: tuple[int, int]) -> None:
    """Compare all rows of the terminal with the golden file, and look at what was written to show them."""
    *rows, _ = terminal.screen_text.rstrip("\n").split("\n")  # the last one says how to continue the session
    shown = "\n".join(rows).replace(str(here.base), "/tmp/tdeskgold")
    shown = re.sub(r"\(\d+ s · ", "(0 s · ", shown) + "\n"
    path = GOLDENS / f"{name}-{size[0]}x{size[1]}.txt"
    if os.environ.get("WRITE_GOLDENS"):
        path.write_text(shown, "utf-8")
    assert shown == path.read_text("utf-8")
    assert max(map(len, shown.split("\n"))) <= size[0]
    assert [found for found in CLEARING.findall(terminal.text) if found != "\x1b[J"] == []


def leave(terminal: Terminal) -> None:
    terminal.expect(READY)
    terminal.send("\x04")
    assert terminal.wait_for_end() == 0


@pytest.mark.parametrize("size", SIZES)
def test_the_questions_of_the_first_start(size: tuple[int, int]) -> None:
    server = {"command": "server-of-the-shop", "args": ["--shelves", "apples and pears", "--log", "/var/log/shop/log"]}
    hook = {"matcher": "Bash", "hooks": [{"type": "prompt", "prompt": "Is it safe?"}]}
    settings = {"hooks": {"PreToolUse": [hook]}, "language": "german", "disabledMcpjsonServers": ["other"]}
    with open_desk(is_trusted=False) as here:
        (here.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": server}}))
        (here.config / "settings.json").write_text(json.dumps(settings))
        with here.terminal(columns=size[0], rows=size[1]) as terminal:
            for question in ("I trust this folder", "start it, now and later", "continue without them"):
                terminal.expect(question)
                terminal.expect("[y/n]")
                terminal.send("n\r" if "start" in question else "y\r")
            leave(terminal)
            compare_with_golden(here, terminal, "start", size)


@pytest.mark.parametrize("size", SIZES)
def test_an_answer(size: tuple[int, int]) -> None:
    with open_desk(ANSWER) as here, here.terminal(columns=size[0], rows=size[1]) as terminal:
        terminal.expect(READY)
        terminal.send("look at it\r")
        terminal.expect("Done: see")
        leave(terminal)
        compare_with_golden(here, terminal, "answer", size)


@pytest.mark.parametrize("size", SIZES)
def test_a_change_is_folded_to_the_window_and_shown_once(size: tuple[int, int]) -> None:
    with open_desk() as here:
        path = here.cwd / "new.txt"
        content = "".join(f"row {number}\n" for number in range(60))
        here.mock.scenario.conversations[0]["replies"] = [
            reply(says("I write it."), call("TodoWrite", todos=TODOS)),
            reply(call("Write", file_path=str(path), content=content)),
            "Written.",
        ]
        with here.terminal(columns=size[0], rows=size[1]) as terminal:
            terminal.expect(READY)
            terminal.send("write\r")
            terminal.expect("allow? [y/s/a/v/n]")
            assert "row 59" not in terminal.text
            terminal.send("v\r")
            terminal.expect("row 59")
            terminal.expect("allow? [y/s/a/n]")
            terminal.send("y\r")
            terminal.expect("Written.")
            leave(terminal)
            assert (path.read_text(), terminal.screen_text.count("+ row 17")) == (content, 1)
            compare_with_golden(here, terminal, "change", size)


@pytest.mark.parametrize("size", SIZES)
def test_a_question_is_wrapped_between_words(size: tuple[int, int]) -> None:
    ask = reply(call("AskUserQuestion", questions=[QUESTION]))
    with open_desk(ask, "Thanks.") as here, here.terminal(columns=size[0], rows=size[1]) as terminal:
        terminal.expect(READY)
        terminal.send("ask\r")
        terminal.expect("own answer:")
        terminal.send("1\r")
        terminal.expect("Thanks.")
        leave(terminal)
        compare_with_golden(here, terminal, "question", size)


@pytest.mark.parametrize("size", SIZES)
def test_a_plan_is_changed_in_the_editor_and_the_model_follows_the_changed_one(size: tuple[int, int]) -> None:
    plan = reply(call("ExitPlanMode", plan=PLAN))
    with open_desk(plan, "Done.") as here:
        editor = here.base / "edit"
        editor.write_text('#!/bin/sh\necho "3. Tell everybody" >> "$1"\n')
        editor.chmod(0o755)
        with here.terminal(columns=size[0], rows=size[1], EDITOR=str(editor)) as terminal:
            terminal.expect(READY)
            terminal.send("plan\r")
            terminal.expect("go ahead? [y/a/e/n]")
            terminal.send("e\r")
            terminal.expect("Tell everybody")
            terminal.expect("go ahead? [y/a/e/n]")
            terminal.send("y\r")
            terminal.expect("Done.")
            leave(terminal)
            compare_with_golden(here, terminal, "plan", size)
        result = str(here.requests[-1]["messages"][-1])
        assert "Approved Plan (edited by user)" in result
        assert "3. Tell everybody" in result


def test_a_blank_editor_changes_no_plan_and_runs_nothing() -> None:
    with open_desk(reply(call("ExitPlanMode", plan="#!/bin/sh\ntouch made\n")), "Done.") as here:
        with here.terminal(EDITOR="  ", VISUAL="''") as terminal:
            terminal.expect(READY)
            terminal.send("plan\r")
            terminal.expect("go ahead?")
            terminal.send("e\r")
            terminal.expect("names no editor")
            terminal.expect("go ahead?")
            terminal.send("y\r")
            terminal.expect("Done.")
            leave(terminal)
        assert not (here.cwd / "made").exists()
        assert "edited by user" not in str(here.requests[-1]["messages"][-1])


@pytest.mark.parametrize("size", SIZES)
def test_escape_twice_goes_back_to_an_earlier_prompt(size: tuple[int, int]) -> None:
    with open_desk("One.", "Two.") as here, here.terminal(columns=size[0], rows=size[1]) as terminal:
        terminal.expect(READY)
        terminal.send("first\r")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("\x1b\x1b")
        terminal.expect("number of the prompt")
        terminal.send("1\r")
        terminal.expect("go back in the conversation")
        terminal.send("c\r")
        terminal.expect("> first")
        terminal.send(" again\r")
        terminal.expect("Two.")
        leave(terminal)
        compare_with_golden(here, terminal, "rewind", size)
        texts = [block["text"] for message in here.requests[-1]["messages"] for block in message["content"]]
        assert "first again" in texts
        assert "One." not in texts


def test_escape_twice_puts_away_what_is_typed() -> None:
    with open_desk("One.") as here, here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("a thought")
        terminal.expect("a thought")
        terminal.send("\x1b\x1b")
        terminal.expect("put away")
        terminal.expect(READY)
        terminal.send("\x1b[A, finished\r")
        terminal.expect("One.")
        leave(terminal)
        assert "a thought, finished" in str(here.requests[-1]["messages"][-1])


@pytest.mark.parametrize("size", SIZES)
def test_a_frame_of_a_streamed_answer_takes_few_bytes(size: tuple[int, int]) -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    with open_desk(words) as here, here.terminal(columns=size[0], rows=size[1]) as terminal:
        terminal.expect(READY)
        before = len(terminal.raw)
        terminal.send("go\r")
        terminal.expect("word1999")
        leave(terminal)
        frames = max(terminal.text.count("\x1b[K") + terminal.text.count("\n"), 1)
        written = len(terminal.raw) - before
        assert written < 8 * len(words)
        assert written / frames < 4 * size[0]
