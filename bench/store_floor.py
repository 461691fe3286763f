"""The lower bounds for an index on this machine: decode the lines, extract the text and load one full-text table.

One process fills one FTS5 table and two small ones in one transaction. The result can't be filtered, searched by file
or by part of a name, or updated; whatever a real index costs beyond this pays for those features. The lower bound of
the first stage leaves calls, results, thinking and attachments as bytes, and loads only what people and the model said.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
from msgspec import Struct

_SCHEMA = """
    CREATE TABLE text (id INTEGER PRIMARY KEY, file INTEGER, offset INTEGER, type TEXT, time TEXT);
    CREATE TABLE answer (
        key TEXT PRIMARY KEY, file INTEGER, model TEXT, time TEXT, input INTEGER, output INTEGER, read INTEGER,
        written INTEGER
    ) WITHOUT ROWID;
    CREATE VIRTUAL TABLE bare USING fts5 (
        words, content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2"
    );
"""
_OPTIONS = (("hashsize", 64 << 20), ("automerge", 0), ("crisismerge", 500))


class _Usage(Struct, gc=False):
    input_tokens: int | None = None  # a proxy may write null
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Block(Struct, gc=False):
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    input: Any = None
    content: Any = None


class _Message(Struct, gc=False):
    model: str | None = None
    id: str | None = None
    content: str | list[_Block] | None = None
    usage: _Usage | None = None


class _Line(Struct, gc=False):
    message: _Message | None = None
    attachment: Any = None
    data: Any = None
    content: Any = None
    summary: str | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None


class _SpokenBlock(Struct, gc=False):
    type: str = ""
    text: str | None = None


class _SpokenMessage(Struct, gc=False):
    model: str | None = None
    id: str | None = None
    content: str | list[_SpokenBlock] | None = None
    usage: _Usage | None = None


class _SpokenLine(Struct, gc=False, rename="camel"):
    is_sidechain: bool | None = None
    cwd: str | None = None
    version: str | None = None
    git_branch: str | None = None
    message: _SpokenMessage | None = None
    type: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None
    summary: str | None = None


class _LoadCounts(NamedTuple):
    texts: int
    letters: int


def prepare_floor(root: str, place: str) -> Callable[[], Any]:
    """Prepare loading the text of a collection, without the copy that the client keeps beside each result."""
    return _prepare_load(root, place, msgspec.json.Decoder(_Line).decode, _extract_text)


def prepare_conversation_floor(root: str, place: str) -> Callable[[], Any]:
    """Prepare loading what was said, and the usage: what the first stage of an index reads."""
    return _prepare_load(root, place, msgspec.json.Decoder(_SpokenLine).decode, _extract_speech)


def _prepare_load(
    root: str, place: str, decode: Callable[[bytes], Any], extract: Callable[[Any], str]
) -> Callable[[], Any]:
    db = apsw.Connection(str(Path(place) / "floor.db"))
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")
    db.execute(_SCHEMA)
    for option in _OPTIONS:
        db.execute("INSERT INTO bare (bare, rank) VALUES (?, ?)", option)
    paths = sorted((Path(root) / "projects").rglob("*.jsonl"))

    def work() -> Any:
        gc.disable()
        with db:
            counts = _load_files(db, paths, decode, extract)
        db.close()
        return counts._asdict()

    return work


def _load_files(
    db: apsw.Connection, paths: list[Path], decode: Callable[[bytes], Any], extract: Callable[[Any], str]
) -> _LoadCounts:
    number = letters = 0
    for file, path in enumerate(paths):
        texts: list[tuple[Any, ...]] = []
        words: list[tuple[int, str]] = []
        answers: dict[str, tuple[Any, ...]] = {}
        for offset, line in _read_lines(path, decode):
            if text := extract(line):
                number += 1
                letters += len(text)
                texts.append((number, file, offset, line.type, line.timestamp))
                words.append((number, text))
            message = line.message
            if message is not None and message.usage is not None:
                key = message.id or line.uuid or f"{file}@{offset}"
                answers[key] = (key, file, message.model, line.timestamp, *msgspec.structs.astuple(message.usage))
        db.executemany("INSERT INTO text VALUES (?, ?, ?, ?, ?)", texts)
        db.executemany("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?, ?)", answers.values())
        db.executemany("INSERT INTO bare (rowid, words) VALUES (?, ?)", words)
    return _LoadCounts(number, letters)


def _read_lines(path: Path, decode: Callable[[bytes], Any]) -> Iterator[tuple[int, Any]]:
    offset = 0
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # torn, or in an unknown shape
                yield offset, decode(line)
            offset += len(line)


def _extract_speech(line: _SpokenLine) -> str:
    message = line.message
    if message is None:
        return line.ai_title or line.custom_title or line.summary or ""
    if isinstance(message.content, str):
        return message.content
    return "\n".join([block.text for block in message.content or () if block.text])


def _extract_text(line: _Line) -> str:
    strings: list[str] = []
    if line.message is None:
        _collect_strings([line.summary, line.attachment, line.data, line.content], strings)
    elif isinstance(line.message.content, str):
        return line.message.content
    else:
        for block in line.message.content or ():
            _collect_strings([block.text, block.thinking, block.name, block.input, block.content], strings)
    return "\n".join(strings)


def _collect_strings(value: Any, strings: list[str]) -> None:
    kind = type(value)
    if kind is str:
        strings.append(value)
    elif kind is list:
        for inner in value:
            if inner is not None:
                _collect_strings(inner, strings)
    elif kind is dict:
        for key, inner in value.items():
            if key not in ("data", "signature"):
                _collect_strings(inner, strings)
