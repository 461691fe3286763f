"""The shared corpus: every file loads, every byte is accounted for, and nothing that can be asked raises."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CORPUS
from tests.entries.strategies import assert_found, assert_tiles
from tests.session.build import to_session_document
from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript, scan_lines
from turnlog.session.check import check
from turnlog.session.session import Session

pytestmark = pytest.mark.corpus
PARTS = {"lab": "lab/**/*", "variants": "variants/**/*", "wild": "wild/**/*", "oracles": "*.jsonl"}


def paths(part: str) -> Iterator[Path]:
    """All files of a part of the corpus, also those that are no session."""
    return (path for path in sorted(CORPUS.glob(PARTS[part])) if path.is_file())


@pytest.mark.parametrize("part", PARTS)
def test_every_byte_of_every_file_is_accounted_for(part: str) -> None:
    count = 0
    for path in paths(part):
        data = path.read_bytes()
        file = Transcript.open(path)
        assert_tiles(file.items, len(data))
        assert b"".join(raw for _, raw in scan_lines(io.BytesIO(data))) == data, path
        assert all(isinstance(file.read_body(entry), dict) for entry in file.entries), path
        assert_found(file)
        file.close()
        count += 1
    assert count


@pytest.mark.parametrize("part", PARTS)
def test_nothing_that_can_be_asked_of_a_file_raises(part: str) -> None:
    for path in paths(part):
        with Session.open(path) as session:
            found = to_session_document(session)
            assert found["entries"]["total"] == len(session.file.entries), path
            assert all(finding.kind for finding in check(session)), path


def test_nearly_every_line_of_real_sessions_is_an_entry() -> None:
    found: Counter[str] = Counter()
    for path in paths("wild"):
        if path.suffix == ".jsonl":
            for item, _ in scan_lines(io.BytesIO(path.read_bytes())):
                found["entry" if isinstance(item, Entry) else item.kind] += 1
    assert found["entry"] > 0.99 * found.total()
