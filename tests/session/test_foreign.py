"""Files that are no sessions of Claude Code."""

from __future__ import annotations

import json

import pytest

from tests.session.build import Build, find_recording
from turnlog.entries.reader import Transcript
from turnlog.session.foreign_files import explain_foreign_file


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"timestamp":"","type":"session_meta","payload":{}}\n', "as in a Codex rollout"),
        (b'{"id":"","timestamp":"","instructions":""}\n', "the first has no type, as in an old Codex rollout"),
        (b'{"display":"","pastedContents":{},"timestamp":1}\n', "as in the client's prompt history, history.jsonl"),
        (b'{"session_id":"","hook_event_name":"Stop"}\n', "as in the input of a hook"),
        (b'{"role":"user","content":""}\n', "as in a plain list of messages"),
        (b'{"type":"turn.started"}\n', "the first has type 'turn.started'"),
        (b'{"type":"system","subtype":"init","session_id":"s"}\n', "not the session file of that run"),
        (b'{\n "a": [\n 1\n ]\n}\n', "the file may be one JSON document over several lines"),
        (b'[\n {\n "a": 1\n }\n]\n', "the file may be one JSON document over several lines ("),
        (b"\xef\xbb\xbf[\n {},\n {}\n", "the file may be one JSON document over several lines ("),
        (b'\n{"x":1}\n', "none of its entries has a type that Claude Code writes"),
        (b"words\nmore words\n", "the first problem: JSON is malformed"),
        (b"[1, 2]\n", "the first problem: a JSON array, not an object"),
    ],
)
def test_a_file_of_another_program_is_named_with_its_reason(data: bytes, reason: str) -> None:
    assert reason in (explain_foreign_file(Transcript.from_bytes(data)) or "")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# a comment\n\0\0\n", b'{"type":"summary","summary":"x"}\n'])
def test_an_empty_file_and_mere_titles_are_nobody_elses(data: bytes) -> None:
    assert explain_foreign_file(Transcript.from_bytes(data)) is None


def test_a_session_is_a_session_even_if_its_first_entry_is_unknown() -> None:
    build = Build()
    build.note("novelty")
    build.prompt()
    assert explain_foreign_file(build.session().file) is None
    assert explain_foreign_file(Transcript.from_bytes(find_recording("2.1.325/tools").read_bytes())) is None


def test_an_agent_that_copied_the_entries_but_not_the_messages_is_named() -> None:
    row = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}}
    reason = explain_foreign_file(Transcript.from_bytes(json.dumps(row).encode() + b"\n"))
    assert reason == "its messages have `parts` in place of `content`, as in a session of Qwen Code"
    row["message"] = {"role": "user"}
    assert explain_foreign_file(Transcript.from_bytes(json.dumps(row).encode() + b"\n")) is None
    row["message"] = {"role": "user", "content": "hi"}
    assert explain_foreign_file(Transcript.from_bytes(json.dumps(row).encode() + b"\n")) is None
    assert explain_foreign_file(Transcript.from_bytes(b'{"type":"summary","summary":"x"}\n')) is None
