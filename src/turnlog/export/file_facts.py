"""What one pass over the lines of a file finds: its outline, and its messages and calls as `turnlog usage` counts them.

The index counts in the same way (`store.index.batch_reader`), so sums over the tables equal the reports of
`turnlog usage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from turnlog.entries.drift import Drift
from turnlog.session.texts.lines import PlacedLine, is_whole_entry, read_text_lines
from turnlog.session.texts.outline import TranscriptOutline
from turnlog.session.texts.texts import ShownEarlier, find_whole_file_path, list_search_texts
from turnlog.session.usage.message_counts import MessageCounts, count_echo, count_line


class CallSizes(Struct):
    """What a file records about one call."""

    tool: str | None = None
    """None if the file contains only its result."""
    started: str | None = None
    ended: str | None = None
    failed: bool | None = None
    input_chars: int | None = None
    result_chars: int | None = None
    path: str | None = None
    """The file that its input names."""


class FileFacts:
    """Folds the lines of a file; nothing in it grows with the length of the texts."""

    def __init__(self, name: str) -> None:
        self.outline = TranscriptOutline()
        self.answers: dict[str, MessageCounts] = {}
        self.calls: dict[str, CallSizes] = {}
        self.types: Counter[str] = Counter()
        self.drift = Drift()
        self._name = name
        self._files: set[str] = set()
        self._familiar = ShownEarlier(self.calls, self._files)

    @classmethod
    def read(cls, lines: Iterable[bytes], name: str) -> FileFacts:
        """Read a whole file; `name` is used for messages without an id."""
        facts = cls(name)
        for placed in read_text_lines(drop_torn_line(lines)):
            if placed is None:
                facts.outline.broken += 1
            else:
                facts._add_line(placed)
        return facts

    def _add_line(self, placed: PlacedLine) -> None:
        line, message = placed.line, placed.line.message
        texts = list_search_texts(placed, self._familiar)
        shown = None if line.tool_use_result is None else find_whole_file_path(line.tool_use_result)
        if shown is not None:
            self._files.add(shown)
        if line.type == "assistant" and message is not None:
            best = count_line(self.answers, line, self._name, placed.offset)
            if best is not None:
                best.letters += sum([len(text.words) for text in texts])
        elif line.type == "progress" and b'"agent_progress"' in placed.raw:
            count_echo(self.answers, placed.body, self._name, placed.offset)
        self.outline.find_move(line)
        self.outline.add_placed_line(placed)
        self._count_type(placed)
        for text in texts:
            if text.call is not None and text.tool is not None:
                self._note_call(text.call, text.tool, line.timestamp, len(text.words), text.paths)
            elif text.call is not None:
                self._note_result(text.call, line.timestamp, text.seen or len(text.words), text.failed)

    def _count_type(self, placed: PlacedLine) -> None:
        body = placed.body
        kind, subtype = placed.line.type or "(no type)", body.get("subtype")
        self.types[f"{kind}/{subtype}" if isinstance(subtype, str) else kind] += 1
        self.drift.add_entry(body, placed.line.version)

    def _note_call(self, key: str, tool: str, time: str | None, size: int, paths: tuple[str, ...]) -> None:
        call = self.calls.setdefault(key, CallSizes())
        if call.tool is None:
            call.tool, call.started, call.input_chars, call.path = tool, time, size, paths[0] if paths else None

    def _note_result(self, key: str, time: str | None, size: int, failed: bool) -> None:
        call = self.calls.setdefault(key, CallSizes())
        if call.result_chars is None:
            call.ended, call.failed, call.result_chars = time, failed, size


def drop_torn_line(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Leave out a last line that is still being written."""
    for line in lines:
        if line.endswith(b"\n") or is_whole_entry(line):
            yield line
