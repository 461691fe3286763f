"""What each step tells of a file's content; and that rebuilt changes are the ones that the client made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import CORPUS
from tests.session.build import Build, stamp
from tests.session.touch_calls import config, copy, do, history, snapshot, text
from turnlog.session.files.changes import build_edit_change
from turnlog.session.files.file_steps import (
    CHANGED_ELSEWHERE_NOTE,
    COPY_GONE_NOTE,
    DAMAGED_NOTE,
    ENCODING_NOTE,
    FileStep,
    list_file_steps,
)
from turnlog.session.files.patches import apply_hunks, read_recorded_hunks
from turnlog.session.files.touches import Touch, list_touches
from turnlog.session.session import Session

Open = Callable[[Path], Session]


def list_steps(build: Build) -> list[FileStep]:
    return list(list_file_steps(build.session()))


def test_a_change_of_a_file_that_was_read_before_is_rebuilt() -> None:
    build = Build()
    build.prompt()
    do(build, "Read", {"file_path": "/a"}, text("one\ntwo\n"))
    do(build, "Edit", {"file_path": "/a", "old_string": "two", "new_string": "2"})
    do(build, "Edit", {"file_path": "/a", "old_string": "one", "new_string": "1"})
    read, first, second = list_steps(build)
    assert (read.sure, read.changes_file) == ("text", False)
    assert [step.after.text for step in (first, second) if step.after] == ["one\n2\n", "1\n2\n"]
    assert (second.sure, second.changes_file, second.rebuilt_from) == ("rebuilt", True, "texts")


def test_what_an_edit_found_corrects_what_was_known() -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/a", "content": "one\n"})
    do(build, "Edit", {"file_path": "/a"}, {"originalFile": "uno\n", "oldString": "uno", "newString": "1"})
    _, step = list_steps(build)
    assert step.before is not None
    assert step.before.text == "uno\n"


def test_after_a_change_that_cannot_be_rebuilt_nothing_is_known() -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/a", "content": "one\n"})
    do(build, "Edit", {"file_path": "/a", "old_string": "gone", "new_string": "x"})
    do(build, "Edit", {"file_path": "/a", "old_string": "one", "new_string": "x"})
    assert [step.sure for step in list_steps(build)] == ["exact", "unknown", "unknown"]


def test_somebody_elses_change_voids_what_was_known() -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/a", "content": "one\n"})
    build.attachment("edited_text_file", filename="/a", snippet="1\tuno")
    _, step = list_steps(build)
    assert (step.note, step.changes_file, step.after) == (CHANGED_ELSEWHERE_NOTE, True, None)


def test_a_file_that_was_attached_is_known() -> None:
    build = Build()
    build.prompt()
    build.attachment("file", filename="/a", content=text("one\n"))
    build.attachment("file", filename="/b", content=text("one\n"), truncated=True)
    build.row("attachment", attachment={"type": "nested_memory", "path": "/c", "content": "x"})
    assert [(step.path, step.sure) for step in list_steps(build)] == [
        ("/a", "text"),
        ("/b", "partial"),
        ("/c", "unknown"),
    ]


def test_bytes_that_are_no_text_make_a_look_a_part() -> None:
    build = Build()
    build.prompt()
    do(build, "Read", {"file_path": "/a"}, text("caf\ufffd\n"))
    (step,) = list_steps(build)
    assert (step.sure, step.note) == ("partial", DAMAGED_NOTE)


def test_a_look_that_shows_what_is_known_keeps_its_form() -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/a", "content": "one\r\n"})
    do(build, "Read", {"file_path": "/a"}, text("one\n"))
    _, step = list_steps(build)
    assert step.after is not None
    assert step.after.data == b"one\r\n"


def test_a_person_who_changed_the_proposal_is_told() -> None:
    build = Build()
    build.prompt()
    given = {"file_path": "/a", "old_string": "one", "new_string": "proposed"}
    result = {"originalFile": "one\n", "oldString": "one", "newString": "decided", "userModified": True}
    do(build, "Edit", given, result)
    (step,) = list_steps(build)
    assert step.user_modified
    assert step.after is not None
    assert step.after.text == "decided\n"


def test_failed_calls_are_no_steps() -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Write", {"file_path": "/a", "content": "x"})
    build.result("c1", error=True)
    assert list_steps(build) == []


def test_only_the_wanted_files_are_looked_at() -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/a", "content": "x"})
    do(build, "Write", {"file_path": "/b", "content": "x"})
    assert [step.path for step in list_file_steps(build.session(), "/b".__eq__)] == ["/b"]


def test_a_command_that_the_client_watched_changes_a_file() -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/a", "content": "one\n"})
    hunk = {"oldStart": 1, "newStart": 1, "lines": ["-one", "+uno"]}
    diff = {"files": [{"filePath": "/a", "hunks": [hunk]}], "changedFiles": ["/a", "/b"]}
    do(build, "Bash", {"command": "sed"}, {"bashEditDiff": diff})
    found = {step.path: step for step in list_steps(build)[1:]}
    assert found["/a"].after is not None
    assert found["/a"].after.text == "uno\n"
    assert found["/b"].hunks is None


def test_a_notebook_is_changed_as_its_result_says() -> None:
    build = Build()
    build.prompt()
    do(build, "NotebookEdit", {"notebook_path": "/n"}, {"original_file": "{}", "updated_file": '{"a":1}'})
    (step,) = list_steps(build)
    assert step.after is not None
    assert step.after.text == '{"a":1}'


# -- copies


def build_copied(folder: Path, data: bytes | None, *, name: str | None = "0f@v1") -> Build:
    """A session in which the client copied a file before it was changed."""
    build = Build()
    prompt = build.prompt()
    snapshot(build, prompt, {"/a": copy(name)})
    if data is not None:
        (history(folder) / "0f@v1").write_bytes(data)
    return build


def of(folder: Path, build: Build, opened: Open) -> list[FileStep]:
    return list(list_file_steps(opened(config(folder, build))))


def test_a_copy_is_exact_and_tells_the_line_ends_of_later_versions(tmp_path: Path, open_session: Open) -> None:
    build = build_copied(tmp_path, b"one\r\ntwo\r\n")
    do(build, "Edit", {"file_path": "/a"}, {"originalFile": "one\ntwo\n", "oldString": "one", "newString": "1"})
    first, second = of(tmp_path, build, open_session)
    assert (first.sure, first.data) == ("exact", b"one\r\ntwo\r\n")
    assert second.after is not None
    assert second.after.data == b"1\r\ntwo\r\n"


def test_the_form_stays_known_when_the_text_does_not(tmp_path: Path, open_session: Open) -> None:
    build = build_copied(tmp_path, b"one\r\n")
    build.attachment("edited_text_file", filename="/a")
    do(build, "Edit", {"file_path": "/a"}, {"originalFile": "uno\n", "oldString": "uno", "newString": "1"})
    do(build, "Edit", {"file_path": "/a"}, {"oldString": "1", "newString": "2"})
    assert [step.after.data for step in of(tmp_path, build, open_session)[2:] if step.after] == [b"1\r\n", b"2\r\n"]


def test_a_copy_that_is_gone_is_told(tmp_path: Path, open_session: Open) -> None:
    (step,) = of(tmp_path, build_copied(tmp_path, None), open_session)
    assert (step.sure, step.note) == ("unknown", COPY_GONE_NOTE)


def test_a_file_that_did_not_exist_is_made_by_the_next_edit(tmp_path: Path, open_session: Open) -> None:
    build = build_copied(tmp_path, None, name=None)
    do(build, "Edit", {"file_path": "/a", "old_string": "", "new_string": "made\n"})
    first, second = of(tmp_path, build, open_session)
    assert (first.absent, second.created) == (True, True)


def test_a_copy_that_is_no_text_is_exact_all_the_same(tmp_path: Path, open_session: Open) -> None:
    build = build_copied(tmp_path, b"caf\xe9\n")
    do(build, "Edit", {"file_path": "/a", "old_string": "caf", "new_string": "x"})
    first, second = of(tmp_path, build, open_session)
    assert (first.sure, first.data, second.sure) == ("exact", b"caf\xe9\n", "unknown")


def test_a_copy_that_lost_bytes_is_a_part(tmp_path: Path, open_session: Open) -> None:
    build = build_copied(tmp_path, "\ufffd\ufffdo\0n\0e\0".encode())
    do(build, "Edit", {"file_path": "/a"}, {"originalFile": "\ufeffone", "oldString": "one", "newString": "1"})
    first, second = of(tmp_path, build, open_session)
    assert (first.sure, first.note) == ("partial", DAMAGED_NOTE)
    assert second.note == ENCODING_NOTE


def test_a_copy_that_was_taken_too_late_is_placed_where_it_was_taken(tmp_path: Path, open_session: Open) -> None:
    """2.0.76 sometimes copies a file only after it changed it."""
    build = Build()
    prompt = build.prompt()
    do(build, "Edit", {"file_path": "/a"}, {"originalFile": "one\n", "oldString": "one", "newString": "1"})
    snapshot(build, prompt, {"/a": copy("0f@v1", seconds=181)})
    (history(tmp_path) / "0f@v1").write_bytes(b"1\n")
    assert build.lines[2]["timestamp"] == stamp(180)
    assert [step.action for step in of(tmp_path, build, open_session)] == ["edit", "copy"]


# -- the corpus


def corpus_files() -> Iterator[Path]:
    return (path for part in ("lab", "wild") for path in sorted(CORPUS.glob(f"{part}/**/*.jsonl")))


def convert_leading_tabs(text: str) -> str:
    """Leading tabs as the client's patches have them."""
    lines = (
        line.lstrip("\t").rjust(len(line) + line[: len(line) - len(line.lstrip("\t"))].count("\t"))
        for line in text.split("\n")
    )
    return "\n".join(lines)


def rebuilt(touch: Touch) -> str | None:
    """How an edit that is rebuilt without its recorded patch compares with it; None where the file is not recorded."""
    assert touch.call is not None
    detail = touch.holder.read_detail(touch.call)
    result = detail.structured if isinstance(detail.structured, dict) else {}
    hunks = read_recorded_hunks(result.get("structuredPatch"))
    bare = {name: value for name, value in result.items() if name != "structuredPatch"}
    change = build_edit_change(detail.input, bare, None, absent=False)
    if hunks is None or change.after is None or (change.before is None and not change.created):
        return None
    before = change.before.text if change.before else ""
    own = tuple(
        hunk._replace(lines=tuple(line[0] + convert_leading_tabs(line[1:]) for line in hunk.lines))
        for hunk in change.hunks or ()
    )
    if own == hunks:
        return "same hunks"
    return (
        "same effect"
        if apply_hunks(convert_leading_tabs(before), hunks) == convert_leading_tabs(change.after.text)
        else "different"
    )


@pytest.mark.corpus
def test_edits_rebuilt_from_strings_are_the_ones_that_the_client_recorded() -> None:
    found: Counter[str | None] = Counter()
    for path in corpus_files():
        with Session.open(path) as session:
            edits = [
                item for item in list_touches(session) if item.tool in ("Edit", "MultiEdit") and item.outcome == "done"
            ]
            found.update(map(rebuilt, edits))
    assert found["different"] == 0
    assert found["same hunks"] > 300
    assert found["same effect"] < 60


@pytest.mark.corpus
def test_every_step_of_every_session_is_told() -> None:
    sure: Counter[str] = Counter()
    for path in corpus_files():
        with Session.open(path) as session:
            for step in list_file_steps(session):
                sure[step.sure] += 1
                if step.before is not None and step.after is not None and step.hunks is not None:
                    assert apply_hunks(step.before.file_text, step.hunks) == step.after.file_text, path
    assert sure["rebuilt"] > 400
