"""Many readers and one writer: nobody fails, and every answer is one that was right at some moment."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.session.build import Build
from tests.store.index_build import ONE, TWO, Desk, build_prompts, main
from turnlog.store.file_lock import try_lock_file

pytestmark = pytest.mark.slow

PROCESSES, THREADS, ROUNDS = 10, 20, 25
READER = """
import sys, threading
from pathlib import Path
from turnlog.store.store import Store

def read(store, wrong):
    try:
        before = (0, 0, 0)
        while not (data / "stop").exists():
            with store.db:
                answers = store.db.execute("SELECT count(*), coalesce(sum(output), 0) FROM answer").get
                spend = store.db.execute("SELECT coalesce(sum(messages), 0), coalesce(sum(output), 0) FROM spend").get
                hits = store.db.execute("SELECT count(*) FROM said WHERE said MATCH 'planted'").get
            if answers != spend:
                wrong.append(f"{answers} answers, {spend} spent")
            if answers[1] != 7 * answers[0] or hits != answers[0]:
                wrong.append(f"{answers} answers, {hits} hits")
            if (now := (*answers, hits)) < before:
                wrong.append(f"{now} after {before}")
            before = now
    except Exception as error:
        wrong.append(repr(error))

data, count = Path(sys.argv[1]), int(sys.argv[2])
wrong, threads, stores = [], [], [Store.open(data) for _ in range(count)]
for store in stores:
    threads.append(threading.Thread(target=read, args=(store, wrong)))
    threads[-1].start()
print("ready", flush=True)
for thread in threads:
    thread.join()
for store in stores:
    store.close()
print(wrong[:3])
"""


def answers(start: int, count: int) -> bytes:
    build = Build()
    for number in range(start, start + count):
        build.answer("planted", id=f"m{number}", usage={"input_tokens": 1, "output_tokens": 7})
    return build.data()


def wait_for_reader(reader: subprocess.Popen[str]) -> str:
    try:
        return reader.communicate(timeout=20)[0]
    except subprocess.TimeoutExpired:
        reader.kill()
        return "did not end"


def test_two_hundred_readers_see_whole_states_while_one_writes(desk: Desk) -> None:
    desk.write(main(), answers(0, 5))
    desk.refresh()
    words = [sys.executable, "-c", READER, str(desk.data), str(THREADS)]
    readers = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    try:
        for reader in readers:
            assert reader.stdout
            assert reader.stdout.readline() == "ready\n"
        for number in range(1, ROUNDS):
            desk.append(main(), answers(number * 5, 5))
            assert desk.refresh().files == 1
    finally:
        (desk.data / "stop").touch()
        said_at_the_end = [wait_for_reader(reader) for reader in readers]
    assert said_at_the_end == ["[]\n"] * PROCESSES
    with desk.open() as store:
        assert store.db.execute("SELECT sum(messages) FROM spend").get == 5 * ROUNDS


def test_of_two_refreshes_at_once_one_works_and_the_other_says_so(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    with desk.open() as store:
        with try_lock_file(store.lock) as is_ours:
            assert is_ours
            done = desk.refresh()
        assert (done.is_busy, done.files, done.left) == (True, 0, 0)
        assert store.status().texts == 0
        assert desk.refresh().files == 1
        assert store.status().texts > 0


def test_refreshes_in_two_threads_do_the_work_once(desk: Desk) -> None:
    for number in range(30):
        desk.write(main(f"{number:08d}-0000-4000-8000-000000000001"), answers(number * 50, 50))
    found = []
    threads = [threading.Thread(target=lambda: found.append(desk.refresh())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert desk.refresh().files in (0, 30)
    with desk.open() as store:
        assert store.db.execute("SELECT count(*) FROM answer").get == 1500
        assert store.db.execute("SELECT sum(messages) FROM spend").get == 1500


OPENER = """
import sys, time
from pathlib import Path
from turnlog.store.store import Store
print("ready", flush=True)
sys.stdin.readline()
told = []
with Store.open(Path(sys.argv[2]), told.append) as store:
    while store.refresh([Path(sys.argv[1])]).is_busy:
        time.sleep(0.01)
    print(store.is_temporary, store.status().texts > 0, told)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_many_may_make_the_index_at_once(desk: Desk, attempt: int) -> None:
    desk.write(main(), build_prompts("one", "two"))
    words = [sys.executable, "-c", OPENER, str(desk.config), str(desk.data)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    crowd = [subprocess.Popen(words, cwd=ROOT, text=True, **pipes) for _ in range(8)]  # type: ignore[call-overload]
    for process in crowd:
        process.stdout.readline()
    for process in crowd:
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=60) for process in crowd]
    assert ends == [("False True []\n", "")] * len(crowd)


def test_a_reader_is_not_kept_waiting_by_a_refresh(desk: Desk) -> None:
    desk.write(main(), build_prompts("one"))
    desk.refresh()
    desk.write(main(TWO), build_prompts("two"))
    with desk.open() as reader, desk.open() as writer:
        writer.db.execute("BEGIN IMMEDIATE")
        writer.db.execute("UPDATE file SET entries = 99")
        assert reader.db.execute("SELECT sum(entries) FROM file").get == 1
        writer.db.execute("ROLLBACK")


def test_the_lock_is_free_again_when_its_holder_is_killed(desk: Desk, tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from turnlog.store.file_lock import try_lock_file\n"
        "with try_lock_file(Path(sys.argv[1])) as ours:\n    print(ours, flush=True); time.sleep(60)\n"
    )
    path = tmp_path / f"{ONE}.lock"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "True\n"
        with try_lock_file(path) as is_ours:
            assert not is_ours
        holder.kill()
        holder.wait()
        with try_lock_file(path) as is_ours:
            assert is_ours
