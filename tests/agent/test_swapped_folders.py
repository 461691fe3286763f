"""A folder is replaced by a link between the question and the answer: nothing is written or read behind the link."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import Talk, user
from turnlog.agent.file_history.history import FileHistory
from turnlog.agent.file_history.restoration import plan_restoration, restore_files

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs links")
MakeDesk = Callable[[dict[str, Any]], Desk]
NOTEBOOK = {"cells": [{"cell_type": "code", "id": "c1", "source": "1", "metadata": {}, "outputs": []}], "metadata": {},
            "nbformat": 4, "nbformat_minor": 5}  # fmt: skip


def swap(folder: Path, target: Path) -> None:
    shutil.move(folder, folder.with_name("moved"))
    folder.symlink_to(target)


def fill(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text(text)
    (folder / "n.ipynb").write_text(json.dumps(NOTEBOOK))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("Write", {"file_path": "d/new.txt", "content": "evil"}),
        ("Write", {"file_path": "d/deep/er/new.txt", "content": "evil"}),
        ("Edit", {"file_path": "d/a.txt", "old_string": "text", "new_string": "evil"}),
        ("Edit", {"file_path": "d/new.txt", "old_string": "", "new_string": "evil"}),
        ("NotebookEdit", {"notebook_path": "d/n.ipynb", "cell_id": "c1", "new_source": "evil"}),
    ],
)
def test_no_file_is_changed_behind_a_link_that_came_after_the_question(
    desk: MakeDesk, name: str, given: dict[str, str]
) -> None:
    reads = [reply(call("Read", file_path=f"d/{one}")) for one in ("a.txt", "n.ipynb")]
    here = desk(script(*(reads if name != "Write" else []), reply(call(name, **given)), "Done."))
    outside = here.base / "outside"
    fill(outside, "text")
    fill(here.cwd / "d", "text")
    before = {path: path.read_bytes() for path in outside.iterdir()}
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    request = talk.wait_for_request()
    swap(here.cwd / "d", outside)
    talk.answer(request, behavior="allow", updatedInput=request["request"]["input"])
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
    (block,) = here.requests[-1]["messages"][-1]["content"]
    assert block["is_error"] is True
    assert "symlink resolution changed after permission was checked" in block["content"]


@pytest.mark.parametrize(("name", "key"), [("Read", "file_path"), ("Grep", "path"), ("Glob", "path")])
def test_nothing_is_read_behind_a_link_that_came_after_the_question(desk: MakeDesk, name: str, key: str) -> None:
    given = {key: "../asked/d/a.txt" if name == "Read" else "../asked/d"}
    given |= {} if name == "Read" else {"pattern": "s3cret" if name == "Grep" else "*"}
    here = desk(script(reply(call(name, **given)), "Done."))
    asked, outside = here.base / "asked", here.base / "outside"
    fill(asked / "d", "harmless")
    fill(outside, "s3cret")
    talk = Talk(here, "--permission-prompt-tool", "stdio")
    talk.say(user("go"))
    request = talk.wait_for_request()
    swap(asked / "d", outside)
    talk.answer(request, behavior="allow", updatedInput=request["request"]["input"])
    assert talk.until("result")["result"] == "Done."
    assert talk.end() == 0
    (block,) = here.requests[-1]["messages"][-1]["content"]
    assert block["is_error"] is True
    assert "symlink resolution changed after permission was checked" in block["content"]


def test_a_file_that_a_rewind_would_change_stays_if_its_folder_became_a_link(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    fill(project / "d", "one")
    fill(outside, "one")
    history = FileHistory(tmp_path / "copies", project, lambda _: None, print)
    history.begin_turn("p1")
    for name in ("a.txt", "new.txt"):
        history.keep_before_change(project / "d" / name, None)
        (project / "d" / name).write_text("two")
        (outside / name).write_text("two")
    snapshots = {"p1": dict(history._tracked)}
    steps = plan_restoration(history, snapshots, "p1", lambda _: None)
    assert [step.action for step in steps] == ["restore", "delete"]
    swap(project / "d", outside)
    done = restore_files(history, steps)
    assert done.changed == ()
    assert ["replaced in the meantime" in step.reason for step in done.skipped] == [True, True]
    assert [(outside / name).read_text() for name in ("a.txt", "new.txt")] == ["two", "two"]
    assert [(project / "moved" / name).read_text() for name in ("a.txt", "new.txt")] == ["two", "two"]


def test_a_rewind_asks_about_the_file_that_it_would_change(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    fill(project / "d", "one")
    fill(outside, "two")
    history = FileHistory(tmp_path / "copies", project, lambda _: None, print)
    history.begin_turn("p1")
    history.keep_before_change(project / "d" / "a.txt", None)
    swap(project / "d", outside)
    asked: list[Path] = []
    plan_restoration(history, {"p1": dict(history._tracked)}, "p1", lambda path: asked.append(path))
    assert asked == [project / "d" / "a.txt", outside / "a.txt"]
