"""A folder that can't be listed is not a deleted folder: what is known of it stays, and commands say so."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bound import Machine, posix
from tests.store.index_build import LONG_AGO, ONE, SLUG, TWO, build_prompts, main

pytestmark = posix
OTHER = "-home-dana-other"
AGENT = f"projects/{SLUG}/{ONE}/subagents/agent-a.jsonl"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """Two projects that were indexed, and have not changed for long."""
    found = Machine(tmp_path)
    found.write(main(), build_prompts("alpha"))
    found.write(AGENT, build_prompts("gamma"))
    found.write(main(TWO, OTHER), build_prompts("beta"))
    for path in sorted(found.config.rglob("*"), reverse=True):
        os.utime(path, (LONG_AGO, LONG_AGO))
    found.turnlog("index")
    yield found
    for path in [found.config, *found.config.rglob("*")]:  # or nobody can clean up
        path.chmod(0o700)


def texts(machine: Machine, *words: str) -> list[str | None]:
    found = json.loads(machine.turnlog("search", "--json", *words).stdout)
    return [hit["text"] for session in found["sessions"] for hit in session["hits"]]


def counts(machine: Machine) -> tuple[int, int, list[str]]:
    found = json.loads(machine.turnlog("index", "--json").stdout)
    return found["sessions"], found["gone"], found["refreshed"]["unlisted"]


@pytest.mark.parametrize(
    ("folder", "mode"),
    [
        (f"projects/{OTHER}", 0o000),
        (f"projects/{OTHER}", 0o600),
        (f"projects/{OTHER}", 0o300),
        ("projects", 0o000),
        ("projects", 0o300),
        (".", 0o000),
        (f"projects/{SLUG}/{ONE}", 0o000),
        (f"projects/{SLUG}/{ONE}/subagents", 0o200),
    ],
)
def test_what_is_in_a_folder_that_cannot_be_listed_stays_known(machine: Machine, folder: str, mode: int) -> None:
    (machine.config / folder).chmod(mode)
    sessions, gone, _ = counts(machine)
    assert (sessions, gone) == (2, 0)
    (machine.config / folder).chmod(0o700)
    assert counts(machine) == (2, 0, [])
    assert texts(machine, "beta") == ["beta"]
    assert texts(machine, "gamma") == ["gamma"]
    assert machine.turnlog("index", "verify").returncode == 0


def test_what_came_into_such_a_folder_is_found_once_it_can_be_listed(machine: Machine) -> None:
    folder = machine.config / "projects" / OTHER
    machine.write(main("cccccccc-0000-4000-8000-000000000003", OTHER), build_prompts("delta"))
    os.utime(folder, (LONG_AGO, LONG_AGO))  # as a disk that was away: its times tell nothing
    folder.chmod(0)
    assert texts(machine, "delta") == []
    folder.chmod(0o700)
    assert texts(machine, "delta") == ["delta"]


def test_a_session_that_was_deleted_beside_it_is_gone(machine: Machine) -> None:
    (machine.config / "projects" / OTHER).chmod(0)
    (machine.config / main()).unlink()
    assert counts(machine)[:2] == (2, 1)


def test_a_known_file_is_read_on_in_a_folder_that_can_be_entered_and_not_listed(machine: Machine) -> None:
    path = machine.config / main(TWO, OTHER)
    path.write_bytes(path.read_bytes() + build_prompts("epsilon"))
    path.parent.chmod(0o300)
    assert texts(machine, "epsilon") == ["epsilon"]
    path.unlink()
    assert counts(machine)[:2] == (2, 1)


def test_every_command_that_lists_sessions_says_which_folder_it_cannot_list(machine: Machine) -> None:
    folder = machine.config / "projects" / OTHER
    folder.chmod(0)
    for command in (["ls"], ["tree"], ["usage"], ["search", "alpha"], ["index"], ["doctor"]):
        assert f"Can't open {folder}: Permission denied" in machine.turnlog(*command).stderr, command
    assert json.loads(machine.turnlog("ls", "--json").stdout)["unlisted"] == [f"{folder}: Permission denied"]
    assert f"can't list {folder}" in machine.turnlog("show", TWO).stderr


def test_a_machine_whose_sessions_cannot_be_listed_shows_no_demo(machine: Machine) -> None:
    (machine.config / "projects").chmod(0)
    for command in (["ls"], ["tree"], ["usage"]):
        assert "demo" not in machine.turnlog(*command).stderr, command


def test_verify_says_what_it_could_not_compare(machine: Machine) -> None:
    folder = machine.config / "projects" / OTHER
    folder.chmod(0)
    done = machine.turnlog("index", "verify")
    assert done.returncode == 1
    assert f"{folder}: Permission denied; its files were not compared" in done.stdout
    assert "no problems found" not in done.stdout
    found = json.loads(machine.turnlog("index", "verify", "--json").stdout)
    assert found["faults"] == []
    assert found["unlisted"] == [f"{folder}: Permission denied"]


def test_a_rebuild_keeps_the_counts_of_what_cannot_be_read_and_its_texts_come_back(machine: Machine) -> None:
    (machine.config / "projects" / OTHER).chmod(0)
    machine.turnlog("index", "rebuild")
    assert counts(machine)[:2] == (2, 0)
    assert texts(machine, "beta") == []
    (machine.config / "projects" / OTHER).chmod(0o700)
    assert texts(machine, "beta") == ["beta"]
    assert machine.turnlog("index", "verify").returncode == 0


def test_the_archive_does_not_take_it_for_a_deletion(machine: Machine) -> None:
    machine.turnlog("archive", "run")
    agents = (machine.config / AGENT).parent
    path = machine.config / main()
    path.write_bytes(path.read_bytes() + build_prompts("more"))
    (machine.config / "projects" / OTHER).chmod(0)
    agents.chmod(0)
    done = machine.turnlog("archive", "run")
    assert done.returncode == 1
    assert f"{agents}: Permission denied" in done.stderr
    status = json.loads(machine.turnlog("archive", "status", "--json").stdout)
    assert status["gone"] == 0
    assert machine.turnlog("archive", "prune", "--gone", "--max-size", "1B", "--yes").returncode == 0
    agents.chmod(0o700)
    (machine.config / "projects" / OTHER).chmod(0o700)
    assert json.loads(machine.turnlog("archive", "status", "--json").stdout)["sessions"] == 2
    assert json.loads(machine.turnlog("archive", "verify", "--json").stdout)["damaged"] == []


@pytest.mark.parametrize("folder", ["sessions", "blobs"])
def test_an_archive_that_cannot_be_listed_is_not_an_empty_one(machine: Machine, folder: str) -> None:
    machine.turnlog("archive", "run")
    place = machine.data / "archive" / folder
    place.chmod(0o300)
    for command in (["verify"], ["prune", "--keep", "1", "--yes"], ["status"]):
        done = machine.turnlog("archive", *command)
        assert (done.returncode, "can't be listed" in done.stderr) == (1, True), command
    place.chmod(0o700)
    assert machine.turnlog("archive", "verify").returncode == 0


def test_salvage_does_not_offer_sessions_that_may_be_there(machine: Machine) -> None:
    history = {"display": "typed words", "project": "/home/dana/other", "sessionId": TWO, "timestamp": 1}
    machine.write("history.jsonl", json.dumps(history).encode() + b"\n")
    (machine.config / "projects" / OTHER).chmod(0)
    assert TWO[:8] not in machine.turnlog("salvage").stdout


@pytest.mark.parametrize(
    "folder",
    [
        f"projects/{OTHER}",
        f"projects/{SLUG}/{ONE}",
        f"projects/{SLUG}/{ONE}/subagents",
        "file-history",
        "todos",
        "tasks",
    ],
)
def test_one_folder_that_cannot_be_listed_ends_no_look_at_the_others(machine: Machine, folder: str) -> None:
    gone = "dddddddd-0000-4000-8000-000000000004"
    row = {"display": "hi", "project": "/home/dana", "sessionId": gone}
    (machine.config / "history.jsonl").write_text(json.dumps(row) + "\n")
    (machine.config / folder).mkdir(parents=True, exist_ok=True)
    (machine.config / folder).chmod(0)
    report = json.loads(machine.turnlog("doctor", "--all", "--json").stdout)
    assert report["summary"]["sessions"] >= 1
    lost = machine.turnlog("salvage", "--json")
    assert [item["session_id"] for item in json.loads(lost.stdout)["sessions"]] == [gone]
    assert machine.turnlog("doctor", gone[:8]).stdout.startswith(gone)


@pytest.mark.parametrize("folder", ["file-history", f"file-history/{ONE}", "todos", f"projects/{SLUG}/{ONE}/subagents"])
@pytest.mark.parametrize("words", [("delete", "--dry-run", "--force"), ("clone",), ("pack", "-o", "shop.pack")])
def test_what_must_have_all_files_refuses_a_folder_that_cannot_be_listed(
    machine: Machine, folder: str, words: tuple[str, ...]
) -> None:
    """A copy without them, or what they leave behind after a deletion, would be a loss that nobody notices."""
    (machine.config / folder).mkdir(parents=True, exist_ok=True)
    (machine.config / folder).chmod(0)
    done = machine.turnlog(*words, ONE)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
