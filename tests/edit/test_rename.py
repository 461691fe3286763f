"""Titles and tags are appended, as the client does it, and nothing else in the file changes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.edit.furnished_session import LONG_AGO, MINE, OTHER, picture
from tests.session.build import find_recording
from turnlog.edit.rename import rename_session
from turnlog.edit.tag import tag_session
from turnlog.entries.belongings import read_custom_title
from turnlog.errors import Changed, TurnlogError, UsageError
from turnlog.session.session import Session

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes are those of POSIX")


def list_added_lines(path: Path, before: bytes) -> list[dict[str, str]]:
    after = path.read_bytes()
    assert after.startswith(before)
    return [json.loads(line) for line in after[len(before) :].splitlines()]


def test_a_title_is_written_as_the_client_writes_it(session: Path) -> None:
    before = session.read_bytes()
    assert rename_session(session, "  Fix the\n cents ").value == "Fix the cents"
    assert list_added_lines(session, before) == [
        {"type": "custom-title", "customTitle": "Fix the cents", "sessionId": MINE},
        {"type": "agent-name", "agentName": "Fix the cents", "sessionId": MINE},
    ]
    beside = session.with_suffix("") / "custom-title.json"
    assert beside.read_bytes() == b'{"customTitle":"Fix the cents"}'
    with Session.open(session) as found:
        assert found.titles.custom == "Fix the cents"


def test_the_lines_have_the_form_of_genuine_ones() -> None:
    path = find_recording("2.1.325/tui_basic")
    genuine = [line for line in path.read_bytes().splitlines() if line.startswith(b'{"type":"custom-title"')]
    title, own = json.loads(genuine[0])["customTitle"], path.stem
    assert genuine[0] == f'{{"type":"custom-title","customTitle":"{title}","sessionId":"{own}"}}'.encode()
    assert read_custom_title(path.with_suffix("") / "custom-title.json") in (title, None)


def test_nothing_but_the_transcript_and_the_title_beside_it_changes(session: Path, config: Path) -> None:
    before = picture(config)
    rename_session(session, "Shop")
    after = picture(config)
    changed = {place for place in before if before[place].content != after[place].content}
    assert changed == {f"projects/-home-dana-webshop/{MINE}.jsonl"}
    assert before.keys() == after.keys()


@posix
def test_a_title_beside_the_transcript_is_for_its_owner_only(session: Path) -> None:
    other = session.with_name(f"{OTHER}.jsonl")
    rename_session(other, "Ünïcode 🐙")
    beside = other.with_suffix("") / "custom-title.json"
    assert beside.read_text(encoding="utf-8") == '{"customTitle":"Ünïcode 🐙"}'
    assert (beside.stat().st_mode & 0o777, beside.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_file_outside_of_the_clients_folders_gets_a_title_too(tmp_path: Path) -> None:
    path = tmp_path / f"{MINE}.jsonl"
    path.write_bytes(b"{}\n")
    rename_session(path, "Copy")
    assert len(list_added_lines(path, b"{}\n")) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_a_tag_is_given_and_taken_away(session: Path) -> None:
    before = session.read_bytes()
    tag_session(session, "#urgent")
    tag_session(session, None)
    assert list_added_lines(session, before) == [
        {"type": "tag", "tag": "urgent", "sessionId": MINE},
        {"type": "tag", "tag": "", "sessionId": MINE},
    ]


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("x" * 501, "has 501 char"),
        ("a\x1b[2J", "U[+]001B"),
        ("\ud800", "U[+]D800"),
    ],
)
def test_a_title_that_nobody_could_see_is_refused(session: Path, title: str, words: str) -> None:
    before = session.read_bytes()
    with pytest.raises(UsageError, match=words):
        rename_session(session, title)
    assert session.read_bytes() == before


def test_a_torn_line_stays_alone_on_its_line(session: Path) -> None:
    torn = session.read_bytes() + b'{"type":"user","mess'
    session.write_bytes(torn)
    os.utime(session, (LONG_AGO, LONG_AGO))
    tag_session(session, "x")
    assert session.read_bytes().startswith(torn + b'\n{"type":"tag"')


def test_a_line_that_is_being_written_is_not_cut_in_two(session: Path) -> None:
    torn = session.read_bytes() + b'{"type":"user","mess'
    session.write_bytes(torn)
    with pytest.raises(Changed, match="being written; try again"):
        rename_session(session, "Shop")
    assert session.read_bytes() == torn


def test_an_open_session_is_renamed_and_the_sign_is_told(session: Path) -> None:
    (session.parents[2] / "sessions").mkdir()
    (session.parents[2] / "sessions" / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": MINE}))
    assert [sign.kind for sign in rename_session(session, "Shop").busy] == ["registered"]


@posix
def test_no_link_leads_a_title_out_of_the_projects(session: Path, config: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    other = session.with_name(f"{OTHER}.jsonl")
    other.with_suffix("").symlink_to(outside)
    with pytest.raises(TurnlogError, match="outside "):
        rename_session(other, "Shop")
    assert list(outside.iterdir()) == []
    (outside / "precious").write_bytes(b"mine\n")
    link = config / "projects" / "-home-dana-webshop" / "22222222-2222-4333-8444-555555555555.jsonl"
    link.symlink_to(outside / "precious")
    with pytest.raises(TurnlogError, match="outside "):
        rename_session(link, "Shop")
    assert (outside / "precious").read_bytes() == b"mine\n"
