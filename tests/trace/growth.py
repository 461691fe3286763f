"""A session that grows on disk as its client would write it: several files, line by line, in the order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.session.session import Session
from turnlog.trace.spans.attributes import build_span
from turnlog.trace.spans.content import ContentPolicy, SpanContents
from turnlog.trace.spans.span import SessionSignals, Span
from turnlog.trace.spans.span_trees import build_session_traces


class Piece(NamedTuple):
    """A line that is appended to one of the files."""

    time: str
    file: Path
    data: bytes


class Emitted(NamedTuple):
    """A span that was final, and after how many pieces it first was."""

    span: Span
    after: int


def pieces(files: Iterable[tuple[Path, bytes]]) -> list[Piece]:
    """The lines of some files in the order of their times; one without a time follows the line before it."""
    found = []
    for file, data in files:
        time = ""
        for line in data.splitlines(keepends=True):
            time = max(time, _time(line))
            found.append(Piece(time, file, line))
    return sorted(found, key=lambda piece: piece.time)


def _time(line: bytes) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return ""
    time = value.get("timestamp") if isinstance(value, dict) else None
    return time if isinstance(time, str) else ""


def recorded_files(path: Path) -> list[tuple[Path, bytes]]:
    """A recorded session with its sub-agents, under names relative to its folder."""
    nested = path.with_suffix("").glob("subagents/**/*.jsonl")
    found = [path, *path.parent.glob("agent-*.jsonl"), *nested]
    return [(file.relative_to(path.parent), file.read_bytes()) for file in found]


def metas(path: Path) -> list[tuple[Path, bytes]]:
    """What tells of the sub-agents of a recorded session; written before their first line."""
    found = path.with_suffix("").glob("subagents/**/*.meta.json")
    return [(file.relative_to(path.parent), file.read_bytes()) for file in found]


def write(folder: Path, files: Iterable[tuple[Path, bytes]]) -> None:
    """Write files as a whole."""
    for name, data in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def append(folder: Path, new: Iterable[Piece]) -> None:
    """Append some lines to their files."""
    for piece in new:
        (folder / piece.file).parent.mkdir(parents=True, exist_ok=True)
        with (folder / piece.file).open("ab") as file:
            file.write(piece.data)


def map_final_spans(
    path: Path, told: SessionSignals = SessionSignals(), policy: ContentPolicy = ContentPolicy()
) -> dict[bytes, Span]:
    """The spans of a session that are final, by their ids."""
    return {item.id: item for item in spans(path, told, policy)}


def spans(
    path: Path, told: SessionSignals = SessionSignals(), policy: ContentPolicy = ContentPolicy()
) -> Iterator[Span]:
    """The spans of a session that are final."""
    with Session.open(path) as session:
        for trace in build_session_traces(session, told):
            contents = SpanContents(session, policy)
            for node in trace.nodes:
                if node.final:
                    yield build_span(node, trace, contents)


def grow_spans(folder: Path, main: Path, parts: Iterable[list[Piece]]) -> dict[bytes, Emitted]:
    """Each span as it was when it first was final, while a session grew by some parts; at last it is over."""
    first: dict[bytes, Emitted] = {}
    count = 0
    (folder / main).touch()
    for part in parts:
        append(folder, part)
        count += len(part)
        keep(first, map_final_spans(folder / main), count)
    keep(first, map_final_spans(folder / main, SessionSignals(over=True)), count)
    return first


def keep(first: dict[bytes, Emitted], now: dict[bytes, Span], count: int) -> None:
    """Add what is new; what was final must not have changed."""
    for identity, item in now.items():
        before = first.setdefault(identity, Emitted(item, count))
        assert item == before.span, f"{item.name} changed after {before.after} lines, at {count}"
    gone = [emitted.span.name for identity, emitted in first.items() if identity not in now]
    assert not gone, f"{gone} gone at {count}"
