"""Work over many files, spread over as many processes as pay off."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..errors import Unreadable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

T = TypeVar("T")

ENOUGH = 64 << 20
"""So many bytes are worth a process of their own."""


def spread(
    work: Callable[[Sequence[Path]], T], gives: type[T], paths: Iterable[Path], processes: int | None = None
) -> Iterator[T]:
    """What `work`, a module's own function, gives for each share of the files; the first share is done here."""
    files = [(path, _size(path)) for path in paths]
    total = sum(size for _, size in files)
    own, *others = _shares(files, processes or max(1, min(os.cpu_count() or 1, total // ENOUGH)))
    started = [(*_start(work, share), share) for share in others]
    yield work(own)
    for process, connection, share in started:
        found = _fetched(connection)
        process.join()
        yield work(share) if found is None else msgspec.msgpack.decode(found, type=gives)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _shares(files: Sequence[tuple[Path, int]], count: int) -> list[list[Path]]:
    """The files in so many heaps of about the same size."""
    heaps: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path, size in sorted(files, key=lambda file: -file[1]):
        smallest = sizes.index(min(sizes))
        heaps[smallest].append(path)
        sizes[smallest] += size
    return heaps


def _start(work: Callable[[Sequence[Path]], object], share: Sequence[Path]) -> tuple[BaseProcess, Connection]:
    from multiprocessing import get_context

    # A fork takes a millisecond, a new interpreter a hundred; but only a fork of a single thread is safe.
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if can_fork else "spawn")
    here, there = context.Pipe(duplex=False)
    process: BaseProcess = context.Process(target=_send, args=(work, share, there), daemon=True)  # type: ignore[attr-defined]
    process.start()
    there.close()
    return process, here


def _send(work: Callable[[Sequence[Path]], object], share: Sequence[Path], connection: Connection) -> None:
    """Work in a process of its own; if that fails nothing is sent, and who asked does the work himself."""
    try:
        connection.send_bytes(msgspec.msgpack.encode(work(share)))
    except (Unreadable, OSError):
        connection.close()


def _fetched(connection: Connection) -> bytes | None:
    with connection:
        try:
            return connection.recv_bytes()
        except (EOFError, OSError):
            return None
