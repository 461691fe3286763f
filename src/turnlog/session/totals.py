"""Usage over many files without an index: every message once, as fast as the files can be read.

Only the lines of answers are decoded, and of them only what is counted. The numbers are those that
`messages.join` gives over all entries of all files. A message that stands in several files counts once, as the
file says that has it first.
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

from ..entries.decode import FAILURES, salvage
from ..entries.entry import CacheWrites, Entry, ServerTools, Usage
from ..entries.spread import by_size, cores, file_size, spread
from ..errors import Unreadable
from .clock import moment
from .prices import SYNTHETIC, Tokens

ENOUGH = 64 << 20
"""So many bytes are worth a process of their own."""
MARKER = b'"assistant"'
"""What every line that counts holds. Unlike `"usage":{` it misses no JSON that is written with spaces."""
BUFFER = 1 << 20


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None
    server_tool_use: ServerTools | None = None


class _Message(Struct, gc=False):
    model: str | None = None
    id: str | None = None
    usage: _Usage | None = None


class _Line(Struct, gc=False):
    message: _Message | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None


class Best(Struct, gc=False, array_like=True):
    """The largest value that any line of a message states, field by field."""

    model: str | None
    first: str
    """The timestamp of its first line in the file that has it first."""
    last: str
    """The timestamp of its last line in that file."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_1h: int = 0
    web_searches: int = 0

    @property
    def tokens(self) -> Tokens:
        """The tokens by the price that they have."""
        long = self.cache_creation_1h
        short = self.cache_creation_input_tokens - long
        return Tokens(
            self.input_tokens, self.output_tokens, self.cache_read_input_tokens, short, long, self.web_searches
        )


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


def scan(paths: Iterable[Path], processes: int | None = None) -> dict[str, Best]:
    """The usage of every message in some files, by message id; files that are gone by now are left out."""
    found: dict[str, Best] = {}
    files = list(paths)
    count = processes or max(1, min(cores(), sum(map(file_size, files)) // ENOUGH))
    for share in spread(_scan, dict[str, Best], by_size(files, count)):
        _merge(found, share)
    return found


def _scan(paths: Sequence[Path]) -> dict[str, Best]:
    found: dict[str, Best] = {}
    lines = _finder()
    for path in paths:
        try:
            with BufferedReader(FileIO(path), BUFFER) as file:
                _merge(found, _read(lines(file), str(path)))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}") from None
    return found


def _merge(found: dict[str, Best], more: dict[str, Best]) -> None:
    for key in found.keys() & more.keys():
        one, other = sorted((found[key], more[key]), key=lambda best: best.first)
        more[key] = Best(one.model, one.first, one.last, *map(max, _numbers(one), _numbers(other)))
    found.update(more)


def _numbers(best: Best) -> tuple[int, ...]:
    return msgspec.structs.astuple(best)[3:]


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
            _count(found, _decode(raw), name, offset)
        except FAILURES:
            for item in salvage(raw, offset):
                if isinstance(item, Entry):
                    _count(found, item, name, item.offset)
    return found


def _count(found: dict[str, Best], line: _Line | Entry, name: str, offset: int) -> None:
    message = line.message
    if line.type != "assistant" or message is None or message.usage is None or message.model == SYNTHETIC:
        return
    usage = message.usage
    time = line.timestamp or ""
    key = message.id or line.uuid or f"{name}@{offset}"
    best = found.get(key)
    if best is None:
        best = found[key] = Best(message.model, time, time)
    elif time > best.last:
        best.last = time
    if (value := usage.input_tokens) and value > best.input_tokens:
        best.input_tokens = value
    if (value := usage.output_tokens) and value > best.output_tokens:
        best.output_tokens = value
    if (value := usage.cache_read_input_tokens) and value > best.cache_read_input_tokens:
        best.cache_read_input_tokens = value
    if (value := _written(usage, best)) > best.cache_creation_input_tokens:
        best.cache_creation_input_tokens = value
    tools = usage.server_tool_use
    if tools and (value := tools.web_search_requests) and value > best.web_searches:
        best.web_searches = value


def _written(usage: _Usage | Usage, best: Best) -> int:
    """The tokens written to the cache; the total is not always that of the lifetimes."""
    stated, writes = usage.cache_creation_input_tokens or 0, usage.cache_creation
    if writes is None:
        return stated
    long = writes.ephemeral_1h_input_tokens or 0
    if long > best.cache_creation_1h:
        best.cache_creation_1h = long
    return max(stated, long + (writes.ephemeral_5m_input_tokens or 0))
