"""Deleting a session: all that belongs to it goes, nothing else does, and all of it comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.edit.furnished_session import LONG_AGO, MINE, OTHER, conversation, picture
from turnlog.edit.open_signs import find_open_signs
from turnlog.edit.session_target import find_target
from turnlog.edit.trash.delete import delete_session, plan_deletion
from turnlog.edit.trash.entry import find_newest_entry, find_trash_entry
from turnlog.edit.trash.trash import Trash
from turnlog.edit.trash.undelete import UndeleteResult
from turnlog.errors import Ambiguous, Busy, Changed, NotFound, TurnlogError, UsageError

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")


def test_everything_that_belongs_to_the_session_goes_and_nothing_else(
    session: Path, config: Path, trash: Trash
) -> None:
    before = picture(config)
    delete_session(session, trash)
    left = picture(config)
    assert {place: seen for place, seen in before.items() if place in left} == left
    gone = before.keys() - left.keys()
    assert all(MINE in place or place.endswith(("agent-beef.jsonl", "calm-blue-fox.md")) for place in gone)
    assert not [place for place in left if MINE in place]
    assert "plans/shared-red-fox.md" in left
    assert "projects/-home-dana-webshop/agent-cafe.jsonl" in left


@pytest.mark.parametrize("history", [False, True])
def test_it_comes_back_exactly_as_it_was(session: Path, config: Path, trash: Trash, history: bool) -> None:
    typed = (config / "history.jsonl").read_bytes()
    before = picture(config, ("history.jsonl",))
    entry = delete_session(session, trash, history=history)
    assert MINE.encode() not in (config / "history.jsonl").read_bytes() or not history
    assert OTHER.encode() in (config / "history.jsonl").read_bytes()
    assert entry.manifest.history_lines == int(history)
    assert trash.restore(entry) == UndeleteResult([], [])
    assert picture(config, ("history.jsonl",)) == before
    assert (config / "history.jsonl").read_bytes() == typed
    assert trash.list_entries() == ([], [])


def test_the_list_in_the_trash_says_what_was_where_and_how_it_was(session: Path, trash: Trash) -> None:
    entry = delete_session(session, trash)
    known = json.loads((entry.folder / "manifest.json").read_bytes())
    assert known["session_id"] == MINE
    assert known["title"] == "prompt 0"
    assert known["items"][-1]["place"] == f"projects/-home-dana-webshop/{MINE}.jsonl"
    rows = {item["place"]: item for item in known["items"]}
    row = rows[f"projects/-home-dana-webshop/{MINE}/tool-results/toolu_1.txt"]
    assert (row["kind"], row["size"], len(row["sha256"])) == ("file", 7000, 64)
    assert row["mtime_ns"] // 10**9 == LONG_AGO


def test_what_was_typed_since_stays_when_the_lines_come_back(session: Path, config: Path, trash: Trash) -> None:
    typed = (config / "history.jsonl").read_bytes()
    entry = delete_session(session, trash, history=True)
    with (config / "history.jsonl").open("ab") as file:
        file.write(b'{"display":"later"}\n')
    trash.restore(entry)
    assert (config / "history.jsonl").read_bytes() == typed + b'{"display":"later"}\n'


def test_a_history_that_is_gone_comes_back_too(session: Path, config: Path, trash: Trash) -> None:
    typed = (config / "history.jsonl").read_bytes()
    entry = delete_session(session, trash, history=True)
    (config / "history.jsonl").unlink()
    trash.restore(entry)
    assert (config / "history.jsonl").read_bytes() == typed


def test_a_session_alone_is_deleted_too(tmp_path: Path, trash: Trash) -> None:
    project = tmp_path / "claude" / "projects" / "p"
    project.mkdir(parents=True)
    path = conversation("x").write(project, MINE)
    os.utime(path, (LONG_AGO, LONG_AGO))
    entry = delete_session(path, trash, history=True)
    assert [item.place for item in entry.manifest.items] == [f"projects/p/{MINE}.jsonl"]
    assert list(project.iterdir()) == []


def test_nothing_is_overwritten_by_what_comes_back(session: Path, config: Path, trash: Trash) -> None:
    entry = delete_session(session, trash)
    taken = config / "debug" / f"{MINE}.txt"
    taken.write_text("new log")
    before = picture(config)
    with pytest.raises(TurnlogError, match="already present with different content"):
        trash.restore(entry)
    assert picture(config) == before
    taken.unlink()
    assert trash.restore(entry) == UndeleteResult([], [])


def test_a_file_in_the_place_of_a_folder_is_not_overwritten(session: Path, config: Path, trash: Trash) -> None:
    entry = delete_session(session, trash)
    (config / "tasks" / MINE).write_text("in the way")
    with pytest.raises(TurnlogError, match="not a folder, so nothing was restored"):
        trash.restore(entry)


def test_a_folder_in_which_something_new_lies_stays_with_it(session: Path, config: Path, trash: Trash) -> None:
    entry = delete_session(session, trash)
    (config / "tasks" / MINE).mkdir()
    (config / "tasks" / MINE / "2.json").write_text("new")
    trash.restore(entry)
    assert sorted(path.name for path in (config / "tasks" / MINE).iterdir()) == ["1.json", "2.json"]


def test_what_changed_or_went_missing_in_the_trash_is_told(session: Path, config: Path, trash: Trash) -> None:
    entry = delete_session(session, trash)
    (entry.folder / "files" / "debug" / f"{MINE}.txt").write_text("changed")
    (entry.folder / "files" / "tasks" / MINE / "1.json").unlink()
    assert not trash.list_entries().entries[0].is_complete
    assert trash.restore(entry) == UndeleteResult([f"tasks/{MINE}/1.json"], [f"debug/{MINE}.txt"])
    assert (config / "debug" / f"{MINE}.txt").read_text() == "changed"
    assert trash.list_entries().entries == [entry]


@posix
def test_a_failure_in_the_middle_puts_everything_back(session: Path, config: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    before = picture(config)
    (config / "todos").chmod(0o500)
    with pytest.raises(PermissionError):
        delete_session(session, Trash(tmp_path / "trash"))
    (config / "todos").chmod(before["todos"].mode)
    assert picture(config) == before
    assert Trash(tmp_path / "trash").list_entries().entries == []


def test_a_file_that_was_written_meanwhile_puts_everything_back(session: Path, config: Path, trash: Trash) -> None:
    from turnlog.edit.trash.entry import TrashManifest, describe_item

    paths = plan_deletion(session).paths
    listed = TrashManifest(
        MINE, None, None, str(config), "2026-01-01T00:00:00+00:00", tuple(describe_item(p, config) for p in paths)
    )
    with (config / "debug" / f"{MINE}.txt").open("a") as file:
        file.write("more")
    before = picture(config)
    with pytest.raises(Changed, match="modified in the meantime, so nothing was deleted"):
        trash.put_session(listed)
    assert picture(config) == before
    assert trash.list_entries() == ([], [])


@posix
def test_a_history_that_changes_meanwhile_puts_everything_back(session: Path, config: Path, trash: Trash) -> None:
    before = picture(config, ("history.jsonl",))
    code = """if True:
        import sys
        from pathlib import Path
        from turnlog.edit.trash.delete import delete_session
        from turnlog.edit.trash.trash import Trash
        history, todo = Path(sys.argv[2]), ["once"]
        def hook(event, arguments):
            if event == "os.link" and todo:
                todo.clear()
                with history.open("a") as file:
                    file.write('{"display":"typed meanwhile"}\\n')
        sys.addaudithook(hook)
        delete_session(Path(sys.argv[1]), Trash(Path(sys.argv[3])), history=True)
    """
    words = [sys.executable, "-c", code, str(session), str(config / "history.jsonl"), str(trash.folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "Changed: " in done.stderr
    assert picture(config, ("history.jsonl",)) == before
    assert (config / "history.jsonl").read_text().endswith('"typed meanwhile"}\n')
    assert (config / "history.jsonl").read_text().count("display") == 4
    assert trash.list_entries() == ([], [])


def test_a_full_trash_disk_deletes_nothing(session: Path, config: Path, tmp_path: Path) -> None:
    before = picture(config)
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=r".+"):
        delete_session(session, Trash(tmp_path / "data" / "trash"))
    assert picture(config) == before


def test_a_session_that_was_just_written_is_refused_unless_forced(session: Path, trash: Trash) -> None:
    os.utime(session)
    with pytest.raises(Busy, match=r"it was written \d+ s ago; wait until nothing writes to it, or use --force"):
        delete_session(session, trash)
    assert session.exists()
    delete_session(session, trash, force=True)
    assert not session.exists()


def test_a_session_that_is_open_in_a_client_is_refused_even_if_forced(
    session: Path, config: Path, trash: Trash
) -> None:
    (config / "sessions").mkdir()
    (config / "sessions" / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": MINE}))
    assert [sign.kind for sign in find_open_signs(find_target(session))] == ["registered"]
    with pytest.raises(Busy, match=r"is open in Claude Code.*end that process first"):
        delete_session(session, trash, force=True)


def test_what_is_no_session_of_the_client_is_refused(tmp_path: Path, trash: Trash) -> None:
    from turnlog.demo import config_dir

    with pytest.raises(UsageError, match="demo"):
        delete_session(next(config_dir().glob("projects/*/????????-*.jsonl")), trash)
    with pytest.raises(UsageError, match="not a session id"):
        delete_session(tmp_path / "notes.jsonl", trash)
    with pytest.raises(TurnlogError, match="not in a Claude Code projects folder"):
        delete_session(conversation("x").write(tmp_path, MINE), trash)


@posix
def test_no_link_leads_out_of_the_config_folder_on_the_way_out_or_back(
    session: Path, config: Path, trash: Trash, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (config / "projects" / "-linked").symlink_to(outside)
    outside.mkdir()
    away = conversation("x").write(outside, OTHER)
    with pytest.raises(TurnlogError, match="outside "):
        delete_session(config / "projects" / "-linked" / away.name, trash)
    entry = delete_session(session, trash)
    (config / "debug").rmdir()
    (config / "debug").symlink_to(outside)
    with pytest.raises(TurnlogError, match=r"outside .*nothing was restored"):
        trash.restore(entry)
    assert [path.name for path in outside.iterdir()] == [away.name]


@pytest.mark.parametrize("place", ["../evil", "/etc/evil", "projects/../../evil", "", "a\0b"])
def test_a_list_that_names_places_outside_is_not_believed(session: Path, trash: Trash, place: str) -> None:
    entry = delete_session(session, trash)
    path = entry.folder / "manifest.json"
    known = json.loads(path.read_bytes())
    known["items"][0]["place"] = place
    path.write_text(json.dumps(known))
    found = trash.list_entries()
    assert found.entries == []
    assert "is not the path of a session file" in found.unreadable[0]


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"items": 7}, {"deleted": "yesterday"}, {"deleted": "2026-01-01T00:00:00"}, {"session_id": None}],
    ids=str,
)
def test_a_list_of_another_kind_is_not_believed(session: Path, trash: Trash, change: dict[str, object]) -> None:
    path = delete_session(session, trash).folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change))
    assert len(trash.list_entries().unreadable) == 1
    path.write_text("{")
    assert "not a valid record of a deleted session" in trash.list_entries().unreadable[0]


def test_deleted_sessions_are_found_by_id_title_and_name(session: Path, trash: Trash) -> None:
    with pytest.raises(NotFound, match="trash is empty"):
        find_newest_entry(trash.list_entries().entries)
    first = delete_session(session, trash)
    second = delete_session(session.with_name(f"{OTHER}.jsonl"), trash)
    entries = trash.list_entries().entries
    assert entries == [second, first]
    assert find_newest_entry(entries) == second
    assert find_trash_entry("9999", entries) == second
    assert find_trash_entry(first.name, entries) == first
    with pytest.raises(Ambiguous, match="matches 2 deleted sessions"):
        find_trash_entry("Prompt 0", entries)
    for name in ("nothing", "", " "):
        with pytest.raises(NotFound, match="no deleted session"):
            find_trash_entry(name, entries)


def test_emptying_removes_what_is_old_and_whole(session: Path, trash: Trash) -> None:
    first = delete_session(session, trash)
    second = delete_session(session.with_name(f"{OTHER}.jsonl"), trash)
    (second.folder / "files" / second.manifest.items[-1].place).unlink()
    day = timedelta(days=1)
    assert trash.empty(day) == []
    assert trash.empty(day, datetime.now(UTC) + 2 * day) == [first]
    assert trash.list_entries().entries == [second]
    assert not first.folder.exists()


def test_emptying_finishes_what_was_interrupted(session: Path, trash: Trash) -> None:
    entry = delete_session(session, trash)
    entry.folder.rename(entry.folder.with_name(f".emptied-{entry.name}"))
    (trash.folder / "20260101-x" / "files" / "projects").mkdir(parents=True)
    assert trash.list_entries() == ([], [])
    assert trash.empty(timedelta()) == []
    assert [path.name for path in trash.folder.iterdir()] == [".lock"]


@posix
def test_names_that_are_no_utf8_come_back(session: Path, config: Path, trash: Trash) -> None:
    strange = Path(os.fsdecode(os.fsencode(session.with_suffix("")) + b"/tool-results/\xff\n.txt"))
    try:
        strange.write_text("x")
    except OSError:
        pytest.skip("this file system takes no such names")
    trash.restore(delete_session(session, trash))
    assert strange.read_text() == "x"
