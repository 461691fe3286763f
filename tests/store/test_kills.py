"""A refresh that is killed at any moment leaves an index that the next one makes right."""

from __future__ import annotations

import itertools
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.session.build import Build
from tests.store.index_build import ODD, ONE, SLUG, TWO, Content, Desk, content, main, recorded_lines, recount_spend
from turnlog.entries.worker_processes import count_cores
from turnlog.store.index.upkeep import list_index_faults

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs SIGKILL and /proc")
THIRD = "cccccccc-0000-4000-8000-000000000003"
FILES = (
    main(),
    main(TWO),
    main(THIRD, "-home-dana-other"),
    f"projects/{SLUG}/{ONE}/subagents/agent-a1.jsonl",
    f"projects/{SLUG}/{TWO}/subagents/workflows/w1/agent-a2.jsonl",
)


def start_worker(desk: Desk, *when: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "tests.store.index_work", str(desk.config), str(desk.data), *when]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def read_outcome(process: subprocess.Popen[bytes]) -> str:
    """What a process has said at its end; "" if it was killed before."""
    out, err = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGKILL), err.decode()
    return out.decode().partition("done ")[2]


def fill(desk: Desk, share: int = 40) -> None:
    lines = recorded_lines()
    for number, path in enumerate(FILES):
        desk.write(path, b"".join(lines[number * share : (number + 1) * share]))


def change(desk: Desk, chance: random.Random) -> None:
    """Files grow, are replaced, deleted and made again."""
    lines = [*recorded_lines(), *ODD]
    for path in FILES:
        start = chance.randrange(len(lines))
        some = b"".join(lines[start : start + chance.choice([1, 5, 30])])
        match chance.randrange(6):
            case 0:
                desk.write(path, some)
            case 1:
                (desk.config / path).unlink(missing_ok=True)
            case _ if (desk.config / path).exists():
                desk.append(path, some)
            case _:
                desk.write(path, some)


def settled_content(desk: Desk) -> Content:
    """What the index holds after a refresh that nobody disturbs."""
    for _ in range(100):  # a helper that outlives its killed parent may hold the lock for a moment
        if not desk.refresh().is_busy:
            break
        time.sleep(0.05)
    with desk.open() as store:
        assert list(list_index_faults(store.db)) == []
        assert store.db.execute("PRAGMA integrity_check").get == "ok"
        found = content(store.db)
        assert found.spend == recount_spend(store.db)
        return found


@pytest.mark.parametrize("when", ["batch:1", "batch:4", "batch:11", "commit:1", "commit:2", "commit:3", "commit:5"])
def test_the_first_build_goes_on_after_a_kill(desk: Desk, tmp_path: Path, when: str) -> None:
    fill(desk)
    assert read_outcome(start_worker(desk, when)) == ""
    assert settled_content(desk) == desk.scratch(tmp_path / "scratch")


@pytest.mark.parametrize("when", ["batch:1", "batch:3", "commit:1", "commit:2", "commit:3"])
def test_a_refresh_of_replaced_and_grown_files_goes_on_after_a_kill(desk: Desk, tmp_path: Path, when: str) -> None:
    fill(desk)
    desk.refresh()
    lines = recorded_lines()
    desk.append(main(), b"".join(lines[200:230]))
    desk.write(main(TWO), b"".join(lines[230:280]))
    assert read_outcome(start_worker(desk, when)) == ""
    assert settled_content(desk) == desk.scratch(tmp_path / "scratch")


def test_an_index_survives_kills_at_any_moment(desk: Desk, tmp_path: Path) -> None:
    chance, cut_off, longest_wait = random.Random(5), 0, 0.06
    for round_number in itertools.count():
        change(desk, chance)
        process = start_worker(desk)
        assert process.stdout
        process.stdout.readline()
        time.sleep(chance.uniform(0, longest_wait))
        process.kill()
        if read_outcome(process) == "":
            cut_off += 1
        else:
            longest_wait *= 0.8  # the machine is too fast, or too busy to wake up in time
        if round_number % 4 == 3:
            found, fresh = settled_content(desk), desk.scratch(tmp_path / f"scratch{round_number}")
            assert found.there == fresh.there, f"round {round_number}"
            if round_number > 10 and cut_off >= 3:
                break


@pytest.mark.skipif(count_cores() < 2, reason="needs two cores")
@pytest.mark.parametrize("batch", [1, 30])
def test_work_goes_on_alone_when_the_process_that_reads_ahead_is_killed(desk: Desk, tmp_path: Path, batch: int) -> None:
    long = Build()
    for number in range(12):
        long.prompt(" ".join(f"word{number}of{place}" for place in range(12_000)))
        long.answer("reply", usage={"output_tokens": number})
    fill(desk)
    desk.write(main("dddddddd-0000-4000-8000-000000000004"), long.data())
    assert read_outcome(start_worker(desk, f"helper:{batch}")).split() == ["6", "False", "0"]
    assert settled_content(desk) == desk.scratch(tmp_path / "scratch")


def test_small_steps_give_the_same_index(desk: Desk, tmp_path: Path) -> None:
    fill(desk)
    assert read_outcome(start_worker(desk)).split() == ["5", "False", "0"]
    assert settled_content(desk) == desk.scratch(tmp_path / "scratch")


def test_an_interrupt_ends_the_work_in_good_order_and_says_what_is_left(desk: Desk, tmp_path: Path) -> None:
    fill(desk)
    code = (
        "import os, signal, sys; from pathlib import Path; from tests.store.index_work import at, small_steps\n"
        "from turnlog.store.store import Store; small_steps()\n"
        "stop = at(3, lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "with Store.open(Path(sys.argv[2])) as store: print(store.refresh([Path(sys.argv[1])], stop).left)\n"
    )
    words = [sys.executable, "-c", code, str(desk.config), str(desk.data)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert 0 < int(done.stdout) < len(FILES)
    with desk.open() as store:
        assert store.status().texts > 0
    assert settled_content(desk) == desk.scratch(tmp_path / "scratch")
