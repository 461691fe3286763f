"""Files go back to their state before a prompt: the real clients rewind turnlog's sessions, and turnlog theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user
from tests.interop.clients import NEWEST, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import environment, run, scratch_folder

pytestmark = pytest.mark.interop
VERSIONS = [
    pytest.param(
        version, marks=pytest.mark.skipif(bool(list_missing_clients((version,))), reason="this client is not installed")
    )
    for version in (NEWEST, "2.1.45")
]
COPYING = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
FIRST, SECOND = "11111111-2222-4333-8444-000000000001", "11111111-2222-4333-8444-000000000002"
SESSION = "11111111-2222-4333-8444-555555555555"
STATES: tuple[dict[str, str], ...] = (
    {"kept.txt": "old\n"},
    {"kept.txt": "changed\n", "made.txt": "made\n"},
    {"kept.txt": "changed again\n", "made.txt": "made\n", "late.txt": "late\n"},
)
"""The files before the first prompt, before the second, and after both."""


@pytest.fixture
def base() -> Iterator[Path]:
    with scratch_folder() as folder:
        yield folder


def build_scenario(project: Path) -> dict[str, Any]:
    """Two turns that change and create files."""
    kept = str(project / "kept.txt")
    return script(
        reply(call("Read", file_path=kept)),
        reply(call("Edit", file_path=kept, old_string="old", new_string="changed")),
        reply(call("Write", file_path=str(project / "made.txt"), content="made\n")),
        "First.",
        reply(call("Read", file_path=kept)),
        reply(call("Edit", file_path=kept, old_string="changed", new_string="changed again")),
        reply(call("Write", file_path=str(project / "late.txt"), content="late\n")),
        "Second.",
    )


def read_files(project: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in project.iterdir() if path.suffix == ".txt"}


def run_client(here: Desk, version: str, *words: str, url: str = "http://127.0.0.1:9") -> None:
    env = {**environment(here.home, url), **COPYING}
    (here.home / "tmp").mkdir(exist_ok=True)
    ended = run([str(client(version)), "-p", *words], env, here.cwd, 120)
    assert ended.status == 0, ended.note


def find_prompts(here: Desk) -> list[str]:
    (path,) = here.config.glob(f"projects/*/{SESSION}.jsonl")  # 2.1.45 also writes files without a conversation
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [row["uuid"] for row in rows if row["type"] == "user" and isinstance(row["message"]["content"], str)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("turn", [0, 1])
def test_a_real_client_rewinds_files_of_our_session(base: Path, version: str, turn: int) -> None:
    with Api(scenario=build_scenario(base.resolve() / "project")) as api:
        here = Desk(base, api)
        here.trust()
        (here.cwd / "kept.txt").write_text("old\n")
        talk = Talk(here, "--permission-mode", "acceptEdits", environ=COPYING)
        for uuid in (FIRST, SECOND):
            talk.say(user("go on", uuid=uuid))
            talk.until("result")
        assert talk.end() == 0
    assert read_files(here.cwd) == STATES[2]
    run_client(here, version, "--resume", here.session[0]["sessionId"], "--rewind-files", (FIRST, SECOND)[turn])
    assert read_files(here.cwd) == STATES[turn]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_client_rewinds_files_of_our_fork_to_before_it_began(base: Path, version: str) -> None:
    fork = "11111111-2222-4333-8444-666666666666"
    with Api(scenario=build_scenario(base.resolve() / "project")) as api:
        here = Desk(base, api)
        here.trust()
        (here.cwd / "kept.txt").write_text("old\n")
        for uuid, words in ((FIRST, ("--session-id", SESSION)), (SECOND, ("--resume", SESSION, "--fork-session"))):
            more = ("--session-id", fork) if uuid == SECOND else ()
            talk = Talk(here, "--permission-mode", "acceptEdits", *words, *more, environ=COPYING)
            talk.say(user("go on", uuid=uuid))
            talk.until("result")
            assert talk.end() == 0
    assert read_files(here.cwd) == STATES[2]
    run_client(here, version, "--resume", fork, "--rewind-files", FIRST)
    assert read_files(here.cwd) == STATES[0]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("turn", [0, 1])
def test_we_rewind_files_of_a_real_client_s_session(base: Path, version: str, turn: int) -> None:
    with MockAnthropic(build_scenario(base.resolve() / "project")) as mock:
        here = Desk(base, mock)
        here.trust()
        (here.cwd / "kept.txt").write_text("old\n")
        more = ("--model", "claude-opus-5-5", "--permission-mode", "acceptEdits")
        run_client(here, version, "first", *more, "--session-id", SESSION, url=mock.url)
        run_client(here, version, "second", *more, "--resume", SESSION, url=mock.url)
        assert read_files(here.cwd) == STATES[2]
        prompt = find_prompts(here)[turn]
        talk = Talk(here, "--resume", SESSION, environ=COPYING)
        talk.say(control("a", subtype="rewind_files", user_message_id=prompt))
        answer = talk.until("control_response")["response"]
        assert answer["subtype"] == "success", json.dumps(answer)
        assert answer["response"]["canRewind"] is True, json.dumps(answer)
        assert talk.end() == 0
    assert read_files(here.cwd) == STATES[turn]
