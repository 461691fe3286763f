"""Finds text anywhere in a session and its sub-agents, ignoring case.

The file is read in large blocks. Only lines that contain the longest plain part of the query, in any case, are decoded.
A response contains a limited number of hits; the next request continues after them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from io import SEEK_END
from pathlib import Path
from typing import IO, NamedTuple

from msgspec import Struct

from turnlog.entries.agents import list_agent_files
from turnlog.errors import UsageError
from turnlog.session.texts.lines import read_text_lines
from turnlog.session.texts.texts import SearchText, list_search_texts
from turnlog.store.search.needle import build_text_needle
from turnlog.store.search.snippet import build_snippet_around
from turnlog.web.machine import Machine
from turnlog.web.reading.transcript_view import TranscriptView

MAX_QUERY_CHARS = 400
MAX_HITS = 300
"""The maximum number of hits in one response."""
_BLOCK_BYTES = 4 << 20
_SNIPPET_CHARS = 120
_START_PATTERN = re.compile(r"([0-9]{1,6}):([0-9]{1,15})", re.ASCII)


class TextHit(Struct):
    """An item, or a part of one, that contains the text."""

    key: str
    kind: str
    """The kind of text, as in docs/search.md."""
    position: int | None
    """In the requested branch; None if the item is on another branch."""
    turn: int
    agent: str | None
    address: str
    text: str
    ranges: tuple[tuple[int, int], ...]
    """The positions of the query in the text."""
    hidden: bool = False
    """Whether it is in bookkeeping, which pages show only on request."""


class TextHits(Struct):
    """Hits in file order."""

    hits: list[TextHit]
    next: str | None
    """Where to continue; None after the last hit."""


class _Sighting(NamedTuple):
    offset: int
    text: SearchText
    span: tuple[int, int]


class _SearchedFile(NamedTuple):
    path: Path
    transcripts: Callable[[], Iterator[TranscriptView]]
    """Opens the transcripts whose lines the file contains; on demand, since most files contain no hit."""


def find_text(
    machine: Machine, transcript: TranscriptView, query: str, start: str = "", limit: int = MAX_HITS
) -> TextHits:
    """Search a session and its sub-agents or, for a sub-agent's transcript, only that sub-agent."""
    if not query or len(query) > MAX_QUERY_CHARS:
        raise UsageError(f"q= must be 1 to {MAX_QUERY_CHARS} characters long")
    reached, offset = _parse_start(start)
    hits: list[TextHit] = []
    for number, file in enumerate(_list_files(machine, transcript)):
        if number < reached:
            continue
        for sighting in _find_sightings(file.path, query, offset if number == reached else 0):
            if len(hits) >= limit:
                return TextHits(hits, f"{number}:{sighting.offset}")
            if hit := _to_hit(file.transcripts(), sighting, is_here=number == 0):
                hits.append(hit)
    return TextHits(hits, None)


def _parse_start(start: str) -> tuple[int, int]:
    if not start:
        return 0, 0
    match = _START_PATTERN.fullmatch(start)
    if match is None:
        raise UsageError("start= must be the `next` value of an earlier response")
    return int(match[1]), int(match[2])


def _list_files(machine: Machine, transcript: TranscriptView) -> Iterator[_SearchedFile]:
    """Yield the files to search, the transcript's own first."""
    path = transcript.session.path

    def open_agent(name: str) -> TranscriptView:
        return TranscriptView(
            transcript.session, machine.timelines.get_timeline(path, name), None, name, transcript.main
        )

    def open_own() -> Iterator[TranscriptView]:
        yield transcript
        apart = {file.agent_id for file in files}
        for helper in transcript.head.agents if transcript.agent is None else ():
            if helper.agent_id not in apart:  # its lines are in the session's file
                yield open_agent(helper.agent_id)

    files = list_agent_files(path) if transcript.agent is None else []
    yield _SearchedFile(transcript.timeline.path, open_own)
    for file in files:
        yield _SearchedFile(file.path, partial(_open_agent, open_agent, file.agent_id))


def _open_agent(open_agent: Callable[[str], TranscriptView], name: str) -> Iterator[TranscriptView]:
    yield open_agent(name)


def _find_sightings(path: Path, query: str, start: int) -> Iterator[_Sighting]:
    pattern = re.compile(re.escape(query), re.IGNORECASE)
    clues = tuple(clue.lower() for clue in build_text_needle(query).clues)
    others = tuple(clue.lower() for clue in build_text_needle(query.swapcase()).clues)
    with path.open("rb") as file:
        for data, offset in _read_blocks(file, start):
            for begin, end in _find_candidate_lines({*clues, *others}, data):
                for placed in filter(None, read_text_lines([data[begin:end]], offset + begin)):
                    for text in list_search_texts(placed):
                        if match := pattern.search(text.words):
                            yield _Sighting(placed.offset, text, match.span())


def _read_blocks(file: IO[bytes], offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of whole lines and their offsets."""
    file.seek(min(offset, file.seek(0, SEEK_END)))
    while data := file.read(_BLOCK_BYTES):
        data += file.readline() if not data.endswith(b"\n") else b""
        yield data, offset
        offset += len(data)


def _find_candidate_lines(clues: Collection[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the start and end of lines that contain one of the clues, in any case."""
    folded = data.lower()
    at = 0
    ahead = dict.fromkeys(clues, -1)
    while at < len(data):
        # Each clue is searched again only after its last place is passed, so that it crosses the data once.
        ahead = {clue: folded.find(clue, at) if seen < at else seen for clue, seen in ahead.items()}
        ahead = {clue: seen for clue, seen in ahead.items() if seen >= 0}
        if not ahead:
            return
        begin = data.rfind(b"\n", at, min(ahead.values())) + 1 or at
        at = data.find(b"\n", begin) + 1 or len(data)
        yield begin, at


def _to_hit(parts: Iterator[TranscriptView], sighting: _Sighting, *, is_here: bool) -> TextHit | None:
    """Convert a sighting to a hit in the first of the file's transcripts that contains the line."""
    for number, part in enumerate(parts):
        if where := part.locate_line(sighting.offset):
            snippet = build_snippet_around(sighting.text.words, sighting.span, _SNIPPET_CHARS)
            is_on_branch = is_here and not number and where.leaf == part.leaf
            return TextHit(
                where.item.key,
                sighting.text.kind,
                where.position if is_on_branch else None,
                where.item.turn,
                part.agent,
                part.permalink(where.item.key, where.leaf),
                snippet.text,
                snippet.ranges,
                where.item.kind == "meta",
            )
    return None
