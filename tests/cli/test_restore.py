"""`turnlog restore`: versions of a file, listed and written to a named place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.session.build import SESSION, Build, find_recording
from tests.session.forms import VERSIONS, files_after, session_file
from tests.session.test_versions import three_turns
from tests.session.touch_calls import config, copy, do, history, snapshot, text


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session that reads /src/a.py in turn 1, edits it in turn 2 and writes it in turn 3."""
    (tmp_path / "sessions").mkdir()
    return three_turns().write(tmp_path / "sessions")


def test_a_version_is_written_to_the_named_place_and_told_where_it_comes_from(
    turnlog: Turnlog, session: Path, tmp_path: Path
) -> None:
    done = turnlog("restore", "a.py", "--at", "2", "--session", session, "-o", tmp_path / "out.py")
    assert (done.status, done.out) == (0, "")
    assert (tmp_path / "out.py").read_bytes() == b"1\n2\n"
    assert "/src/a.py: rebuilt, edited by Edit in turn 2, 4 B." in done.err


@pytest.mark.parametrize(
    ("words", "content"),
    [
        (["--at", "1"], b"one\ntwo\n"),
        (["--before", "2"], b"one\ntwo\n"),
        (["--before", "3"], b"1\n2\n"),
        (["--at", "3"], b"three\n"),
    ],
)
def test_a_version_goes_to_standard_output_as_it_is(
    turnlog: Turnlog, session: Path, words: list[str], content: bytes
) -> None:
    assert turnlog("restore", "/src/a.py", *words, "-s", session, "-o", "-").raw == content


def test_the_versions_are_listed(turnlog: Turnlog, session: Path) -> None:
    done = turnlog("restore", "a.py", "--list", "-s", session)
    assert done.lines[0] == "/src/a.py"
    assert [line.split()[:2] for line in done.lines[2:6]] == [["1", "1"], ["2", "2"], ["3", "2"], ["4", "3"]]
    assert done.lines[-1].startswith("exact: a copy")


def test_the_versions_are_listed_as_json(turnlog: Turnlog, session: Path) -> None:
    document = turnlog("restore", "a.py", "--list", "-s", session, "--json").json
    assert [item["sure"] for item in document["versions"]] == ["text", "rebuilt", "rebuilt", "exact"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--at", "1", "--before", "1", "-o", "-"],
        ["--at", "1", "--list"],
        ["--at", "1"],
        ["--at", "0", "-o", "-"],
        ["--at", "9", "-o", "-"],
    ],
)
def test_words_that_make_no_sense_are_refused(turnlog: Turnlog, session: Path, words: list[str]) -> None:
    done = turnlog("restore", "a.py", "-s", session, *words)
    assert (done.status, done.out) == (2, "")


def test_a_file_that_is_there_is_replaced_only_by_force_and_kept(
    turnlog: Turnlog, session: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a.py"
    place.write_bytes(b"mine")
    words = ["restore", "a.py", "--at", "3", "-s", session, "-o", place]
    refused = turnlog(*words)
    assert (refused.status, place.read_bytes()) == (2, b"mine")
    done = turnlog(*words, "--force")
    assert (done.status, place.read_bytes()) == (0, b"three\n")
    assert (tmp_path / "a.py.before-restore").read_bytes() == b"mine"
    assert "what was there is kept in a.py.before-restore" in done.err


def test_a_folder_is_never_filled_by_names_from_a_transcript(turnlog: Turnlog, session: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = turnlog("restore", "a.py", "--at", "3", "-s", session, "-o", tmp_path / "out")
    assert done.status == 2
    assert list((tmp_path / "out").iterdir()) == []


def partial(folder: Path) -> Path:
    build = Build()
    build.prompt()
    do(build, "Read", {"file_path": "/src/a.py", "offset": 5}, text("five\n", 5, 1, 9))
    return build.write(folder)


def test_some_lines_of_a_file_are_only_written_on_demand(turnlog: Turnlog, tmp_path: Path) -> None:
    path = partial(tmp_path)
    refused = turnlog("restore", "a.py", "--at", "1", "-s", path, "-o", "-")
    assert (refused.status, refused.out) == (2, "")
    assert "partial, shown by Read in turn 1, 5 B, lines 5–6 of 9; use --partial to write it anyway" in refused.err
    assert turnlog("restore", "a.py", "--at", "1", "-s", path, "-o", "-", "--partial").raw == b"five\n"


def test_what_is_not_known_is_told(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    do(build, "Edit", {"file_path": "/src/a.py", "old_string": "x", "new_string": "y"})
    done = turnlog("restore", "a.py", "--at", "1", "-s", build.write(tmp_path), "-o", "-")
    assert done.status == 1
    assert "the content at that time is unknown; --list shows the known versions" in done.err


def test_a_version_that_was_only_seen_later_is_told_as_such(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt("first")
    build.answer("yes")
    build.prompt("second")
    do(build, "Read", {"file_path": "/src/a.py"}, text("one\n"))
    done = turnlog("restore", "a.py", "--at", "1", "-s", build.write(tmp_path), "-o", "-")
    assert done.raw == b"one\n"
    assert "text, shown by Read in turn 2, seen only later" in done.err


def test_a_file_that_was_not_there_cannot_be_restored(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    snapshot(build, build.prompt(), {"/src/a.py": copy(None)})
    path = config(tmp_path, build)
    done = turnlog("restore", "a.py", "--at", "1", "-s", path, "-o", "-")
    assert done.status == 1
    assert "the file did not exist at that time" in done.err
    assert "no file" in turnlog("restore", "a.py", "--list", "-s", path).out


def test_copies_that_are_gone_and_sub_agents_are_in_the_list(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    snapshot(build, build.prompt(), {"/src/a.py": copy("0f@v1")})
    path = config(tmp_path, build)
    agent = Build()
    agent.prompt(isSidechain=True)
    do(agent, "Write", {"file_path": "/src/a.py", "content": "x"})
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a9.jsonl").write_bytes(agent.data())
    out = turnlog("restore", "a.py", "--list", "-s", path).out
    assert "the copy no longer exists" in out
    assert "in sub-agent a9" in out


@pytest.mark.parametrize("version", VERSIONS)
def test_the_copies_of_the_real_client_come_back_byte_for_byte(turnlog: Turnlog, version: str) -> None:
    wanted = files_after(version, 0)[f"/tmp/demo/forms-{version}/forms/crlf.txt"]
    done = turnlog("restore", "crlf.txt", "--before", "1", "-s", session_file(version), "-o", "-")
    assert done.raw == wanted == b"one\r\ntwo\r\nthree\r\n"
    assert "exact, Claude Code's copy: file-history in turn 1" in done.err


# -- which session


def test_without_a_session_the_newest_that_touched_the_file_is_taken(turnlog: Turnlog, machine: Machine) -> None:
    for number, content in (("1", "old\n"), ("2", "new\n")):
        build = Build()
        build.wait(int(number) * 1000)
        build.prompt()
        do(build, "Write", {"file_path": "/src/a.py", "content": content}, call=f"w{number}")
        machine.add(number * 8 + SESSION[8:], build.data())
    done = turnlog("restore", "src/a.py", "--at", "1", "-o", "-")
    assert done.raw == b"new\n"
    assert "Using the newest session that touched this file:" in done.err


def test_a_file_that_no_session_touched_is_told(turnlog: Turnlog, machine: Machine) -> None:
    machine.add(SESSION, three_turns().data())
    done = turnlog("restore", "nothing.py", "--list")
    assert done.status == 1
    assert "no session touched this file" in done.err


def test_the_path_may_be_given_as_seen_from_here(
    turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Build()
    build.prompt()
    for name in ("a.py", "deep/a.py"):
        do(build, "Write", {"file_path": f"{Path(tmp_path).resolve()}/{name}", "content": name})
    monkeypatch.chdir(tmp_path)
    assert turnlog("restore", "a.py", "--at", "1", "-s", build.write(tmp_path), "-o", "-").raw == b"a.py"


def test_several_files_of_a_name_are_listed(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    for name in ("/x/a.py", "/y/a.py"):
        do(build, "Write", {"file_path": name, "content": name})
    done = turnlog("restore", "a.py", "--list", "-s", build.write(tmp_path))
    assert done.status == 2
    assert "/x/a.py, /y/a.py" in done.err


def test_hostile_names_do_not_reach_the_terminal(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    do(build, "Write", {"file_path": "/" + HOSTILE + "/a.py", "content": "x"})
    path = build.write(tmp_path)
    listed = turnlog("restore", "a.py", "--list", "-s", path)
    written = turnlog("restore", "a.py", "--at", "1", "-s", path, "-o", tmp_path / "out")
    assert harmful(listed.out) | harmful(listed.err) | harmful(written.err) == set()


def test_a_session_that_leads_to_places_of_its_own_writes_nowhere_else(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    target = tmp_path / "victim"
    snapshot(build, build.prompt(), {f"../../{target}": copy("../../victim"), str(target): copy(str(target))})
    do(build, "Write", {"file_path": str(target), "content": "evil"})
    path = config(tmp_path / "claude", build)
    history(tmp_path / "claude")
    place = tmp_path / "out"
    assert turnlog("restore", str(target), "--at", "1", "-s", path, "-o", place).status == 0
    assert place.read_bytes() == b"evil"
    assert not target.exists()


def test_a_recorded_session_gives_back_what_it_copied(turnlog: Turnlog) -> None:
    done = turnlog("restore", "NOTES.md", "--at", "1", "-s", find_recording("2.1.325/tui_edge"), "-o", "-")
    assert len(done.raw) == 8
