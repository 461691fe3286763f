"""Files that have lost everything, or their beginning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.session.build import SESSION, Build, base, encode_lines, stamp
from turnlog.edit.illnesses.catalogue import diagnose_session
from turnlog.session.session import Session


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))


def kinds(data: bytes) -> dict[str, str]:
    return {symptom.kind: symptom.severity for symptom in diagnose_session(Session.from_bytes(data))}


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\0" * 4096, b"\xef\xbb\xbf"])
def test_a_file_in_which_nothing_is_left_is_noted(data: bytes, turnlog: Turnlog, machine: Machine) -> None:
    """Old clients leave empty files behind, so that alone is no illness; but it is not called healthy either."""
    assert kinds(data)["empty-file"] == "info"
    machine.add(SESSION, data)
    done = turnlog("doctor", SESSION)
    assert "Healthy" not in done.out


def test_a_file_with_anything_in_it_is_not_empty() -> None:
    assert "empty-file" not in kinds(b"{broken\n")
    assert "empty-file" not in kinds(base().data())


def test_a_conversation_can_not_begin_with_an_answer_or_a_result() -> None:
    build = Build()
    build.prompt("one")
    build.call("c1")
    build.result("c1")
    build.answer("ONE")
    build.prompt("two")
    build.answer("TWO")
    found = {start: kinds(encode_lines(build.lines[start:])).get("lost-beginning") for start in range(6)}
    assert found == {0: None, 1: "error", 2: "error", 3: "error", 4: None, 5: "error"}


def test_typed_prompts_tell_that_a_file_lost_its_beginning(turnlog: Turnlog, machine: Machine) -> None:
    """Cut before a prompt, a file could be whole, if the client did not remember what was typed before."""
    whole = base()
    path = machine.add(SESSION, encode_lines(whole.lines[2:]))
    assert "lost-beginning" not in turnlog("doctor", SESSION).out
    row = {"display": "u1", "sessionId": SESSION, "project": "/home/dana", "timestamp": 1_767_261_660_000}
    (machine.folder / "history.jsonl").write_text(json.dumps(row) + "\n")
    assert whole.lines[0]["timestamp"] == stamp(60) == "2026-01-01T10:01:00.000Z"
    done = turnlog("doctor", SESSION)
    assert (done.status, "[lost-beginning]" in done.out) == (1, True)
    assert "1 prompt of it in the client's history, typed before its first entry" in done.out
    path.write_bytes(whole.data())
    assert "lost-beginning" not in turnlog("doctor", SESSION).out


def test_an_emptied_session_is_found_among_all_if_something_was_typed_in_it(
    turnlog: Turnlog,
    machine: Machine,
) -> None:
    """Old clients leave empty files behind, which are no illness."""
    machine.add(SESSION, b"")
    machine.add(SESSION.replace("1", "2"), b"")
    machine.add(SESSION.replace("1", "3"), base().data())
    row = {"display": "u1", "sessionId": SESSION, "project": "/home/dana", "timestamp": 1_767_261_660_000}
    (machine.folder / "history.jsonl").write_text(json.dumps(row) + "\n")
    report = turnlog("doctor", "--all", "--json").json
    assert {item["session_id"]: item["healthy"] for item in report["sessions"]} == {
        SESSION: False,
        SESSION.replace("1", "3"): True,
    }


def test_the_archive_has_what_a_file_lost(turnlog: Turnlog, machine: Machine) -> None:
    whole = base()
    path = machine.add(SESSION, whole.data())
    turnlog("archive", "run")
    for left in (b"", encode_lines(whole.lines[3:])):
        path.write_bytes(left)
        turnlog("archive", "run")
        (symptom,) = [
            item
            for item in turnlog("doctor", SESSION, "--json").json["sessions"][0]["symptoms"]
            if item["kind"] in ("empty-file", "lost-beginning")
        ]
        assert turnlog(*symptom["remedy"].split()[1:]).status == 0
        assert path.read_bytes() == whole.data()
