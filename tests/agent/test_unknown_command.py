"""A slash command that there is not is an error in print mode; it is never sent to the model as a prompt."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.desk import Desk, says, script
from tests.agent.stream import STREAMS, user

MakeDesk = Callable[[dict[str, Any]], Desk]


@pytest.mark.parametrize("prompt", ["/fix 42", "/fix", "/team:fix 42", "/fix-it\nnow", "/42", "/clear", "/exit now"])
def test_it_ends_with_a_line_on_standard_error(desk: MakeDesk, prompt: str) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", prompt)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"turnlog: {prompt.split()[0]}: ")
    assert here.asked == []


def test_it_is_an_error_for_programs_too(desk: MakeDesk) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", "/fix 42", "--output-format", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["subtype"], told["is_error"]) == (2, "error_during_execution", True)
    assert told["errors"][0].startswith("/fix: no such command")
    assert here.asked == []


@pytest.mark.parametrize(
    "prompt",
    [
        "/etc/hosts is odd",
        "/tmp is full",
        "/fix.md is odd",
        "/ 42",
        "// a comment",
        " /fix 42",
        "/fix? or not",
        "//fix",
    ],
)
def test_a_path_or_a_text_that_is_no_name_is_a_prompt(desk: MakeDesk, prompt: str) -> None:
    here = desk(script("Read."))
    assert here.turnlog("-p", prompt).stdout == "Read.\n"
    assert here.asked[-1]["messages"][-1]["content"][-1]["text"] == prompt


@pytest.mark.parametrize("content", ["/fix 42", [says("/fix 42")]])
def test_in_a_stream_it_fails_and_the_next_prompt_is_taken(desk: MakeDesk, content: Any) -> None:
    here = desk(script("One."))
    lines = "".join(json.dumps(user(said)) + os.linesep for said in (content, "go on"))
    done = here.turnlog(*STREAMS, stdin=lines)
    results = [told for told in map(json.loads, done.stdout.splitlines()) if told["type"] == "result"]
    assert [told["is_error"] for told in results] == [True, False]
    assert done.returncode == 0
    assert "/fix" not in json.dumps(here.asked)
