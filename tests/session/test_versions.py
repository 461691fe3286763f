"""The known versions of a file: listed, chosen by turn, and recreated byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import CORPUS
from tests.session.build import Build, encode_lines, find_recording
from tests.session.forms import VERSIONS, files_after, session_file
from tests.session.test_any import entries, loose, values
from tests.session.touch_calls import config, copy, do, history, snapshot, text
from turnlog.errors import NotFound, UsageError
from turnlog.session.files.touches import group_touches_by_file, list_touches
from turnlog.session.files.versions import (
    ChosenVersion,
    FileVersion,
    find_file_path,
    find_version_after_turn,
    find_version_before_turn,
    list_file_paths,
    list_file_versions,
    recreate_version,
)
from turnlog.session.session import Session
from turnlog.session.tallies import count_calls_by_tool, count_failure_messages

Open = Callable[[Path], Session]


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"file_path": "/src/a.py", "old_string": old, "new_string": new, **more}


def three_turns() -> Build:
    """Turn 1 reads a file, turn 2 edits it twice, turn 3 writes it."""
    build = Build()
    build.prompt("first")
    do(build, "Read", {"file_path": "/src/a.py"}, text("one\ntwo\n"))
    build.prompt("second")
    do(build, "Edit", edit("one", "1"))
    do(build, "Edit", edit("two", "2"))
    build.prompt("third")
    do(build, "Write", {"file_path": "/src/a.py", "content": "three\n"})
    return build


def recreate_bytes(session: Session, chosen: ChosenVersion | None) -> bytes:
    assert chosen is not None
    return recreate_version(session, "/src/a.py", chosen.version)


def test_a_file_is_as_it_was_after_and_before_each_turn() -> None:
    session = three_turns().session()
    known = list_file_versions(session, "/src/a.py")
    after = [recreate_bytes(session, find_version_after_turn(known, turn)) for turn in (1, 2, 3)]
    before = [recreate_bytes(session, find_version_before_turn(known, turn)) for turn in (1, 2, 3)]
    assert after == [b"one\ntwo\n", b"1\n2\n", b"three\n"]
    assert before == [b"one\ntwo\n", b"one\ntwo\n", b"1\n2\n"]


def test_versions_are_numbered_with_turn_source_and_hash() -> None:
    known = list_file_versions(three_turns().session(), "/src/a.py")
    assert [(item.number, item.turn, item.action, item.sure) for item in known] == [
        (1, 1, "read", "text"),
        (2, 2, "edit", "rebuilt"),
        (3, 2, "edit", "rebuilt"),
        (4, 3, "write", "exact"),
    ]
    assert known[3].size == 6
    assert len(known[3].sha256 or "") == 64


def test_a_look_that_shows_nothing_new_is_no_version() -> None:
    build = three_turns()
    do(build, "Read", {"file_path": "/src/a.py"}, text("three\n"))
    assert len(list_file_versions(build.session(), "/src/a.py")) == 4


def test_a_write_of_the_same_text_is_a_version() -> None:
    build = three_turns()
    do(build, "Write", {"file_path": "/src/a.py", "content": "three\n"})
    assert len(list_file_versions(build.session(), "/src/a.py")) == 5


def test_what_an_edit_came_upon_is_a_version_of_its_own() -> None:
    build = three_turns()
    do(build, "Edit", edit("x", "y"), {"originalFile": "drei\n", "oldString": "drei", "newString": "3"})
    session = build.session()
    found = list_file_versions(session, "/src/a.py")[4]
    assert (found.action, found.sure, recreate_version(session, "/src/a.py", found)) == ("found", "text", b"drei\n")


def test_what_an_edit_came_upon_may_have_lost_bytes() -> None:
    build = three_turns()
    do(build, "Edit", edit("x", "y"), {"originalFile": "\ufffd\n", "oldString": "\ufffd", "newString": "3"})
    found = list_file_versions(build.session(), "/src/a.py")[4]
    assert (found.sure, found.is_whole) == ("partial", False)


def test_nothing_known_gives_no_version() -> None:
    build = Build()
    build.prompt()
    do(build, "Edit", edit("one", "1"))
    known = list_file_versions(build.session(), "/src/a.py")
    assert (find_version_after_turn(known, 1), find_version_before_turn(known, 1), find_version_before_turn([], 1)) == (
        None,
        None,
        None,
    )


def test_what_is_seen_before_the_next_change_was_there_all_the_time() -> None:
    build = Build()
    build.prompt("first")
    do(build, "Edit", edit("one", "1"))
    build.prompt("second")
    do(build, "Read", {"file_path": "/src/a.py"}, text("1\n"))
    session = build.session()
    chosen = find_version_after_turn(list_file_versions(session, "/src/a.py"), 1)
    assert chosen is not None
    assert (chosen.later, recreate_bytes(session, chosen)) == (True, b"1\n")


def test_a_file_that_is_first_seen_later_was_the_same_before() -> None:
    build = Build()
    build.prompt("first")
    build.answer("yes")
    build.prompt("second")
    do(build, "Read", {"file_path": "/src/a.py"}, text("1\n"))
    chosen = find_version_after_turn(list_file_versions(build.session(), "/src/a.py"), 1)
    assert chosen is not None
    assert chosen.later


def test_some_lines_are_a_part_and_do_not_hide_what_is_known_whole() -> None:
    build = Build()
    build.prompt("first")
    do(build, "Read", {"file_path": "/src/a.py"}, text("two\n", 2, 1, 9))
    session = build.session()
    chosen = find_version_after_turn(list_file_versions(session, "/src/a.py"), 1)
    assert chosen is not None
    assert (chosen.version.sure, chosen.version.lines, chosen.version.is_whole) == ("partial", (2, 3, 9), False)
    assert recreate_bytes(session, chosen) == b"two\n"
    do(build, "Write", {"file_path": "/src/a.py", "content": "x\n"})
    do(build, "Read", {"file_path": "/src/a.py"}, text("x\n", 1, 1, 9))
    chosen = find_version_after_turn(list_file_versions(build.session(), "/src/a.py"), 1)
    assert chosen is not None
    assert chosen.version.action == "write"


def test_a_look_that_showed_no_text_tells_nothing() -> None:
    build = Build()
    build.prompt()
    do(build, "Read", {"file_path": "/src/a.py"}, {"type": "image"})
    assert find_version_after_turn(list_file_versions(build.session(), "/src/a.py"), 1) is None


def test_a_copy_makes_what_it_confirms_exact(tmp_path: Path, open_session: Open) -> None:
    build = three_turns()
    snapshot(build, build.prompt("fourth"), {"/src/a.py": copy("0f@v1", seconds=240 + 60 * 6)})
    build.lines[-2]["timestamp"] = None
    snapshot(build, "nowhere", {"/src/a.py": copy(None, 2, seconds=0)})
    snapshot(build, "nowhere", {"/src/a.py": copy(None, 3, seconds=1)})
    (history(tmp_path) / "0f@v1").write_bytes(b"1\n2\n")
    known = list_file_versions(open_session(config(tmp_path, build)), "/src/a.py")
    assert [(item.action, item.sure, item.absent) for item in known][:2] == [
        ("copy", "exact", True),
        ("read", "text", False),
    ]
    assert known[3].sure == "exact"
    assert known[3].note == "confirmed by a copy of turn 4"


def test_a_confirmation_of_no_known_turn_is_one_all_the_same(tmp_path: Path, open_session: Open) -> None:
    build = Build()
    do(build, "Read", {"file_path": "/src/a.py"}, text("one\n"))
    snapshot(build, "nowhere", {"/src/a.py": copy("0f@v1", seconds=1e6)})
    (history(tmp_path) / "0f@v1").write_bytes(b"one\n")
    (found,) = list_file_versions(open_session(config(tmp_path, build)), "/src/a.py")
    assert (found.turn, found.sure, found.note) == (None, "exact", None)


def test_a_version_that_is_not_known_cannot_be_recreated() -> None:
    with pytest.raises(NotFound, match="is unknown"):
        recreate_version(three_turns().session(), "/src/a.py", FileVersion(1, 1, None, "edit", "Edit", "unknown"))


# -- names


def many() -> Session:
    build = Build()
    build.prompt()
    for path in ("/src/a.py", "/src/deep/a.py", "/src/b.py", "C:\\x\\c.py"):
        do(build, "Write", {"file_path": path, "content": path})
    build.call("c9", "Write", {"file_path": "/failed", "content": "x"})
    build.result("c9", error=True)
    return build.session()


@pytest.mark.parametrize(
    ("name", "others", "path"),
    [
        ("/src/a.py", (), "/src/a.py"),
        ("a.py", ("/src/a.py",), "/src/a.py"),
        ("deep/a.py", (), "/src/deep/a.py"),
        ("./b.py", (), "/src/b.py"),
        ("x/c.py", (), "C:\\x\\c.py"),
        ("x\\c.py", (), "C:\\x\\c.py"),
    ],
)
def test_a_file_is_found_by_path_by_its_end_and_by_name(name: str, others: tuple[str, ...], path: str) -> None:
    assert find_file_path(many(), name, others) == path


def test_a_name_that_fits_several_files_lists_them() -> None:
    with pytest.raises(UsageError, match=r"matches 2 files: /src/a.py, /src/deep/a.py;"):
        find_file_path(many(), "a.py")


def test_a_long_list_of_files_is_cut() -> None:
    build = Build()
    build.prompt()
    for number in range(9):
        do(build, "Write", {"file_path": f"/{number}/a.py", "content": "x"})
    with pytest.raises(UsageError, match=r"matches 9 files: .* …; use more"):
        find_file_path(build.session(), "a.py")


@pytest.mark.parametrize("name", ["failed", "src", "", "/", "y.py", "../a.py"])
def test_a_name_that_fits_no_file_is_refused(name: str) -> None:
    with pytest.raises(NotFound, match="did not touch this file"):
        find_file_path(many(), name)


# -- what the real client did

NOT_EXACT = {"latin.txt", "u16.txt"}
"""Written in another encoding than UTF-8, which older clients do not keep and newer ones do not tell."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("turn", [0, 1, 2])
def test_every_version_is_byte_for_byte_what_was_on_the_disk(version: str, turn: int, open_session: Open) -> None:
    session = open_session(session_file(version))
    wrong = []
    for path, data in files_after(version, turn).items():
        name = path.rsplit("/", 1)[-1]
        known = list_file_versions(session, path)
        chosen = find_version_before_turn(known, 1) if turn == 0 else find_version_after_turn(known, turn)
        if name == "bash.txt":
            assert chosen is None  # a command made it
            continue
        assert chosen is not None
        if recreate_version(session, path, chosen.version) != data:
            assert chosen.version.sure != "exact"
            wrong.append(name)
    assert set(wrong) <= NOT_EXACT


@pytest.mark.parametrize("version", VERSIONS)
def test_files_that_the_client_made_did_not_exist_before(version: str, open_session: Open) -> None:
    known = list_file_versions(open_session(session_file(version)), f"/tmp/demo/forms-{version}/forms/made.txt")
    chosen = find_version_before_turn(known, 1)
    assert chosen is not None
    assert chosen.version.absent


@pytest.mark.parametrize("name", ["2.0.76", "2.1.45", "2.1.325"])
def test_rebuilt_versions_are_those_that_the_client_copied(name: str, open_session: Open) -> None:
    session = open_session(find_recording(f"{name}/tui_edge"))
    known = list_file_versions(session, find_file_path(session, "cart.py"))
    assert [(item.turn, item.action, item.size) for item in known] == [
        (1, "read", 85),
        (1, "edit", 95),
        (2, "edit", 101),
    ]
    assert [item.sure for item in known[1:]] == ["exact", "exact"]


# -- anything


def look(session: Session) -> None:
    """Ask for everything that is told of files and tools."""
    group_touches_by_file(list_touches(session))
    count_calls_by_tool(session)
    count_failure_messages(session)
    for path in list_file_paths(session):
        known = list_file_versions(session, path)
        turns = range(1, len(session.turns) + 1)
        chosen = [
            each
            for turn in turns
            for each in (find_version_after_turn(known, turn), find_version_before_turn(known, turn))
            if each
        ]
        numbers = {each.version.number for each in chosen if each.version.sha256}
        for number in sorted(numbers)[:5]:
            recreate_version(session, path, known[number - 1])


def realistic() -> list[dict[str, Any]]:
    """A session that touches files in every way."""
    build = three_turns()
    snapshot(build, build.prompt("fourth"), {"/src/a.py": copy("0f@v1"), "b": copy(None)})
    build.note("file-history-delta", snapshotMessageId="x", trackingPath="c", backup=copy("1@v1"))
    patch = [{"oldStart": 1, "newStart": 1, "lines": ["-three", "+3"]}]
    result = {"originalFile": "three\n\n", "structuredPatch": patch, "oldString": "three", "newString": "3"}
    do(build, "Edit", edit("three", "3"), result | {"userModified": True, "replaceAll": True})
    do(build, "MultiEdit", {"file_path": "/src/a.py", "edits": [{"old_string": "3", "new_string": "4"}]})
    do(build, "NotebookEdit", {"notebook_path": "/n"}, {"original_file": "a", "updated_file": "b"})
    diff = {"files": [{"filePath": "/src/a.py", "hunks": patch}], "changedFiles": ["/b"]}
    do(build, "Bash", {}, {"bashEditDiff": diff})
    do(build, "Read", {"file_path": "/src/a.py"}, content="     1→x\n     2→y")
    build.attachment("file", filename="/src/a.py", content=text("x\n"))
    build.attachment("edited_text_file", filename="/src/a.py")
    return build.lines


def test_the_realistic_session_is_realistic() -> None:
    """Without this, a broken sample would make the properties below prove nothing."""
    known = list_file_versions(Session.from_bytes(encode_lines(realistic())), "/src/a.py")
    assert {item.action for item in known} == {"read", "edit", "write", "copy", "found", "attach", "change"}


@st.composite
def draw_spoiled_session(draw: st.DrawFn) -> list[dict[str, Any]]:
    """That session with something else in some of its fields, at any depth."""
    lines: list[dict[str, Any]] = json.loads(json.dumps(realistic()))
    for _ in range(draw(st.integers(1, 4))):
        place: Any = draw(st.sampled_from(lines))
        key: Any = draw(st.sampled_from(sorted(place)))
        while isinstance(place[key], dict | list) and place[key] and draw(st.booleans()):
            place = place[key]
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        place[key] = draw(loose | values)
    return lines


@given(draw_spoiled_session())
def test_nothing_raises_on_real_entries_with_fields_of_any_json(lines: list[dict[str, Any]]) -> None:
    look(Session.from_bytes(encode_lines(lines)))


@given(st.lists(entries | st.dictionaries(st.text(max_size=6), loose, max_size=4), max_size=8))
def test_nothing_raises_on_entries_of_any_json(lines: list[dict[str, Any]]) -> None:
    look(Session.from_bytes(encode_lines(lines)))


@pytest.mark.corpus
@pytest.mark.parametrize("part", ["lab", "variants", "wild"])
def test_versions_of_every_file_of_every_session_are_told(part: str) -> None:
    for path in sorted(CORPUS.glob(f"{part}/**/*.jsonl")):
        with Session.open(path) as session:
            look(session)
