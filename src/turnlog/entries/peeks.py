"""Looking at the ends of many files at once: where the system can fork, every core takes its share."""

from __future__ import annotations

import marshal
import os
import sys
import threading
from collections.abc import Sequence
from typing import NamedTuple

from turnlog.entries.peek import Peek, peek

FEW = 400
"""So many files a process; for fewer, another one does not pay."""
UNREADABLE = Peek(junk="unreadable")


class _Worker(NamedTuple):
    pid: int
    pipe: int
    share: Sequence[str]


def look(path: str) -> Peek:
    """The two ends of a file; an unreadable one tells nothing."""
    try:
        return peek(path)
    except OSError:
        return UNREADABLE


def look_all(paths: Sequence[str], processes: int | None = None) -> list[Peek]:
    """The two ends of each file, in the order given."""
    processes = processes or min(_cores(), len(paths) // FEW, 4) or 1
    shares = [paths[number::processes] for number in range(processes)]
    workers = [_start(share) for share in shares[1:]]
    found: list[Peek | None] = [None] * len(paths)
    found[::processes] = map(look, shares[0])
    for number, worker in enumerate(workers, 1):
        found[number::processes] = _collect(worker)
    return found  # type: ignore[return-value]  # every place was filled


def _cores() -> int:
    """How many processes can be forked safely: threads and Windows allow none."""
    can_fork = hasattr(os, "fork") and sys.platform != "darwin" and threading.active_count() == 1
    return len(os.sched_getaffinity(0)) if can_fork and hasattr(os, "sched_getaffinity") else 1


def _start(share: Sequence[str]) -> _Worker:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child's lines are run, but not by a process that is measured
        try:
            os.close(ours)
            with open(theirs, "wb") as pipe:
                pipe.write(marshal.dumps([tuple(look(path)) for path in share]))
        finally:
            os._exit(0)
    os.close(theirs)
    return _Worker(pid, ours, share)


def _collect(worker: _Worker) -> list[Peek]:
    """What a worker found; if it died, its share is done here."""
    with open(worker.pipe, "rb") as pipe:
        data = pipe.read()
    os.waitpid(worker.pid, 0)
    try:
        return [Peek(*fields) for fields in marshal.loads(data)]
    except (EOFError, ValueError, TypeError):
        return [look(path) for path in worker.share]
