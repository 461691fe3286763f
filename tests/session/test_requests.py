"""Proof by hashes that the newest clients write down."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.session.build import DATA, Build, base, outcome, use
from turnlog.session.check import prove_session_requests
from turnlog.session.resume.request_proof import RequestProof, hash_message
from turnlog.session.session import Session

RECORDED = sorted(DATA.glob("sessions/2.1.325/*/projects/*/????????-*.jsonl"))


def test_a_hash_ignores_the_order_of_keys_and_cache_marks() -> None:
    block = {"type": "text", "text": "hi"}
    plain = hash_message({"role": "user", "content": [block]})
    marked = {**dict(reversed(block.items())), "cache_control": {"type": "ephemeral"}}
    assert hash_message({"content": [marked], "role": "user"}) == plain
    assert hash_message({"role": "user", "content": "hi"}) == plain
    assert hash_message({"role": "assistant", "content": "hi"}) != plain


@pytest.mark.parametrize("content", [None, 5, ["x"], {"a": 1}, "\ud800", 10**30])
def test_any_content_has_a_hash(content: Any) -> None:
    assert len(hash_message({"role": "user", "content": content})) == 64


def test_the_hash_is_the_one_that_the_client_wrote_beside_whole_messages() -> None:
    sessions = [Session.from_bytes(path.read_bytes()) for path in RECORDED]
    bodies = [
        found.read_body(entry) for found in sessions for entry in found.entries if entry.type == "api-request-blob"
    ]
    # Long texts were shortened when the recordings were put into the repository.
    whole = [body for body in bodies if "characters removed]" not in json.dumps(body)]
    assert len(whole) > 20
    assert all(hash_message(body["message"]) == body["hash"] for body in whole)


def prove_request(*contents: tuple[str, Any]) -> RequestProof:
    """The proof for a session whose one request holds these messages."""
    build = base()
    build.call("c1", uuid="x1", id="m")
    build.call("c2", uuid="x2", id="m")
    build.result("c1", "one", parent="x1")
    build.result("c2", "two", parent="x2")
    build.note("api-request", id="r", tail=[hash_message({"role": role, "content": text}) for role, text in contents])
    return prove_session_requests(build.session())


def test_prompts_answers_and_results_are_rebuilt() -> None:
    calls = [use("c1"), use("c2")]
    results = [outcome("c1", "one"), outcome("c2", "two")]
    proof = prove_request(
        ("user", "u1 text"), ("assistant", [{"type": "text", "text": "a1 text"}]), ("assistant", calls)
    )
    assert (proof.requests, proof.rebuilt, proof.unresolved) == (1, 3, [])
    assert prove_request(("user", results), ("user", results[:1])).rebuilt == 2


def test_what_was_never_written_is_not_rebuilt() -> None:
    proof = prove_request(("user", "something else"))
    assert (proof.rebuilt, proof.blobs, proof.total) == (0, 0, 1)
    assert [request for request, _ in proof.unresolved] == ["r"]


def test_a_message_that_stands_whole_in_the_file_is_found() -> None:
    build = Build()
    said = {"role": "system", "content": "today"}
    build.note("api-request-blob", hash=hash_message(said), message=said)
    build.note("api-request", id="r", tail=[hash_message(said), 5])
    build.note("api-request", id="s", tail="odd")
    build.note("api-request-blob", hash=["odd"])
    proof = prove_session_requests(build.session())
    assert (proof.requests, proof.blobs, proof.total) == (2, 1, 1)


@pytest.mark.parametrize("message", [{}, {"role": "system", "content": "[5 characters removed]"}, "odd", None])
def test_a_message_whose_text_was_changed_since_proves_nothing(message: Any) -> None:
    build = Build()
    build.note("api-request-blob", hash="h1", message=message)
    build.note("api-request", id="r", tail=["h1"])
    proof = prove_session_requests(build.session())
    assert (proof.resolved_count, proof.altered, proof.total, proof.unresolved) == (0, 1, 1, [])


def test_neighbouring_user_entries_are_one_message() -> None:
    build = Build()
    build.prompt([{"type": "text", "text": "What is this?"}])
    build.prompt([{"type": "text", "text": "[Image: source: 1.png]"}], isMeta=True)
    blocks = [{"type": "text", "text": text} for text in ("What is this?", "[Image: source: 1.png]")]
    build.note("api-request", id="r", tail=[hash_message({"role": "user", "content": blocks})])
    assert prove_session_requests(build.session()).rebuilt == 1


def test_user_entries_without_a_proper_message_are_passed_over() -> None:
    build = base()
    build.row("user", message="odd")
    build.call("c1")
    build.prompt([outcome("c1"), "odd"])
    build.note("api-request", id="r", tail=[hash_message({"role": "user", "content": [outcome("c1")]})])
    assert prove_session_requests(build.session()).rebuilt == 1


def test_a_damaged_answer_is_no_longer_proved() -> None:
    """The proof can fail: it is not enough that the file has the right shape."""
    path = next(path for path in RECORDED if path.parts[-4] == "tools")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    whole = prove_session_requests(Session.from_bytes(path.read_bytes()))
    for line in lines:
        if line["type"] == "assistant":
            for block in line["message"]["content"]:
                block["input"] = {"changed": True} if block["type"] == "tool_use" else block.get("input")
    damaged = prove_session_requests(Session.from_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
    assert whole.unresolved == []
    assert damaged.unresolved
