"""What a request says about thinking and effort, beside that of the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, script
from tests.interop.clients import NEWEST, client, list_missing_clients
from tests.interop.mock_anthropic import MockAnthropic
from tests.interop.resume import environment, run, scratch_folder

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(list_missing_clients((NEWEST,))), reason="this client is not installed"),
]
COMPARED = ("thinking", "output_config", "max_tokens")


@pytest.fixture
def base() -> Iterator[Path]:
    with scratch_folder() as folder:
        yield folder


def pick_fields(mock: MockAnthropic) -> Mapping[str, Any]:
    (body,) = [request["body"] for request in mock.requests if "messages" in request["body"]]
    return {name: body.get(name) for name in COMPARED}


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (("--model", "opus"), {}),
        (("--model", "haiku", "--effort", "xhigh"), {}),
        (("--model", "sonnet"), {"MAX_THINKING_TOKENS": "0"}),
        (("--model", "sonnet", "--settings", json.dumps({"effortLevel": "low"})), {}),
        (("--model", "claude-opus-4-8"), {}),
        (("--model", "claude-opus-4-8", "--settings", json.dumps({"alwaysThinkingEnabled": False})), {}),
        (("--model", "claude-sonnet-4-6", "--max-thinking-tokens", "4000"), {}),
        (("--model", "claude-opus-4-5"), {"CLAUDE_CODE_EFFORT_LEVEL": "medium"}),
        (("--model", "claude-sonnet-4-5", "--max-thinking-tokens", "4000"), {}),
        (("--model", "claude-haiku-4-5"), {"MAX_THINKING_TOKENS": "0"}),
    ],
    ids=str,
)
def test_both_clients_ask_for_the_same_thinking(base: Path, words: tuple[str, ...], variables: dict[str, str]) -> None:
    with MockAnthropic(script("ok")) as mock:
        here = Desk(base, mock)
        here.trust()
        (here.home / "tmp").mkdir()
        env = {**environment(here.home, mock.url), **variables}
        ended = run([str(client(NEWEST)), "-p", "hi", *words], env, here.cwd, 120)
        assert ended.status == 0, ended.note
        theirs = pick_fields(mock)
    with MockAnthropic(script("ok")) as mock:
        here = Desk(base, mock)
        done = here.turnlog("-p", "hi", *words, environ=variables)
        assert done.returncode == 0, done.stderr
        assert pick_fields(mock) == theirs
