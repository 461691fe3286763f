"""What changed since the last time is found with one look at each file, and nothing is missed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.store.index_build import ONE, SLUG, TWO, Desk, build_prompts, main
from turnlog.store.index.file_changes import find_index_changes


def list_changed_files(desk: Desk) -> list[str]:
    """The files that must be read."""
    with desk.open() as store:
        found = find_index_changes(store.db, [desk.config])
        names: dict[Any, Any] = dict(store.db.execute("SELECT id, path FROM file"))
    return sorted(str(Path(names[item.file]).relative_to(desk.config)) for item in found.files)


@pytest.fixture
def settled_desk(desk: Desk) -> Desk:
    """Two sessions and an agent that were read, and have not changed for long."""
    desk.write(main(), build_prompts("one"))
    desk.write(main(TWO), build_prompts("two"))
    desk.write(f"projects/{SLUG}/{ONE}/subagents/agent-a.jsonl", build_prompts("agent"))
    desk.settle()
    desk.refresh()
    assert list_changed_files(desk) == []
    return desk


def test_everything_is_new_at_first(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    desk.write(f"projects/{SLUG}/{ONE}/tool-results/a.txt", b"output")
    assert list_changed_files(desk) == [main(), f"projects/{SLUG}/{ONE}/tool-results/a.txt"]


def test_a_file_that_grew_is_found(settled_desk: Desk) -> None:
    settled_desk.append(main(), build_prompts("more"))
    assert list_changed_files(settled_desk) == [main()]


def test_a_file_that_changed_just_now_is_looked_at_again(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    desk.refresh()
    assert list_changed_files(desk) == [main()]


def test_a_file_with_another_time_is_found(settled_desk: Desk) -> None:
    os.utime(settled_desk.config / main(), (5, 5))
    assert list_changed_files(settled_desk) == [main()]


@pytest.mark.parametrize(
    "path",
    [
        main("cccccccc-0000-4000-8000-000000000003"),
        main(ONE, "-another-project"),
        f"projects/{SLUG}/{ONE}/subagents/agent-b.jsonl",
        f"projects/{SLUG}/{ONE}/subagents/workflows/w/agent-c.jsonl",
        f"projects/{SLUG}/{ONE}/tool-results/a.txt",
        f"projects/{SLUG}/{TWO}/subagents/agent-d.jsonl",
        f"projects/{SLUG}/agent-loose.jsonl",
        f"projects/{SLUG}/subagents/agent-loose.jsonl",
    ],
)
def test_a_new_file_is_found_wherever_it_appears(settled_desk: Desk, path: str) -> None:
    settled_desk.write(path, build_prompts("new"))
    assert list_changed_files(settled_desk) == [path]


@pytest.mark.parametrize(
    "folder",
    [
        "projects/-empty",
        "projects/-with.a.dot",
        f"projects/{SLUG}/subagents",
        f"projects/{SLUG}/{TWO}",
        f"projects/{SLUG}/{TWO}/subagents",
        f"projects/{SLUG}/{ONE}/tool-results",
        f"projects/{SLUG}/{ONE}/subagents/workflows",
        f"projects/{SLUG}/{ONE}/subagents/workflows/w",
        f"projects/-empty/{ONE}",
        f"projects/-empty/{ONE}/tool-results",
    ],
)
def test_a_new_file_is_found_in_a_folder_that_was_empty_for_long(settled_desk: Desk, folder: str) -> None:
    (settled_desk.config / folder).mkdir(parents=True)
    settled_desk.settle()
    settled_desk.refresh()
    assert list_changed_files(settled_desk) == []
    name = "agent-new.jsonl" if "tool-results" not in folder else "new.txt"
    if folder in ("projects/-empty", "projects/-with.a.dot"):
        name = f"{ONE}.jsonl"
    elif folder.endswith((ONE, TWO)):
        name = "subagents/agent-new.jsonl"
    settled_desk.write(f"{folder}/{name}", build_prompts("new"))
    assert list_changed_files(settled_desk) == [f"{folder}/{name}"]


def test_a_file_that_is_gone_is_noted_with_the_time_and_stays(settled_desk: Desk) -> None:
    (settled_desk.config / main()).unlink()
    assert list_changed_files(settled_desk) == []
    with settled_desk.open() as store:
        path, first = store.db.execute("SELECT path, gone FROM file WHERE gone IS NOT NULL").get
        assert path == str(settled_desk.config / main())
        assert first > 1_700_000_000
        store.db.execute("UPDATE file SET gone = gone - 100 WHERE gone IS NOT NULL")
    (settled_desk.config / main(TWO)).unlink()
    list_changed_files(settled_desk)
    with settled_desk.open() as store:
        times: dict[Any, Any] = dict(store.db.execute("SELECT path, gone FROM file WHERE gone IS NOT NULL"))
    assert times[str(settled_desk.config / main())] == first - 100, "when it was first missed"
    assert len(times) == 2


def test_a_file_that_comes_back_is_there_again(settled_desk: Desk) -> None:
    path = settled_desk.config / main()
    data = path.read_bytes()
    path.unlink()
    settled_desk.refresh()
    path.write_bytes(data)
    assert list_changed_files(settled_desk) == [main()]
    settled_desk.refresh()
    with settled_desk.open() as store:
        assert store.status().gone == 0


def test_all_files_may_be_gone(settled_desk: Desk) -> None:
    shutil.rmtree(settled_desk.config / "projects")
    assert list_changed_files(settled_desk) == []
    with settled_desk.open() as store:
        assert store.status().gone == 3


def test_a_file_in_two_config_folders_counts_for_each(desk: Desk, tmp_path: Path) -> None:
    other = Desk(tmp_path / "other")
    desk.write(main(), build_prompts("one"))
    other.write(main(), build_prompts("two"))
    with desk.open() as store:
        assert store.refresh([desk.config, other.config]).files == 2
        assert store.refresh([desk.config, other.config]).known == 2


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are any bytes on Linux only")
def test_a_name_that_is_no_text_is_told_and_does_no_harm(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    folder = desk.config / f"projects/{SLUG}/{ONE}/tool-results"
    folder.mkdir(parents=True)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.txt")).write_text("words")
    done = desk.refresh()
    assert done.files == 1
    assert len(done.unread) == 1
    assert "\\udcff.txt" in done.unread[0]
