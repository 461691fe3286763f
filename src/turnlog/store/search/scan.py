"""Scans the files themselves for what words can't express: any substring or regular expression.

Files are read newest first, in large blocks. Only lines that contain a clue (see `needle`) are decoded. The cores share
a round of files; after each round, the caller is informed of the progress and may stop with the results so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from turnlog.entries.worker_processes import count_cores, spread_work
from turnlog.session.texts.lines import read_text_lines
from turnlog.session.texts.texts import SearchText, list_search_texts
from turnlog.store.search.needle import SearchNeedle
from turnlog.store.search.snippet import SNIPPET_CHARS, Snippet, build_snippet_around

SCAN_BLOCK_BYTES = 8 << 20
ROUND_BYTES_PER_CORE = 48 << 20
"""How many bytes each process reads between two reports of progress."""
MAX_SIGHTINGS_PER_FILE = 40
"""How many matches per file are stored with their place; further ones are only counted."""


class ScanTarget(NamedTuple):
    """A file to scan."""

    file: int
    path: str
    is_plain: bool
    """Whether the file is plain text, not JSON lines."""
    size: int
    is_gone: bool = False


class ScanSighting(msgspec.Struct, array_like=True):
    """A text that contains a match."""

    file: int
    offset: int
    kind: str
    snippet: Snippet


class FileScanReport(msgspec.Struct, array_like=True):
    """The matches in one file."""

    file: int
    total: int = 0
    """How many texts match."""
    sightings: list[ScanSighting] = []
    size: int = 0
    failure: str | None = None


class ScanResult(NamedTuple):
    reports: list[FileScanReport]
    """The reports of files with matches, newest first."""
    files: int
    bytes: int
    seconds: float
    left: int
    """How many files were not scanned, because enough was found or the scan was stopped."""
    is_interrupted: bool
    failures: tuple[str, ...] = ()


ScanSource = Callable[[ScanTarget], Iterator[bytes]]
"""Yields the bytes of a file, in pieces of any size; raises OSError."""
ScanProgress = Callable[[int, int], None]
"""Called with the number of bytes done and the total."""


def read_target(target: ScanTarget) -> Iterator[bytes]:
    """Read the bytes of an existing file."""
    with open(target.path, "rb") as file:  # noqa: PTH123 - thousands of files
        while data := file.read(SCAN_BLOCK_BYTES):
            yield data


def scan_files(
    needle: SearchNeedle,
    targets: Sequence[ScanTarget],
    source: ScanSource = read_target,
    max_sightings: int = MAX_SIGHTINGS_PER_FILE,
    is_enough: Callable[[Sequence[FileScanReport]], bool] = lambda _: False,
    progress: ScanProgress = lambda done, total: None,  # noqa: ARG005
) -> ScanResult:
    """Scan files in order until `is_enough` returns true."""
    work = _ScanWork(needle, source, max_sightings)
    start, total = time.perf_counter(), sum(target.size for target in targets)
    is_interrupted = False
    try:
        for part in _split_rounds(targets):
            work.scan_round(part)
            progress(work.done, total)
            if is_enough(work.found):
                break
    except KeyboardInterrupt:
        is_interrupted = True
    seconds, left = time.perf_counter() - start, len(targets) - work.files
    return ScanResult(work.found, work.files, work.done, seconds, left, is_interrupted, tuple(work.failures))


class _ScanWork:
    def __init__(self, needle: SearchNeedle, source: ScanSource, max_sightings: int) -> None:
        self.needle = needle
        self.source = source
        self.max_sightings = max_sightings
        self.found: list[FileScanReport] = []
        self.failures: list[str] = []
        self.done = 0
        self.files = 0

    def scan_round(self, part: Sequence[ScanTarget]) -> None:
        """Scan the given files in parallel."""
        reports = [
            report
            for share in spread_work(self._scan_share, list[FileScanReport], _split_shares(part))
            for report in share
        ]
        order = {target.file: place for place, target in enumerate(part)}
        self.found += sorted((report for report in reports if report.total), key=lambda report: order[report.file])
        self.failures += [report.failure for report in reports if report.failure]
        self.done += sum(report.size for report in reports)
        self.files += len(part)

    def _scan_share(self, share: Sequence[ScanTarget]) -> list[FileScanReport]:
        return [scan_file(self.needle, target, self.source, self.max_sightings) for target in share]


def _split_rounds(targets: Sequence[ScanTarget]) -> Iterator[list[ScanTarget]]:
    most = ROUND_BYTES_PER_CORE * count_cores()
    part, size = list[ScanTarget](), 0
    for target in targets:
        part.append(target)
        size += target.size
        if size >= most:
            yield part
            part, size = [], 0
    if part:
        yield part


def _split_shares(targets: Sequence[ScanTarget]) -> list[list[ScanTarget]]:
    """Split the files into as many shares of similar size as there are cores."""
    heaps: list[list[ScanTarget]] = [[] for _ in range(count_cores())]
    sizes = [0] * len(heaps)
    for target in sorted(targets, key=lambda target: -target.size):
        smallest = sizes.index(min(sizes))
        heaps[smallest].append(target)
        sizes[smallest] += target.size
    return [heap for heap in heaps if heap]


def scan_file(
    needle: SearchNeedle,
    target: ScanTarget,
    source: ScanSource = read_target,
    max_sightings: int = MAX_SIGHTINGS_PER_FILE,
) -> FileScanReport:
    report = FileScanReport(target.file, sightings=[])
    seen: dict[_TextIdentity, int] = {}
    search = _iter_plain_text if target.is_plain else partial(_iter_line_texts, seen)
    try:
        for data, offset in _iter_whole_lines(source(target)):
            report.size += len(data)
            for place, text in search(needle, data, offset):
                match = needle.pattern.search(text.words)
                if match is None:
                    continue
                report.total += 1
                if len(report.sightings) < max_sightings:
                    snippet = build_snippet_around(text.words, match.span(), SNIPPET_CHARS)
                    report.sightings.append(ScanSighting(target.file, place, text.kind, snippet))
    except OSError as error:
        report.failure = f"{target.path}: {error.strerror or error}"
    return report


def _iter_whole_lines(pieces: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Split the pieces of a file at line ends; yield each part with its offset."""
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


def _iter_plain_text(needle: SearchNeedle, data: bytes, offset: int) -> Iterator[tuple[int, SearchText]]:
    if not needle.raw or any(clue in data for clue in needle.raw):
        yield offset, SearchText("result", data.decode("utf-8", "replace"))


_TextIdentity = tuple[str, str, int]
"""The uuid of an entry, and the kind and hash of a text in it; some entries are written twice (entries.replays)."""


def _iter_line_texts(
    seen: dict[_TextIdentity, int], needle: SearchNeedle, data: bytes, offset: int
) -> Iterator[tuple[int, SearchText]]:
    """Yield the texts in those lines of a block that contain a clue, each text of an entry once."""
    for start, end in _find_candidate_lines(needle.clues, data):
        for placed in read_text_lines([data[start:end]], offset + start):
            if placed is None:
                continue
            uuid = placed.line.uuid
            for text in list_search_texts(placed):
                identity = (uuid or "", text.kind, hash(text.words))
                if uuid is None or seen.setdefault(identity, placed.offset) == placed.offset:
                    yield placed.offset, text


def _find_candidate_lines(clues: Sequence[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    """Find the lines that contain one of the clues; without clues, yield all lines."""
    at = 0
    ahead = {clue: data.find(clue) for clue in clues}
    while at < len(data):
        if clues:
            # Each clue is searched only from its last place on, so it passes over the data once.
            ahead = {clue: data.find(clue, at) if place < at else place for clue, place in ahead.items() if place >= 0}
            nearest = min((place for place in ahead.values() if place >= 0), default=-1)
            if nearest < 0:
                return
            at = data.rfind(b"\n", at, nearest) + 1 or at
        end = data.find(b"\n", at) + 1 or len(data)
        yield at, end
        at = end
