"""Work grows with what is in a session and not faster: four times as much takes about four times as many steps.

Time is not measured. Instead the lines of code are counted that a command runs, with each round of a loop, and how
often it lists a folder.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import turnlog
from bench.growth import COMMANDS
from bench.growth_shapes import SHAPES
from turnlog.cli.program import run_program

SOURCE = str(Path(turnlog.__file__).parent)
SIZE = 20
MAX_GROWTH = 5.2
"""How many times as many steps a function may take for four times as much: linear work with a logarithm."""
MIN_STEPS = 80 * SIZE
"""Fewer steps are a few for each item, whatever they grew from."""

Steps = Counter[str]


class StepCounter:
    """Counts the lines that each function of turnlog runs."""

    def __init__(self) -> None:
        self.steps: Steps = Counter()

    def __enter__(self) -> StepCounter:
        threading.settrace(self._trace_call)
        sys.settrace(self._trace_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _trace_call(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        name = f"{frame.f_code.co_filename[len(SOURCE) + 1 :]}:{frame.f_code.co_qualname}"
        self.steps[name] += 1

        def trace_line(_frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
            self.steps[name] += event == "line"
            return trace_line

        return trace_line


def count_steps(folder: Path, shape: str, size: int, words: tuple[str, ...], patch: pytest.MonkeyPatch) -> Steps:
    """How many lines of each function a command runs."""
    config = folder / ".claude"
    path = SHAPES[shape](config, size)
    (folder / "data").mkdir()
    patch.setenv("HOME", str(folder))
    patch.setenv("CLAUDE_CONFIG_DIR", str(config))
    patch.setenv("TURNLOG_HOME", str(folder / "data"))
    run_program(["index", "stop"])
    named = [word.format(path=path, folder=path.parent, home=folder) for word in words]
    with StepCounter() as counter:
        status = run_program(named)
    assert status in (0, 1)
    return counter.steps


CASES = {
    "calls": "show md html context strip",
    "call-lines": "show md context strip",
    "scattered-calls": "show context strip fork",
    "texts": "show strip",
    "thoughts": "show strip clone-heavy",
    "rewinds": "doctor strip md",
    "rewound-turns": "doctor strip",
    "interruptions": "context messages",
    "hook-progress": "strip",
    "progress-run": "strip clone-heavy",
    "turns": "context show clone-heavy",
    "compactions": "show",
    "agents": "show md",
    "inline-agents": "show md context",
    "loose-agents": "show md",
    "queued-prompts": "context show",
    "sessions": "check-folder doctor-all export-all backfill-all",
    "titled-sessions": "export-all",
}


@pytest.mark.parametrize(
    ("shape", "command"), [(shape, command) for shape, commands in CASES.items() for command in commands.split()]
)
def test_four_times_as_much_takes_about_four_times_the_steps(
    shape: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: object
) -> None:
    words = COMMANDS[command]
    monkeypatch.chdir(tmp_path)
    for name in ("warm", "small", "large"):
        (tmp_path / name).mkdir()
    count_steps(tmp_path / "warm", shape, 2, words, monkeypatch)  # what is read once, such as prices
    small = count_steps(tmp_path / "small", shape, SIZE, words, monkeypatch)
    large = count_steps(tmp_path / "large", shape, 4 * SIZE, words, monkeypatch)
    steep = {
        name: (small[name], steps)
        for name, steps in large.items()
        if steps > MIN_STEPS and steps > MAX_GROWTH * small[name]
    }
    assert steep == {}


def count_listings(folder: Path, work: Callable[[], object]) -> int:
    """How often the folder of the project is listed."""
    project = str(folder / ".claude" / "projects" / "-home-dana-webshop")
    listings = 0
    is_on = True

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal listings
        if is_on and event in ("os.scandir", "os.listdir"):
            listings += os.fspath(arguments[0]) == project

    sys.addaudithook(count)
    work()
    is_on = False  # hooks can't be removed
    return listings


@pytest.mark.parametrize("command", ["check-folder", "doctor-all", "export-all", "backfill-all", "pack", "quest"])
def test_a_project_folder_is_listed_as_often_for_many_sessions_as_for_few(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: object
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("few", "many"):
        (tmp_path / name).mkdir()

    def run(name: str, size: int) -> int:
        folder = tmp_path / name
        return count_listings(folder, lambda: count_steps(folder, "sessions", size, COMMANDS[command], monkeypatch))

    few = run("few", 5)
    assert 0 < run("many", 15) <= few


def test_deleting_many_sessions_lists_their_folder_as_often_as_deleting_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: object
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    path = SHAPES["sessions"](tmp_path / ".claude", 20)
    for session in path.parent.iterdir():
        os.utime(session, (1_700_000_000, 1_700_000_000))
    ids = sorted(session.stem for session in path.parent.iterdir())
    found = [
        count_listings(tmp_path, lambda: run_program(["delete", "--yes", *chosen]))  # noqa: B023 - called at once
        for chosen in (ids[:2], ids[2:12])
    ]
    assert len(list(path.parent.iterdir())) == 8
    assert 0 < found[1] <= found[0]
