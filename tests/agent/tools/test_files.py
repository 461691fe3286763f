"""Which files the model has seen, and whether they are still what it saw."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from turnlog.agent.tools.seen_files import SeenFiles

NOW = datetime.now(UTC)


def note_file(path: Path, text: str, *, whole: bool = True) -> SeenFiles:
    path.write_text(text)
    files = SeenFiles()
    files.note_seen(path, path.stat(), text if whole else None)
    return files


def is_file_changed(files: SeenFiles, path: Path) -> bool:
    return files.is_changed(path, path.stat(), path.read_text())


def test_a_file_that_nobody_read_is_not_known(tmp_path: Path) -> None:
    assert not SeenFiles().is_seen(tmp_path / "a")


def test_a_file_is_known_by_all_its_names(tmp_path: Path) -> None:
    files = note_file(tmp_path / "a", "x")
    (tmp_path / "link").symlink_to("a")
    assert files.is_seen(tmp_path / "link")


def test_a_file_that_was_only_touched_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files = note_file(path, "x")
    os.utime(path, (1, 1))
    assert not is_file_changed(files, path)


def test_a_file_with_another_text_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files = note_file(path, "x")
    path.write_text("yy")
    assert is_file_changed(files, path)


def test_a_file_of_which_a_part_was_read_is_changed_when_it_was_touched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files = note_file(path, "x", whole=False)
    assert not files.is_seen_whole(path)
    assert not is_file_changed(files, path)
    os.utime(path, (1, 1))
    assert is_file_changed(files, path)


def test_a_file_of_an_earlier_run_is_unchanged_if_nobody_wrote_it_since(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    files = SeenFiles()
    files.recall_seen(path, NOW + timedelta(hours=1), None)
    assert not is_file_changed(files, path)


def test_a_file_of_an_earlier_run_that_was_written_since_is_unchanged_only_with_the_same_text(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    for text, is_changed in [("x", False), ("y", True), (None, True)]:
        files = SeenFiles()
        files.recall_seen(path, NOW - timedelta(hours=1), text)
        assert is_file_changed(files, path) is is_changed


def test_a_file_that_was_written_in_the_millisecond_in_which_it_was_told_of_is_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("x")
    told = NOW.replace(microsecond=123_000)
    for nanoseconds, is_changed in [(999_999, False), (1_000_000, True)]:
        os.utime(path, ns=(0, round(told.timestamp() * 1000) * 1_000_000 + nanoseconds))
        files = SeenFiles()
        files.recall_seen(path, told, None)
        assert is_file_changed(files, path) is is_changed


def test_a_file_of_an_earlier_run_that_is_gone_is_not_known(tmp_path: Path) -> None:
    files = SeenFiles()
    files.recall_seen(tmp_path / "a", NOW, "x")
    assert not files.is_seen(tmp_path / "a")
