"""The data that a piece of a session file adds to the index, as a value: an `IndexBatch`.

Another process can build a batch while this process writes the previous one.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from turnlog.entries.replays import LineReplays
from turnlog.entries.tail import Checkpoint, make_checkpoint, read_tail
from turnlog.session.clock import to_epoch_seconds
from turnlog.session.texts.line_heads import PlacedHead, read_line_heads
from turnlog.session.texts.lines import PlacedLine, TextLine, is_whole_entry, read_text_lines
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.session.texts.texts import (
    SAID_KINDS,
    TEXT_KINDS,
    SearchText,
    ShownEarlier,
    count_unsaid_letters,
    find_whole_file_path,
    join_result,
    list_search_texts,
)
from turnlog.session.usage.message_counts import MessageCounts, count_echo, count_line
from turnlog.store.index.facets import build_facets
from turnlog.store.index.name_numbers import NameNumbers, NameRow
from turnlog.store.index.words import find_identifiers, to_indexed_text

PIECE_BYTES = 1 << 19
"""How much of a file is read at once; a longer line is read whole."""
_PIECES_OF_CONVERSATION = 4
"""How many times as much is read at once if most of it is left out, because each piece has a fixed cost."""
MIN_TEXT_BYTES = 4
"""Every text takes at least this many bytes of a file, so text numbers can be reserved before a file is read."""
MAX_TEXT_CHARS = 32 << 20
"""Longer texts are cut off at this length and counted, because the rest would be in memory several times."""
_PIECES_LEFT_TO_WRITER, _PIECES_PER_CYCLE = 2, 5
"""The writer finds the identifiers of this share of the pieces: reading takes longer, and both run in parallel."""
_RESULT_KIND = list(TEXT_KINDS).index("result")
_KIND_NUMBERS = {kind: place for place, kind in enumerate(TEXT_KINDS)}
_SAID_KINDS = frozenset(map(_KIND_NUMBERS.__getitem__, SAID_KINDS))


TextPart = Literal["all", "conversation", "rest"]
"""What is read from a file: everything, or first what an overview needs (its outline, its usage and what was said), and
later the rest (what tools were given and returned, thinking and attachments)."""


class ReadTask(NamedTuple):
    """A file to read, starting at a checkpoint."""

    file: int
    path: str
    kind: str
    session: int
    project: int
    checkpoint: Checkpoint
    outline: TranscriptOutline
    calls: dict[str, int]
    """The calls read earlier, with the numbers of their tools."""
    files: set[str]
    """The files whose whole content an earlier result showed."""
    copy: str | None = None
    """The source of its bytes, if not the file at its path."""
    reset: str | None = None
    """Why the known rows of this file are invalid, if that is clear before reading it."""
    part: TextPart = "all"
    filled: int = 0
    """How far the rest has been read."""
    room: int = 0
    """The number for the next text of the rest."""
    leaves_identifiers: bool = False
    """Whether identifiers are looked for later."""

    @property
    def source(self) -> str:
        return self.copy or self.path


class CallRow(Struct, array_like=True):
    """A row of the `call` table, without the file."""

    id: str
    tool: int | None = None
    started: str | None = None
    ended: str | None = None
    failed: bool | None = None
    given: int | None = None
    got: int | None = None
    path: str | None = None
    shown: str | None = None


PlaceRow = tuple[int, int, int, int, int]
"""A row of the table `text`. A plain tuple, like the next type, because there are millions of rows."""
WordsRow = tuple[int, str, str, str]
"""A row of a full-text table: the words by which a text is found."""


class IndexBatch(Struct, array_like=True):
    """The rows that one piece of a file adds."""

    file: int
    session: int
    """The session that the file belongs to."""
    reset: str | None
    """Why the known rows of the file are invalid."""
    checkpoint: Checkpoint
    outline: TranscriptOutline
    names: list[NameRow]
    answers: dict[str, MessageCounts]
    calls: dict[str, CallRow]
    places: list[PlaceRow]
    said: list[WordsRow]
    done: list[WordsRow]
    identifiers: list[str] | None = None
    """New identifiers in camelCase; None if the text has not been searched for them yet."""
    size: int = 0
    """How many bytes of the file it covers."""
    failure: str | None = None
    """Why the file can't be read; if set, the batch adds nothing."""
    cut: int = 0
    """How many texts are longer than their searchable part."""
    part: TextPart = "all"
    filled: int = 0
    """How far the rest of the file has been read after this piece."""
    room: int = 0
    """The number for the next text of the rest."""

    @property
    def is_first(self) -> bool:
        """Whether the piece starts the file, so that the tables have no rows yet for what it adds."""
        return self.size == (self.filled if self.part == "rest" else self.checkpoint.offset)

    def take_new_identifiers(self, names: NameNumbers) -> list[str]:
        """Return the identifiers that `names` does not contain yet."""
        if self.identifiers is None:
            # In one go: searching a few long texts is faster, and each identifier is written once.
            words = b"\n".join([row[1].encode() for rows in (self.said, self.done) for row in rows])
            self.identifiers = names.select_unknown(find_identifiers(words))
        return self.identifiers


def read_batches(task: ReadTask, names: NameNumbers, numbers: Iterator[int]) -> Iterator[IndexBatch]:
    """Yield what is new in a file, piece by piece; yield at least one batch, so that the checkpoint is stored."""
    try:
        yield from _read_batches(task, names, numbers)
    except OSError as error:
        reason = f"{task.path}: {error.strerror or error}"
        yield IndexBatch(
            task.file, task.session, None, task.checkpoint, task.outline, [], {}, {}, [], [], [], failure=reason
        )


def _read_batches(task: ReadTask, names: NameNumbers, numbers: Iterator[int]) -> Iterator[IndexBatch]:
    reader = BatchReader(task, names, numbers)
    piece_bytes = PIECE_BYTES * (_PIECES_OF_CONVERSATION if task.part == "conversation" else 1)
    checkpoint, reset, is_first = task.checkpoint, task.reset or _find_reset_reason(task), True
    if reset:
        reader.forget()
        checkpoint = Checkpoint(generation=checkpoint.generation + 1)
    while True:
        tail = read_tail(task.source, checkpoint, piece_bytes)
        if tail.reset == "missing":
            return
        if tail.reset:
            reader.forget()
            reset = tail.reset
        last = None if tail.data else _read_unfinished_line(task, tail.checkpoint)
        if last is not None:
            yield reader.read_batch(reset, last.checkpoint, last.data, tail.start)
            return
        if tail.data or is_first:
            yield reader.read_batch(reset, tail.checkpoint, tail.data, tail.start)
        if not tail.data:
            return
        checkpoint, reset, is_first = tail.checkpoint, None, False


def _find_reset_reason(task: ReadTask) -> str | None:
    """Return why a file must be read again, if its last line or output was continued after it was read."""
    checkpoint = task.checkpoint
    if checkpoint.offset == 0:
        return None
    with Path(task.source).open("rb") as file:
        file.seek(checkpoint.offset - 1)
        around = file.read(2)
    if task.kind == "output":  # written in one go; an addition may continue a word
        return "grown" if len(around) == 2 else None
    return "glued" if len(around) == 2 and b"\n" not in around else None


class _LastLine(NamedTuple):
    data: bytes
    checkpoint: Checkpoint


def _read_unfinished_line(task: ReadTask, checkpoint: Checkpoint) -> _LastLine | None:
    """Read a last line without a line ending if it is already a complete entry; otherwise, return None."""
    if checkpoint.size <= checkpoint.offset:
        return None
    with Path(task.source).open("rb") as file:
        file.seek(checkpoint.offset)
        data = file.read(checkpoint.size - checkpoint.offset)
        if b"\n" in data or not (task.kind == "output" or is_whole_entry(data)):
            return None
        end = make_checkpoint(file.fileno(), checkpoint.offset + len(data))
    return _LastLine(data, end._replace(generation=checkpoint.generation, mtime_ns=checkpoint.mtime_ns))


class BatchReader:
    """The state carried from one piece of a file to the next."""

    def __init__(self, task: ReadTask, names: NameNumbers, numbers: Iterator[int]) -> None:
        self.task = task
        self.names = names
        self.numbers = numbers
        self.outline = task.outline
        self.tools = task.calls
        self.familiar = ShownEarlier(self.tools, task.files)
        self.in_agent = task.kind == "agent"
        self.facet = partial(build_facets, session=task.session, project=task.project)
        self.facets: dict[tuple[object, ...], str] = {}
        self.models: dict[str, int] = {}
        self.part = task.part
        self.filled = task.filled
        start = task.filled if task.part == "rest" else task.checkpoint.offset
        self.replays = LineReplays(task.source, start, task.outline.ended)

    def forget(self) -> None:
        """Start over, because the file was replaced."""
        self.outline = TranscriptOutline()
        self.replays = LineReplays(self.task.source)
        self.tools.clear()
        self.task.files.clear()
        self.filled = 0

    def read_batch(self, reset: str | None, checkpoint: Checkpoint, data: bytes, start: int) -> IndexBatch:
        self.answers: dict[str, MessageCounts] = {}
        self.calls: dict[str, CallRow] = {}
        self.places: list[PlaceRow] = []
        self.words: tuple[list[WordsRow], list[WordsRow]] = ([], [])
        self.cut = 0
        if self.task.kind == "output":
            if data and self.part != "conversation":
                self._read_plain_text(data, start)
        else:
            # A piece that is one long line is not copied.
            lines = [data] if 0 <= data.find(b"\n") == len(data) - 1 else io.BytesIO(data)
            self._read_lines(lines, start)
        for best in self.answers.values():  # advisors and echoes have models of their own
            if best.model:
                self.names.get_number("model", best.model)
        said, done = self.words
        batch = IndexBatch(
            self.task.file,
            self.task.session,
            reset,
            checkpoint,
            self.outline,
            self.names.take_new_names(),
            self.answers,
            self.calls,
            self.places,
            said,
            done,
            size=len(data),
            cut=self.cut,
            part=self.part,
            filled=checkpoint.offset if self.part == "all" else self.filled,
            room=self.task.room,
        )
        is_ours = (self.task.file + start // PIECE_BYTES) % _PIECES_PER_CYCLE >= _PIECES_LEFT_TO_WRITER
        if is_ours and not self.task.leaves_identifiers:
            batch.take_new_identifiers(self.names)
        return batch

    def _read_lines(self, lines: Iterable[bytes], start: int) -> None:
        if self.part == "conversation":
            self._read_conversation(lines, start)
            return
        read_entry = self._read_rest if self.part == "rest" else self._read_entry
        for placed in read_text_lines(lines, start):
            if placed is None:
                self.outline.broken += 1
            elif self._is_replay(placed):
                if self.part == "all":
                    self.outline.add_envelopes((placed.line,))
            else:
                read_entry(placed)
                if self.part == "all":
                    self.outline.add_placed_line(placed)

    def _is_replay(self, placed: PlacedLine | PlacedHead) -> bool:
        line = placed.line
        return self.replays.is_replay(line.uuid, line.timestamp, placed.offset, placed.raw)

    def _read_conversation(self, lines: Iterable[bytes], start: int) -> None:
        outline, envelopes = self.outline, []
        for placed in read_line_heads(lines, start):
            if placed is None:
                outline.broken += 1
                continue
            line = placed.line
            envelopes.append(line)
            if self._is_replay(placed):
                continue
            if isinstance(placed, PlacedHead):
                if line.type != "user":  # only results
                    outline.add_content(placed)
            elif (letters := count_unsaid_letters(placed)) is not None:
                best = count_line(self.answers, line, self.task.path, placed.offset)
                if best is not None:
                    best.letters += letters
            else:
                self._read_entry(placed)
                outline.add_content(placed)
                continue
            cwd, branch = line.cwd, line.git_branch
            if (cwd and cwd != outline.last_cwd) or (branch and branch != outline.git_branch):
                self._add_move(placed)
        outline.add_envelopes(envelopes)

    def _read_plain_text(self, data: bytes, start: int) -> None:
        text = data.decode("utf-8", "replace")
        self.cut += len(text) > MAX_TEXT_CHARS
        words = to_indexed_text(text[:MAX_TEXT_CHARS])
        number = next(self.numbers)
        self.places.append((number, self.task.file, start, _RESULT_KIND, 0))
        self.words[1].append((number, words, "", self.facet(kind=_RESULT_KIND)))

    def _read_entry(self, placed: PlacedLine) -> None:
        line, message = placed.line, placed.line.message
        texts = list_search_texts(placed, self.familiar)
        shown_path = None if line.tool_use_result is None else find_whole_file_path(line.tool_use_result)
        if shown_path is not None:
            self.task.files.add(shown_path)
        model = None
        if line.type == "assistant" and message is not None:
            best = count_line(self.answers, line, self.task.path, placed.offset)
            if best is not None:
                best.letters += sum([len(text.words) for text in texts])
            if message.model:
                model = self.models.get(message.model) or self._number_model(message.model)
        elif line.type == "progress" and b'"agent_progress"' in placed.raw:
            count_echo(self.answers, placed.body, self.task.path, placed.offset)
        if self.part == "conversation":
            texts = [text for text in texts if text.kind in SAID_KINDS]
        else:
            join_result(texts)
        if (moved := self.outline.find_move(line)) is not None:
            texts.append(SearchText("other", moved))
        if texts:
            self._add_texts(placed, texts, model, shown_path)

    def _add_move(self, placed: PlacedLine | PlacedHead) -> None:
        """Index the folder or branch that a line names, if the work moved there."""
        if (moved := self.outline.find_move(placed.line)) is not None:
            self._add_texts(placed, [SearchText("other", moved)], self._find_model(placed.line), None)

    def _read_rest(self, placed: PlacedLine) -> None:
        """Read what `conversation` left out of an entry."""
        line = placed.line
        texts = [text for text in list_search_texts(placed, self.familiar) if text.kind not in SAID_KINDS]
        shown_path = None if line.tool_use_result is None else find_whole_file_path(line.tool_use_result)
        if shown_path is not None:
            self.task.files.add(shown_path)
        join_result(texts)
        if texts:
            self._add_texts(placed, texts, self._find_model(line), shown_path)

    def _find_model(self, line: TextLine) -> int | None:
        """Return the number of the model that wrote a line."""
        name = line.message.model if line.type == "assistant" and line.message is not None else None
        return (self.models.get(name) or self._number_model(name)) if name else None

    def _number_model(self, model: str) -> int:
        number = self.models[model] = self.names.get_number("model", model)
        return number

    def _add_texts(
        self,
        placed: PlacedLine | PlacedHead,
        texts: list[SearchText],
        model: int | None,
        shown_path: str | None,
    ) -> None:
        """Index the text of an entry; this runs for all text, so it never looks anything up twice."""
        line, offset, file = placed.line, placed.offset, self.task.file
        time = to_epoch_seconds(line.timestamp)
        in_agent = self.in_agent or bool(line.is_sidechain)
        day = time // 86_400
        for text in texts:
            words, paths, failed = text.words, text.paths, text.failed
            tool_id = None
            if (call := text.call) is not None:
                if text.tool is not None:
                    self._note_call(call, text.tool, line.timestamp, words, paths)
                else:
                    size = len(words) if text.seen is None else text.seen
                    self._note_result(call, line.timestamp, size, failed, shown_path)
                tool_id = self.tools.get(call)
            if not words and not paths:
                continue
            place = _KIND_NUMBERS[text.kind]
            key = (place, tool_id, model, failed, in_agent, day)
            facet = self.facets.get(key)
            if facet is None:
                facet = self.facets[key] = self.facet(
                    kind=place, tool=tool_id, model=model, failed=failed, in_agent=in_agent, time=time
                )
            number = next(self.numbers)
            if len(words) > MAX_TEXT_CHARS:
                words = words[:MAX_TEXT_CHARS]
                self.cut += 1
            files = to_indexed_text("\n".join(paths)) if paths else ""
            self.places.append((number, file, offset, place, time))
            self.words[place not in _SAID_KINDS].append((number, to_indexed_text(words), files, facet))

    def _note_call(self, key: str, tool: str, time: str | None, words: str, paths: tuple[str, ...]) -> None:
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = CallRow(key)
        if call.tool is None:
            if key not in self.tools:
                self.tools[key] = self.names.get_number("tool", tool)
            call.tool = self.tools[key]
            call.started, call.given, call.path = time, len(words), paths[0] if paths else None

    def _note_result(self, key: str, time: str | None, size: int, failed: bool, shown_path: str | None) -> None:
        """Record the result of a call; only the first result determines its time, size and outcome."""
        call = self.calls.get(key)
        if call is None:
            call = self.calls[key] = CallRow(key)
        call.shown = shown_path or call.shown
        if call.got is None:
            call.ended, call.failed, call.got = time, failed, size
