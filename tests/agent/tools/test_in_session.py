"""What tools and the session that they are called in do together: denied files, files that others change, resuming."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.agent.talk import answer
from tests.agent.test_start import Machine
from turnlog.agent.started_session import StartedSession
from turnlog.model.cancel import Cancel
from turnlog.model.scripted_model import ScriptedModel, ScriptStep


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def call(number: int, name: str, **given: Any) -> ScriptStep:
    return answer({"type": "tool_use", "id": f"c{number}", "name": name, "input": given}, id=f"m{number}")


def begin(machine: Machine, *script: ScriptStep, **wishes: Any) -> StartedSession:
    """A session whose model follows a script, and may change files."""
    machine.starting.model = machine.model = ScriptedModel(script)
    return machine.begin(mode="acceptEdits", **wishes)


def say(begun: StartedSession, text: str = "go") -> str:
    """Say something; all that the model was told of it, and before."""
    begun.loop.run_turn(text, Cancel())
    return json.dumps(begun.loop.build_request().build_body()["messages"], ensure_ascii=False)


def test_a_search_does_not_show_what_the_settings_deny(machine: Machine) -> None:
    machine.settings(permissions={"deny": ["Read(secret.txt)"]})
    for name in ("secret.txt", "open.txt"):
        (machine.cwd / name).write_text("hit\n")
    begun = begin(machine, call(1, "Grep", pattern="hit"), call(2, "Glob", pattern="*"), "done")
    told = say(begun)
    begun.close()
    assert "open.txt" in told
    assert "secret" not in told


def test_the_model_hears_with_the_next_prompt_what_others_did_to_its_file(machine: Machine) -> None:
    path = machine.cwd / "a.txt"
    begun = begin(machine, call(1, "Write", file_path=str(path), content="one\n"), "written", "well", "well")
    assert "changed on disk" not in say(begun)
    path.write_text("two\n")
    os.utime(path, (1, 1))
    told = say(begun)
    assert "changed on disk" in told
    assert "1\\ttwo" in told
    assert say(begun).count("changed on disk") == 1
    begun.close()


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_session_that_goes_on_knows_a_file_unless_it_was_changed(machine: Machine, is_changed: bool) -> None:
    path = machine.cwd / "a.txt"
    path.write_text("one\ntwo\n")
    os.utime(path, (1, 1))
    begun = begin(machine, call(1, "Read", file_path=str(path)), "read")
    say(begun)
    begun.close()
    if is_changed:
        path.write_text("one\nTWO\n")
        os.utime(path, (4e9, 4e9))
    edit = call(2, "Edit", file_path=str(path), old_string="one", new_string="1")
    write = call(3, "Write", file_path=str(path), content="all\n")
    begun = begin(machine, edit, write, "done", is_continued=True)
    told = say(begun, "go on")
    begun.close()
    assert ("modified on disk since you last read it" in told) is is_changed
    assert path.read_text() == "all\n"
