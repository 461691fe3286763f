"""A refresh in a process of its own, for tests that kill it: `python -m tests.store.index_work CONFIG DATA [WHEN]`.

It works in small steps, so that there are many moments at which it can be killed, and reads ahead as a large one does.
WHEN is `batch:3` (it kills itself when the third piece is written), `commit:2` (just before the second commit), or
`helper:2` (it kills the process that reads ahead, not itself), `SIGTERM:3` (it gets that signal at the third piece), or
`fill:3` (it reads the conversation first, and kills itself when the third piece of the rest is written).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import apsw

from turnlog.store.index import batch_reader, refresh, refresh_work
from turnlog.store.index.refresh import fill_index
from turnlog.store.store import Store


def small_steps() -> None:
    """Read and write little at once."""
    batch_reader.PIECE_BYTES, refresh_work.MAX_STEP_BYTES, refresh_work.MIN_PARALLEL_BYTES = 4_000, 20_000, 0


def one_step() -> None:
    """Read little at once and write all of it at the end, so that the process that reads ahead is long at work."""
    batch_reader.PIECE_BYTES, refresh_work.MIN_PARALLEL_BYTES = 20_000, 0


def children() -> list[int]:
    """The processes that this one started."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def die() -> None:
    """Leave without a word."""
    os.kill(os.getpid(), signal.SIGKILL)


def at(count: int, act: Callable[[], None]) -> Callable[..., bool]:
    """What acts when it is called for the given time."""
    left = [count]

    def note_call(*_: object) -> bool:
        left[0] -= 1
        if left[0] == 0:
            act()
        return False

    return note_call


def kill_helpers() -> None:
    """Kill the process that reads ahead; it must be there."""
    (pid,) = children()
    os.kill(pid, signal.SIGKILL)


def run(config: str, data: str, when: str = "never:0") -> None:
    """Bring an index up to date, and perhaps die of it."""
    moment, _, count = when.partition(":")
    one_step() if moment == "helper" or moment.startswith("SIG") else small_steps()
    progress: Callable[..., object] = lambda *_: None  # noqa: E731
    with Store.open(Path(data)) as store:
        db: apsw.Connection = store.db
        if moment == "batch":
            progress = at(int(count), die)
        elif moment.startswith("SIG"):
            progress = at(int(count), lambda: os.kill(os.getpid(), signal.Signals[moment]))
        elif moment == "helper":
            progress = at(int(count), kill_helpers)
        elif moment == "commit":
            db.set_commit_hook(at(int(count), die))
        print("ready", flush=True)
        if moment == "fill":
            refresh.MAX_WHOLE_BYTES = -1
            store.refresh([Path(config)], is_whole=False)
            fill_index(db, at(int(count), die))  # type: ignore[arg-type]
        done = store.refresh([Path(config)], progress)  # type: ignore[arg-type]
        print(f"done {done.files} {done.is_busy} {done.left}", flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:])
