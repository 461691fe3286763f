"""A package on another machine: everything in its place, nothing overwritten, and the paths are those of there."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given as any_of
from hypothesis import settings
from hypothesis import strategies as st

from tests.edit.furnished_session import MINE, OTHER, conversation, picture
from tests.session.build import SESSION, encode_lines
from turnlog.edit.package.pack import pack_sessions
from turnlog.edit.package.package import find_colliding_name
from turnlog.edit.package.package_reader import Package
from turnlog.edit.package.unpack import UnpackedSession, unpack_package
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.entries.path_escapes import escape_path, is_safe_path, unescape_path
from turnlog.entries.slug import make_slug
from turnlog.errors import Changed, UsageError

OLD = "/home/dana/webshop"


@pytest.fixture
def package(session: Path, tmp_path: Path) -> Path:
    """A package of the furnished session."""
    return pack_sessions([session], tmp_path / "p.tar.zst").path


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """The config folder of another user."""
    return tmp_path / "home" / "erin" / ".claude"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's folder there."""
    folder = tmp_path / "home" / "erin" / "shop"
    folder.mkdir(parents=True)
    return folder


def put(package: Path, there: Path, project: Path, **wish: bool) -> UnpackedSession:
    with Package(package) as opened:
        (done,) = unpack_package(opened, there, project_folders={OLD: project}, **wish)
    return done


def texts(config: Path) -> dict[str, bytes]:
    return {path.relative_to(config).as_posix(): path.read_bytes() for path in config.rglob("*") if path.is_file()}


def test_everything_is_in_its_place_there(package: Path, config: Path, there: Path, project: Path) -> None:
    done = put(package, there, project)
    here, now = texts(config), texts(there)
    folder = f"projects/{make_slug(str(project))}"
    renamed = {name.replace("projects/-home-dana-webshop", folder) for name in here if MINE in name or "beef" in name}
    left = {f"debug/{MINE}.txt", f"session-env/{MINE}/hook.sh", f"strange/{MINE}.json"}
    linked = {f"{folder}/{MINE}/link"}
    plans = {"plans/calm-blue-fox.md", "plans/shared-red-fox.md"}
    assert now.keys() == (renamed - left - linked) | plans | {"history.jsonl"}
    assert done.path == there / folder / f"{MINE}.jsonl"
    assert now[f"{folder}/{MINE}/tool-results/toolu_1.txt"] == b"output " * 1000


def test_the_working_folder_is_translated_in_every_line_and_nothing_else(
    package: Path, session: Path, there: Path, project: Path
) -> None:
    done = put(package, there, project)
    old = [json.loads(line) for line in session.read_bytes().splitlines()]
    new = [json.loads(line) for line in done.path.read_bytes().splitlines()]
    assert [{**row, "cwd": str(project)} for row in old] == new


def test_paths_of_agents_meta_files_history_and_copies_are_translated_and_texts_and_other_homes_stay(
    session: Path, config: Path, there: Path, project: Path, tmp_path: Path
) -> None:
    inside = session.with_suffix("")
    rows = conversation("calm-blue-fox")
    output = inside / "tool-results" / "toolu_1.txt"
    rows.prompt(
        f"look at {OLD}/a.py",
        toolUseResult={"persistedOutputPath": str(output), "filePath": f"{OLD}/a.py"},
        elsewhere="/home/dana/notes.txt",
        settings=str(config / "settings.json"),
    )
    session.write_bytes(encode_lines(rows.lines))
    (inside / "subagents" / "agent-a1b2c3d.jsonl").write_text(json.dumps({"type": "user", "cwd": f"{OLD}/sub"}) + "\n")
    (inside / "subagents" / "agent-a1b2c3d.meta.json").write_text(json.dumps({"worktreePath": f"{OLD}/tree"}))
    with (config / "history.jsonl").open("a") as history:
        history.write(json.dumps({"display": f"in {OLD}", "project": OLD, "sessionId": MINE}) + "\n")
    done = put(pack_sessions([session], tmp_path / "p").path, there, project)
    last = json.loads(done.path.read_bytes().splitlines()[-1])
    folder = done.path.with_suffix("")
    assert last["message"]["content"] == f"look at {OLD}/a.py"
    assert last["toolUseResult"]["filePath"] == f"{project}/a.py"
    assert last["toolUseResult"]["persistedOutputPath"] == str(folder / "tool-results" / "toolu_1.txt")
    assert last["elsewhere"] == "/home/dana/notes.txt"
    assert last["settings"] == str(config / "settings.json")
    assert json.loads((folder / "subagents" / "agent-a1b2c3d.jsonl").read_text())["cwd"] == f"{project}/sub"
    assert json.loads((folder / "subagents" / "agent-a1b2c3d.meta.json").read_text()) == {
        "worktreePath": f"{project}/tree"
    }
    typed = [json.loads(line) for line in (there / "history.jsonl").read_text().splitlines()]
    assert typed[-1] == {"display": f"in {OLD}", "project": str(project), "sessionId": MINE}


def test_without_a_word_the_project_is_the_old_folder_if_it_is_here(there: Path, tmp_path: Path) -> None:
    project = tmp_path / "work"
    project.mkdir()
    rows = conversation("x", "y")
    lines = encode_lines([{**row, "cwd": str(project)} for row in rows.lines])
    session = tmp_path / "claude" / "projects" / make_slug(str(project)) / f"{SESSION}.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(lines)
    path = pack_sessions([session], tmp_path / "p").path
    with Package(path) as package:
        (done,) = unpack_package(package, there)
    assert done.path.read_bytes() == lines
    project.rmdir()
    with Package(path) as package, pytest.raises(UsageError, match="which does not exist here; use --project PATH"):
        unpack_package(package, there, dry_run=True)


def test_a_project_that_is_no_folder_is_refused(package: Path, there: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder; create it first"):
        put(package, there, tmp_path / "typo")
    assert not there.exists()


def test_files_are_as_young_as_their_unpacking(package: Path, there: Path, project: Path) -> None:
    put(package, there, project)
    assert all(time.time() - path.stat().st_mtime < 60 for path in there.rglob("*"))


def test_what_is_here_already_stays_and_its_history_is_not_added_twice(
    package: Path, there: Path, project: Path
) -> None:
    put(package, there, project)
    before = picture(there)
    assert put(package, there, project).is_here
    assert picture(there) == before


def test_a_missing_file_of_a_session_that_is_here_comes_back(package: Path, there: Path, project: Path) -> None:
    done = put(package, there, project)
    lost = done.path.with_suffix("") / "tool-results" / "toolu_1.txt"
    lost.unlink()
    again = put(package, there, project)
    assert [goal.path for goal in again.goals if goal.state == "new"] == [lost]
    assert lost.exists()


def test_another_session_of_the_same_id_is_not_overwritten(package: Path, there: Path, project: Path) -> None:
    done = put(package, there, project)
    done.path.write_bytes(done.path.read_bytes() + b'{"type":"user"}\n')
    before = picture(there)
    with pytest.raises(Changed, match="--new-ids"):
        put(package, there, project)
    assert picture(there) == before


def test_the_same_session_in_another_project_is_refused(
    package: Path, there: Path, project: Path, tmp_path: Path
) -> None:
    put(package, there, project)
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(Changed, match="in a different project"):
        put(package, there, tmp_path / "elsewhere")


def test_another_file_in_a_place_is_not_overwritten(package: Path, there: Path, project: Path) -> None:
    task = there / "tasks" / MINE / "1.json"
    task.parent.mkdir(parents=True)
    task.write_text("mine")
    with pytest.raises(Changed, match=r"1\.json: already present with different content"):
        put(package, there, project)
    assert texts(there) == {f"tasks/{MINE}/1.json": b"mine"}


def test_a_plan_that_is_here_stays(package: Path, there: Path, project: Path) -> None:
    plan = there / "plans" / "calm-blue-fox.md"
    plan.parent.mkdir(parents=True)
    plan.write_text("# newer")
    done = put(package, there, project)
    assert plan.read_text() == "# newer"
    assert [goal.path for goal in done.goals if goal.state == "kept"] == [plan]
    assert done.path.exists()


def test_new_ids_make_it_a_session_of_its_own(package: Path, there: Path, project: Path) -> None:
    old = put(package, there, project)
    before = texts(there)
    new = put(package, there, project, new_ids=True)
    assert new.path != old.path
    added = {name: data for name, data in texts(there).items() if name not in before}
    assert len(added) == len(before) - 3  # two plans and the history are shared
    assert not any(MINE in name or MINE.encode() in data for name, data in added.items())
    assert all(name in before and texts(there)[name] == before[name] for name in before if name != "history.jsonl")
    name = new.arrival.session_id
    assert {json.loads(line)["sessionId"] for line in new.path.read_bytes().splitlines()} == {name}
    assert f"{new.path.relative_to(there).with_suffix('').as_posix()}/subagents/agent-beef.jsonl" in added
    history = [json.loads(line)["sessionId"] for line in (there / "history.jsonl").read_text().splitlines()]
    assert history == [MINE, name]


def test_an_id_that_stands_before_the_entry_that_has_it_becomes_the_same_new_one(
    session: Path, there: Path, project: Path, tmp_path: Path
) -> None:
    late = "abcdef01-2222-4333-8444-555555555555"
    row = {"type": "note", "sessionId": MINE, "mentions": [late, "00000000-1111-4333-8444-555555555555"]}
    session.write_bytes(session.read_bytes() + encode_lines([row]))
    agent = session.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
    agent.write_bytes(encode_lines([{"type": "user", "uuid": late, "sessionId": MINE, "isSidechain": True}]))
    done = put(pack_sessions([session], tmp_path / "p").path, there, project, new_ids=True)
    new = json.loads((done.path.with_suffix("") / "subagents" / agent.name).read_bytes())["uuid"]
    assert new != late
    mentions = json.loads(done.path.read_bytes().splitlines()[-1])["mentions"]
    assert mentions == [new, "00000000-1111-4333-8444-555555555555"]
    assert not list(there.glob(".turnlog*"))


def test_a_large_session_comes_out_as_it_went_in(tmp_path: Path, there: Path) -> None:
    (tmp_path / "work").mkdir()
    rows = [{"type": "user", "cwd": str(tmp_path / "work"), "text": "x" * (1 << number)} for number in range(23)]
    session = tmp_path / "claude" / "projects" / make_slug(str(tmp_path / "work")) / f"{SESSION}.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(encode_lines(rows))
    path = pack_sessions([session], tmp_path / "p").path
    with Package(path) as package:
        (done,) = unpack_package(package, there)
        assert done.path.read_bytes() == session.read_bytes()
        (other,) = unpack_package(package, tmp_path / "x", project_folders={str(tmp_path / "work"): tmp_path})
    found = [json.loads(line) for line in other.path.read_bytes().splitlines()]
    assert found == [{**row, "cwd": str(tmp_path)} for row in rows]


def test_a_dry_run_says_what_would_go_where_and_writes_nothing(package: Path, there: Path, project: Path) -> None:
    done = put(package, there, project, dry_run=True)
    assert {goal.state for goal in done.goals} == {"new"}
    assert not there.exists()


def test_an_unpacked_session_can_be_deleted_again(package: Path, there: Path, project: Path, tmp_path: Path) -> None:
    done = put(package, there, project)
    delete_session(done.path, Trash(tmp_path / "trash"), history=True, force=True)
    assert texts(there) == {"history.jsonl": b""}


def test_history_lines_go_behind_those_that_are_there(package: Path, there: Path, project: Path) -> None:
    there.mkdir(parents=True)
    (there / "history.jsonl").write_bytes(b'{"display":"mine"}')
    put(package, there, project)
    put(package, there, project)
    assert (there / "history.jsonl").read_bytes() == (
        b'{"display":"mine"}\n{"display":"b","sessionId":"%s"}\n' % MINE.encode()
    )


def test_several_sessions_of_several_projects_find_their_folders(
    session: Path, config: Path, there: Path, tmp_path: Path
) -> None:
    rows = conversation("calm-blue-fox")
    other = config / "projects" / "-srv-api" / f"{OTHER}.jsonl"
    other.parent.mkdir()
    other.write_bytes(encode_lines([{**row, "cwd": "/srv/api", "sessionId": OTHER} for row in rows.lines]))
    for name in ("shop", "api"):
        (tmp_path / name).mkdir()
    with Package(pack_sessions([session, other], tmp_path / "p").path) as package:
        given: dict[str | None, Path] = {OLD: tmp_path / "shop", "/srv/api": tmp_path / "api"}
        one, two = unpack_package(package, there, project_folders=given)
    assert one.path.parent.name == make_slug(str(tmp_path / "shop"))
    assert two.path.parent.name == make_slug(str(tmp_path / "api"))
    assert {json.loads(line)["cwd"] for line in two.path.read_bytes().splitlines()} == {str(tmp_path / "api")}


def test_two_files_that_would_come_to_lie_at_one_place_are_refused(
    session: Path, config: Path, there: Path, project: Path, tmp_path: Path
) -> None:
    other = config / "projects" / "-srv-api" / f"{OTHER}.jsonl"
    other.parent.mkdir()
    other.write_bytes(encode_lines([{"type": "user", "cwd": "/srv/api", "sessionId": OTHER}]))
    (other.parent / "agent-beef.jsonl").write_bytes(encode_lines([{"type": "user", "sessionId": OTHER}]))
    told = pytest.raises(Changed, match=r"two of its files would be unpacked to .*agent-beef\.jsonl")
    with Package(pack_sessions([session, other], tmp_path / "p").path) as package, told:
        unpack_package(package, there, project_folders={OLD: project, "/srv/api": project})
    assert not there.exists()


# -- any names, contents and modes

NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]) | st.sampled_from("%ä\n\x1b\udcff\udc80"),
    min_size=1,
    max_size=30,
).filter(lambda name: name not in (".", "..") and len(os.fsencode(name)) < 200)
FILES = st.dictionaries(NAMES, st.tuples(st.binary(max_size=3000), st.sampled_from([0o600, 0o644, 0o755, 0o700])))


@pytest.mark.skipif(os.name == "nt", reason="names and modes of POSIX")
@settings(max_examples=30, deadline=None)
@any_of(files=FILES, lines=st.lists(st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b" ") + b"\n")))
def test_any_files_come_out_as_they_went_in(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, tuple[bytes, int]],
    lines: list[bytes],
) -> None:
    if find_colliding_name(map(escape_path, files)) is not None:
        return
    base = tmp_path_factory.mktemp("trip")
    (base / "work").mkdir()
    session = base / "claude" / "projects" / make_slug(str(base / "work")) / f"{SESSION}.jsonl"
    outputs = session.with_suffix("") / "tool-results"
    outputs.mkdir(parents=True)
    session.write_bytes(json.dumps({"cwd": str(base / "work")}).encode() + b"\n" + b"".join(lines))
    for name, (data, mode) in files.items():
        (outputs / name).write_bytes(data)
        (outputs / name).chmod(mode)
    with Package(pack_sessions([session], base / "p").path) as package:
        (done,) = unpack_package(package, base / "there")
    assert done.path.read_bytes() == session.read_bytes()
    found = done.path.with_suffix("") / "tool-results"
    seen = {path.name: (path.read_bytes(), path.stat().st_mode & 0o777) for path in found.iterdir()} if files else {}
    assert seen == files


@any_of(NAMES)
def test_every_name_of_a_disk_can_be_written_and_read_back(name: str) -> None:
    written = escape_path(name)
    assert unescape_path(written) == name
    written.encode()
    assert is_safe_path(written) or os.name == "nt"
