"""Counts usage across many files without an index: each message once, as fast as the files can be read.

Only the lines of answers are decoded, and only their counted fields. The numbers equal those that
`messages.join_messages` computes for all entries in all files. A message that appears in several files is counted once,
as recorded in the first file.

From 2.1.11 to 2.1.81, the client also echoed a sub-agent's messages into the session's file (`agent_progress`). An echo
is a copy like any other: it has the message's id, so it adds nothing if the sub-agent's file exists, and it is all that
is left if the file does not exist.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from importlib import import_module
from io import BufferedReader, FileIO
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from turnlog.entries.entry import Entry
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_body, fit_struct, salvage_line
from turnlog.entries.spread_values import join_lines
from turnlog.entries.worker_processes import count_cores, group_by_size, read_file_size, spread_work
from turnlog.errors import Unreadable
from turnlog.session.clock import parse_timestamp
from turnlog.session.usage.message_counts import (
    ECHO_SIDE,
    CountedHead,
    EchoLine,
    MessageCounts,
    count_echo,
    count_line,
    merge_counts,
)

__all__ = [
    "DayAndModel",
    "MessageCounts",
    "count_echo",
    "count_line",
    "count_usage",
    "count_usage_by_file",
    "merge_copies",
    "merge_counts",
    "reduce_usage_by_file",
    "sum_by_day_and_model",
]

T = TypeVar("T")

MIN_BYTES_PER_PROCESS = 64 << 20
"""The minimum work that justifies another process."""
LINE_MARKER = b'"assistant"'
"""Text that is on every line to be counted. Unlike `"usage":{`, it also matches JSON that is written with spaces."""
READ_BUFFER_BYTES = 1 << 20


class _ProgressData(Struct, gc=False):
    message: EchoLine | None = None


class _UsageLine(Struct, gc=False):
    is_sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    version: str | None = None
    message: CountedHead | None = None
    data: _ProgressData | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None


class DayAndModel(NamedTuple):
    day: str
    model: str


def sum_by_day_and_model(found: Mapping[str, MessageCounts], zone: tzinfo = UTC) -> dict[DayAndModel, list[int]]:
    """Sum the tokens (input, output, cache writes, cache reads) and messages by model and by day of completion."""
    rows: dict[DayAndModel, list[int]] = {}
    for best in found.values():
        row = rows.setdefault(DayAndModel(_find_day(best.last, zone), best.model or ""), [0] * 5)
        row[0] += best.input_tokens
        row[1] += best.output_tokens
        row[2] += best.cache_creation_input_tokens
        row[3] += best.cache_read_input_tokens
        row[4] += 1
    return rows


def _find_day(timestamp: str, zone: tzinfo) -> str:
    if zone is UTC and timestamp.endswith("Z"):
        return timestamp[:10]
    time = parse_timestamp(timestamp)
    return time.astimezone(zone).date().isoformat() if time else ""


CountsByFile = dict[str, dict[str, MessageCounts]]
"""The messages in a set of files, by path and message id."""


def count_usage(paths: Iterable[Path], processes: int | None = None) -> dict[str, MessageCounts]:
    """Count the usage of every message in the given files by message id; skip files that no longer exist."""
    return merge_copies(count_usage_by_file(paths, processes))


def count_usage_by_file(
    paths: Iterable[Path], processes: int | None = None, progress: Callable[[int, int], object] | None = None
) -> CountsByFile:
    """Count the messages in each file; skip files that no longer exist."""
    return reduce_usage_by_file(paths, lambda _, counts: counts, CountsByFile, processes, progress)


def reduce_usage_by_file(
    paths: Iterable[Path],
    reduce: Callable[[str, dict[str, MessageCounts]], T],
    gives: type[dict[str, T]],
    processes: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, T]:
    """Return what `reduce` makes of the path and the messages of each file, in the process that reads the file.

    Progress is that of this process, in bytes; the others have about as much to read.
    """
    found: dict[str, T] = {}
    files = list(paths)
    own_process = os.getpid()

    def reduce_share(share: Sequence[Path]) -> dict[str, T]:
        counted = _iter_counts(share, progress if os.getpid() == own_process else None)
        return {path: reduce(path, counts) for path, counts in counted}

    count = processes or max(1, min(count_cores(), sum(map(read_file_size, files)) // MIN_BYTES_PER_PROCESS))
    for share in spread_work(reduce_share, gives, group_by_size(files, count)):
        found |= share
    return found


def merge_copies(files: CountsByFile) -> dict[str, MessageCounts]:
    """Merge the messages from all files so that each occurs only once."""
    found: dict[str, MessageCounts] = {}
    copies: dict[str, list[MessageCounts]] = {}
    for _, more in sorted(files.items()):
        for key in found.keys() & more.keys():
            copies.setdefault(key, [found[key]]).append(more[key])
        found |= more
    return found | {key: merge_counts(parts) for key, parts in copies.items()}


def _iter_counts(
    paths: Sequence[Path], progress: Callable[[int, int], object] | None
) -> Iterator[tuple[str, dict[str, MessageCounts]]]:
    lines = _choose_finder()
    total, done = sum(map(read_file_size, paths)) if progress else 0, 0
    for path in paths:
        if progress:
            progress(done, total)
            done += read_file_size(path)
        try:
            with BufferedReader(FileIO(path), READ_BUFFER_BYTES) as file:
                is_spread = file.raw.read(3).startswith((b"{\n", b"{\r\n"))
                file.raw.seek(0)
                found = _find_by_line(file, join_lines(file)) if is_spread else lines(file)
                counts = _count_lines(found, str(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}") from None
        yield str(path), counts


FoundLines = Iterator[tuple[bytes, int]]
"""Lines with their offsets."""


def _choose_finder() -> Callable[[BufferedReader[FileIO]], FoundLines]:
    """Choose the fastest installed way to find lines that contain the marker."""
    try:
        find = import_module("stringzilla").find
    except ImportError:
        return _find_by_line
    return lambda file: _find_by_jumps(file, find)


def _find_by_line(file: BufferedReader[FileIO], lines: Iterable[bytes] = ()) -> FoundLines:
    """Look at each line; `lines` are those of the file in another form."""
    offset = 0
    for line in lines or file:
        if LINE_MARKER in line:
            yield line, offset
        offset += len(line)


def _find_by_jumps(
    file: BufferedReader[FileIO], find: Callable[[bytes, bytes, int], int], size: int = READ_BUFFER_BYTES
) -> FoundLines:
    """Split only the lines that contain the marker, which requires a faster search than Python's own."""
    offset, rest = 0, b""
    while chunk := file.raw.read(size):
        head = chunk.find(b"\n") + 1
        if not head:
            rest += chunk
            continue
        if LINE_MARKER in (line := rest + chunk[:head]):
            yield line, offset
        offset += len(line)
        tail, position = chunk.rfind(b"\n") + 1, head
        while position < tail and 0 <= (at := find(chunk, LINE_MARKER, position)) < tail:
            start, position = chunk.rfind(b"\n", position, at) + 1 or position, chunk.find(b"\n", at) + 1
            yield chunk[start:position], offset + start - head
        rest = chunk[tail:]
        offset += tail - head
    if LINE_MARKER in rest:
        yield rest, offset


_decode_line = msgspec.json.Decoder(_UsageLine).decode


def _count_lines(lines: FoundLines, name: str) -> dict[str, MessageCounts]:
    """Count the messages in one file."""
    found: dict[str, MessageCounts] = {}
    for raw, offset in lines:
        try:
            line = _decode_line(raw)
        except DECODE_ERRORS:
            for item in salvage_line(raw, offset):
                if isinstance(item, Entry):
                    at = item.offset - offset
                    _count_salvaged(found, item, raw[at : at + item.size], name)
            continue
        if line.message is not None and (line.type is None or line.timestamp is None):
            line = _complete_line(raw)
        if line.data is None or line.type != "progress":
            count_line(found, line, name, offset)
        elif (echo := line.data.message) is not None:
            echo.version = line.version
            count_line(found, echo, name, offset, ECHO_SIDE)
    return found


def _complete_line(raw: bytes) -> _UsageLine:
    """Decode a line that has no type or time of its own."""
    return fit_struct(_UsageLine, decode_body(raw))


def _count_salvaged(found: dict[str, MessageCounts], entry: Entry, raw: bytes, name: str) -> None:
    if entry.type == "progress":
        count_echo(found, decode_body(raw), name, entry.offset)
    else:
        count_line(found, entry, name, entry.offset)
