"""A session without its secrets: every string of it, every file that belongs to it, and it still resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.edit.furnished_session import MINE, picture
from tests.session.build import Build
from turnlog.edit.carried_files import list_carried_files
from turnlog.edit.clone import clone_session
from turnlog.edit.draft import Draft
from turnlog.edit.redaction import learn_session_secrets, redact_draft, redact_file, redact_line
from turnlog.edit.session_target import find_target
from turnlog.entries.reader import Transcript
from turnlog.redact.redactor import Redactor
from turnlog.session.session import Session

SECRET = "gh" + "p_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
"""Of the form of a token; made from parts, lest somebody's scanner takes it for one."""


def clean(build: Build) -> tuple[Draft, Redactor]:
    draft, redactor = Draft.from_transcript(build.session().file), Redactor()
    learn_session_secrets(draft, (), redactor)
    return redact_draft(draft, redactor), redactor


def bodies(draft: Draft) -> list[dict[str, Any]]:
    return [draft.get_body(row) for row in draft.rows]


def test_a_secret_gets_the_same_mark_wherever_it_stands() -> None:
    build = Build()
    build.note("last-prompt", lastPrompt=f"the bare {SECRET} comes first", leafUuid="x")
    build.prompt(f"export GITHUB_TOKEN={SECRET}", uuid="p", toolUseResult={"stdout": SECRET, f"{SECRET}.txt": [SECRET]})
    draft, redactor = clean(build)
    written = b"".join(draft.iterate_lines()).decode()
    assert SECRET not in written
    assert written.count("[secret:github:1]") >= 3
    assert redactor.build_report().replacement_count


def test_entries_without_secrets_stay_byte_for_byte() -> None:
    build = Build()
    build.prompt(f"my token is {SECRET}")
    build.answer("thanks")
    source = build.data().splitlines(keepends=True)
    draft, _ = clean(build)
    assert list(draft.iterate_lines())[1] == source[1]


def test_thinking_that_held_a_secret_goes_and_its_children_hang_on_its_ancestor() -> None:
    build = Build()
    prompt = build.prompt("hello")
    thought = {"type": "thinking", "thinking": f"they said {SECRET}", "signature": "c2lnbmVk"}
    message = {"id": "m1", "role": "assistant", "model": "claude-x", "content": [thought]}
    build.row("assistant", "thinks", message=message)
    said = build.answer("hi")
    draft, redactor = clean(build)
    assert [draft.get_uuid(row) for row in draft.rows] == [prompt, said]
    assert draft.get_parent_uuid(draft.rows[1]) == prompt
    assert len(redactor.build_report().thinking) == 1


def test_a_broken_line_with_a_secret_goes_and_another_stays() -> None:
    raw = f'garbage {SECRET}\ngarbage\n{{"type":"user","uuid":"p"}}\n'.encode()
    draft, redactor = Draft.from_transcript(Transcript.from_bytes(raw)), Redactor()
    learn_session_secrets(draft, (), redactor)
    assert list(redact_draft(draft, redactor).iterate_lines()) == [b"garbage\n", b'{"type":"user","uuid":"p"}\n']


def test_every_file_of_a_clone_is_without_secrets_and_it_resumes(session: Path, config: Path) -> None:
    inside = session.parent / MINE
    (inside / "tool-results" / "toolu_1.txt").write_text(f"token {SECRET}\n")
    (inside / "subagents" / "agent-a1b2c3d.jsonl").write_text(
        json.dumps({"type": "user", "isSidechain": True, "message": {"content": SECRET}}) + f"\n{SECRET}\nplain\n"
    )
    with session.open("a") as file:
        last = json.loads(session.read_text().splitlines()[-1])["uuid"]
        row = {"type": "user", "uuid": "q", "parentUuid": last, "timestamp": "2026-01-01T12:00:00.000Z"}
        file.write(json.dumps({**row, "message": {"role": "user", "content": f"use {SECRET}"}}) + "\n")
    before = picture(config)
    redactor = Redactor()
    with Session.open(session) as opened:
        draft = Draft.from_transcript(opened.file)
        learn_session_secrets(draft, list_carried_files(find_target(session), "x"), redactor)
        made = clone_session(session, redact_draft(draft, redactor), read=lambda path: redact_file(path, redactor))
    new = [path for path in config.rglob("*") if path.is_file() and made.session_id in str(path)]
    assert len(new) > 5
    assert all(SECRET.encode() not in path.read_bytes() for path in new)
    agent = (made.path.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl").read_text()
    assert agent.splitlines()[1:] == ["", "plain"]
    assert "[secret:github:1]" in agent
    assert {place: seen for place, seen in picture(config).items() if MINE in place} == {
        place: seen for place, seen in before.items() if MINE in place
    }
    with Session.open(made.path) as opened:
        assert "[secret:github:1]" in json.dumps(opened.conversation().messages)


@pytest.mark.parametrize("name", ["x.json", "x.bin"])
def test_in_files_that_are_no_text_only_the_characters_of_secrets_change(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x00\xff" + SECRET.encode() + b"\x00end")
    assert b"".join(redact_file(path, Redactor())) == b"\x00\xff" + b"*" * len(SECRET) + b"\x00end"


def test_an_earlier_value_of_a_repeated_key_does_not_stay() -> None:
    inner = f'{{"role":"user","content":"{SECRET}","content":"x"}}'
    raw = f'{{"type":"user","uuid":"p","note":"{SECRET}","note":"y","message":{inner}}}\n'.encode()
    draft, redactor = Draft.from_transcript(Transcript.from_bytes(raw)), Redactor()
    learn_session_secrets(draft, (), redactor)
    (written,) = redact_draft(draft, redactor).iterate_lines()
    assert json.loads(written) == json.loads(raw)
    assert SECRET.encode() not in written
    assert SECRET.encode() not in redact_line(raw, Redactor())


def test_a_line_of_another_file_that_can_not_be_read_as_a_whole_and_holds_a_secret_goes() -> None:
    deep = b'{"type":"user","deep":' + b"[" * 2000 + b'"' + SECRET.encode() + b'"' + b"]" * 2000 + b"}\n"
    assert redact_line(deep, Redactor()) == b"\n"
    plain = deep.replace(SECRET.encode(), b"nothing")
    assert redact_line(plain, Redactor()) == plain


def test_a_message_that_is_no_object_is_redacted_too() -> None:
    raw = f'{{"type":"user","uuid":"p","message":"{SECRET}"}}\n'.encode()
    draft, redactor = Draft.from_transcript(Transcript.from_bytes(raw)), Redactor()
    learn_session_secrets(draft, (), redactor)
    (written,) = redact_draft(draft, redactor).iterate_lines()
    assert json.loads(written)["message"] == "[secret:github:1]"
