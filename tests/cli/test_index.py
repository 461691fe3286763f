"""`turnlog index`: what the index holds, made again, checked, tidied."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.conftest import ROOT
from tests.session.build import Build, find_recording
from turnlog.api.index import verify_index
from turnlog.store.file_lock import try_lock_file
from turnlog.store.index.file_changes import find_index_changes
from turnlog.store.index_file_name import build_index_name
from turnlog.store.store import Store

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """turnlog's data folder."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def filled_machine(machine: Machine, home: Path) -> Machine:
    machine.add(ONE, find_recording("2.1.325/tools").read_bytes(), mtime=1_700_000_000)
    machine.add(TWO, build_answered_session(), mtime=1_700_000_000)
    return machine


def build_answered_session(words: str = "hello") -> bytes:
    build = Build()
    build.prompt(words)
    build.answer("there", usage={"input_tokens": 1, "output_tokens": 2})
    return build.data()


def database(home: Path) -> Path:
    """The index: one for each set of config folders."""
    (found,) = home.glob("index*.db")
    return found


def test_the_index_is_brought_up_to_date_and_described(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    done = turnlog("index")
    assert (done.status, done.err) == (0, "")
    assert done.lines[0] == str(database(home))
    assert done.lines[1].startswith("2 sessions in 2 files; ")
    assert "answers" in done.lines[2]
    assert done.lines[3].endswith("on disk")
    assert done.lines[4].startswith("read 2 files, ")
    assert len(turnlog("index").lines) == 4, "nothing was new"


def test_status_reads_nothing_new(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index")
    filled_machine.add("cccccccc-0000-4000-8000-000000000003", build_answered_session())
    assert turnlog("index", "status").lines[1].startswith("2 sessions")
    assert turnlog("index").lines[1].startswith("3 sessions")


def test_status_says_that_nothing_is_in_it_yet(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    assert turnlog("index", "status").lines[-1].startswith("the index is empty; run `turnlog index`")


def test_status_says_how_many_files_are_not_in_it_yet(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    with Store.open(home, name=build_index_name()) as store:
        find_index_changes(store.db, [filled_machine.folder])
    last = turnlog("index", "status").lines[-1]
    assert last.startswith("2 files not indexed yet; run `turnlog index` to read the rest")
    assert turnlog("index", "status", "--json").json["unread"] == 2
    assert turnlog("index", "--json").json["unread"] == 0


def test_deleted_sessions_stay_known(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    before = turnlog("index", "--json").json
    (filled_machine.folder / f"projects/-home-dana/{TWO}.jsonl").unlink()
    after = turnlog("index", "--json").json
    assert after["gone"] == 1
    assert (after["sessions"], after["messages"]) == (before["sessions"], before["messages"])
    assert ", 1 of them deleted since" in turnlog("index").lines[1]


def test_rebuilding_gives_the_same_index(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    before = turnlog("index", "--json").json
    after = turnlog("index", "rebuild", "--json").json
    assert after["refreshed"]["files"] == 2
    for name in ("sessions", "files", "read", "texts", "messages", "calls"):
        assert after[name] == before[name], name


def test_rebuilding_keeps_what_deleted_sessions_have_cost(
    turnlog: Turnlog, filled_machine: Machine, home: Path
) -> None:
    (filled_machine.folder / f"projects/-home-dana/{ONE}.jsonl").unlink()
    turnlog("index")
    (filled_machine.folder / f"projects/-home-dana/{TWO}.jsonl").unlink()
    before = turnlog("usage", "--json").json["total"]
    assert before["output_tokens"] == 2
    turnlog("index", "rebuild")
    assert turnlog("usage", "--json").json["total"] == before


def test_an_index_without_faults_is_said_to_be_so(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index")
    done = turnlog("index", "verify")
    assert (done.status, done.lines) == (0, [f"{database(home)}: no problems found"])
    assert turnlog("index", "verify", "--json").json == {
        "path": str(database(home)),
        "faults": [],
        "unlisted": [],
        "waiting": 0,
        "cut_texts": 0,
    }


def test_faults_are_listed_with_the_remedy(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index")
    filled_machine.add(TWO, build_answered_session("something else, and longer than before"))
    done = turnlog("index", "verify")
    assert done.status == 1
    assert TWO in done.lines[0]
    assert "turnlog index rebuild" in done.lines[-1]
    assert len(turnlog("index", "verify", "--json").json["faults"]) == 1


def test_a_vacuum_keeps_everything(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    before = turnlog("index", "--json").json
    done = turnlog("index", "vacuum")
    assert done.status == 0
    after = turnlog("index", "status", "--json").json
    assert {**after, "size": 0, "refreshed": 0} == {**before, "size": 0, "refreshed": 0}
    assert after["size"] == database(home).stat().st_size
    assert turnlog("index", "verify").status == 0


def test_a_vacuum_gives_back_what_is_not_used(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index")
    with closing(apsw.Connection(str(database(home)))) as db:
        db.execute("CREATE TABLE waste AS SELECT randomblob(1000000)")
        db.execute("DROP TABLE waste")
    before = turnlog("index", "status", "--json").json["size"]
    turnlog("index", "vacuum")
    assert turnlog("index", "status", "--json").json["size"] < before - 900_000


@pytest.mark.parametrize("action", ["rebuild", "vacuum"])
def test_nothing_is_done_while_another_process_is_at_it(
    turnlog: Turnlog, filled_machine: Machine, home: Path, action: str
) -> None:
    turnlog("index")
    with try_lock_file(database(home).with_suffix(".lock")) as is_ours:
        assert is_ours
        done = turnlog("index", action)
        assert done.status == 1
        assert "another turnlog process is updating the index" in done.err
        busy = turnlog("index")
        assert busy.status == 0
        assert "Another turnlog process is updating the index" in busy.err
        assert turnlog("index", "--json").json["refreshed"]["busy"] is True


@pytest.fixture
def torn(turnlog: Turnlog, filled_machine: Machine, home: Path) -> Path:
    """An index of which only the full-text tables are damaged: nothing new to read, nothing noticed."""
    for number in range(3, 40):
        filled_machine.add(
            f"cccccccc-0000-4000-8000-0000000000{number}",
            build_answered_session(f"word{number} common"),
            mtime=1_700_000_000,
        )
    turnlog("index")
    index = database(home)
    with closing(apsw.Connection(str(index))) as db:
        db.pragma("wal_checkpoint(truncate)")
        for table in ("said", "done"):
            db.execute(f"UPDATE {table}_data SET block = zeroblob(length(block)) WHERE id > 10")
    return index


def test_what_is_damaged_inside_is_told_by_verify(turnlog: Turnlog, torn: Path) -> None:
    done = turnlog("index", "verify")
    assert (done.status, done.err) == (1, "")
    assert any(line.startswith("the full-text table `said` is damaged: ") for line in done.lines)
    assert done.lines[-1] == "Run `turnlog index rebuild` to rebuild it."


def test_verify_reports_its_progress(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index")
    seen: list[tuple[int, int]] = []
    assert verify_index(progress=lambda done, total: seen.append((done, total))).faults == []
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_a_rebuild_mends_what_is_damaged_inside(turnlog: Turnlog, torn: Path) -> None:
    assert turnlog("index", "rebuild").status == 0
    assert turnlog("index", "verify").status == 0
    assert len(turnlog("search", "common", "--json").json["sessions"]) == 20


def test_damage_that_shows_in_an_answer_is_told_and_mended(turnlog: Turnlog, torn: Path) -> None:
    done = turnlog("search", "common")
    assert done.status == 1
    assert "it will be rebuilt" in done.err
    assert done.err.endswith("turnlog: the index was damaged and will be rebuilt; run the command again\n")
    assert len(turnlog("search", "common", "--json").json["sessions"]) == 20
    assert turnlog("index", "verify").status == 0


def test_verify_tells_of_pages_that_are_no_pages(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index")
    index = database(home)
    data = index.read_bytes()
    sound = len(data) * 3 // 4  # the schema, without which nothing opens, is at the front
    index.write_bytes(data[:sound] + b"\xff" * (len(data) - sound))
    done = turnlog("index", "verify")
    assert (done.status, done.err) == (1, "")
    assert any(line.startswith("the file is damaged: ") for line in done.lines)
    assert turnlog("index", "rebuild").status == 0
    assert turnlog("index", "verify").status == 0


def test_a_damaged_index_is_made_again_and_told(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    before = turnlog("index", "--json").json
    database(home).write_bytes(b"no index at all" * 1000)
    done = turnlog("index", "--json")
    assert done.status == 0
    assert "is damaged" in done.err
    assert done.json["texts"] == before["texts"]


def test_on_a_machine_without_sessions_it_is_that_of_the_demo(turnlog: Turnlog, machine: Machine, home: Path) -> None:
    done = turnlog("index")
    assert done.status == 0
    assert "demo" in done.err
    assert int(done.lines[1].split()[0]) > 0


def test_an_unknown_action_is_a_usage_error(turnlog: Turnlog) -> None:
    assert turnlog("index", "polish").status == 2


def test_the_client_s_folder_stays_as_it_was(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in filled_machine.folder.rglob("*")}
    for action in ((), ("status",), ("rebuild",), ("verify",), ("vacuum",)):
        turnlog("index", *action)
    assert {path: path.stat().st_mtime_ns for path in filled_machine.folder.rglob("*")} == before


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_a_long_work_shows_a_bar_on_a_terminal(filled_machine: Machine, home: Path) -> None:
    code = (
        "from turnlog.cli import progress; progress.SILENT_SECONDS = progress.REFRESH_SECONDS = -1\n"
        "progress.ProgressLine.start_thread = lambda self: None\n"
        "import sys; from turnlog.cli.program import run_program; sys.exit(run_program(['index']))"
    )
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=theirs, timeout=60)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "Indexing [" in shown
    assert "Ctrl-C stops here" in shown
    assert shown.endswith("\r\x1b[2K"), "it is wiped away at the end"
