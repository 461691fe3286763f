"""A session that turnlog compacted is resumed by the real client: the summary, then the turns that were kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.clients import NEWEST, OLD, client, list_missing_clients
from tests.interop.digest import difference, digests
from tests.interop.reader import messages_of
from tests.interop.recordings import DATA
from tests.interop.resume import resume
from turnlog.edit.compress.compact import SUMMARY_INTRODUCTION, compact_draft
from turnlog.edit.compress.recap import build_recap
from turnlog.edit.draft import Draft
from turnlog.session.session import Session

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients()), reason="the clients are not installed"),
]

CLIENT_NEWEST, CLIENT_OLD = client(NEWEST), client(OLD)
CASES = [
    ("2.1.325/tools", 0),
    ("2.1.325/agents", 1),
    ("2.1.325/agents", 2),
    ("2.1.325/compact", 0),
    ("2.1.325/compact", 2),
    ("2.1.29/compact", 1),
    ("2.0.76/agents", 0),
    ("1.0.128/compact", 1),
]


def write_compacted(folder: Path, name: str, keep: int) -> Path:
    source = max((DATA / "sessions" / name).rglob("????????-*.jsonl"), key=lambda path: path.stat().st_size)
    made = folder / source.name
    with Session.open(source) as session:
        found = compact_draft(Draft.from_transcript(session.file), build_recap, keep=keep, transcript=made)
        made.write_bytes(b"".join(found.draft.iterate_lines()))
    return made


@pytest.mark.parametrize(("name", "keep"), CASES)
def test_the_newest_client_sends_the_summary_and_the_kept_turns(name: str, keep: int, tmp_path: Path) -> None:
    made = write_compacted(tmp_path, name, keep)
    got = resume(CLIENT_NEWEST, made, 60)
    ours = messages_of(made) or []
    assert (got.outcome, got.status) == ("sent", 0)
    assert difference(digests(got.messages), digests(ours)) is None
    assert ours[0]["content"][0]["text"].startswith(SUMMARY_INTRODUCTION)
    assert len(ours) > 1 or keep == 0


@pytest.mark.parametrize("name", ["2.1.325/agents", "2.1.29/compact"])
def test_the_old_client_sends_the_summary_where_no_turns_are_kept(name: str, tmp_path: Path) -> None:
    made = write_compacted(tmp_path, name, 0)
    got = resume(CLIENT_OLD, made, 60)
    assert (got.outcome, got.status) == ("sent", 0)
    assert difference(digests(got.messages), digests(messages_of(made) or [])) is None
