"""Every edit, on a genuine session, with turnlog's own word for what the client would send; and the frame itself.

What the real clients make of the results is the gate's work: `make interop`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.interop import edited_sessions, report
from tests.interop.clients import NEWEST, OLD, ROOT
from tests.interop.digest import difference, digests
from tests.interop.edited_sessions import Outcome, Task
from tests.interop.edits import EDITS, Edit, clone, sample
from tests.interop.place import Failed, Place
from tests.interop.reader import messages_of
from tests.interop.recordings import DATA
from turnlog.cli.table import COMMANDS

pytestmark = pytest.mark.slow

TASKS = edited_sessions.tasks(size=1)
OUTCOMES = [
    Outcome("clone", "sessions/a.jsonl", "same", "resumed"),
    Outcome("clone", "sessions/b.jsonl", "same", "-"),
    Outcome("clone --portable", "sessions/a.jsonl", "same", "same"),
    Outcome("clone --portable", "sessions/b.jsonl", "same", "DIFFERENT", "message 0"),
]


@pytest.mark.parametrize("task", [pytest.param(task, id=task.edit.name) for task in TASKS])
def test_an_edit_gives_a_session_that_can_be_resumed(task: Task, tmp_path: Path) -> None:
    place = Place(tmp_path / "place", DATA / task.file)
    source = messages_of(place.session)
    found = messages_of(task.edit.work(place))
    assert found
    if task.edit.says_same:
        assert difference(digests(source or []), digests(found)) is None


def test_every_command_that_writes_sessions_is_among_the_edits() -> None:
    wanted = {"clone", "fork", "redact", "pack", "unpack", "move", "undo", "repair"} & COMMANDS.keys()
    named = {word for edit in EDITS for word in re.split(r"[ ,]+", edit.name)}
    assert wanted <= named


def test_the_names_of_edits_are_unique() -> None:
    assert len({edit.name for edit in EDITS}) == len(EDITS)


def test_the_sample_of_an_edit_is_always_the_same_and_another_for_others() -> None:
    files = edited_sessions.files()
    chosen = [sample(edit, files, 6) for edit in EDITS]
    assert chosen == [sample(edit, files[::-1], 6) for edit in EDITS]
    assert len({tuple(found) for found in chosen}) > len(EDITS) / 2
    assert len({file for found in chosen for file in found}) > 0.9 * len(files)


def test_the_old_client_is_asked_about_all_portable_results_and_some_others() -> None:
    asked: dict[str, list[bool]] = {}
    for task in edited_sessions.tasks((clone(), clone("--portable")), 6):
        asked.setdefault(task.edit.name, []).append(task.with_old)
    assert {name: sum(found) for name, found in asked.items()} == {
        "clone": edited_sessions.OLD_SAMPLE,
        "clone --portable": 6,
    } or not asked


def test_an_edit_that_fails_is_told_with_the_words_of_the_program() -> None:
    def work(place: Place) -> Path:
        return place.new_session("fork", place.session.stem, "--at", "99")

    outcome = edited_sessions.judge_edit(Task(Edit("fork --at 99", work), edited_sessions.files()[0], False))
    assert outcome.newest == "NOT MADE"
    assert "this session has only turn 1" in (outcome.reason or "")


def test_an_edit_that_changes_what_is_said_without_being_meant_to_is_told() -> None:
    def work(place: Place) -> Path:
        place.rewrite(place.session.read_bytes().replace(b'"text"', b'"tixt"').replace(b'"content":"', b'"content":"x'))
        return place.session

    file = next(file for file in edited_sessions.files() if "2.1.325/tools" in file)
    outcome = edited_sessions.judge_edit(Task(Edit("clone", work), file, False))
    assert "no longer says what its source says" in (outcome.reason or "")


def test_a_command_that_makes_no_session_has_failed(tmp_path: Path) -> None:
    place = Place(tmp_path / "place", DATA / edited_sessions.files()[0])
    with pytest.raises(Failed, match="made 0 sessions"):
        place.new_session("show", place.session.stem)


def test_the_table_of_edits_is_written_between_its_marks(tmp_path: Path) -> None:
    document = tmp_path / "interop.md"
    document.write_text(f"before\n{report.EDITS_START}\nold\n{report.EDITS_END}\nafter\n")
    report.write_edits(document, OUTCOMES)
    report.write_edits(document, OUTCOMES)
    text = document.read_text()
    assert "old\n" not in text
    assert "| `clone` | 2 | 2 | 1 | 0 | 0 |" in text
    assert "| `clone --portable` | 2 | 2 | 1 | 1 | 1 |" in text
    assert "| all | 4 | 4 | 2 | 1 | 1 |" in text
    assert (text.startswith("before\n"), text.endswith("after\n")) == (True, True)


def test_the_documents_own_marks_are_there() -> None:
    text = (ROOT / "docs" / "interop.md").read_text(encoding="utf-8")
    assert all(text.count(mark) == 1 for mark in (report.START, report.END, report.EDITS_START, report.EDITS_END))


def test_the_terminal_has_a_line_for_each_result() -> None:
    lines = report.edit_table(OUTCOMES).splitlines()
    assert (lines[0].split()[:2], len(lines)) == ([NEWEST, OLD], 5)
