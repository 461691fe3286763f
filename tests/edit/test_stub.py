"""A client that had a session open goes on writing in its old place: both parts become one session again."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edit.furnished_session import MINE, picture
from turnlog.edit.illnesses.catalogue import diagnose_session
from turnlog.edit.stub import begins_with_file, is_continuation
from turnlog.edit.trash.delete import delete_session
from turnlog.edit.trash.trash import Trash
from turnlog.errors import TurnlogError
from turnlog.session.session import Session


def row(uuid: str, parent: str | None, text: str = "on", kind: str = "user", **fields: object) -> bytes:
    message = {"role": kind, "content": text}
    known = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": MINE, "isSidechain": False}
    time = {"timestamp": "2026-11-16T09:00:00.000Z"}
    return json.dumps({**known, **time, "message": message, **fields}).encode() + b"\n"


def last_uuid(session: Path) -> str:
    with Session.open(session) as found:
        return [entry.uuid for entry in found.entries if entry.uuid][-1]


def continue_session(session: Path) -> bytes:
    """What a client writes that goes on with a session: its bookkeeping first, then a prompt."""
    snapshot = b'{"type":"file-history-snapshot","messageId":"n1","snapshot":{}}\n'
    return snapshot + row("n1", last_uuid(session)) + row("n2", "n1", "yes", "assistant")


# -- what is a stub


def write_session(folder: Path, name: str, data: bytes) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_bytes(data)
    return path


ORIGINAL = row("a", None) + row("b", "a")


@pytest.mark.parametrize(
    ("stub", "expected"),
    [
        (row("c", "b"), True),
        (row("c", "a"), True),
        (row("d", "c") + row("c", "b"), True),  # an old client may write the answer first
        (row("c", "b") + row("d", None), True),  # a compaction begins anew
        (b'{"type":"custom-title","customTitle":"x"}\n', True),
        (row("c", "b") + b'{"torn', True),
        (row("c", None), False),
        (row("c", "elsewhere"), False),
        (row("c", "b") + row("d", "elsewhere"), False),
        (row("b", "a"), False),
        (b"{}\n", False),
        (b"", False),
        (b"no session\n", False),
    ],
)
def test_a_stub_goes_on_from_what_the_original_has(tmp_path: Path, stub: bytes, expected: bool) -> None:
    paths = write_session(tmp_path, "stub", stub), write_session(tmp_path, "original", ORIGINAL)
    assert is_continuation(*paths) is expected


def test_a_link_a_folder_and_another_kind_of_file_are_no_stubs(tmp_path: Path) -> None:
    original = write_session(tmp_path, "original", ORIGINAL)
    stub = write_session(tmp_path, "stub", row("c", "b"))
    (tmp_path / "link.jsonl").symlink_to(stub)
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "stub.json").write_bytes(stub.read_bytes())
    for name in ("link.jsonl", "folder.jsonl", "stub.json", "missing.jsonl"):
        assert not is_continuation(tmp_path / name, original)
        assert not begins_with_file(tmp_path / name, original)


# -- undelete


def test_what_a_client_wrote_in_the_place_of_a_deleted_session_follows_the_original(
    session: Path, config: Path, trash: Trash
) -> None:
    original, stub, before = session.read_bytes(), continue_session(session), picture(config)
    entry = delete_session(session, trash)
    session.write_bytes(stub)
    done = trash.restore(entry)
    assert session.read_bytes() == original + stub
    assert (done.joined, done.aside) == ((session,), ())
    own = session.relative_to(config).as_posix()
    after = picture(config)
    assert {name for name in before if after[name] != before[name]} == {own}
    assert after[own].mode == before[own].mode
    with Session.open(session) as found:
        assert [symptom.kind for symptom in diagnose_session(found) if symptom.severity != "info"] == []
    assert trash.list_entries().entries == []


def test_a_last_line_without_an_end_gets_one_before_the_stub(session: Path, trash: Trash) -> None:
    stub = continue_session(session)
    session.write_bytes(session.read_bytes().rstrip(b"\n"))
    os.utime(session, (1, 1))
    original, entry = session.read_bytes(), delete_session(session, trash)
    session.write_bytes(stub)
    trash.restore(entry)
    assert session.read_bytes() == original + b"\n" + stub


def test_logs_that_the_client_wrote_beside_its_stub_are_set_aside(session: Path, config: Path, trash: Trash) -> None:
    stub, log = continue_session(session), config / "debug" / f"{MINE}.txt"
    old = log.read_bytes()
    entry = delete_session(session, trash)
    session.write_bytes(stub)
    log.write_text("new log")
    done = trash.restore(entry)
    assert log.read_bytes() == old
    assert [path.read_text() for path in done.aside] == ["new log"]


def test_another_session_in_the_place_is_set_aside_by_force_only(session: Path, config: Path, trash: Trash) -> None:
    before = picture(config)
    original, entry = session.read_bytes(), delete_session(session, trash)
    session.write_bytes(row("x", None))
    while_gone = picture(config)
    with pytest.raises(
        TurnlogError, match=r"already present with different content, so nothing was restored; .* --force"
    ):
        trash.restore(entry)
    assert picture(config) == while_gone
    done = trash.restore(entry, force=True)
    assert session.read_bytes() == original
    assert [path.read_bytes() for path in done.aside] == [row("x", None)]
    assert picture(config) == before


def test_what_was_set_aside_goes_when_the_trash_is_emptied(session: Path, trash: Trash) -> None:
    from datetime import timedelta

    entry = delete_session(session, trash)
    session.write_bytes(row("x", None))
    (aside,) = trash.restore(entry, force=True).aside
    trash.empty(timedelta(days=1))
    assert aside.exists()
    trash.empty(timedelta(0))
    assert not aside.exists()


def test_a_restore_that_was_stopped_after_it_joined_both_is_finished(session: Path, trash: Trash) -> None:
    stub = continue_session(session)
    original, entry = session.read_bytes(), delete_session(session, trash)
    session.write_bytes(original + stub)
    trash.restore(entry)
    assert session.read_bytes() == original + stub


@given(data=st.binary(max_size=200))
def test_whatever_stands_in_the_place_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    base = tmp_path_factory.mktemp("any")
    session = base / "claude" / "projects" / "-p" / f"{MINE}.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(ORIGINAL)
    os.utime(session, (1, 1))
    trash = Trash(base / "trash")
    entry = delete_session(session, trash)
    session.write_bytes(data)
    done = trash.restore(entry, force=True)
    now = session.read_bytes()
    assert now.startswith(ORIGINAL)
    assert data in (now.removeprefix(ORIGINAL), now, *(path.read_bytes() for path in done.aside))
