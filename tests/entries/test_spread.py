"""Work is spread over processes, and none of it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from turnlog.entries.peek import MIN_FILES_PER_PROCESS, peek_file, peek_files
from turnlog.entries.worker_processes import count_cores, group_by_size, produce_ahead, spread_work

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
HERE = os.getpid()


def double_numbers(share: Sequence[int]) -> list[int]:
    return [number * 2 for number in share]


def who(share: Sequence[int]) -> list[int]:
    return [os.getpid() for _ in share]


def dies_elsewhere(share: Sequence[int]) -> list[int]:
    if os.getpid() != HERE:
        os.kill(os.getpid(), signal.SIGKILL)
    return double_numbers(share)


def fails_elsewhere(share: Sequence[int]) -> list[int]:
    if os.getpid() != HERE:
        raise OSError("no")
    return double_numbers(share)


def test_every_share_gives_its_result_in_order() -> None:
    assert list(spread_work(double_numbers, list[int], [[1, 2], [3], [], [4]])) == [[2, 4], [6], [], [8]]


@needs_fork
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2 if sys.platform == "linux" else True, reason="needs two cores")
def test_the_first_share_is_done_here_and_the_others_elsewhere() -> None:
    """In a process of its own: a thread that another test left behind would keep all of it here."""
    code = (
        "import os; from turnlog.entries.worker_processes import spread_work\n"
        "found = spread_work(lambda share: [os.getpid()], list[int], [[1], [2]])\n"
        "print([pids == [os.getpid()] for pids in found])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[True, False]\n"


@pytest.mark.parametrize("work", [dies_elsewhere, fails_elsewhere])
def test_the_share_of_a_helper_that_fails_is_done_here(work: object) -> None:
    assert list(spread_work(work, list[int], [[1], [2], [3]])) == [[2], [4], [6]]  # type: ignore[arg-type]


def test_a_process_with_threads_is_not_forked() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert count_cores() == 1
        assert list(spread_work(who, list[int], [[1], [2]])) == [[HERE], [HERE]]
    finally:
        done.set()
        other.join()


def test_files_are_heaped_by_size_and_a_missing_one_weighs_nothing(tmp_path: Path) -> None:
    for name, size in (("a", 30), ("b", 20), ("c", 15)):
        (tmp_path / name).write_bytes(b"x" * size)
    heaps = group_by_size([tmp_path / name for name in ("gone", "c", "b", "a")], 2)
    assert [{path.name for path in heap} for heap in heaps] == [{"a", "gone"}, {"b", "c"}]


def test_many_files_are_seen_as_one_by_one_is(tmp_path: Path) -> None:
    paths = []
    for number in range(2 * MIN_FILES_PER_PROCESS + 1):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(f'{{"type":"user","uuid":"{number}","message":{{"content":"prompt {number}"}}}}\n')
        paths.append(str(path))
    paths.append(str(tmp_path / "gone.jsonl"))
    found = peek_files(paths)
    assert found[:-1] == [peek_file(path) for path in paths[:-1]]
    assert found[-1].junk == "unreadable"
    assert found[7].first_prompt == "prompt 7"


def pids(count: int) -> Iterator[int]:
    for _ in range(count):
        yield os.getpid()


@needs_fork
def test_what_is_made_ahead_is_made_elsewhere_and_comes_in_order() -> None:
    assert list(produce_ahead(lambda: range(1000), int)) == list(range(1000))
    (pid, *_) = found = list(produce_ahead(lambda: pids(3), int))
    assert found == [pid] * 3
    assert pid != HERE


@needs_fork
def test_what_is_made_ahead_may_be_large_or_nothing() -> None:
    assert list(produce_ahead(lambda: ["x" * 3_000_000, ""], str)) == ["x" * 3_000_000, ""]
    assert list(produce_ahead(lambda: (), int)) == []


@needs_fork
def test_who_stops_listening_leaves_no_process_behind() -> None:
    made = produce_ahead(lambda: pids(10**9), int)
    pid = next(made)
    made.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def fails_at(last: int) -> Iterator[int]:
    yield from range(last)
    raise OSError("no")


def dies_at(last: int) -> Iterator[int]:
    yield from range(last)
    os.kill(os.getpid(), signal.SIGKILL)


def dies_in_the_middle() -> Iterator[str]:
    yield "x" * 3_000_000
    os.kill(os.getpid(), signal.SIGKILL)


@needs_fork
@pytest.mark.parametrize("make", [fails_at, dies_at])
@pytest.mark.parametrize("last", [0, 5])
def test_a_process_that_ends_before_its_time_is_told(make: Callable[[int], Iterator[int]], last: int) -> None:
    with pytest.raises(ChildProcessError):
        list(produce_ahead(lambda: make(last), int))


@needs_fork
def test_a_piece_that_is_cut_off_is_not_handed_out() -> None:
    found: list[str] = []
    with pytest.raises(ChildProcessError):
        found += produce_ahead(dies_in_the_middle, str)
    assert [len(piece) for piece in found] in ([], [3_000_000])


ENDS_EARLY = """
import os, signal, sys, time
from pathlib import Path
from turnlog.entries.worker_processes import spread_work

os.sched_getaffinity = lambda _: {{0, 1}}
here, helper = os.getpid(), Path({place!r})

def work(share):
    if os.getpid() != here:
        helper.with_suffix(".new").write_text(str(os.getpid()))
        helper.with_suffix(".new").rename(helper)
        {in_helper}
        return ["much" * 1_000_000]
    while not helper.exists():
        time.sleep(0.01)
    {in_parent}

try:
    list(spread_work(work, list[str], [[1], [2]]))
except KeyboardInterrupt:
    try:
        os.kill(int(helper.read_text()), 0)
    except ProcessLookupError:
        print("no helper is left")
"""


@needs_fork
def test_an_interrupt_ends_the_helpers_too(tmp_path: Path) -> None:
    code = ENDS_EARLY.format(
        place=str(tmp_path / "pid"), in_helper="time.sleep(600)", in_parent="raise KeyboardInterrupt"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "no helper is left\n"


@needs_fork
def test_a_helper_whose_parent_was_killed_does_not_wait_for_ever(tmp_path: Path) -> None:
    killed = "os.kill(here, signal.SIGKILL)"
    code = ENDS_EARLY.format(place=str(tmp_path / "pid"), in_helper="pass", in_parent=killed)
    # The helper has inherited the pipe, so this returns when it has ended.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
