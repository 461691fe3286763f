"""Finding a text in one session, all of it: whatever the case, in texts of every kind, and in its sub-agents.

The file is read in large blocks. Lines are decoded only where the longest plain part of what is looked for stands in
them, in whatever case. What was found is cut after a number of hits; a further request goes on behind them.
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
"""So many hits are given at once."""
_BLOCK_BYTES = 4 << 20
_SNIPPET_CHARS = 120
_START_PATTERN = re.compile(r"([0-9]{1,6}):([0-9]{1,15})", re.ASCII)


class TextHit(Struct):
    """An item, or a part of one, with the text."""

    key: str
    kind: str
    """Of the text: docs/search.md."""
    position: int | None
    """In the branch that was asked for; None where it is on another one."""
    turn: int
    agent: str | None
    address: str
    text: str
    ranges: tuple[tuple[int, int], ...]
    """Where in the text what was looked for stands."""


class TextHits(Struct):
    """What was found, in the order of the file."""

    hits: list[TextHit]
    next: str | None
    """Where to go on; None when all was looked through."""


class _Sighting(NamedTuple):
    offset: int
    text: SearchText
    span: tuple[int, int]


class _SearchedFile(NamedTuple):
    path: Path
    transcripts: Callable[[], Iterator[TranscriptView]]
    """Those whose lines it holds, made when one of them is needed: most files hold nothing of what is looked for."""


def find_text(place: Machine, found: TranscriptView, query: str, start: str = "", most: int = MAX_HITS) -> TextHits:
    """Look for a text in a session and in its sub-agents; in one of these alone if the transcript is that."""
    if not query or len(query) > MAX_QUERY_CHARS:
        raise UsageError(f"q: a text of 1 to {MAX_QUERY_CHARS} characters")
    reached, offset = _parse_start(start)
    hits: list[TextHit] = []
    for number, file in enumerate(_list_files(place, found)):
        if number < reached:
            continue
        for sighting in _find_sightings(file.path, query, offset if number == reached else 0):
            if len(hits) >= most:
                return TextHits(hits, f"{number}:{sighting.offset}")
            if hit := _to_hit(file.transcripts(), sighting, is_here=number == 0):
                hits.append(hit)
    return TextHits(hits, None)


def _parse_start(start: str) -> tuple[int, int]:
    if not start:
        return 0, 0
    form = _START_PATTERN.fullmatch(start)
    if form is None:
        raise UsageError("start: what `next` of an earlier answer said")
    return int(form[1]), int(form[2])


def _list_files(place: Machine, found: TranscriptView) -> Iterator[_SearchedFile]:
    """The files to look through, that of the transcript first."""
    path = found.known.path

    def of_agent(name: str) -> TranscriptView:
        return TranscriptView(found.known, place.timelines.get_timeline(path, name), None, name, found.main)

    def own() -> Iterator[TranscriptView]:
        yield found
        apart = {file.agent_id for file in files}
        for helper in found.head.agents if found.agent is None else ():
            if helper.agent_id not in apart:  # its lines stand in the session's file
                yield of_agent(helper.agent_id)

    files = list_agent_files(path) if found.agent is None else []
    yield _SearchedFile(found.kept.path, own)
    for file in files:
        yield _SearchedFile(file.path, partial(_open_agent, of_agent, file.agent_id))


def _open_agent(of_agent: Callable[[str], TranscriptView], name: str) -> Iterator[TranscriptView]:
    yield of_agent(name)


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
    """Whole lines, many at once, and where they begin."""
    file.seek(min(offset, file.seek(0, SEEK_END)))
    while data := file.read(_BLOCK_BYTES):
        data += file.readline() if not data.endswith(b"\n") else b""
        yield data, offset
        offset += len(data)


def _find_candidate_lines(clues: Collection[bytes], data: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines are that hold one of the clues, in whatever case."""
    folded = data.lower()
    at = 0
    ahead = dict.fromkeys(clues, -1)
    while at < len(data):
        # A clue is looked for again only from where it was last seen: each goes once through the data.
        ahead = {clue: folded.find(clue, at) if seen < at else seen for clue, seen in ahead.items()}
        ahead = {clue: seen for clue, seen in ahead.items() if seen >= 0}
        if not ahead:
            return
        begin = data.rfind(b"\n", at, min(ahead.values())) + 1 or at
        at = data.find(b"\n", begin) + 1 or len(data)
        yield begin, at


def _to_hit(parts: Iterator[TranscriptView], sighting: _Sighting, *, is_here: bool) -> TextHit | None:
    """A sighting as a hit in the first of some transcripts of one file that has the line."""
    for number, part in enumerate(parts):
        if where := part.locate_line(sighting.offset):
            shown = build_snippet_around(sighting.text.words, sighting.span, _SNIPPET_CHARS)
            is_on_branch = is_here and not number and where.leaf == part.leaf
            return TextHit(
                where.item.key,
                sighting.text.kind,
                where.position if is_on_branch else None,
                where.item.turn,
                part.agent,
                part.permalink(where.item.key, where.leaf),
                shown.text,
                shown.ranges,
            )
    return None
