"""Looking through the files themselves, for what words can't say: any substring, any regular expression.

Files are read newest first, in large blocks. Only lines that hold a clue (see `needle`) are decoded. A round of files
is spread over the cores; between two rounds whoever waits is told, and may stop with what was found so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from turnlog.entries.spread import cores, spread
from turnlog.session.texts.lines import lines
from turnlog.session.texts.texts import Text, texts
from turnlog.store.search.needle import Needle
from turnlog.store.search.snippet import WIDTH, Snippet, around

BLOCK = 8 << 20
ROUND = 48 << 20
"""So many bytes are read by each process between two looks at the clock."""
KEPT = 40
"""Of so many texts of a file the place is remembered; the others are counted."""


class Target(NamedTuple):
    """A file to look through."""

    file: int
    path: str
    is_plain: bool
    """Not JSON lines but one text."""
    size: int
    is_gone: bool = False


class Sighting(msgspec.Struct, array_like=True):
    """A text with what was looked for."""

    file: int
    offset: int
    kind: str
    snippet: Snippet


class Report(msgspec.Struct, array_like=True):
    """What was found in one file."""

    file: int
    total: int = 0
    """Texts."""
    sightings: list[Sighting] = []
    size: int = 0
    failure: str | None = None


class Scanned(NamedTuple):
    """What a scan found."""

    reports: list[Report]
    """Of files with something in them, newest first."""
    files: int
    bytes: int
    seconds: float
    left: int
    """Files that were not looked through: enough was found, or somebody stopped it."""
    is_interrupted: bool
    failures: tuple[str, ...] = ()


Source = Callable[[Target], Iterator[bytes]]
"""The bytes of a file, in pieces of any size; raises OSError."""
Progress = Callable[[int, int], None]
"""Told how many bytes of how many are done."""


def read(target: Target) -> Iterator[bytes]:
    """The bytes of a file that is there."""
    with open(target.path, "rb") as file:  # noqa: PTH123 - thousands of files
        while data := file.read(BLOCK):
            yield data


def scan(
    needle: Needle,
    targets: Sequence[Target],
    source: Source = read,
    kept: int = KEPT,
    is_enough: Callable[[Sequence[Report]], bool] = lambda _: False,
    progress: Progress = lambda done, total: None,  # noqa: ARG005
) -> Scanned:
    """Look through files, in the order given, until that is enough."""
    work = _Work(needle, source, kept)
    start, total = time.perf_counter(), sum(target.size for target in targets)
    is_interrupted = False
    try:
        for part in _rounds(targets):
            work.round(part)
            progress(work.done, total)
            if is_enough(work.found):
                break
    except KeyboardInterrupt:
        is_interrupted = True
    seconds, left = time.perf_counter() - start, len(targets) - work.files
    return Scanned(work.found, work.files, work.done, seconds, left, is_interrupted, tuple(work.failures))


class _Work:
    """A scan on its way."""

    def __init__(self, needle: Needle, source: Source, kept: int) -> None:
        self.needle = needle
        self.source = source
        self.kept = kept
        self.found: list[Report] = []
        self.failures: list[str] = []
        self.done = 0
        self.files = 0

    def round(self, part: Sequence[Target]) -> None:
        """Look through some files at once."""
        reports = [report for share in spread(self._look, list[Report], _shares(part)) for report in share]
        order = {target.file: place for place, target in enumerate(part)}
        self.found += sorted((report for report in reports if report.total), key=lambda report: order[report.file])
        self.failures += [report.failure for report in reports if report.failure]
        self.done += sum(report.size for report in reports)
        self.files += len(part)

    def _look(self, share: Sequence[Target]) -> list[Report]:
        return [look(self.needle, target, self.source, self.kept) for target in share]


def _rounds(targets: Sequence[Target]) -> Iterator[list[Target]]:
    most = ROUND * cores()
    part, size = list[Target](), 0
    for target in targets:
        part.append(target)
        size += target.size
        if size >= most:
            yield part
            part, size = [], 0
    if part:
        yield part


def _shares(targets: Sequence[Target]) -> list[list[Target]]:
    """The files in as many heaps as there are cores, of about the same size."""
    heaps: list[list[Target]] = [[] for _ in range(cores())]
    sizes = [0] * len(heaps)
    for target in sorted(targets, key=lambda target: -target.size):
        smallest = sizes.index(min(sizes))
        heaps[smallest].append(target)
        sizes[smallest] += target.size
    return [heap for heap in heaps if heap]


def look(needle: Needle, target: Target, source: Source = read, kept: int = KEPT) -> Report:
    """Look through one file."""
    report = Report(target.file, sightings=[])
    search = _plain if target.is_plain else _texts
    try:
        for data, offset in _whole_lines(source(target)):
            report.size += len(data)
            for place, text in search(needle, data, offset):
                match = needle.pattern.search(text.words)
                if match is None:
                    continue
                report.total += 1
                if len(report.sightings) < kept:
                    shown = around(text.words, match.span(), WIDTH)
                    report.sightings.append(Sighting(target.file, place, text.kind, shown))
    except OSError as error:
        report.failure = f"{target.path}: {error.strerror or error}"
    return report


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """The pieces of a file cut at line ends, and where each begins."""
    offset, rest = 0, list[bytes]()
    for data in pieces:
        end = data.rfind(b"\n") + 1
        if end == 0:
            rest.append(data)
            continue
        whole = b"".join([*rest, data[:end]]) if rest or end < len(data) else data
        rest = [data[end:]] if end < len(data) else []
        yield whole, offset
        offset += len(whole)
    if rest:
        yield b"".join(rest), offset


def _plain(needle: Needle, data: bytes, offset: int) -> Iterator[tuple[int, Text]]:
    if not needle.raw or any(clue in data for clue in needle.raw):
        yield offset, Text("result", data.decode("utf-8", "replace"))


def _texts(needle: Needle, data: bytes, offset: int) -> Iterator[tuple[int, Text]]:
    """The texts of those lines of a block that hold a clue."""
    for start, end in _candidates(needle.clues, data):
        for placed in lines([data[start:end]], offset + start):
            if placed is not None:
                for text in texts(placed):
                    yield placed.offset, text


def _candidates(clues: Sequence[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines are that hold one of the clues; all lines without clues."""
    at = 0
    ahead = {clue: data.find(clue) for clue in clues}
    while at < len(data):
        if clues:
            # A clue is looked for again only from where it was last seen: each goes once through the data.
            ahead = {clue: data.find(clue, at) if place < at else place for clue, place in ahead.items() if place >= 0}
            found = min((place for place in ahead.values() if place >= 0), default=-1)
            if found < 0:
                return
            at = data.rfind(b"\n", at, found) + 1 or at
        end = data.find(b"\n", at) + 1 or len(data)
        yield at, end
        at = end
