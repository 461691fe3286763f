"""Attachments because of which the newest client refuses a session; `tests/interop` compares all kinds with it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.interop.attachment_cases import attachment_cases
from tests.interop.recordings import DATA, load
from tests.session.build import base
from turnlog.errors import Refused
from turnlog.session.check import check
from turnlog.session.resume.attachment_faults import find_faulty_field
from turnlog.session.session import Session

RECORDED = {entry.file.removesuffix(".jsonl"): entry.outcome for entry in load(DATA / "cases.oracle.jsonl")}


@pytest.mark.parametrize("name", attachment_cases())
def test_a_session_is_refused_if_and_only_if_the_client_refused_it(name: str) -> None:
    faults = [finding.kind for finding in check(Session.from_bytes(attachment_cases()[name]))]
    assert ("bad-attachment" in faults) == (RECORDED[name] == "refused")


@pytest.mark.parametrize("body", [{}, {"attachment": None}, {"attachment": {}}, {"attachment": {"type": 5}}])
def test_an_attachment_without_a_kind_is_no_fault(body: dict[str, Any]) -> None:
    assert find_faulty_field(body) is None


def test_a_batch_of_prompts_replaces_the_prompt() -> None:
    queued = {"type": "queued_command", "prompt": [None], "batchedRelayPrompts": ["x"]}
    assert find_faulty_field({"attachment": queued}) is None


def test_the_messages_of_a_session_that_the_client_refuses_are_refused_with_the_field() -> None:
    build = base()
    build.row("attachment", attachment={"type": "peer_mention", "candidates": []})
    with pytest.raises(Refused, match="peer_mention has a value in `mention`"):
        build.session().conversation()


def test_an_attachment_that_is_not_resumed_is_no_fault() -> None:
    build = base()
    build.row("attachment", attachment={"type": "peer_mention"})
    build.boundary()
    build.summary()
    build.answer("on")
    assert build.session().conversation().messages
