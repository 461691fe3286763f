"""Work over many files, spread over as many processes as pay off.

Only where a process can be forked safely and in a millisecond: on Linux, by a program of one thread. Elsewhere one
process does it all. What a helper that fails was given is done again by whoever asked.
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


def count_cores() -> int:
    """How many processes may work at once."""
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    return len(os.sched_getaffinity(0)) if can_fork else 1


def spread_work(work: Callable[[Sequence[S]], T], gives: type[T], shares: Sequence[Sequence[S]]) -> Iterator[T]:
    """What `work` gives for each share; the first share is done here, and the others at the same time."""
    helpers = [_start_helper(work, share) for share in shares[1:]] if count_cores() > 1 else []
    for share in shares[:1] if helpers else shares:
        yield work(share)
    for helper, share in zip(helpers, shares[1:], strict=False):
        found = _fetch_result(helper)
        yield msgspec.msgpack.decode(found, type=gives) if found else work(share)


class _HelperProcess(NamedTuple):
    pid: int
    pipe: int


def _start_helper(work: Callable[[Sequence[S]], T], share: Sequence[S]) -> _HelperProcess:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the lines are run, but by a process that nobody measures
        status = 1
        try:
            with os.fdopen(theirs, "wb") as pipe:
                pipe.write(msgspec.msgpack.encode(work(share)))
            status = 0
        finally:
            os._exit(status)  # not sys.exit: the buffers and hooks of this process are those of the other one
    os.close(theirs)
    return _HelperProcess(pid, ours)


def _fetch_result(helper: _HelperProcess) -> bytes | None:
    """What a helper sent, or None if it failed."""
    with os.fdopen(helper.pipe, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(helper.pid, 0)
    return data if status == 0 else None


def group_by_size(paths: Iterable[Path], count: int) -> list[list[Path]]:
    """The files in so many heaps of about the same size."""
    heaps: list[list[Path]] = [[] for _ in range(count)]
    sizes = [0] * count
    for path, size in sorted(((path, read_file_size(path)) for path in paths), key=lambda file: -file[1]):
        smallest = sizes.index(min(sizes))
        heaps[smallest].append(path)
        sizes[smallest] += size
    return heaps


def read_file_size(path: Path) -> int:
    """The size of a file; 0 if it is gone."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def produce_ahead(make: Callable[[], Iterable[T]], gives: Any) -> Iterator[T]:
    """What `make` gives, made by another process while what was given before is used; `gives` is the type of that.

    Raises `ChildProcessError` if that process ends before it has given everything.
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
        raise ChildProcessError("the process that reads ahead has ended before its time")


def _widen_pipe(pipe: int) -> None:
    """Let more wait in a pipe than the usual 64 KB, so that both sides can be at work at the same time."""
    import fcntl

    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


_SIZE_HEADER_BYTES = 8
"""Before each piece stands its size; 0 is the end."""


def _start_producer(make: Callable[[], Iterable[T]]) -> _HelperProcess:
    ours, theirs = os.pipe()
    _widen_pipe(theirs)
    pid = os.fork()
    if pid == 0:  # pragma: no cover - run by a process that nobody measures
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
