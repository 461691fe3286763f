"""What turnlog has repaired is what the real clients resume, the old one too where it lost a part before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.edit import sick
from tests.edit.sick import CASES, IDS, Sick
from tests.interop.clients import NEWEST, OLD, client, list_missing_clients
from tests.interop.digest import difference, digests
from tests.interop.reader import messages_of
from tests.interop.resume import Resumed, resume
from tests.session.build import SESSION, find_recording
from turnlog.edit.illnesses.repair import repair_session
from turnlog.session.session import Session

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients()), reason="the clients are not installed"),
]

CLIENT_NEWEST, CLIENT_OLD = client(NEWEST), client(OLD)
LOST_BEFORE = [
    sick.missing_parent,
    sick.bridged_parent,
    sick.snapshot_id,
    sick.several_roots,
    sick.hidden_answer,
    sick.build_glued,
]
"""Of these the old client showed only a part."""
ENDLESS_BEFORE = [sick.cycle, sick.two_entries_with_one_uuid]
"""With these the old client never came to an end."""


def write_session(folder: Path, data: bytes) -> Path:
    path = folder / f"{SESSION}.jsonl"
    path.write_bytes(data)
    return path


def repair_file(folder: Path, data: bytes, *only: str) -> Path:
    found = repair_session(Session.from_bytes(data), only)
    assert found.draft is not None
    return write_session(folder, b"".join(found.draft.iterate_lines()))


def texts(got: Resumed) -> list[str]:
    """What was said, without what clients add of their own."""
    blocks = [block for message in got.messages for block in message["content"] if isinstance(block, dict)]
    said = [str(block["text"]) for block in blocks if block["type"] == "text"]
    return [text.strip() for text in said if not text.startswith("<") and "NEXT-ORACLE" not in text]


@pytest.mark.parametrize(("kind", "make"), CASES, ids=IDS)
def test_the_newest_client_sends_what_turnlog_says_of_a_repaired_session(
    kind: str, make: Callable[[], Sick], tmp_path: Path
) -> None:
    ill = make()
    path = repair_file(tmp_path, ill.data, *([kind] if ill.only else []))
    got = resume(CLIENT_NEWEST, path, 60)
    assert (got.outcome, got.status) == ("sent", 0)
    assert difference(digests(got.messages), digests(messages_of(path) or [])) is None


@pytest.mark.parametrize("make", LOST_BEFORE)
def test_the_old_client_resumes_all_of_what_it_lost_before(make: Callable[[], Sick], tmp_path: Path) -> None:
    ill = make()
    before = resume(CLIENT_OLD, write_session(tmp_path, ill.data), 60)
    after = resumed_by_the_old(repair_file(tmp_path, ill.data))
    assert len(texts(before)) < len(texts(after))


@pytest.mark.parametrize("make", ENDLESS_BEFORE)
def test_the_old_client_comes_to_an_end_with_what_it_never_did_before(make: Callable[[], Sick], tmp_path: Path) -> None:
    ill = make()
    # It works all the time: what it has not sent now, it would not send later.
    assert resume(CLIENT_OLD, write_session(tmp_path, ill.data), 8).outcome == "timeout"
    assert texts(resumed_by_the_old(repair_file(tmp_path, ill.data)))


def resumed_by_the_old(path: Path) -> Resumed:
    """What the old client sends, which is what turnlog says."""
    got = resume(CLIENT_OLD, path, 60)
    assert (got.outcome, got.status) == ("sent", 0)
    assert difference(digests(got.messages), digests(messages_of(path) or [])) is None
    return got


@pytest.mark.parametrize("make", [sick.build_unanswered, sick.unanswered_before_a_text, sick.build_refused])
def test_the_old_client_sends_what_was_made_up(make: Callable[[], Sick], tmp_path: Path) -> None:
    path = repair_file(tmp_path, make().data)
    after = resume(CLIENT_OLD, path, 60)
    assert difference(digests(after.messages), digests(messages_of(path) or [])) is None


def test_lines_that_the_old_client_wrote_elsewhere_are_sent_again_by_itself(tmp_path: Path) -> None:
    source = find_recording("2.1.29/tui_progress")
    with Session.open(source) as session:
        found = repair_session(session)
    assert found.draft is not None
    path = tmp_path / source.name
    path.write_bytes(b"".join(found.draft.iterate_lines()))
    before, after = resume(CLIENT_OLD, source, 60), resume(CLIENT_OLD, path, 60)
    newest = resume(CLIENT_NEWEST, path, 60)
    assert len(before.messages) < len(after.messages)
    assert difference(digests(newest.messages), digests(messages_of(path) or [])) is None
