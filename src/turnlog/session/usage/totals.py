"""Usage over many files without an index: every message once, as fast as the files can be read.

Only the lines of answers are decoded, and of them only what is counted. The numbers are those that
`messages.join` gives over all entries of all files. A message that stands in several files counts once, as the
file says that has it first.

From 2.1.11 to 2.1.81 the client also echoed what a sub-agent said into the file of the session (`agent_progress`). An
echo is a copy like any other: it has the message's id, so it adds nothing where the sub-agent's file is there, and is
all that is left where it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, tzinfo
from importlib import import_module
from io import BufferedReader, FileIO
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from turnlog.entries.decode import FAILURES, body, fit, salvage
from turnlog.entries.entry import Entry
from turnlog.entries.spread import by_size, cores, file_size, spread
from turnlog.errors import Unreadable
from turnlog.session.clock import moment
from turnlog.session.usage.counting import ECHO, Best, Echo, Head, count, count_echo, merge

__all__ = ["Best", "Row", "by_day_and_model", "by_file", "count", "count_echo", "merge", "once", "scan"]

ENOUGH = 64 << 20
"""So many bytes are worth a process of their own."""
MARKER = b'"assistant"'
"""What every line that counts holds. Unlike `"usage":{` it misses no JSON that is written with spaces."""
BUFFER = 1 << 20


class _Data(Struct, gc=False):
    message: Echo | None = None


class _Line(Struct, gc=False):
    is_sidechain: bool | None = msgspec.field(default=None, name="isSidechain")
    version: str | None = None
    message: Head | None = None
    data: _Data | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None


class Row(NamedTuple):
    """Where usage is added up."""

    day: str
    model: str


def by_day_and_model(found: Mapping[str, Best], zone: tzinfo = UTC) -> dict[Row, list[int]]:
    """Input, output, cache writes, cache reads and number of messages, by the day on which each ended."""
    rows: dict[Row, list[int]] = {}
    for best in found.values():
        row = rows.setdefault(Row(_day(best.last, zone), best.model or ""), [0] * 5)
        row[0] += best.input_tokens
        row[1] += best.output_tokens
        row[2] += best.cache_creation_input_tokens
        row[3] += best.cache_read_input_tokens
        row[4] += 1
    return rows


def _day(timestamp: str, zone: tzinfo) -> str:
    if zone is UTC and timestamp.endswith("Z"):
        return timestamp[:10]
    time = moment(timestamp)
    return time.astimezone(zone).date().isoformat() if time else ""


Files = dict[str, dict[str, Best]]
"""The messages of some files, by path and message id."""


def scan(paths: Iterable[Path], processes: int | None = None) -> dict[str, Best]:
    """The usage of every message in some files, by message id; files that are gone by now are left out."""
    return once(by_file(paths, processes))


def by_file(paths: Iterable[Path], processes: int | None = None) -> Files:
    """The messages that each of some files has; files that are gone by now are left out."""
    found: Files = {}
    files = list(paths)
    count = processes or max(1, min(cores(), sum(map(file_size, files)) // ENOUGH))
    for share in spread(_scan, Files, by_size(files, count)):
        found |= share
    return found


def once(files: Files) -> dict[str, Best]:
    """Every message once, whichever files it stands in."""
    found: dict[str, Best] = {}
    copies: dict[str, list[Best]] = {}
    for _, more in sorted(files.items()):
        for key in found.keys() & more.keys():
            copies.setdefault(key, [found[key]]).append(more[key])
        found |= more
    return found | {key: merge(parts) for key, parts in copies.items()}


def _scan(paths: Sequence[Path]) -> Files:
    found: Files = {}
    lines = _finder()
    for path in paths:
        try:
            with BufferedReader(FileIO(path), BUFFER) as file:
                found[str(path)] = _read(lines(file), str(path))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}") from None
    return found


Found = Iterator[tuple[bytes, int]]
"""Lines, and where they begin."""


def _finder() -> Callable[[BufferedReader[FileIO]], Found]:
    """The quickest way to find lines with the marker that is installed."""
    try:
        find = import_module("stringzilla").find
    except ImportError:
        return _by_line
    return lambda file: _by_jumps(file, find)


def _by_line(file: BufferedReader[FileIO]) -> Found:
    offset = 0
    for line in file:
        if MARKER in line:
            yield line, offset
        offset += len(line)


def _by_jumps(file: BufferedReader[FileIO], find: Callable[[bytes, bytes, int], int], size: int = BUFFER) -> Found:
    """Look at the ends of those lines only that hold the marker; that needs a search faster than Python's own."""
    offset, held = 0, b""
    while chunk := file.raw.read(size):
        head = chunk.find(b"\n") + 1
        if not head:
            held += chunk
            continue
        if MARKER in (line := held + chunk[:head]):
            yield line, offset
        offset += len(line)
        tail, done = chunk.rfind(b"\n") + 1, head
        while done < tail and 0 <= (at := find(chunk, MARKER, done)) < tail:
            start, done = chunk.rfind(b"\n", done, at) + 1 or done, chunk.find(b"\n", at) + 1
            yield chunk[start:done], offset + start - head
        held = chunk[tail:]
        offset += tail - head
    if MARKER in held:
        yield held, offset


_decode = msgspec.json.Decoder(_Line).decode


def _read(lines: Found, name: str) -> dict[str, Best]:
    """The messages of one file."""
    found: dict[str, Best] = {}
    for raw, offset in lines:
        try:
            line = _decode(raw)
        except FAILURES:
            for item in salvage(raw, offset):
                if isinstance(item, Entry):
                    at = item.offset - offset
                    _count_salvaged(found, item, raw[at : at + item.size], name)
            continue
        if line.message is not None and (line.type is None or line.timestamp is None):
            line = _complete_line(raw)
        if line.data is None or line.type != "progress":
            count(found, line, name, offset)
        elif (echo := line.data.message) is not None:
            echo.version = line.version
            count(found, echo, name, offset, ECHO)
    return found


def _complete_line(raw: bytes) -> _Line:
    """The line that a row without a type or a time of its own stands for."""
    return fit(_Line, body(raw))


def _count_salvaged(found: dict[str, Best], entry: Entry, raw: bytes, name: str) -> None:
    if entry.type == "progress":
        count_echo(found, body(raw), name, entry.offset)
    else:
        count(found, entry, name, entry.offset)
