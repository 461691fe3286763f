"""The recorded frames of queued messages are what the real client sends."""

from __future__ import annotations

import json

import pytest

from tests.interop.clients import NEWEST, list_missing_clients
from tests.interop.frames import RECORDED, record_frames

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients((NEWEST,))), reason="needs the real client"),
]


def test_the_client_frames_queued_messages_as_recorded() -> None:
    cases = json.loads(RECORDED.read_text("utf-8"))
    assert record_frames([case["attachment"] for case in cases]) == [case["sent"] for case in cases]
