"""What turnlog 0.1 left on a disk is undone, undeleted and settled by this version."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from turnlog.edit.package.staging_area import UnpackJournal
from turnlog.edit.trash.entry import find_newest_entry
from turnlog.edit.trash.trash import Trash
from turnlog.edit.undo.record import STATE_BEGUN, STATE_DONE, STATE_UNDONE
from turnlog.edit.undo.undo import Undo

MINE = "11111111-2222-4333-8444-555555555555"
CHANGE = "20261116-120935-move"


def lay(folder: Path, files: dict[str, str]) -> None:
    """Write files, with modes and times that are known."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        os.utime(path, ns=(5, 5))


def read(folder: Path) -> dict[str, str]:
    """All files below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# -- undo/<change>/record.json, kept/<number>, begun | done | undone


def state(text: str) -> str:
    return f'{{"size": {len(text)}, "mode": 384, "mtime_ns": 5, "sha256": "{digest(text)}", "is_folder": false}}'


def record(root: Path, *, is_ready: bool) -> str:
    """A change of each kind, as 0.1 wrote it; before it was ready it knew nothing of what comes after."""
    first, second = state("a\n"), state("b\n")
    new, made, typed = (state(text) if is_ready else "null" for text in ("new\n", "made\n", "{}\n"))
    return f"""{{
 "version": 1, "verb": "move", "words": "w", "when": "2026-11-16T12:09:35.844615+00:00",
 "items": [
  {{"kind": "rewrite", "path": "{root}/-p/a", "root": "{root}", "to": null, "before": {first},
    "after": {new}, "folders": []}},
  {{"kind": "remove", "path": "{root}/-p/b", "root": "{root}", "to": null, "before": {second},
    "after": null, "folders": []}},
  {{"kind": "create", "path": "{root}/-p/n/c", "root": "{root}", "to": null, "before": null,
    "after": {made}, "folders": ["{root}/-p/n"]}},
  {{"kind": "append", "path": "{root}/-p/log", "root": "{root}", "to": null,
    "before": {{"size": 2, "mode": 33152, "mtime_ns": 5, "sha256": null, "is_folder": false}},
    "after": {typed}, "folders": []}},
  {{"kind": "rename", "path": "{root}/-p", "root": "{root}", "to": "{root}/-q", "before": null,
    "after": null, "folders": []}}
 ],
 "is_ready": {str(is_ready).lower()}
}}
"""


ORIGINAL = {"-p/a": "a\n", "-p/b": "b\n", "-p/log": "x\n"}
STAGES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "prepared": (
        {**ORIGINAL, f"-p/.turnlog-{CHANGE}-0.new": "new\n", f"-p/n/.turnlog-{CHANGE}-2.new": "made\n"},
        {"kept/0": "a\n"},
    ),
    "one renamed": (
        {"-p/a": "new\n", "-p/b": "b\n", "-p/log": "x\n", f"-p/n/.turnlog-{CHANGE}-2.new": "made\n"},
        {"kept/0": "a\n"},
    ),
    "all but the folder": (
        {"-p/a": "new\n", "-p/log": "x\n{}\n", "-p/n/c": "made\n"},
        {"kept/0": "a\n", "kept/1": "b\n"},
    ),
    "all": (
        {"-q/a": "new\n", "-q/log": "x\n{}\n", "-q/n/c": "made\n"},
        {"kept/0": "a\n", "kept/1": "b\n"},
    ),
}


def lay_change(base: Path, stage: str, state_name: str, *, is_ready: bool = True) -> Undo:
    places, kept = STAGES[stage]
    lay(base / "projects", places)
    lay(base / "undo" / CHANGE, {**kept, state_name: "", "record.json": record(base / "projects", is_ready=is_ready)})
    return Undo(base / "undo")


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupted_change_is_taken_back(tmp_path: Path, stage: str) -> None:
    undo = lay_change(tmp_path, stage, STATE_BEGUN)
    assert [found.state for found in undo.list_records()] == [STATE_BEGUN]
    undo.settle_unfinished()
    assert read(tmp_path / "projects") == ORIGINAL
    assert (tmp_path / "projects" / "-p" / "a").stat().st_mtime_ns == 5
    assert undo.list_entries() == ([], [])


def test_a_change_that_was_interrupted_while_it_was_prepared_is_forgotten(tmp_path: Path) -> None:
    undo = lay_change(tmp_path, "prepared", STATE_BEGUN, is_ready=False)
    undo.settle_unfinished()
    assert read(tmp_path / "projects") == ORIGINAL
    assert [path.name for path in undo.folder.iterdir()] == [".lock"]


def test_a_finished_change_is_undone(tmp_path: Path) -> None:
    undo = lay_change(tmp_path, "all", STATE_DONE)
    undo.settle_unfinished()
    (found,) = undo.list_records()
    assert (found.state, found.verb, found.name) == (STATE_DONE, "move", CHANGE)
    assert undo.undo_record(found).state == STATE_UNDONE
    assert read(tmp_path / "projects") == ORIGINAL


def test_what_an_interrupted_pruning_or_an_early_kill_left_goes(tmp_path: Path) -> None:
    lay(tmp_path / "undo", {".pruned-20260101-000000-move/kept/0": "x"})
    (tmp_path / "undo" / CHANGE / "kept").mkdir(parents=True)
    undo = Undo(tmp_path / "undo")
    undo.settle_unfinished()
    assert [path.name for path in undo.folder.iterdir()] == [".lock"]


# -- trash/<time>-<id>/manifest.json, files/<place>

TRASHED = f"20261116T120937.050560Z-{MINE}"
HOME = {f"projects/-p/{MINE}/tool-results/x": "y", f"projects/-p/{MINE}.jsonl": '{"type":"user"}\n'}


def manifest(config: Path) -> str:
    """The list of a deleted session, as 0.1 wrote it."""
    folders = [f"projects/-p/{MINE}", f"projects/-p/{MINE}/tool-results"]
    rows = [(place, "folder", 448, "0", "null") for place in folders]
    rows += [(place, "file", 384, str(len(text)), f'"{digest(text)}"') for place, text in HOME.items()]
    items = ",\n".join(
        f'  {{"place": "{place}", "kind": "{kind}", "mode": {mode}, "mtime_ns": 5, "size": {size}, "sha256": {sha256},'
        ' "target": null}'
        for place, kind, mode, size, sha256 in rows
    )
    return f"""{{
 "session_id": "{MINE}", "title": "Shop", "project": "/p", "config_dir": "{config}",
 "deleted": "2026-11-16T12:09:37.050560+00:00",
 "items": [
{items}
 ],
 "history_lines": 0, "links": {{}}, "version": 1
}}
"""


@pytest.mark.parametrize("moved", [2, 1, 0])
def test_a_deleted_session_comes_back_however_much_of_it_had_been_moved(tmp_path: Path, moved: int) -> None:
    names = list(HOME)
    config, entry = tmp_path / "claude", tmp_path / "trash" / TRASHED
    lay(config, {name: HOME[name] for name in names[moved:]})
    lay(entry, {f"files/{name}": HOME[name] for name in names[:moved]})
    lay(entry, {"manifest.json": manifest(config)})
    trash = Trash(tmp_path / "trash")
    found = find_newest_entry(trash.list_entries().entries)
    assert (found.is_complete, found.manifest.title) == (moved == 2, "Shop")
    assert trash.restore(found) == ([], [], (), ())
    assert read(config) == HOME
    assert (config / names[1]).stat().st_mtime_ns == 5
    assert trash.list_entries() == ([], [])


# -- <config>/.turnlog-unpack-<random>/plan.json, <number>, ready

STAGED: dict[str, Any] = {"1": "task", "2": "transcript", "3": '{"display":"typed"}\n'}
PLAN = (
    '{"items":['
    f'{{"number":1,"place":"tasks/x","sha256":"{digest("task")}","is_last":false}},'
    f'{{"number":2,"place":"projects/-p/{MINE}.jsonl","sha256":"{digest("transcript")}","is_last":true}}'
    '],"folders":["projects","projects/-p","tasks"],"history":3}'
)


def lay_unpacking(config: Path, *names: str) -> Path:
    """An unpacking that was killed: the files in its folder, and a name for the first of them."""
    folder = config / ".turnlog-unpack-51ed5120fd60"
    texts = {**STAGED, "plan.json": PLAN, "ready": ""}
    lay(folder, {name: texts[name] for name in names})
    if "plan.json" in names:
        (config / "projects" / "-p").mkdir(parents=True)
        (config / "tasks").mkdir()
        os.link(folder / "1", config / "tasks" / "x")
    return folder


@pytest.mark.parametrize("names", [("1", "2"), ("1", "2", "3", "plan.json")])
def test_an_unpacking_that_was_not_ready_is_taken_back(tmp_path: Path, names: tuple[str, ...]) -> None:
    lay(tmp_path, {"settings.json": "{}"})
    lay_unpacking(tmp_path, *names)
    UnpackJournal(tmp_path).settle_unfinished()
    assert [path.name for path in tmp_path.rglob("*")] == ["settings.json"]


@pytest.mark.parametrize("names", [("1", "2", "3", "plan.json", "ready"), ("1", "3", "plan.json", "ready")])
def test_an_unpacking_that_was_ready_is_finished(tmp_path: Path, names: tuple[str, ...]) -> None:
    lay_unpacking(tmp_path, *names)
    if "2" not in names:  # the transcript had appeared, and its staged name was gone
        lay(tmp_path, {f"projects/-p/{MINE}.jsonl": "transcript"})
    UnpackJournal(tmp_path).settle_unfinished()
    history = '{"display":"typed"}\n'
    assert read(tmp_path) == {"tasks/x": "task", f"projects/-p/{MINE}.jsonl": "transcript", "history.jsonl": history}


def test_a_transcript_whose_place_was_taken_since_the_kill_is_given_up(tmp_path: Path) -> None:
    lay_unpacking(tmp_path, "1", "2", "3", "plan.json", "ready")
    lay(tmp_path, {f"projects/-p/{MINE}.jsonl": "theirs"})
    UnpackJournal(tmp_path).settle_unfinished()
    found = read(tmp_path)
    assert found.pop("history.jsonl") == '{"display":"typed"}\n'
    assert found == {f"projects/-p/{MINE}.jsonl": "theirs"}


@pytest.mark.parametrize("place", ["../x", "/etc/x", "tasks/../../x"])
def test_a_plan_that_leads_out_of_the_config_folder_is_not_followed(tmp_path: Path, place: str) -> None:
    folder = lay_unpacking(tmp_path / "claude", "1", "2", "ready")
    plan = PLAN.replace(f"projects/-p/{MINE}.jsonl", place)
    lay(folder, {"plan.json": plan})
    UnpackJournal(tmp_path / "claude").settle_unfinished()
    assert read(tmp_path) == {}
