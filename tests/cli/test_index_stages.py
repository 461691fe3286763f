"""After a large change, commands answer from what was said, and a background process reads the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import Build, find_recording
from turnlog.store.file_lock import try_lock_file
from turnlog.store.filler import stop_filler
from turnlog.store.index import refresh, shard_workers
from turnlog.store.index.coverage import needs_filling
from turnlog.store.index.fill_lock import is_filler_running
from turnlog.store.store import Store

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """turnlog's data folder, in which no process works any more when the test ends; every change is a large one."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", 0)
    yield tmp_path / "data"
    for index in (tmp_path / "data").glob("index*.db"):
        assert stop_filler(index)


@pytest.fixture
def filled_machine(machine: Machine, home: Path) -> Machine:
    build = Build()
    build.prompt("please find the teapot")
    build.call("call9", "Bash", {"command": "grep kettle"})
    build.result("call9", "a samovar")
    build.answer("found the teacup", usage={"input_tokens": 7, "output_tokens": 9})
    machine.add(ONE, find_recording("2.1.325/tools").read_bytes(), mtime=1_700_000_000)
    machine.add(TWO, build.data(), mtime=1_700_000_000)
    return machine


def wait_for_filler(home: Path) -> None:
    """Wait until a background process has read everything and ended."""
    until = time.monotonic() + 120
    while True:
        for index in home.glob("index*.db"):
            with Store.open(home, name=index.name) as store:
                known = store.db.execute("SELECT count(*) FROM file WHERE head_hash != ''").get
                if known == 2 and not needs_filling(store.db) and not is_filler_running(store.lock):
                    return
        assert time.monotonic() < until, "nobody read the rest within two minutes"
        time.sleep(0.05)


def test_the_first_usage_does_not_wait_for_the_index(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    first = turnlog("usage", "--json")
    assert first.status == 0
    assert "The index is being built in the background" in first.err
    wait_for_filler(home)
    later = turnlog("usage", "--json")
    assert later.err == ""
    assert [row | {"estimated_further_output_tokens": 0} for row in later.json["rows"]] == [
        row | {"estimated_further_output_tokens": 0} for row in first.json["rows"]
    ]
    status = turnlog("index", "status", "--json").json
    assert (status["share"], status["filling"], status["paused"], status["unread"]) == (1, False, None, 0)


def test_usage_is_exact_while_another_process_reads_the_files_for_the_first_time(
    turnlog: Turnlog, filled_machine: Machine, home: Path
) -> None:
    turnlog("index", "status")  # creates an empty index
    lock = next(home.glob("index*.db")).with_suffix(".lock")
    with try_lock_file(lock):
        first = turnlog("usage", "--json")
    assert "The index is being built in the background" in first.err
    assert "only what it has read so far" not in first.err
    turnlog("index", "--wait")
    assert [row["output_tokens"] for row in turnlog("usage", "--json").json["rows"]] == [
        row["output_tokens"] for row in first.json["rows"]
    ]


def test_usage_reports_an_index_of_another_version_whose_background_process_still_runs(
    turnlog: Turnlog, filled_machine: Machine, home: Path
) -> None:
    turnlog("index", "--wait")
    wait_for_filler(home)
    index = next(home.glob("index*.db"))
    with closing(apsw.Connection(str(index))) as db:
        db.pragma("user_version", 1)
    with try_lock_file(index.with_suffix(".filler")):
        found = turnlog("usage", "--json")
    assert "was written by a different version of turnlog; it will be rebuilt" in found.err
    assert found.json["sessions"] == 2


def test_usage_waits_for_a_process_that_has_nearly_read_all_files_for_the_first_time(
    turnlog: Turnlog, filled_machine: Machine, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
    turnlog("index", "status")
    with ExitStack() as stack:
        stack.enter_context(try_lock_file(next(home.glob("index*.db")).with_suffix(".lock")))
        ends = threading.Timer(0.5, stack.close)
        ends.start()
        found = turnlog("usage", "--json")
        ends.join()
    assert found.err == ""
    assert found.json["sessions"] == 2


def test_a_search_says_what_it_covers(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index", "stop")
    found = turnlog("search", "teacup")
    assert found.status == 0
    assert "other texts: 0 %, newest first" in found.err
    done = turnlog("search", "samovar", "--json").json
    assert (done["sessions"], done["searched"]["share"], done["searched"]["complete"]) == ([], 0, False)
    turnlog("index", "--wait")
    done = turnlog("search", "samovar", "--json").json
    assert (len(done["sessions"]), done["searched"]["share"], done["searched"]["complete"]) == (1, 1, True)


def test_a_search_lets_the_rest_be_read(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("search", "teacup")
    wait_for_filler(home)
    assert len(turnlog("search", "samovar", "--json").json["sessions"]) == 1


def test_it_can_be_stopped_and_goes_on_with_the_next_update(
    turnlog: Turnlog, filled_machine: Machine, home: Path
) -> None:
    stopped = turnlog("index", "stop", "--json").json
    assert stopped["paused"] == "stopped by `turnlog index stop`"
    turnlog("search", "teacup")
    status = turnlog("index", "status")
    assert "other texts: 0 %, newest first; stopped by `turnlog index stop`; run `turnlog index`" in status.out
    going = turnlog("index", "--json").json
    assert (going["share"], going["filling"], going["paused"]) == (0, True, None)
    wait_for_filler(home)


def test_commands_that_count_calls_read_everything_first(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index", "stop")
    turnlog("search", "teacup")
    rows = turnlog("usage", "tool", "--json").json["rows"]
    assert sum(row["calls"] for row in rows) > 1
    assert turnlog("index", "status", "--json").json["share"] == 1


def test_a_filtered_scan_reads_everything_first(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index", "stop")
    found = turnlog("search", "--substring", "samovar", "kind:result", "--json").json
    assert [session["session_id"] for session in found["sessions"]] == [TWO]


def test_a_search_for_a_tool_reads_everything_first(turnlog: Turnlog, filled_machine: Machine, home: Path) -> None:
    turnlog("index", "stop")
    found = turnlog("search", "tool:Bash samovar", "--json").json
    assert [session["session_id"] for session in found["sessions"]] == [TWO]


def test_a_setting_turns_it_off(
    turnlog: Turnlog, filled_machine: Machine, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("index_in_background = false\n")
    monkeypatch.setenv("TURNLOG_CONFIG", str(tmp_path / "config.toml"))
    assert turnlog("usage").err == ""
    assert len(turnlog("search", "samovar", "--json").json["sessions"]) == 1
    assert turnlog("index", "--json").json["share"] == 1
    (index,) = home.glob("index*.db")
    with Store.open(home, name=index.name) as store:
        assert not is_filler_running(store.lock)


def test_wait_belongs_to_an_update(turnlog: Turnlog, filled_machine: Machine) -> None:
    done = turnlog("index", "status", "--wait")
    assert done.status == 2
    assert "--wait" in done.err


@pytest.fixture
def sharded_machine(turnlog: Turnlog, filled_machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose index has shards."""
    monkeypatch.setattr(shard_workers, "MIN_SHARD_BYTES", 0)
    assert turnlog("index", "--wait").status == 0
    return filled_machine


def find_shard(home: Path) -> Path:
    return min(home.glob("index*.shard[0-9]"))


def test_verify_reports_a_shard_that_can_not_be_opened(turnlog: Turnlog, sharded_machine: Machine, home: Path) -> None:
    shard = find_shard(home)
    shard.unlink()
    done = turnlog("index", "verify")
    assert done.status == 1
    assert f"{shard.name}: missing or damaged; this part of the index will be rebuilt" in done.err
    assert done.lines == ["shard 1: missing or damaged", "Run `turnlog index --wait` to rebuild these parts."]
    assert turnlog("index", "--wait").status == 0
    done = turnlog("index", "verify")
    assert (done.status, done.err) == (0, "")


def test_verify_reports_an_index_that_can_not_be_opened(turnlog: Turnlog, sharded_machine: Machine, home: Path) -> None:
    (index,) = home.glob("index*.db")
    index.write_bytes(b"no database" * 1000)
    done = turnlog("index", "verify")
    assert done.status == 1
    assert done.lines[0] == "the index was damaged and has been moved aside: file is not a database"
    assert done.lines[-1] == "Run `turnlog index --wait` to rebuild these parts."
    assert turnlog("index", "--wait").status == 0
    assert turnlog("index", "verify").status == 0


def test_damage_to_a_shard_that_shows_in_an_answer_costs_that_shard_alone(
    turnlog: Turnlog, sharded_machine: Machine, home: Path
) -> None:
    (index,) = home.glob("index*.db")
    before, inode = turnlog("tools", "--json").json, index.stat().st_ino
    shard = find_shard(home)
    with closing(apsw.Connection(str(shard))) as db:
        db.pragma("wal_checkpoint(truncate)")
        root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'call'").get
    with shard.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(bytes(range(256)) * 16)
    done = turnlog("tools")
    assert done.status == 1
    assert done.err.endswith("turnlog: a part of the index was damaged and will be rebuilt; run the command again\n")
    assert turnlog("tools", "--json").json == before
    assert index.stat().st_ino == inode
