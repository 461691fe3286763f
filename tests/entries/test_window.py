"""Very long lines are read as they are, and take their own size of memory."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import pytest

from turnlog.entries.file_ends import LONG_LINE, read_lines
from turnlog.entries.tail import read_tail


@pytest.mark.parametrize("extra", [-1, 0, 5])
@pytest.mark.parametrize("before", [b"", b"b" * 1_500_000 + b"\n"])
@pytest.mark.parametrize("after", [b"", b"c\nd", b"e" * 3_000_000 + b"\nf\n"])
def test_very_long_lines_are_read_as_they_are(tmp_path: Path, extra: int, before: bytes, after: bytes) -> None:
    long = b"x" * (LONG_LINE + extra) + b"\n"
    path = tmp_path / "file"
    for data in (before + long + after, before + long[:-1]):
        path.write_bytes(data)
        with io.BufferedReader(io.FileIO(path), 1 << 20) as file:
            assert list(read_lines(file)) == data.splitlines(keepends=True)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "file"
    path.write_bytes(b"x" * (32 * LONG_LINE) + b"\n")
    return path


def test_a_very_long_line_is_in_memory_once(long: Path) -> None:
    with io.BufferedReader(io.FileIO(long), 1 << 20) as file:
        tracemalloc.start()
        try:
            (size,) = map(len, read_lines(file))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert (size, peak < 1.6 * size) == (32 * LONG_LINE + 1, True)


def test_so_it_is_where_what_was_added_is_read(long: Path) -> None:
    tracemalloc.start()
    try:
        tail = read_tail(long, None, 1000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(tail.data) == 32 * LONG_LINE + 1
    assert peak < 1.6 * len(tail.data)
