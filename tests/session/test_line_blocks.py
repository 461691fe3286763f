"""A line of many calls is decoded once, and only a bounded amount of decoded lines is kept."""

from __future__ import annotations

from typing import Any

from tests.session.build import Build, outcome, use
from turnlog.entries.entry import Body, Entry
from turnlog.entries.reader import Transcript
from turnlog.session.calls import pair_calls, read_call_detail
from turnlog.session.line_blocks import MAX_KEPT_BYTES, MIN_CROWDED_BLOCKS, read_line_blocks
from turnlog.session.session import Session


class CountedBodies:
    """Reads a transcript, and counts the lines that are decoded."""

    def __init__(self, file: Transcript) -> None:
        self._file = file
        self.decoded = 0

    def read_raw(self, item: Entry) -> bytes:
        return self._file.read_raw(item)

    def read_head(self, entry: Entry, size: int) -> bytes:
        return self._file.read_head(entry, size)

    def read_body(self, entry: Entry) -> Body:
        self.decoded += 1
        return self._file.read_body(entry)


def call_many(count: int, text: str = "Exit code 1\nfailed", lines: int = 1) -> Session:
    """One message with calls, answered in turn by the given number of lines."""
    build = Build()
    build.prompt("Run everything.")
    build.answer(*(use(f"c{number}") for number in range(count)), stop="tool_use")
    for line in range(lines):
        build.prompt([outcome(f"c{number}", text) for number in range(line, count, lines)])
    return build.session()


def test_the_calls_of_one_message_and_their_results_are_decoded_once() -> None:
    for count in (100, 400):
        session = call_many(count, lines=2)
        bodies: Any = CountedBodies(session.file)
        calls = pair_calls(session.entries, bodies).all
        details = [read_call_detail(bodies, call) for call in calls]
        assert [detail.outcome for detail in details] == ["error"] * count
        assert bodies.decoded == 3


def test_crowded_lines_beyond_a_size_are_decoded_again() -> None:
    size = MAX_KEPT_BYTES // 2 // MIN_CROWDED_BLOCKS + 1
    session = call_many(3 * MIN_CROWDED_BLOCKS, text="x" * size, lines=3)
    bodies = CountedBodies(session.file)
    results = [entry for entry in session.entries if entry.type == "user"][1:]
    for entry in (*results, *results[1:]):
        assert len(read_line_blocks(bodies, entry).results) == MIN_CROWDED_BLOCKS
    assert bodies.decoded == 3
    read_line_blocks(bodies, results[0])
    assert bodies.decoded == 4
