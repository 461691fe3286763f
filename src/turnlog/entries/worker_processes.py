"""Distributes work on many files over several processes.

It forks only where that is safe and takes about a millisecond: on Linux, in a program with a single thread, not
counting one that ends before each fork. Elsewhere, a single process does everything. If a helper process fails, the
caller repeats its share of the work.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
S = TypeVar("S")

_RETAINED_BYTES = 16 << 20
"""How much freed memory to keep (`retain_freed_memory`)."""


def retain_freed_memory() -> None:
    """Let the allocator keep the memory of each piece of a file for the next piece.

    glibc returns large blocks to the system and gets new ones page by page, which takes as long as reading the file.
    Once a larger block was freed, it keeps that much. Elsewhere, this does nothing.
    """
    bytes(_RETAINED_BYTES)


def count_cores() -> int:
    """Return how many processes may run at the same time."""
    others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
    can_fork = sys.platform == "linux" and all(getattr(thread, "ends_before_fork", False) for thread in others)
    return len(os.sched_getaffinity(0)) if can_fork else 1


def spread_work(work: Callable[[Sequence[S]], T], gives: type[T], shares: Sequence[Sequence[S]]) -> Iterator[T]:
    """Yield the result of `work` for each share; this process does the first share, and helpers do the others."""
    retain_freed_memory()
    helpers = [_start_helper(work, share) for share in shares[1:]] if count_cores() > 1 else []
    waiting = helpers.copy()
    try:
        for share in shares[:1] if helpers else shares:
            yield work(share)
        for share in shares[1:] if helpers else ():
            result = _read_result(waiting[0])
            is_complete = _wait_for_end(waiting.pop(0))
            yield msgspec.msgpack.decode(result, type=gives) if is_complete else work(share)
    finally:  # after an interrupt, nobody wants their results
        for helper in waiting:
            os.kill(helper.pid, signal.SIGKILL)
            _wait_for_end(helper)


class _HelperProcess(NamedTuple):
    pid: int
    pipe: int


def _start_helper(work: Callable[[Sequence[S]], T], share: Sequence[S]) -> _HelperProcess:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - runs in a process that coverage does not measure
        status = 1
        try:
            os.close(ours)  # else writing would wait for ever if the parent died
            with os.fdopen(theirs, "wb") as pipe:
                pipe.write(msgspec.msgpack.encode(work(share)))
            status = 0
        finally:
            os._exit(status)  # not sys.exit: the buffers and exit handlers belong to the parent process
    os.close(theirs)
    return _HelperProcess(pid, ours)


def _read_result(helper: _HelperProcess) -> bytes:
    with os.fdopen(helper.pipe, "rb", closefd=False) as pipe:
        return pipe.read()


def _wait_for_end(helper: _HelperProcess) -> bool:
    """Wait for a helper to end, and return whether it has succeeded."""
    os.close(helper.pipe)
    _, status = os.waitpid(helper.pid, 0)
    return status == 0


def group_by_size(paths: Iterable[Path], count: int) -> list[list[Path]]:
    """Divide files into `count` groups of about the same total size."""
    groups: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path, size in sorted(((path, read_file_size(path)) for path in paths), key=lambda file: -file[1]):
        smallest = sizes.index(min(sizes))
        groups[smallest].append(path)
        sizes[smallest] += size
    return groups


def read_file_size(path: Path) -> int:
    """Return the size of a file, or 0 if the file does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def produce_ahead(make: Callable[[], Iterable[T]], gives: Any) -> Iterator[T]:
    """Yield the items from `make`, which another process produces ahead of time; `gives` is the item type.

    Raise `ChildProcessError` if that process ends too early.
    """
    helper = _start_producer(make)
    decode: Callable[[bytes], T] = msgspec.msgpack.Decoder(gives).decode
    is_whole = False
    try:
        with os.fdopen(helper.pipe, "rb") as pipe:
            while len(header := pipe.read(_SIZE_HEADER_BYTES)) == _SIZE_HEADER_BYTES:
                size = int.from_bytes(header, "little")
                is_whole = size == 0
                if is_whole or len(data := pipe.read(size)) < size:
                    break
                yield decode(data)
    finally:
        os.kill(helper.pid, signal.SIGKILL)
        os.waitpid(helper.pid, 0)
    if not is_whole:
        raise ChildProcessError("the process that reads ahead ended unexpectedly")


def _widen_pipe(pipe: int) -> None:
    """Let a pipe buffer more than the usual 64 KB so that both sides can work at the same time."""
    import fcntl

    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


_SIZE_HEADER_BYTES = 8
"""The bytes before each piece that give its size; size 0 marks the end."""


def _start_producer(make: Callable[[], Iterable[T]]) -> _HelperProcess:
    ours, theirs = os.pipe()
    _widen_pipe(theirs)
    pid = os.fork()
    if pid == 0:  # pragma: no cover - runs in a process that coverage does not measure
        try:
            os.close(ours)
            encode = msgspec.msgpack.Encoder().encode
            with os.fdopen(theirs, "wb", 1 << 20) as pipe:
                for item in make():
                    data = encode(item)
                    pipe.write(len(data).to_bytes(_SIZE_HEADER_BYTES, "little"))
                    pipe.write(data)
                pipe.write(bytes(_SIZE_HEADER_BYTES))
        finally:
            os._exit(0)
    os.close(theirs)
    return _HelperProcess(pid, ours)
