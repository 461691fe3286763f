"""A fork takes the copies of files along: its earlier prompts can be rewound in it, without touching the original."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user
from turnlog.agent.file_history.forked_copies import link_copies
from turnlog.agent.file_history.snapshots import FileCopy

FIRST, SECOND = "11111111-2222-4333-8444-000000000001", "11111111-2222-4333-8444-000000000002"
SESSION, FORK = "11111111-2222-4333-8444-555555555555", "11111111-2222-4333-8444-666666666666"
COPYING = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
Json = dict[str, Any]


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Desk]:
    kept = str(tmp_path.resolve() / "project" / "kept.txt")
    scenario = script(
        reply(call("Read", file_path=kept)),
        reply(call("Edit", file_path=kept, old_string="old", new_string="changed")),
        "First.",
        reply(call("Read", file_path=kept)),
        reply(call("Edit", file_path=kept, old_string="changed", new_string="changed again")),
        "Second.",
    )
    with Api(scenario=scenario) as api:
        desk = Desk(tmp_path, api)
        desk.trust()
        (desk.cwd / "kept.txt").write_text("old\n")
        talk(desk, "--session-id", SESSION, prompt=FIRST)
        talk(desk, "--resume", SESSION, "--fork-session", "--session-id", FORK, prompt=SECOND)
        yield desk


def talk(here: Desk, *words: str, prompt: str) -> None:
    """Let the model answer one prompt."""
    talk = Talk(here, "--permission-mode", "acceptEdits", *words, environ=COPYING)
    talk.say(user("go on", uuid=prompt))
    talk.until("result")
    assert talk.end() == 0


def rewind(here: Desk, session: str, prompt: str) -> Json:
    talk = Talk(here, "--resume", session, environ=COPYING)
    talk.say(control("a", subtype="rewind_files", user_message_id=prompt))
    answer: Json = talk.until("control_response")["response"]
    assert talk.end() == 0
    return answer


@pytest.mark.parametrize(("prompt", "content"), [(FIRST, "old\n"), (SECOND, "changed\n")])
def test_a_fork_rewinds_to_prompts_before_and_after_it_began(here: Desk, prompt: str, content: str) -> None:
    assert (here.cwd / "kept.txt").read_text() == "changed again\n"
    answer = rewind(here, FORK, prompt)
    assert answer["subtype"] == "success", answer
    assert (here.cwd / "kept.txt").read_text() == content


def test_the_original_keeps_its_lines_and_copies(here: Desk) -> None:
    (path,) = here.config.glob(f"projects/*/{SESSION}.jsonl")
    assert SECOND not in path.read_text()
    folder = here.config / "file-history"
    assert [copy.name.partition("@")[2] for copy in (folder / SESSION).iterdir()] == ["v1"]
    assert sorted(copy.name.partition("@")[2] for copy in (folder / FORK).iterdir()) == ["v1", "v2"]


def test_lines_of_the_fork_name_each_prompt_once(here: Desk) -> None:
    (path,) = here.config.glob(f"projects/*/{FORK}.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    named = [row["snapshot"]["messageId"] for row in rows if row["type"] == "file-history-snapshot"]
    assert list(dict.fromkeys(named)) == [FIRST, SECOND]


def test_only_regular_files_are_linked(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "a@v1").write_text("a")
    (tmp_path / "secret").write_text("s3cret")
    (source / "b@v1").symlink_to(tmp_path / "secret")
    (source / "c@v1").mkdir()
    names = ["a@v1", "b@v1", "c@v1", "gone@v1", None]
    link_copies(source, target, {"p": {str(at): FileCopy(name, 1, "") for at, name in enumerate(names)}})
    link_copies(source, target, {"p": {"a": FileCopy("a@v1", 1, "")}})
    assert [path.name for path in target.iterdir()] == ["a@v1"]
