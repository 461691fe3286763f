"""When a project's folder was renamed, everything that the client keeps of it follows, as a whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.edit.furnished_session import LONG_AGO, Seen, picture
from turnlog.edit.move.move import move_project, rehearse_move
from turnlog.edit.move.move_plan import MovePlan, plan_move
from turnlog.edit.undo.record import STATE_UNDONE
from turnlog.edit.undo.undo import Undo
from turnlog.entries.slug import make_slug
from turnlog.errors import Busy, Changed, NotFound, TurnlogError, UsageError

OLD, NEW = "/code/shop", "/code/web shop"
ONE, TWO, THREE = (f"0ddf00d{digit}-2222-4333-8444-5555cafe5555" for digit in "123")

posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and signals are those of POSIX")
TORN = '{"type":"torn'


def entry(cwd: str, **more: Any) -> str:
    body = {"type": "user", "uuid": "u", "cwd": cwd, "message": {"content": f"see {cwd}/x"}, **more}
    return json.dumps(body, separators=(",", ":")) + "\n"


class Client:
    """A config folder to which sessions are added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "projects").mkdir(parents=True)

    def write(self, place: str, text: str) -> Path:
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (LONG_AGO, LONG_AGO))
        return path

    def add(self, cwd: str, own: str, *, text: str | None = None, name: str | None = None) -> Path:
        lines = entry(cwd) * 3 + TORN if text is None else text
        return self.write(f"projects/{name or make_slug(cwd)}/{own}.jsonl", lines)

    def read(self, place: str) -> str:
        return (self.folder / place).read_text()

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "projects").iterdir())

    def plan(self, old: str = OLD, new: str = NEW) -> MovePlan:
        return plan_move(old, new, [self.folder])


@pytest.fixture
def client(tmp_path: Path) -> Client:
    """An empty config folder."""
    return Client(tmp_path / "home" / ".claude")


@pytest.fixture
def undo(tmp_path: Path) -> Undo:
    """A folder for what was changed."""
    return Undo(tmp_path / "data" / "undo")


def full(client: Client) -> None:
    """A project with everything that names its path, a folder below it, and two others."""
    base = f"projects/{make_slug(OLD)}"
    client.add(OLD, ONE)
    client.add(f"{OLD}/sub", TWO)
    client.add("/code/shopping", THREE)
    client.write(f"{base}/{ONE}/subagents/agent-a1.jsonl", entry(f"{OLD}/sub"))
    client.write(
        f"{base}/{ONE}/subagents/agent-a1.meta.json", json.dumps({"worktreePath": f"{OLD}/w", "description": OLD})
    )
    client.write(f"{base}/{ONE}/tool-results/1.txt", f"in {OLD}")
    client.write(f"{base}/{ONE}/resume-head.jsonl", entry(OLD))
    client.write(f"{base}/agent-old.jsonl", entry(OLD, sessionId=ONE))
    client.write(f"{base}/memory/MEMORY.md", f"# {OLD}")
    index = {"version": 1, "entries": [_build_list_entry(ONE, OLD)], "originalPath": OLD}
    client.write(f"{base}/sessions-index.json", json.dumps(index, indent=2))
    client.write(
        "history.jsonl",
        _build_history_line(OLD) + _build_history_line("/code/shopping") + _build_history_line(f"{OLD}/sub"),
    )
    client.write("../.claude.json", build_state(OLD)).chmod(0o600)


def build_state(path: str) -> str:
    """The client's state with a project at a path; a strange form that must be kept."""
    projects = f'{{"{path}": {{"x":[]}}, "{path}/sub": {{}}, "/code/shopping": {{}}}}'
    return f'{{"n": 1.0, "projects": {projects},\n\t"last":"{OLD}"}}'


def state_of(folder: Path) -> dict[str, Seen]:
    """Everything below a folder; but for the times of folders, in which files came and went."""
    return {place: seen if seen.content else seen._replace(mtime_ns=0) for place, seen in picture(folder).items()}


def _build_list_entry(own: str, cwd: str) -> dict[str, str]:
    place = f"/h/.claude/projects/{make_slug(cwd)}/{own}.jsonl"
    return {"sessionId": own, "fullPath": place, "projectPath": cwd, "firstPrompt": cwd}


def _build_history_line(project: str) -> str:
    return json.dumps({"display": f"look at {project}", "project": project}) + "\n"


def test_everything_that_names_the_folder_follows(client: Client, undo: Undo) -> None:
    full(client)
    done = move_project(client.plan(), undo)
    goal = f"projects/{make_slug(NEW)}"
    assert client.names == sorted([make_slug(NEW), make_slug(f"{NEW}/sub"), "-code-shopping"])
    assert client.read(f"{goal}/{ONE}.jsonl") == entry(OLD).replace(f'"cwd":"{OLD}"', f'"cwd":"{NEW}"') * 3 + TORN
    assert json.loads(client.read(f"{goal}/{ONE}/subagents/agent-a1.jsonl"))["cwd"] == f"{NEW}/sub"
    meta = {"worktreePath": f"{NEW}/w", "description": OLD}
    assert json.loads(client.read(f"{goal}/{ONE}/subagents/agent-a1.meta.json")) == meta
    assert client.read(f"{goal}/{ONE}/tool-results/1.txt") == f"in {OLD}"
    assert json.loads(client.read(f"{goal}/agent-old.jsonl"))["cwd"] == NEW
    assert client.read(f"{goal}/memory/MEMORY.md") == f"# {OLD}"
    assert not (client.folder / goal / ONE / "resume-head.jsonl").exists()
    index = {"version": 1, "entries": [{**_build_list_entry(ONE, NEW), "firstPrompt": OLD}], "originalPath": NEW}
    assert client.read(f"{goal}/sessions-index.json") == json.dumps(index, indent=2)
    projects = [json.loads(line)["project"] for line in client.read("history.jsonl").splitlines()]
    assert projects == [NEW, "/code/shopping", f"{NEW}/sub"]
    assert client.read("../.claude.json") == build_state(NEW)
    assert done.lines == 3 + 3 + 1 + 1 + 1 + 1 + 2 + 1
    assert done.files == 8


@posix
def test_modes_and_times_are_kept(client: Client, undo: Undo) -> None:
    full(client)
    (client.folder / "projects" / make_slug(OLD) / f"{ONE}.jsonl").chmod(0o640)
    move_project(client.plan(), undo)
    status = (client.folder / "projects" / make_slug(NEW) / f"{ONE}.jsonl").stat()
    assert (status.st_mode & 0o777, status.st_mtime) == (0o640, LONG_AGO)
    assert (client.folder / "../.claude.json").stat().st_mode & 0o777 == 0o600


def test_undo_brings_everything_back(client: Client, undo: Undo) -> None:
    full(client)
    before = state_of(client.folder.parent)
    record = move_project(client.plan(), undo).record
    assert record is not None
    undo.undo_record(record)
    assert state_of(client.folder.parent) == before


def test_a_rehearsal_counts_the_same_and_changes_nothing(client: Client, undo: Undo) -> None:
    full(client)
    before = state_of(client.folder.parent)
    told = rehearse_move(client.plan())
    assert state_of(client.folder.parent) == before
    assert told._replace(record=None) == move_project(client.plan(), undo)._replace(record=None)


def test_there_and_back_every_file_means_the_same(client: Client, undo: Undo) -> None:
    full(client)
    places = [path for path in client.folder.rglob("*.jsonl") if path.name != "resume-head.jsonl"]
    before = {path: [_read(line) for line in path.read_text().splitlines()] for path in places}
    move_project(client.plan(), undo)
    move_project(client.plan(NEW, OLD), undo)
    assert {path: [_read(line) for line in path.read_text().splitlines()] for path in places} == before


def _read(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def test_with_text_what_was_said_follows_too(client: Client, undo: Undo) -> None:
    full(client)
    move_project(client.plan(), undo, text=True)
    first = json.loads(client.read(f"projects/{make_slug(NEW)}/{ONE}.jsonl").splitlines()[0])
    assert first["message"] == {"content": f"see {NEW}/x"}


def test_two_paths_with_one_short_name_are_told_apart(client: Client, undo: Undo) -> None:
    client.add("/code/my-shop", ONE)
    client.add("/code/my/shop", TWO)
    client.write(f"projects/-code-my-shop/{TWO}/subagents/agent-a1.jsonl", entry("/code/my/shop"))
    client.write("projects/-code-my-shop/agent-b2.jsonl", entry("/code/my/shop", sessionId=TWO))
    client.write("projects/-code-my-shop/memory/MEMORY.md", "shared")
    (folder,) = (found := client.plan("/code/my/shop", NEW)).folders
    assert (folder.sessions, folder.is_whole) == ((TWO,), False)
    move_project(found, undo)
    left = {path.name for path in (client.folder / "projects" / "-code-my-shop").iterdir()}
    assert left == {f"{ONE}.jsonl", "memory"}
    gone = {path.name for path in (client.folder / "projects" / make_slug(NEW)).iterdir()}
    assert gone == {f"{TWO}.jsonl", TWO, "agent-b2.jsonl"}


def test_a_new_path_with_the_same_short_name_keeps_the_folder(client: Client, undo: Undo) -> None:
    path = client.add("/code/my-shop", ONE)
    move_project(client.plan("/code/my-shop", "/code/my_shop"), undo)
    assert client.names == ["-code-my-shop"]
    assert json.loads(path.read_text().splitlines()[0])["cwd"] == "/code/my_shop"


def test_a_folder_with_a_name_of_its_own_keeps_it(client: Client, undo: Undo) -> None:
    path = client.add(OLD, ONE, name="chosen")
    move_project(client.plan(), undo)
    assert client.names == ["chosen"]
    assert json.loads(path.read_text().splitlines()[0])["cwd"] == NEW


def test_very_long_paths_get_the_hashed_name(client: Client, undo: Undo) -> None:
    old, new = "/code/" + "x" * 240, "/code/" + "y" * 240
    client.add(old, ONE)
    client.add(f"{old}/sub", TWO)
    move_project(client.plan(old, new), undo)
    assert client.names == sorted([make_slug(new), make_slug(f"{new}/sub")])


def test_paths_of_windows_follow(client: Client, undo: Undo) -> None:
    client.add("c:\\code\\shop", ONE)
    client.add("C:\\code\\shop\\sub", TWO)
    move_project(client.plan("C:\\code\\shop", "D:\\web"), undo)
    assert client.names == ["D--web", "D--web-sub"]
    assert json.loads(client.read(f"projects/D--web/{ONE}.jsonl").splitlines()[0])["cwd"] == "D:\\web"


def test_a_folder_that_stands_there_is_refused_without_merge(client: Client, undo: Undo) -> None:
    full(client)
    client.add(NEW, THREE)
    before = state_of(client.folder)
    with pytest.raises(UsageError, match="already present; use --merge to move the sessions there"):
        move_project(client.plan(), undo)
    assert state_of(client.folder) == before


def test_sessions_are_merged_into_a_folder_that_stands_there(client: Client, undo: Undo) -> None:
    full(client)
    client.add(NEW, THREE)
    goal = f"projects/{make_slug(NEW)}"
    client.write(f"{goal}/memory/notes.md", "theirs")
    theirs = {"version": 1, "entries": [_build_list_entry(THREE, NEW)], "originalPath": NEW}
    client.write(f"{goal}/sessions-index.json", json.dumps(theirs))
    state = {"projects": {OLD: {"allowedTools": ["a"], "trust": True}, NEW: {"allowedTools": [], "cost": 1}}}
    client.write("../.claude.json", json.dumps(state))
    before = state_of(client.folder.parent)
    record = move_project(client.plan(), undo, merge=True).record
    names = {path.name for path in (client.folder / goal).iterdir()}
    assert names == {f"{ONE}.jsonl", ONE, f"{THREE}.jsonl", "memory", "sessions-index.json", "agent-old.jsonl"}
    assert {path.name for path in (client.folder / goal / "memory").iterdir()} == {"MEMORY.md", "notes.md"}
    entries = json.loads(client.read(f"{goal}/sessions-index.json"))["entries"]
    assert entries == [_build_list_entry(THREE, NEW), {**_build_list_entry(ONE, NEW), "firstPrompt": OLD}]
    assert not (client.folder / "projects" / make_slug(OLD)).exists()
    merged = {"allowedTools": ["a"], "trust": True, "cost": 1}
    assert json.loads(client.read("../.claude.json")) == {"projects": {NEW: merged}}
    assert record is not None
    undo.undo_record(record)
    assert state_of(client.folder.parent) == before


def test_a_session_with_the_same_id_is_not_overwritten(client: Client, undo: Undo) -> None:
    full(client)
    client.add(NEW, ONE)
    before = state_of(client.folder)
    with pytest.raises(TurnlogError, match=rf"{ONE}.jsonl: already present, so nothing was moved"):
        move_project(client.plan(), undo, merge=True)
    assert state_of(client.folder) == before


def test_a_session_that_is_open_is_refused(client: Client, undo: Undo) -> None:
    full(client)
    client.write("sessions/1.json", json.dumps({"pid": os.getpid(), "sessionId": TWO}))
    before = state_of(client.folder)
    with pytest.raises(Busy, match=f"{TWO}: it is open in Claude Code, process {os.getpid()}; end that process first"):
        move_project(client.plan(), undo)
    assert state_of(client.folder) == before


def test_a_session_that_was_written_just_now_is_refused(client: Client, undo: Undo) -> None:
    full(client)
    os.utime(client.folder / "projects" / make_slug(OLD) / f"{ONE}.jsonl")
    with pytest.raises(Busy, match=rf"{ONE}: it was written \d+ s ago"):
        move_project(client.plan(), undo)


def test_a_folder_in_which_nothing_was_written_is_named_with_the_closest(client: Client) -> None:
    full(client)
    with pytest.raises(
        NotFound, match=r"no session was recorded in /code/sho or its subfolders; closest matches: .*/code/shop"
    ):
        client.plan("/code/sho", NEW)


def test_a_new_session_in_the_new_folder_keeps_the_move_from_being_undone_unless_by_force(
    client: Client, undo: Undo
) -> None:
    full(client)
    record = move_project(client.plan(), undo).record
    assert record is not None
    client.add(NEW, THREE)
    with pytest.raises(Changed, match="the contents have changed and would be moved too"):
        undo.undo_record(record)
    assert undo.undo_record(record, force=True).state == STATE_UNDONE
    assert (client.folder / "projects" / make_slug(OLD) / f"{THREE}.jsonl").exists()


def test_a_folder_moved_into_itself_follows_without_nesting_twice(client: Client, undo: Undo) -> None:
    client.add(OLD, ONE)
    move_project(client.plan(OLD, f"{OLD}/inner"), undo)
    assert client.names == [make_slug(f"{OLD}/inner")]
    assert (
        json.loads(client.read(f"projects/{make_slug(OLD)}-inner/{ONE}.jsonl").splitlines()[0])["cwd"] == f"{OLD}/inner"
    )
    assert not list(client.folder.rglob(f"projects/*/{make_slug(OLD)}*"))


@posix
def test_a_link_in_the_folder_goes_along_and_is_not_followed(client: Client, undo: Undo, tmp_path: Path) -> None:
    full(client)
    outside = tmp_path / "outside.jsonl"
    outside.write_text(entry(OLD))
    (client.folder / "projects" / make_slug(OLD) / "link.jsonl").symlink_to(outside)
    move_project(client.plan(), undo)
    assert outside.read_text() == entry(OLD)
    assert (client.folder / "projects" / make_slug(NEW) / "link.jsonl").is_symlink()


def test_hostile_neighbours_do_no_harm(client: Client, undo: Undo) -> None:
    full(client)
    client.write(f"projects/{make_slug(OLD)}/sessions-index.json", "[" * 100_000)
    client.write("../.claude.json", '{"projects": ["' + OLD)
    client.write("history.jsonl", f'{OLD}\n{{"project":["{OLD}"]}}\n\x00\n')
    move_project(client.plan(), undo)
    assert client.read("../.claude.json") == '{"projects": ["' + OLD
    assert client.read("history.jsonl") == f'{OLD}\n{{"project":["{NEW}"]}}\n\x00\n'


@pytest.mark.slow
@posix
def test_killed_amid_a_move_nothing_is_lost(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SWEEP, str(tmp_path)]
    done = subprocess.run(words, cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60


SWEEP = """
import sys
from pathlib import Path
from tests.edit.kill_steps import is_killed_at
from tests.edit.test_move import Client, full, state_of
from turnlog.edit.move.move import move_project
from turnlog.edit.undo.undo import Undo

for step in range(1, 10_000, 9):
    base = Path(sys.argv[1]) / str(step)
    client, undo = Client(base / "home" / ".claude"), Undo(base / "undo")
    full(client)
    before = state_of(client.folder.parent)
    died = is_killed_at(lambda: move_project(client.plan(), undo), step)
    for record in undo.list_records():
        undo.undo_record(record)
    assert state_of(client.folder.parent) == before, step
    if not died:
        break
print(step)
"""
