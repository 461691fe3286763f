"""The client's copies of files: when they were taken, where they lie, and that no name leads elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import SESSION, Build, find_recording, stamp
from tests.session.touch_calls import config, copy, history, snapshot
from turnlog.session.files.backups import list_file_backups
from turnlog.session.session import Session

Open = Callable[[Path], Session]


def two_turns() -> Build:
    build = Build()
    first = build.prompt("first")
    snapshot(build, first, {})
    build.answer("yes")
    build.note(
        "file-history-delta", snapshotMessageId=first, trackingPath="a.py", backup=copy("0f@v1"), timestamp=stamp(61)
    )
    second = build.prompt("second")
    snapshot(build, second, {"a.py": copy("0f@v2", 2, 180), "/etc/b": copy(None, 1, 190)})
    third = build.prompt("third")
    snapshot(build, third, {"a.py": copy("0f@v2", 2, 180), "/etc/b": copy(None, 1, 190)})
    return build


def test_each_copy_is_told_once_with_the_turn_that_had_not_changed_the_file_yet() -> None:
    found = [
        (item.path, item.name, item.turn.number if item.turn else None)
        for item in list_file_backups(two_turns().session())
    ]
    assert found == [
        ("/home/dana/webshop/a.py", "0f@v1", 1),
        ("/home/dana/webshop/a.py", "0f@v2", 2),
        ("/etc/b", None, 2),
    ]


def test_the_bytes_of_a_copy_are_read_from_the_history_of_the_session(tmp_path: Path, open_session: Open) -> None:
    path = config(tmp_path, two_turns())
    (history(tmp_path) / "0f@v1").write_bytes(b"old\r\n")
    assert [item.read() for item in list_file_backups(open_session(path))] == [b"old\r\n", None, None]


def test_copies_of_a_forked_session_lie_under_the_id_of_its_source(tmp_path: Path, open_session: Open) -> None:
    build = two_turns()
    other = "99999999-2222-4333-8444-555555555555"
    for line in build.lines:
        line["sessionId"] = other
    path = config(tmp_path, build)
    place = tmp_path / "file-history" / other
    place.mkdir(parents=True)
    (place / "0f@v1").write_bytes(b"old\n")
    assert list_file_backups(open_session(path))[0].read() == b"old\n"


@pytest.mark.parametrize("name", ["../../secret", "..", "/etc/passwd", "a/b@v1", "x@v1\0", "C:x@v1", "0f@v", ""])
def test_a_name_that_leads_elsewhere_is_not_followed(tmp_path: Path, open_session: Open, name: str) -> None:
    build = Build()
    snapshot(build, build.prompt(), {"a": copy(name)})
    (tmp_path / "secret").write_bytes(b"secret")
    history(tmp_path)
    (found,) = list_file_backups(open_session(config(tmp_path, build)))
    assert found.read() is None


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_among_the_copies_are_not_followed(tmp_path: Path, open_session: Open) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (history(tmp_path) / "0f@v1").symlink_to(tmp_path / "secret")
    assert list_file_backups(open_session(config(tmp_path, two_turns())))[0].read() is None


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_linked_folder_of_copies_is_not_entered(tmp_path: Path, open_session: Open) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "0f@v1").write_bytes(b"secret")
    (tmp_path / "file-history").mkdir()
    (tmp_path / "file-history" / SESSION).symlink_to(elsewhere)
    assert list_file_backups(open_session(config(tmp_path, two_turns())))[0].read() is None


def test_a_folder_in_the_place_of_a_copy_is_none(tmp_path: Path, open_session: Open) -> None:
    (history(tmp_path) / "0f@v1").mkdir()
    assert list_file_backups(open_session(config(tmp_path, two_turns())))[0].read() is None


def test_a_session_that_lies_elsewhere_has_no_copies(tmp_path: Path, open_session: Open) -> None:
    assert list_file_backups(open_session(two_turns().write(tmp_path)))[0].read() is None


@pytest.mark.parametrize(
    "fields",
    [
        {"snapshot": 5},
        {"snapshot": {"trackedFileBackups": []}},
        {"snapshot": {"trackedFileBackups": {"a": 5, "": {}}}},
        {"trackingPath": 5, "backup": {}},
        {"trackingPath": "a", "backup": 5},
    ],
)
def test_entries_of_any_form_name_no_copies(fields: dict[str, Any]) -> None:
    build = Build()
    build.prompt()
    build.note("file-history-snapshot", **fields)
    assert list_file_backups(build.session()) == []


def test_a_copy_without_time_or_turn_is_placed_by_the_entries_around_it() -> None:
    build = Build()
    build.prompt("first")
    build.note("file-history-delta", trackingPath="a", snapshotMessageId="gone", backup={"backupFileName": 7})
    build.note("file-history-delta", trackingPath="b", snapshotMessageId=5, backup={"version": [1]})
    found = list_file_backups(build.session())
    assert [(item.name, item.time, item.turn.number if item.turn else None) for item in found] == [(None, None, 1)] * 2


def test_a_recorded_session_has_the_copies_that_its_folder_holds(open_session: Open) -> None:
    found = [item for item in list_file_backups(open_session(find_recording("2.1.325/tui_edge"))) if item.name]
    assert [item.name for item in found if item.read() is None] == []
    assert len(found) == 4
