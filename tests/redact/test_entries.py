"""In an entry the texts are redacted and what holds the session together stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.redact.plants import TOKENS, drawer, password
from turnlog.redact.redactor import Redactor

DATA = Path(__file__).resolve().parent.parent / "data" / "sessions"
SECRET = TOKENS["github"](drawer(11))
OTHER = password(drawer(12))
MARK = "[secret:github:1]"
UUID = "3c9d5a8e-21bb-4f7a-9d55-0d6f0a1b2c3d"


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": UUID,
        "parentUuid": None,
        "sessionId": UUID,
        "timestamp": "2026-01-01T00:00:00Z",
        **changes,
    }


def answer(*blocks: dict[str, Any]) -> dict[str, Any]:
    return entry(type="assistant", message={"id": "msg_1", "role": "assistant", "content": list(blocks)})


def test_a_secret_goes_from_every_text_of_an_entry() -> None:
    body = entry(
        cwd=f"/srv/{SECRET}",
        gitBranch=SECRET,
        message={
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": f"x {SECRET}"}],
        },
        toolUseResult={"stdout": SECRET, "id": SECRET, "file": {"filePath": f"/{SECRET}", "content": f"a\n{SECRET}"}},
        attachment={"type": "file", "content": {"file": {"content": SECRET}}},
        snapshot={"trackedFileBackups": {f"/srv/{SECRET}": {"backupFileName": "a@v1"}}},
        unknown=[{"deep": {"list": [SECRET]}}],
    )
    redacted = Redactor().redact_entry_body(body, 3)
    assert SECRET not in json.dumps(redacted)
    assert json.dumps(redacted) == json.dumps(body).replace(SECRET, MARK)


def test_tool_inputs_are_free_of_structure() -> None:
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Bash",
        "input": {"id": SECRET, "type": SECRET, "signature": SECRET},
    }
    redacted = Redactor().redact_entry_body(answer(call))["message"]["content"][0]
    assert redacted == {**call, "input": {"id": MARK, "type": MARK, "signature": MARK}}


def test_ids_links_types_and_signatures_stay_even_if_they_are_known_secrets() -> None:
    redactor = Redactor()
    redactor.learn_secrets({"password": UUID, "api_key": "toolu_01abcdefgh23"})
    body = answer(
        {"type": "thinking", "thinking": "", "signature": UUID},
        {"type": "redacted_thinking", "data": UUID},
        {"type": "tool_use", "id": "toolu_01abcdefgh23", "name": "Read", "input": {}},
    )
    assert redactor.redact_entry_body(body) == body
    assert (
        redactor.redact_entry_body(entry(message={"role": "user", "content": UUID}))["message"]["content"]
        == "[secret:password:1]"
    )


def test_signed_thinking_that_changes_is_told() -> None:
    redactor = Redactor()
    thought = {"type": "thinking", "thinking": f"use {SECRET}", "signature": "c2ln"}
    redacted = redactor.redact_entry_body(answer({"type": "text", "text": "ok"}, thought), 9)
    assert redacted["message"]["content"][1] == {**thought, "thinking": f"use {MARK}"}
    told = [(place.line, place.entry, place.path) for place in redactor.build_report().thinking]
    assert told == [(9, UUID, "message.content[1]")]


def test_unsigned_or_unchanged_thinking_is_not_told() -> None:
    redactor = Redactor()
    redactor.redact_entry_body(answer({"type": "thinking", "thinking": SECRET, "signature": ""}))
    redactor.redact_entry_body(answer({"type": "thinking", "thinking": "nothing", "signature": "c2ln"}))
    assert redactor.build_report().thinking == ()


def test_a_place_has_line_entry_and_path() -> None:
    redactor = Redactor()
    redactor.redact_entry_body(answer({"type": "text", "text": f"{SECRET} {SECRET}"}), 4)
    (place,) = redactor.build_report().places
    assert (place.rule, place.times, place.line, place.entry) == ("github", 2, 4, UUID)
    assert place.path == "message.content[0].text"


def test_a_uuid_that_is_none_is_not_told() -> None:
    redactor = Redactor()
    redactor.redact_entry_body({"uuid": SECRET, "text": SECRET})
    assert SECRET not in repr(redactor.build_report())


def test_a_nested_entry_keeps_its_ids() -> None:
    redactor = Redactor()
    redactor.learn_secrets({"password": UUID})
    inner = {
        "type": "assistant",
        "uuid": UUID,
        "message": {"id": "msg_1", "content": [{"type": "text", "text": SECRET}]},
    }
    redacted = redactor.redact_entry_body(entry(type="progress", data={"type": "agent_progress", "message": inner}))
    assert redacted["data"]["message"]["uuid"] == UUID
    assert redacted["data"]["message"]["message"]["content"][0]["text"] == "[secret:github:1]"


def test_an_entry_with_wrong_types_is_walked_all_the_same() -> None:
    body = {
        "type": 1,
        "uuid": [SECRET],
        "message": [{"content": {"type": ["x"], "text": SECRET}}],
        "name": {"a": SECRET},
    }
    redacted = Redactor().redact_entry_body(body)
    assert redacted["message"] == [{"content": {"type": ["x"], "text": MARK}}]
    assert redacted["name"] == {"a": MARK}


def test_the_lab_sessions_have_no_secrets_and_stay_as_they_are() -> None:
    redactor = Redactor()
    bodies = [
        json.loads(line)
        for path in sorted(DATA.rglob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
        if line
    ]
    assert len(bodies) > 500
    for body in bodies:
        assert redactor.redact_entry_body(body) == body
    assert redactor.build_report().replacement_count == 0


def test_a_planted_session_is_redacted_whole() -> None:
    """Append both secrets to every text of a real session; none is left, and nothing but texts changed."""
    path = max(DATA.glob("2.1.325/tools/**/*.jsonl"), key=lambda item: item.stat().st_size)
    bodies = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    planted = [_plant_secrets(body) for body in bodies]
    redactor = Redactor()
    first = redactor.make_rehearsal()
    for body in planted:
        first.redact_entry_body(body)
    redacted = [redactor.redact_entry_body(body) for body in planted]
    assert SECRET in json.dumps(planted)
    assert OTHER in json.dumps(planted)
    assert not {SECRET, OTHER} & {secret for secret in (SECRET, OTHER) if secret in json.dumps(redacted)}
    assert [body.get("uuid") for body in redacted] == [body.get("uuid") for body in bodies]
    assert json.dumps(redacted) == json.dumps(planted).replace(SECRET, MARK).replace(OTHER, "[secret:password:1]")


def _plant_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        texts = {"text", "stdout", "stderr", "command", "description", "content", "filePath", "file_path"}
        return {
            key: f"{item} {SECRET} password: {OTHER}"
            if key in texts and isinstance(item, str)
            else _plant_secrets(item)
            for key, item in value.items()
        }
    return [_plant_secrets(item) for item in value] if isinstance(value, list) else value
