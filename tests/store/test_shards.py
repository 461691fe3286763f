"""The rest of large changes is in shards, each filled by a process; losing one costs its part alone."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import pytest

from tests.conftest import ROOT
from tests.session.build import Build
from tests.store.findable import read
from tests.store.index_build import ONE, SLUG, TWO, Desk, Rows, content, humps, main, recorded_lines
from turnlog.store.fill_process import run_filler
from turnlog.store.index import refresh, shard_workers
from turnlog.store.index.coverage import needs_filling, needs_identifiers, read_coverage
from turnlog.store.index.refresh import fill_index, find_left_identifiers, ignore_progress
from turnlog.store.index.shard_repair import reconcile_shards
from turnlog.store.index.shard_writer import fill_shard
from turnlog.store.index.shards import attach_shards, get_shard_path, list_attached_shards, read_shard_numbers
from turnlog.store.index.upkeep import empty_index, is_shard_fault, list_index_faults, tidy_index
from turnlog.store.index_file_name import DEFAULT_INDEX_NAME
from turnlog.store.insight.tool_tallies import tally_tool_calls
from turnlog.store.search.facet_counts import FacetCounter
from turnlog.store.search.match_expression import plan_search
from turnlog.store.search.query import parse_query
from turnlog.store.search.search import SearchOptions, search_index
from turnlog.store.store import Store

INDEX_STEM = DEFAULT_INDEX_NAME.removesuffix(".db")

posix = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL and /proc")
LONG = "dddddddd-0000-4000-8000-000000000004"


@pytest.fixture(autouse=True)
def treat_all_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every change as a large one, for three shards that this process fills."""
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", -1)
    monkeypatch.setattr(shard_workers, "MIN_SHARD_BYTES", -1)
    monkeypatch.setattr(shard_workers, "count_shard_workers", lambda: 3)


@pytest.fixture
def many(desk: Desk) -> Desk:
    """A machine with a few sessions."""
    lines = recorded_lines()
    for number, name in enumerate((ONE, TWO)):
        desk.write(main(name), b"".join(lines[number * 150 : number * 150 + 150]))
    desk.write(main(LONG), build_calls(1, 40).data())
    desk.write(f"projects/{SLUG}/{ONE}/tool-results/call1.txt", b"a large result about saucers\nwithout an end")
    desk.settle()
    return desk


def build_calls(first: int, count: int, *, has_last_result: bool = True) -> Build:
    build = Build()
    build.prompt("please find the teapot")
    for number in range(first, first + count):
        build.call(f"call{number}", "Bash", {"command": f"grep kettle{number}"})
        if has_last_result or number < first + count - 1:
            build.result(f"call{number}", f"a samovar{number}")
    return build


@pytest.fixture
def store(many: Desk) -> Iterator[Store]:
    """A complete index with three shards."""
    many.refresh()
    with many.open() as store:
        assert len(list_attached_shards(store.db)) == 3
        yield store


def assert_whole(desk: Desk, folder: Path) -> None:
    """The index equals one that is built at once, without shards."""
    with desk.open() as store, pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
        assert read_coverage(store.db).left == 0
        assert list(list_index_faults(store.db)) == []
        assert content(store.db) == desk.scratch(folder)


def count_hits(store: Store, word: str) -> int:
    plan = plan_search(store.db, parse_query(word))
    return search_index(store.db, plan, SearchOptions(), read).total


def test_all_shards_together_hold_what_an_index_without_them_holds(store: Store, many: Desk, tmp_path: Path) -> None:
    filled = [store.db.execute(f"SELECT count(*) FROM shard{number}.text").get for number in (1, 2, 3)]
    assert all(filled), "a shard has no text"
    assert_whole(many, tmp_path / "scratch")


def test_a_search_finds_what_is_in_any_shard(store: Store) -> None:
    assert [count_hits(store, word) for word in ("kettle1", "samovar40", "saucers", "kettle77")] == [1, 1, 1, 0]


def test_counts_for_filters_are_sums_over_all_shards(store: Store, many: Desk, tmp_path: Path) -> None:
    with Store.open(tmp_path / "whole") as whole, pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
        whole.refresh([many.config])
        for query in ("the", "kettle1 OR teapot", "tool:Bash"):
            counts = [
                FacetCounter(db, 60).count_facets(plan_search(db, parse_query(query))) for db in (store.db, whole.db)
            ]
            ours, theirs = (item._replace(sessions=sorted(item.sessions.values())) for item in counts)  # type: ignore[arg-type]
            assert ours == theirs, query
        assert tally_tool_calls(store.db) == tally_tool_calls(whole.db)


def test_a_result_that_comes_later_completes_its_call(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = build_calls(1, 3, has_last_result=False)
    desk.write(main(), build.data())
    desk.refresh()
    before = len(build.data())
    build.result("call3", "the last samovar", error=True)
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
    desk.append(main(), build.data()[before:])
    desk.refresh()
    with desk.open() as store:
        assert store.db.execute("SELECT count(*) FROM main.call").get == 1
        assert store.db.execute("SELECT tool IS NOT NULL, failed FROM call WHERE id = 'call3'").fetchall() == [(1, 1)]
    assert_whole(desk, tmp_path / "scratch")


def test_a_file_that_is_replaced_leaves_its_shard(store: Store, many: Desk, tmp_path: Path) -> None:
    many.write(main(LONG), build_calls(50, 5).data())
    many.refresh()
    assert [count_hits(store, word) for word in ("kettle1", "kettle50")] == [0, 1]
    assert_whole(many, tmp_path / "scratch")


def test_a_connection_notices_shards_that_come_and_go(many: Desk, tmp_path: Path) -> None:
    with many.open() as reader:
        assert list_attached_shards(reader.db) == []
        many.refresh()
        reader.update_shards()
        assert list_attached_shards(reader.db) == [1, 2, 3]
        with many.open() as store:
            empty_index(store.db, [many.config])
        reader.update_shards()
        assert list_attached_shards(reader.db) == []
        assert not list(many.data.glob("*.shard*"))
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_compacting_keeps_everything(store: Store, many: Desk, tmp_path: Path) -> None:
    tidy_index(store.db)
    assert_whole(many, tmp_path / "scratch")


def test_the_size_is_that_of_all_files(store: Store, many: Desk) -> None:
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    files = [
        many.data / DEFAULT_INDEX_NAME,
        *(get_shard_path(many.data / DEFAULT_INDEX_NAME, number) for number in (1, 2, 3)),
    ]
    assert store.status().size == sum(file.stat().st_size for file in files)


def read_everything(db: apsw.Connection) -> None:
    db.execute("SELECT sum(length(call.id)), sum(offset) FROM call JOIN text USING (file)").fetchall()
    db.execute("SELECT * FROM shard2.done WHERE done MATCH 'the OR a OR in'").fetchall()


def remove_shard(path: Path) -> None:
    path.unlink()


def cut_shard(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite_shard(path: Path) -> None:
    path.write_bytes(b"no database at all" * 500)


def blank_pages(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(path.stat().st_size - 8192))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def block_log(path: Path) -> None:
    path.with_name(f"{path.name}-shm").mkdir()


@pytest.mark.parametrize(
    "damage", [remove_shard, cut_shard, overwrite_shard, blank_pages, replace_by_folder, block_log]
)
def test_a_damaged_shard_is_put_aside_and_filled_again(
    many: Desk, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    many.refresh()
    with many.open() as store:
        store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        spent = content(store.db).spend
    path = get_shard_path(many.data / DEFAULT_INDEX_NAME, 2)
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    damage(path)
    told: list[str] = []
    with many.open(told.append) as store:
        if list_attached_shards(store.db) == [1, 2, 3]:  # opening did not touch the damage
            with pytest.raises(apsw.Error) as caught:
                read_everything(store.db)
            assert store.shows_damage(caught.value)
            store.discard_damage(caught.value)
        assert list_attached_shards(store.db) == [1, 3]
        assert [line for line in told if f"{INDEX_STEM}.shard2: missing or damaged" in line]
        assert content(store.db).spend == spent
        assert needs_filling(store.db)
        assert store.db.execute("SELECT count(*) FROM shard1.text").get
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


@contextmanager
def drop_privileges() -> Iterator[None]:
    """Let root be an ordinary user for a while."""
    before = os.geteuid()
    os.seteuid(before or 65534)
    try:
        yield
    finally:
        os.seteuid(before)


@posix
@pytest.mark.parametrize("mode", [0, 0o400])
def test_a_shard_that_may_not_be_written_stays_where_it_is(many: Desk, mode: int) -> None:
    many.refresh()
    with TemporaryDirectory() as place:
        folder = Path(shutil.copytree(many.data, Path(place) / "data"))
        if os.geteuid() == 0:
            for path in (Path(place), folder, *folder.iterdir()):
                os.chown(path, 65534, 65534)
        shard = get_shard_path(folder / DEFAULT_INDEX_NAME, 2)
        with Store.open(folder) as store, drop_privileges():
            assert store.shows_damage(apsw.ReadOnlyError("the header is damaged"))
            shard.chmod(mode)
            assert not store.shows_damage(apsw.ReadOnlyError("a permission is missing"))
        with (
            closing(apsw.Connection(str(folder / DEFAULT_INDEX_NAME))) as db,
            drop_privileges(),
            pytest.raises((apsw.ReadOnlyError, apsw.CantOpenError), match=rf"{INDEX_STEM}\.shard2"),
        ):
            attach_shards(db)
        assert shard.exists()


def test_verifying_names_the_shard_that_is_damaged(store: Store) -> None:
    store.db.execute("UPDATE shard1.done_data SET block = zeroblob(length(block)) WHERE id > 10")
    assert any(fault.startswith("shard 1:") and "damaged" in fault for fault in list_index_faults(store.db))


def test_a_shard_that_is_found_to_be_damaged_is_filled_again_alone(store: Store, many: Desk, tmp_path: Path) -> None:
    assert not store.give_up_damaged_shards()
    store.db.execute("UPDATE shard1.done_data SET block = zeroblob(length(block)) WHERE id > 10")
    faults = list(list_index_faults(store.db))
    assert faults
    assert all(map(is_shard_fault, faults))
    assert store.give_up_damaged_shards()
    assert list_attached_shards(store.db) == [2, 3]
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_faults_of_the_index_itself_are_not_those_of_a_shard(store: Store) -> None:
    store.db.execute("UPDATE main.said_data SET block = zeroblob(length(block)) WHERE id > 10")
    assert not any(map(is_shard_fault, list_index_faults(store.db)))


def test_text_that_can_not_be_decoded_is_damage(store: Store, many: Desk) -> None:
    name: str = store.db.execute("SELECT max(name) FROM shard2.identifier").get
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    store.close()
    path = get_shard_path(many.data / DEFAULT_INDEX_NAME, 2)
    path.write_bytes(path.read_bytes().replace(name.encode(), b"\xff" + name.encode()[1:], 1))
    with many.open() as again:
        # The name is in the table and in its index.
        names = "SELECT name FROM shard2.identifier ORDER BY"
        with pytest.raises(UnicodeDecodeError) as caught:
            again.db.execute(f"{names} id; {names} name").fetchall()
        assert again.shows_damage(caught.value)
        again.discard_damage(caught.value)
        assert list_attached_shards(again.db) == [1, 3]
        assert not again.shows_damage(caught.value)


def test_a_damaged_part_of_a_file_that_goes_on_in_the_index_is_read_again(
    store: Store, many: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh, "MAX_WHOLE_BYTES", 1 << 30)
    many.append(main(LONG), build_calls(70, 2).data())
    many.refresh()
    number = store.db.execute("SELECT shard FROM file WHERE path GLOB ?", (f"*{LONG}*",)).get
    store.close()
    get_shard_path(many.data / DEFAULT_INDEX_NAME, number).unlink()
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_an_index_of_another_version_takes_its_shards_along(many: Desk, tmp_path: Path) -> None:
    many.refresh()
    with many.open() as store:
        store.db.pragma("user_version", 3)
    many.refresh()
    assert sorted(path.name for path in many.data.glob("*.old")) == [
        f"{DEFAULT_INDEX_NAME}.old",
        *(f"{INDEX_STEM}.shard{number}.old" for number in (1, 2, 3)),
    ]
    assert_whole(many, tmp_path / "scratch")


def test_rows_of_a_shard_that_the_index_has_forgotten_are_deleted(store: Store, many: Desk, tmp_path: Path) -> None:
    """As after a power cut, when the index remembers that a file was replaced and its shard does not."""
    store.db.execute("UPDATE main.file SET generation = generation + 1, filled = 0")
    reconcile_shards(store.db)
    for number in (1, 2, 3):
        for table in ("fill", "text", "call", "done"):
            assert store.db.execute(f"SELECT count(*) FROM shard{number}.{table}").get == 0
    fill_index(store.db, ignore_progress)
    assert_whole(many, tmp_path / "scratch")


def test_what_a_shard_has_lost_is_read_again(store: Store, many: Desk, tmp_path: Path) -> None:
    """As after a power cut, when the index remembers more than its shard."""
    for number in (1, 2, 3):
        for table in ("fill", "text", "call", "fact"):
            store.db.execute(f"DELETE FROM shard{number}.{table}")
        store.db.execute(f"INSERT INTO shard{number}.done (done) VALUES ('delete-all')")
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_a_filler_fills_shards_too(many: Desk, tmp_path: Path) -> None:
    many.data.mkdir()
    run_filler(many.data / DEFAULT_INDEX_NAME, [many.config])
    with many.open() as store:
        assert len(read_shard_numbers(store.db)) == 3
    assert_whole(many, tmp_path / "scratch")


def test_processes_fill_shards_at_the_same_time(many: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_workers, "MIN_PROCESS_BYTES", -1)
    many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_shards_are_filled_where_no_process_can_be_started(
    many: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_workers, "MIN_PROCESS_BYTES", -1)
    with monkeypatch.context() as here:
        here.setattr(sys, "executable", str(tmp_path / "nothing"))
        many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_processes_give_way_and_go_on(many: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_workers, "MIN_PROCESS_BYTES", -1)
    asked = iter(range(1000))
    with many.open() as store:
        store.refresh([many.config], is_whole=False)
        fill_index(store.db, ignore_progress, lambda: next(asked) >= 3)
        many.refresh()
    assert_whole(many, tmp_path / "scratch")


def test_new_names_get_the_same_number_in_all_processes(store: Store) -> None:
    names = store.db.execute("SELECT kind, text FROM name").fetchall()
    assert len(names) == len(set(names))
    assert ("tool", "Bash") in names


def count_identifiers(store: Store) -> int:
    return sum(int(store.db.execute(f"SELECT count(*) FROM shard{number}.identifier").get) for number in (1, 2, 3))


def test_identifiers_can_be_left_to_a_later_run(many: Desk, tmp_path: Path) -> None:
    build = Build()
    build.call("c1", "Bash", {"command": "run getUserName"})
    build.result("c1", "no such thing as parseTeapotHeader")
    many.write(main(), build.data())
    with many.open() as store:
        store.refresh([many.config], leaves_identifiers=True)
        assert not needs_filling(store.db)
        assert needs_identifiers(store.db)
        assert count_identifiers(store) == 0
        assert count_hits(store, "parseTeapotHeader") == 1
        assert count_hits(store, "header") == 0
        asked = iter(range(1000))
        find_left_identifiers(store.db, lambda: next(asked) >= 2)
        assert needs_identifiers(store.db)
        find_left_identifiers(store.db)
        assert not needs_identifiers(store.db)
        assert count_hits(store, "header") == 1
    assert_whole(many, tmp_path / "scratch")
    assert humps(many.data) >= humps(tmp_path / "scratch")


def test_a_filler_finds_the_identifiers_last(many: Desk, tmp_path: Path) -> None:
    many.data.mkdir()
    run_filler(many.data / DEFAULT_INDEX_NAME, [many.config])
    with many.open() as store:
        assert not needs_identifiers(store.db)
    assert_whole(many, tmp_path / "scratch")
    assert humps(many.data) >= humps(tmp_path / "scratch")


def test_identifiers_of_a_file_that_is_gone_are_not_waited_for(many: Desk) -> None:
    with many.open() as store:
        store.refresh([many.config], leaves_identifiers=True)
        (many.config / main(TWO)).unlink()
        find_left_identifiers(store.db)
        assert not needs_identifiers(store.db)


_ORPHAN = """
import sys
from pathlib import Path
from turnlog.store.index.shard_workers import _ShardProcess

process = _ShardProcess(Path(sys.argv[1]), 1)
print(process._process.pid, flush=True)
sys.stdin.read()
"""


@posix
def test_a_process_ends_when_its_parent_dies(store: Store, many: Desk) -> None:
    """It waits for the shard, which this process keeps locked, and writes nothing afterwards."""
    store.db.execute("UPDATE main.file SET filled = 0 WHERE shard = 1")
    with closing(apsw.Connection(str(get_shard_path(store.path, 1)))) as other:
        other.execute("DELETE FROM fill; DELETE FROM text; DELETE FROM call")
        other.execute("INSERT INTO done (done) VALUES ('delete-all')")
        other.execute("BEGIN IMMEDIATE")
        words = [sys.executable, "-c", _ORPHAN, str(store.path)]
        with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout
            pid = int(parent.stdout.readline())
            parent.kill()
        other.execute("COMMIT")
    wait_until(lambda: not is_alive(pid))
    assert store.db.execute("SELECT count(*) FROM shard1.text").get == 0


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < until, "it did not happen within two minutes"
        time.sleep(0.01)


@posix
def test_what_a_killed_process_left_is_read_by_another(
    many: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_workers, "MIN_PROCESS_BYTES", -1)
    with many.open() as store:
        store.refresh([many.config], is_whole=False)
        ended = threading.Event()
        killer = threading.Thread(target=kill_children, args=(ended, random.Random(5), 2))
        killer.start()
        try:
            assert fill_index(store.db, ignore_progress) == 0
        finally:
            ended.set()
            killer.join()
    assert_whole(many, tmp_path / "scratch")


def kill_children(ended: threading.Event, chance: random.Random, most: int) -> None:
    """Kill processes that this one started, until `ended` is set."""
    killed = 0
    while not ended.is_set() and killed < most:
        ended.wait(chance.uniform(0, 0.2))
        for pid in list_children(os.getpid()):
            if b"shard_process" in read_command(pid):
                os.kill(pid, signal.SIGKILL)
                killed += 1
                break


def list_children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def read_command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_shard_without_work_is_left_as_it_is(store: Store) -> None:
    before: Rows = content(store.db).spend
    done: list[int] = []
    fill_shard(store.path, 1, done.append)
    assert done == []
    assert content(store.db).spend == before
