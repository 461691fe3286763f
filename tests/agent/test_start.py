"""From words, settings and surroundings to a session that can work."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from turnlog.agent.model_names import choose_model, choose_small_model, get_max_output_tokens, load_model_aliases
from turnlog.agent.permissions.rules import split_rule_list
from turnlog.agent.person import Nobody
from turnlog.agent.session_starter import SessionStarter
from turnlog.agent.start_options import StartOptions, derive_start_options
from turnlog.agent.started_session import StartedSession
from turnlog.agent.toolbox import TOOL_ORDER
from turnlog.errors import Busy, NotFound, UsageError
from turnlog.model.cancel import Cancel
from turnlog.model.scripted_model import ScriptedModel


class Machine:
    """A folder to work in, and a home."""

    def __init__(self, base: Path, **environ: str) -> None:
        self.cwd, self.config = base / "project", base / "home" / ".claude"
        for folder in (self.cwd, self.config):
            folder.mkdir(parents=True)
        self.model = ScriptedModel(then="ok")
        self.environ = {"HOME": str(base / "home"), "USERPROFILE": str(base / "home"), **environ}
        self.starting = SessionStarter(self.cwd, base / "data", self.environ, self.model)
        self.base = base

    def begin(self, **wishes: Any) -> StartedSession:
        return self.starting.begin_session(StartOptions(**wishes), lambda _: None, Nobody())

    def settings(self, **values: Any) -> None:
        (self.config / "settings.json").write_text(json.dumps(values))

    def trust(self) -> None:
        state = {"projects": {self.cwd.as_posix(): {"hasTrustDialogAccepted": True}}}
        (self.base / "home" / ".claude.json").write_text(json.dumps(state))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def test_a_session_begins_with_all_tools_in_their_order(machine: Machine) -> None:
    begun = machine.begin()
    assert tuple(begun.loop.setup.tools) == TOOL_ORDER
    assert begun.loop.record.path.is_relative_to(machine.config / "projects")
    begun.close()


def test_nothing_is_written_before_something_is_said(machine: Machine) -> None:
    begun = machine.begin()
    begun.close()
    assert list(machine.config.glob("projects/**/*.jsonl")) == []


def test_only_the_tools_that_are_wanted_are_offered(machine: Machine) -> None:
    assert list(machine.begin(tools="Read, Bash").loop.setup.tools) == ["Bash", "Read"]


@pytest.mark.parametrize(
    ("wish", "environ", "setting", "expected"),
    [
        ("claude-x", "claude-y", "claude-z", "claude-x"),
        (None, "claude-y", "claude-z", "claude-y"),
        (None, "", "claude-z", "claude-z"),
        (None, "", "default", "newest sonnet"),
        ("opus", "", None, "newest opus"),
    ],
)
def test_the_model_comes_from_flag_environment_or_settings(
    tmp_path: Path, wish: str | None, environ: str, setting: str | None, expected: str
) -> None:
    machine = Machine(tmp_path, ANTHROPIC_MODEL=environ)
    machine.settings(**({"model": setting} if setting else {}))
    setup = machine.begin(model=wish).loop.setup
    assert setup.name == setup.aliases.get(expected.removeprefix("newest "), expected)


def test_a_short_name_is_the_newest_of_its_family_or_what_the_environment_says() -> None:
    known = load_model_aliases({"ANTHROPIC_DEFAULT_OPUS_MODEL": "mine"})
    assert known["opus"] == "mine"
    assert known["haiku"] > "claude-haiku-4-5"
    assert known["sonnet"] > "claude-sonnet-5"
    assert choose_model(("sonnet",), known) == known["sonnet"]
    assert choose_small_model({}, known) == known["haiku"]
    assert choose_small_model({"ANTHROPIC_SMALL_FAST_MODEL": "tiny"}, known) == "tiny"


def test_answers_are_as_long_as_the_model_allows() -> None:
    assert get_max_output_tokens("claude-3-5-haiku", {}) == 8192
    assert get_max_output_tokens("unknown", {}) == 32_000
    assert get_max_output_tokens("unknown", {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "999"}) == 999
    assert get_max_output_tokens("claude-3-5-haiku", {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "99999"}) == 8192


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Bash(git log:*)", "Read"], ["Bash(git log:*)", "Read"]),
        (["Bash(git log:*),Read Edit"], ["Bash(git log:*)", "Read", "Edit"]),
        (["Bash(echo (a), b), Read"], ["Bash(echo (a), b)", "Read"]),
        (["", " , "], []),
        (["Read, Bash(echo"], ["Read", "Bash(echo"]),
    ],
)
def test_rules_are_given_one_by_one_or_with_commas(texts: list[str], expected: list[str]) -> None:
    assert split_rule_list(texts) == expected


def test_settings_environment_reaches_commands_and_the_model(machine: Machine) -> None:
    machine.settings(env={"FRUIT": "apple", "ANTHROPIC_MODEL": "claude-of-the-settings"})
    setup = machine.begin().loop.setup
    assert (setup.environ["FRUIT"], setup.name) == ("apple", "claude-of-the-settings")


def test_a_mode_comes_from_flag_or_settings_and_must_be_one(machine: Machine) -> None:
    machine.settings(permissions={"defaultMode": "acceptEdits"})
    assert machine.begin().loop.setup.guard.mode == "acceptEdits"
    assert machine.begin(mode="plan").loop.setup.guard.mode == "plan"
    with pytest.raises(UsageError, match="unknown permission mode"):
        machine.begin(mode="yolo")
    machine.settings(permissions={"disableBypassPermissionsMode": "disable"})
    with pytest.raises(UsageError, match="settings forbid"):
        machine.begin(mode="bypassPermissions")


def test_the_project_allows_nothing_until_it_is_trusted(machine: Machine) -> None:
    folder = machine.cwd / ".claude"
    folder.mkdir()
    rules = {"allow": ["Bash(touch:*)"], "deny": ["Bash(mkdir:*)"]}
    (folder / "settings.json").write_text(json.dumps({"permissions": rules}))

    def verdict(command: str) -> str:
        setup = machine.begin().loop.setup
        return setup.guard.decide("Bash", {"command": command}, setup.place).verdict

    assert (verdict("touch x"), verdict("mkdir x")) == ("ask", "deny")
    machine.trust()
    assert (verdict("touch x"), verdict("mkdir x")) == ("allow", "deny")


def test_a_further_folder_must_exist(machine: Machine) -> None:
    (machine.base / "more").mkdir()
    place = machine.begin(folders=("../more",)).loop.setup.place
    assert list(place.further) == [machine.base / "more"]
    with pytest.raises(UsageError, match="no such folder"):
        machine.begin(folders=("missing",))


def test_settings_of_the_command_line_are_a_file_or_json(machine: Machine) -> None:
    file = machine.base / "s.json"
    file.write_text('{"model": "claude-of-a-file"}')
    assert machine.begin(settings=(str(file),)).loop.setup.name == "claude-of-a-file"
    assert machine.begin(settings=('{"model": "claude-of-json"}',)).loop.setup.name == "claude-of-json"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("missing.json", "--settings missing.json: no such file"),
        ("list.json", "--settings list.json: not a JSON object"),
        ("{broken", "--settings: line 1: not valid JSON"),
        (".", r"--settings \.: "),
    ],
)
def test_settings_that_were_asked_for_and_can_t_be_read_let_nothing_begin(
    machine: Machine, given: str, expected: str
) -> None:
    (machine.cwd / "list.json").write_text("[1]")
    with pytest.raises(UsageError, match=expected):
        machine.begin(settings=(given,))


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes with names")
def test_settings_may_come_through_a_pipe_which_is_read_once(machine: Machine) -> None:
    os.mkfifo(machine.base / "pipe")
    writer = threading.Thread(target=(machine.base / "pipe").write_text, args=('{"model": "claude-of-a-pipe"}',))
    writer.start()
    for _ in range(2):  # as when another session is begun in the same console
        assert machine.begin(settings=("../pipe",)).loop.setup.name == "claude-of-a-pipe"
    writer.join()


def test_settings_that_are_broken_let_nothing_begin(machine: Machine) -> None:
    (machine.config / "settings.json").write_text("{\nbroken")
    with pytest.raises(UsageError, match=r"settings\.json: line 2: not valid JSON"):
        machine.begin()


def test_a_sub_agent_that_is_not_described_is_warned_of(machine: Machine) -> None:
    (machine.config / "agents").mkdir()
    (machine.config / "agents" / "x.md").write_text("---\ndescription: x\n---\nx")
    (warning,) = machine.begin().warnings
    assert "x.md: it has no name" in warning


@pytest.mark.parametrize("url", ["nonsense", "ftp://x", "https://", "https://x:y"])
def test_a_server_that_was_named_is_told_as_it_was_given(machine: Machine, url: str) -> None:
    machine.starting.model = None
    machine.starting.environ |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://example.org"}
    with pytest.raises(UsageError, match=re.escape(f"--base-url {url} is not a valid address")):
        machine.begin(url=url)


def test_a_session_is_taken_up_with_all_that_was_said(machine: Machine) -> None:
    first = machine.begin(model="claude-opus-4-5")
    first.loop.run_turn("hello", Cancel())
    with pytest.raises(Busy):
        machine.begin(is_continued=True)
    first.close()
    second = machine.begin(is_continued=True)
    assert second.loop.record.path == first.loop.record.path
    assert second.loop.setup.name == "claude-opus-4-5"
    second.loop.run_turn("and now", Cancel())
    assert [len(request.messages) for request in machine.model.requests] == [1, 3]
    second.close()
    forked = machine.begin(resume=first.loop.record.session_id[:8], is_forked=True)
    assert forked.loop.record.path != first.loop.record.path
    assert forked.resumed is not None
    assert len(forked.resumed.messages) == 4
    forked.close()


def test_a_file_that_was_read_before_need_not_be_read_again(machine: Machine) -> None:
    from tests.agent.talk import answer

    file = machine.cwd / "a.txt"
    file.write_text("one\n")
    read = {"type": "tool_use", "id": "r", "name": "Read", "input": {"file_path": str(file)}}
    edit = {"file_path": str(file), "old_string": "one", "new_string": "two"}
    write = {"type": "tool_use", "id": "e", "name": "Edit", "input": edit}
    machine.model = ScriptedModel([answer(read), "read", answer(write, id="m2"), "edited"])
    machine.starting.model = machine.model
    first = machine.begin()
    first.loop.run_turn("read it", Cancel())
    first.close()
    second = machine.begin(is_continued=True, mode="acceptEdits")
    second.loop.run_turn("edit it", Cancel())
    second.close()
    assert file.read_text() == "two\n"


def test_there_must_be_a_session_to_continue(machine: Machine) -> None:
    with pytest.raises(NotFound, match="no session to continue"):
        machine.begin(is_continued=True)


def test_without_a_key_nothing_can_be_asked(machine: Machine) -> None:
    machine.starting.model = None
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY"):
        machine.begin()
    assert not list((machine.base / "data").glob("locks/*"))


def test_another_session_forgets_which_one_was_wanted() -> None:
    wishes = StartOptions(model="x", resume="a", is_forked=True, session_id="b", is_continued=True)
    assert derive_start_options(wishes) == StartOptions(model="x")
    assert derive_start_options(wishes, "c") == StartOptions(model="x", resume="c")


def test_nothing_is_added_to_a_session_of_the_demo(machine: Machine) -> None:
    with pytest.raises(NotFound, match="demo"):
        machine.begin(resume="last")


def test_a_session_of_another_folder_goes_on_here_and_that_is_said(machine: Machine) -> None:
    first = machine.begin()
    first.loop.run_turn("hello", Cancel())
    first.close()
    elsewhere = SessionStarter(machine.base, machine.base / "data", machine.environ, machine.model)
    begun = elsewhere.begin_session(StartOptions(resume=first.loop.record.session_id), lambda _: None, Nobody())
    begun.close()
    assert begun.warnings == [f"the session ran in {machine.cwd}; it continues in {machine.base}"]
