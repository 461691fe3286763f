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

from turnlog.entries.agents import agent_files
from turnlog.errors import UsageError
from turnlog.session.texts.lines import lines
from turnlog.session.texts.texts import Text, texts
from turnlog.store.search.needle import substring
from turnlog.store.search.snippet import around
from turnlog.web.place import Place
from turnlog.web.reading.transcript import Transcript

LONGEST = 400
MOST = 300
"""So many hits are given at once."""
_BLOCK = 4 << 20
_WIDTH = 120
_START = re.compile(r"([0-9]{1,6}):([0-9]{1,15})", re.ASCII)


class Hit(Struct):
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


class Found(Struct):
    """What was found, in the order of the file."""

    hits: list[Hit]
    next: str | None
    """Where to go on; None when all was looked through."""


class _Sighting(NamedTuple):
    offset: int
    text: Text
    span: tuple[int, int]


class _File(NamedTuple):
    path: Path
    transcripts: Callable[[], Iterator[Transcript]]
    """Those whose lines it holds, made when one of them is needed: most files hold nothing of what is looked for."""


def find(place: Place, found: Transcript, query: str, start: str = "", most: int = MOST) -> Found:
    """Look for a text in a session and in its sub-agents; in one of these alone if the transcript is that."""
    if not query or len(query) > LONGEST:
        raise UsageError(f"q: a text of 1 to {LONGEST} characters")
    reached, offset = _started(start)
    hits: list[Hit] = []
    for number, file in enumerate(_files(place, found)):
        if number < reached:
            continue
        for sighting in _sightings(file.path, query, offset if number == reached else 0):
            if len(hits) >= most:
                return Found(hits, f"{number}:{sighting.offset}")
            if hit := _hit(file.transcripts(), sighting, is_here=number == 0):
                hits.append(hit)
    return Found(hits, None)


def _started(start: str) -> tuple[int, int]:
    if not start:
        return 0, 0
    form = _START.fullmatch(start)
    if form is None:
        raise UsageError("start: what `next` of an earlier answer said")
    return int(form[1]), int(form[2])


def _files(place: Place, found: Transcript) -> Iterator[_File]:
    """The files to look through, that of the transcript first."""
    path = found.known.path

    def of_agent(name: str) -> Transcript:
        return Transcript(found.known, place.timelines.of(path, name), None, name, found.main)

    def own() -> Iterator[Transcript]:
        yield found
        apart = {file.agent_id for file in files}
        for helper in found.head.agents if found.agent is None else ():
            if helper.agent_id not in apart:  # its lines stand in the session's file
                yield of_agent(helper.agent_id)

    files = agent_files(path) if found.agent is None else []
    yield _File(found.kept.path, own)
    for file in files:
        yield _File(file.path, partial(_only, of_agent, file.agent_id))


def _only(of_agent: Callable[[str], Transcript], name: str) -> Iterator[Transcript]:
    yield of_agent(name)


def _sightings(path: Path, query: str, start: int) -> Iterator[_Sighting]:
    pattern = re.compile(re.escape(query), re.IGNORECASE)
    clues = tuple(clue.lower() for clue in substring(query).clues)
    others = tuple(clue.lower() for clue in substring(query.swapcase()).clues)
    with path.open("rb") as file:
        for data, offset in _blocks(file, start):
            for begin, end in _candidates({*clues, *others}, data):
                for placed in filter(None, lines([data[begin:end]], offset + begin)):
                    for text in texts(placed):
                        if match := pattern.search(text.words):
                            yield _Sighting(placed.offset, text, match.span())


def _blocks(file: IO[bytes], offset: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines, many at once, and where they begin."""
    file.seek(min(offset, file.seek(0, SEEK_END)))
    while data := file.read(_BLOCK):
        data += file.readline() if not data.endswith(b"\n") else b""
        yield data, offset
        offset += len(data)


def _candidates(clues: Collection[bytes], data: bytes) -> Iterator[tuple[int, int]]:
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


def _hit(parts: Iterator[Transcript], sighting: _Sighting, *, is_here: bool) -> Hit | None:
    """A sighting as a hit in the first of some transcripts of one file that has the line."""
    for number, part in enumerate(parts):
        if where := part.whereabouts(sighting.offset):
            shown = around(sighting.text.words, sighting.span, _WIDTH)
            is_on_branch = is_here and not number and where.leaf == part.leaf
            return Hit(
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
