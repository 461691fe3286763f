"""History that the client wrote again is searched once, whether it is indexed in one run or in many."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.build import Build, encode_lines
from tests.session.replays import build_replays
from tests.store.findable import Findable
from turnlog.store.search.needle import build_text_needle
from turnlog.store.search.scan import ScanTarget, scan_file


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Findable]:
    """A machine without sessions."""
    found = Findable(tmp_path)
    yield found
    found.store.close()


def count_hits(machine: Findable) -> list[int]:
    return [machine.find(f'"first question {number}"').total for number in range(4)]


def test_replayed_history_is_found_once(machine: Findable) -> None:
    machine.add(1, build_replays(4))
    machine.refresh()
    assert count_hits(machine) == [1, 1, 1, 1]


def test_replays_are_recognised_when_the_file_grows_line_by_line(machine: Findable) -> None:
    build = Build()
    lines = build_replays(4).lines
    for count in range(1, len(lines) + 1):
        build.lines = lines[:count]
        machine.add(1, build)
        machine.refresh()
    assert count_hits(machine) == [1, 1, 1, 1]
    assert machine.store.db.execute("SELECT prompts FROM file").get == build_replays(4).session().prompts
    assert machine.store.db.execute("SELECT max(letters) FROM answer").get == len("second answer 0")


def test_a_scan_of_the_file_counts_a_replayed_text_once() -> None:
    data = encode_lines(build_replays(4).lines)
    report = scan_file(build_text_needle("first question 0"), ScanTarget(1, "", False, 0), lambda _: iter([data]))
    assert report.total == 1
