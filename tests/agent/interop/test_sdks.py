"""Programs that use Claude Code's SDKs: through the real client and through ours, the same happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import call, reply, says
from tests.interop.clients import NEWEST, ROOT, client
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import environment

pytestmark = pytest.mark.interop
SDKS = ROOT / ".tools" / "sdks"
STORIES = Path(__file__).parent
HANG = 180
THEIR_OWN_LINES = {"status", "background_tasks_changed"}
"""Notes of the real client that turnlog does not have."""


def build_replies(cwd: Path) -> list[Any]:
    """What the model answers in the stories."""
    return [
        *(reply(call("Write", file_path=str(cwd / "new.txt"), content="new\n")), "Written."),
        *(reply(call("Bash", command="echo swap > swap.txt", description="x")), "Swapped."),
        *(reply(call("Bash", command="echo deny > deny.txt", description="x")), "Denied."),
        *(reply(call("mcp__calc__add", a=1, b=2)), "Added."),
    ]


def tell_story(base: Path, words: list[str], executable: str, *, is_interrupted: bool) -> dict[str, Any]:
    """Run a story with a client, and return what the program has seen."""
    home, cwd = base / "home", base / "project"
    for folder in (home / "tmp", home / ".claude", cwd):
        folder.mkdir(parents=True)
    replies = [
        *build_replies(cwd),
        *([{**reply(says("late")), "delay": 5}] if is_interrupted else []),
        *(reply(call("StructuredOutput", n=5)), "Forked."),
    ]
    kinds = ("main", "agent")  # the real client introduces itself in other words to programs
    with MockAnthropic({"conversations": [{"kind": kind, "replies": replies} for kind in kinds]}) as mock:
        env = {**environment(home, mock.url), "IS_SANDBOX": "1", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        done = subprocess.run(
            [*words, executable, str(cwd)], env=env, cwd=cwd, capture_output=True, text=True, timeout=HANG, check=False
        )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return {key: [one for one in value if not is_extra_line(one)] if isinstance(value, list) else value
            for key, value in told.items()}  # fmt: skip


def is_extra_line(line: Any) -> bool:
    return isinstance(line, list) and len(line) > 1 and line[1] in THEIR_OWN_LINES


def write_wrapper(base: Path) -> str:
    """The script that docs/sdk.md recommends."""
    path = base / "turnlog-client"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} -m turnlog chat "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_program_sees_the_same_through_both_clients(tmp_path: Path, language: str) -> None:
    """If an SDK is missing: scripts/install-sdks."""
    words = {
        "python": [str(SDKS / "python" / "bin" / "python"), str(STORIES / "sdk_story.py")],
        "typescript": ["node", str(STORIES / "sdk_story.mjs"), str(SDKS / "typescript")],
    }[language]
    mine, theirs = (
        tell_story(tmp_path / name, words, executable, is_interrupted=language == "python")
        for name, executable in (("mine", write_wrapper(tmp_path)), ("theirs", str(client(NEWEST))))
    )
    assert mine == theirs
    assert "swapped.txt" in mine["files"]
    assert not {"swap.txt", "deny.txt"} & set(mine["files"])
    assert "sum 3" in json.dumps(mine["calculate"])
