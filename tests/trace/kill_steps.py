"""A program whose children put and deliver, and are killed at the n-th step of it; the tests tell it which and where.

One order a line comes in on standard input, and one line goes out when all its children have ended. Nothing else than
SIGKILL ends a child before its time, so nothing of it can tidy up.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import turnlog.store.file_lock
import turnlog.trace
from tests.trace.batches import build_batch, target
from turnlog.trace.outbox.delivery import DeliveryPace, deliver_batches
from turnlog.trace.outbox.outbox import Outbox, OutboxOvertaken
from turnlog.trace.wire.batch import SpanBatch
from turnlog.trace.wire.poster import Poster

PATH = "/projects/a.jsonl"
ROOT = Path(__file__).parents[2]
_WATCHED = (str(Path(turnlog.trace.__file__).parent), turnlog.store.file_lock.__file__)


class Order(NamedTuple):
    """What children are to do."""

    folder: str
    url: str
    number: int
    sizes: Sequence[int]
    """How many spans each batch has; the first batch is `10 * number`."""
    dies: Sequence[int | None]
    """One for each child, all at work at once: the step at which it is killed, None if it is not."""
    offset: float = 0.0
    """By how much the clock is off."""
    again: bool = False
    """Also what was refused, and without regard to pauses."""

    @property
    def batches(self) -> list[SpanBatch]:
        """What is to be put."""
        return [build_batch(10 * self.number + place, size) for place, size in enumerate(self.sizes)]


class Killer:
    """The program, as the tests use it."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.trace.kill_steps"],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def __enter__(self) -> Killer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)

    def run(self, order: Order) -> list[bool]:
        """Let children work; which of them were killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        found: list[bool] = json.loads(self._process.stdout.readline())
        return found


def work(order: Order) -> None:
    """What a worker does: put what is new, and deliver it."""
    ahead = order.offset

    def now() -> float:
        return time.time() + ahead

    def sleep(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    here = target(order.url)
    with Outbox.open(Path(order.folder) / "outbox.db", clock=now) as outbox, Poster(here) as poster:
        fresh = [batch for batch in order.batches if not outbox.find_claims(here.key, batch.spans)]
        with suppress(OutboxOvertaken):  # by the other child, which puts the same
            outbox.put(here.key, fresh, PATH, "the end")
        if order.again:
            outbox.requeue(here.key)
            outbox.end_pause(here.key)
        deliver_batches(outbox, poster, patience=3600.0, pace=DeliveryPace(now, lambda: ahead, sleep))


def die_at(step: int) -> None:
    """Have this process killed when it has called and left so many functions of the outbox and the delivery."""
    left = step

    def watch(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal left
        if frame.f_code.co_filename.startswith(_WATCHED):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(watch)


def start_child(order: Order, step: int | None) -> int:
    """A child at work."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        if step is not None:
            die_at(step)
        work(order)
        sys.setprofile(None)
        status = 0
    except BaseException:  # noqa: BLE001 - told, and no part of the parent's own work
        sys.setprofile(None)
        import traceback

        traceback.print_exc()
    finally:
        os._exit(status)


def main() -> None:
    """Do what is ordered, line by line."""
    for line in sys.stdin:
        order = Order(*json.loads(line))
        children = [start_child(order, step) for step in order.dies]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        if not set(ends) <= {0, -signal.SIGKILL}:
            sys.exit(f"a child failed: {ends}")
        print(json.dumps([end != 0 for end in ends]), flush=True)


if __name__ == "__main__":
    main()
