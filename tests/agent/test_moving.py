"""A call runs in the folder in which it was judged, wherever the calls beside it go meanwhile."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script

MakeDesk = Callable[[dict[str, Any]], Desk]
MODES = ("default", "plan", "dontAsk", "acceptEdits")
PAUSES = [call("Bash", command="sleep 0.1") for _ in range(9)]
"""With what comes before, as many calls as run side by side."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs bash")


def plant(folder: Path, mark: Path) -> None:
    """Make a folder a repository whose settings have git make a file."""
    for name in ("objects", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/x\n")
    core = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
    (folder / "config").write_text(f'{core}\tfsmonitor = "touch {mark}; false"\n')


def results(desk: Desk) -> list[str]:
    """What the model was told of its calls."""
    found = desk.requests[-1]["messages"][-1]["content"]
    return [str(block["content"]) for block in found if block["type"] == "tool_result"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "calls",
    [[*PAUSES, call("Bash", command="git status")], [call("Bash", command="git status --ignore-submodules")]],
    ids=["side by side", "by a rule"],
)
@pytest.mark.parametrize("move", ["cd b", "c\\d b"])
def test_git_does_not_run_where_a_call_went_after_it_was_judged(
    desk: MakeDesk, mode: str, move: str, calls: list[dict[str, Any]]
) -> None:
    here = desk(script(reply(call("Bash", command=move), *calls), "Done."))
    plant(here.cwd / "b", here.base / "ran")

    here.turnlog("-p", "go", "--permission-mode", mode, "--allowedTools", "Bash(git status:*)")

    assert len(results(here)) == 1 + len(calls)
    assert not (here.base / "ran").exists()


def test_a_relative_name_means_the_file_that_was_judged(desk: MakeDesk) -> None:
    calls = [call("Bash", command="cd b"), call("Write", file_path="HEAD/../config", content="x")]
    here = desk(script(reply(*calls), "Done."))
    (here.cwd / "b").mkdir()
    (here.cwd / "b" / "HEAD").touch()

    here.turnlog("-p", "go", "--permission-mode", "acceptEdits")

    assert not (here.cwd / "b" / "config").exists()


def test_what_follows_a_command_that_moves_is_judged_where_it_went(desk: MakeDesk) -> None:
    moves = ("cd b", "command cd c", "ls; cd ..")
    calls = [one for move in moves for one in (call("Bash", command=move), call("Bash", command="pwd"))]
    here = desk(script(reply(*calls), "Done."))
    (here.cwd / "b" / "c").mkdir(parents=True)

    here.turnlog("-p", "go")

    assert results(here)[1::2] == [str(here.cwd / "b"), str(here.cwd / "b" / "c"), str(here.cwd / "b")]
