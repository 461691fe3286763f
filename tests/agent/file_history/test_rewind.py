"""Going back in a running session: at the console, and by requests of a program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, control, user

Json = dict[str, Any]
MakeDesk = Callable[[Json], Desk]
READY = "\x1b[?2004h> "
EDITING = "\x1b[?2004hacceptEdits > "
FIRST, SECOND = "11111111-2222-4333-8444-000000000001", "11111111-2222-4333-8444-000000000002"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[MakeDesk]:
    with ExitStack() as servers:

        def make(scenario: Json) -> Desk:
            made = Desk(tmp_path, servers.enter_context(Api(scenario=scenario)))
            made.trust()
            return made

        yield make


def write(name: str, content: str, here: Path) -> Json:
    return reply(call("Write", file_path=str(here / name), content=content))


def edit(name: str, old: str, new: str, here: Path) -> Json:
    return reply(call("Edit", file_path=str(here / name), old_string=old, new_string=new))


def build_scenario(project: Path) -> Json:
    """Two turns: one creates a file, the other changes it and creates another one."""
    return script(
        write("a.txt", "one\n", project), "Created.", edit("a.txt", "one", "two", project),
        write("b.txt", "new\n", project), "Changed.", "Again.",
    )  # fmt: skip


def forget_requests(here: Desk) -> None:
    """Let the next request begin otherwise than the last one."""
    assert isinstance(here.mock, Api)
    here.mock.memory.rewind()


def rows(here: Desk, kind: str) -> list[Json]:
    return [line for line in here.session if line["type"] == kind]


def test_a_program_rewinds_files_to_a_prompt_it_named(desk: MakeDesk, tmp_path: Path) -> None:
    project = tmp_path.resolve() / "project"
    here = desk(build_scenario(project))
    environ = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
    talk = Talk(here, "--permission-mode", "acceptEdits", environ=environ)
    talk.say(user("first", uuid=FIRST))
    talk.until("result")
    talk.say(user("second", uuid=SECOND))
    talk.until("result")
    assert (project / "a.txt").read_text() == "two\n"
    talk.say(control("dry", subtype="rewind_files", user_message_id=SECOND, dry_run=True))
    dry = talk.until("control_response")["response"]["response"]
    assert (dry["canRewind"], dry["insertions"], dry["deletions"]) == (True, 1, 2)
    assert [Path(name).name for name in dry["filesChanged"]] == ["a.txt", "b.txt"]
    assert (project / "b.txt").exists()
    talk.say(control("real", subtype="rewind_files", user_message_id=SECOND))
    assert talk.until("control_response")["response"]["response"]["canRewind"] is True
    assert (project / "a.txt").read_text() == "one\n"
    assert not (project / "b.txt").exists()
    talk.say(control("unknown", subtype="rewind_files", user_message_id="no such prompt"))
    assert talk.until("control_response")["response"]["response"]["canRewind"] is False
    assert talk.end() == 0
    assert [line["uuid"] for line in rows(here, "user") if line.get("promptSource")] == [FIRST, SECOND]


def test_without_copies_a_program_is_told_how_to_get_them(desk: MakeDesk) -> None:
    here = desk(script("One."))
    talk = Talk(here)
    talk.say(user("first", uuid=FIRST))
    talk.until("result")
    talk.say(control("a", subtype="rewind_files", user_message_id=FIRST))
    answer = talk.until("control_response")["response"]["response"]
    assert answer["canRewind"] is False
    assert "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING" in answer["error"]
    assert talk.end() == 0
    assert rows(here, "file-history-snapshot") == []


def test_an_id_that_was_used_before_is_not_used_again(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three."))
    for _ in range(2):
        talk = Talk(here, *(["--continue"] if here.requests else []))
        talk.say(user("first", uuid=FIRST), user("second", uuid=FIRST if here.requests else "not a uuid"))
        talk.end()
    uuids = [line["uuid"] for line in here.session if "uuid" in line]
    assert len(uuids) == len(set(uuids))


needs_terminal = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


@pytest.mark.slow
@needs_terminal
def test_a_person_goes_back_with_the_files_and_asks_again(desk: MakeDesk, tmp_path: Path) -> None:
    project = tmp_path.resolve() / "project"
    here = desk(build_scenario(project))
    with here.terminal("--permission-mode", "acceptEdits") as terminal:
        terminal.expect("> ")
        terminal.send("make a file\r")
        terminal.expect("Created.")
        terminal.expect(EDITING)
        terminal.send("change it\r")
        terminal.expect("Changed.")
        terminal.expect(EDITING)
        terminal.send("/rewind\r")
        terminal.expect("1  change it")
        terminal.expect("cancel: ")
        terminal.send("1\r")
        terminal.expect("a.txt")
        terminal.expect("cancel   ")
        terminal.send("b\r")
        terminal.expect("2 files restored")
        forget_requests(here)
        terminal.expect("change it")
        assert (project / "a.txt").read_text() == "one\n"
        assert not (project / "b.txt").exists()
        terminal.send("\r")
        terminal.expect("Again.")
        terminal.expect(EDITING)
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    sent = json.dumps(here.requests[-1]["messages"])
    assert sent.count("change it") == 1
    assert "Changed." not in sent
    first, second = (line for line in rows(here, "user") if line["message"]["content"] == "change it")
    assert first["parentUuid"] == second["parentUuid"]


@pytest.mark.slow
@needs_terminal
def test_a_person_goes_back_to_before_the_first_prompt(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    with here.terminal() as terminal:
        terminal.expect("> ")
        terminal.send("first\r")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("/rewind\r")
        terminal.expect("1  first")
        terminal.expect("cancel: ")
        terminal.send("1\r")
        terminal.expect("Enter: cancel   ")
        terminal.send("c\r")
        terminal.expect("stays in the session as a branch")
        forget_requests(here)
        terminal.expect("first")
        terminal.send(" of all\r")
        terminal.expect("Two.")
        terminal.expect(READY)
        terminal.send("/rewind\r")
        terminal.expect("1  first of all")
        terminal.expect("cancel: ")
        terminal.send("\r")
        terminal.expect("Nothing was changed.")
        terminal.expect(READY)
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    assert "One." not in json.dumps(here.requests[-1]["messages"])
    marks = [line for line in rows(here, "last-prompt") if line.get("explicit")]
    assert [line["leafUuid"] for line in marks] == ["00000000-0000-0000-0000-000000000000"]
