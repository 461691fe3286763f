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
    assert here.requests == []


def test_it_is_an_error_for_programs_too(desk: MakeDesk) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", "/fix 42", "--output-format", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["subtype"], told["is_error"]) == (2, "error_during_execution", True)
    assert told["errors"][0].startswith("/fix: no such command")
    assert here.requests == []


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
    assert here.requests[-1]["messages"][-1]["content"][-1]["text"] == prompt


@pytest.mark.parametrize("content", ["/fix 42", [says("/fix 42")]])
def test_in_a_stream_it_fails_and_the_next_prompt_is_taken(desk: MakeDesk, content: Any) -> None:
    here = desk(script("One."))
    lines = "".join(json.dumps(user(said)) + os.linesep for said in (content, "go on"))
    done = here.turnlog(*STREAMS, stdin=lines)
    results = [told for told in map(json.loads, done.stdout.splitlines()) if told["type"] == "result"]
    assert [told["is_error"] for told in results] == [True, False]
    assert done.returncode == 0
    assert "/fix" not in json.dumps(here.requests)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/status", "session"),
        ("/agents", "general-purpose"),
        ("/agents Explore", "explores code"),
        ("/memory", "There are none"),
        ("/permissions", "Mode: default"),
        ("/tasks", "Nothing is running"),
        ("/hooks", "no hooks"),
        ("/mcp", "no MCP servers"),
        ("/context", "tokens"),
        ("/cost", "list prices"),
        ("/model", "The model is"),
        ("/rename The shop", "The session is called The shop."),
    ],
)
def test_print_mode_answers_what_the_client_knows_itself(desk: MakeDesk, command: str, expected: str) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", command)
    assert (done.returncode, expected in done.stdout, done.stderr, here.requests) == (0, True, "", []), done


@pytest.mark.parametrize("command", ["/memory 1", "/agents nobody", "/tasks stop nope", "/rename", "/export"])
def test_what_it_can_not_do_is_an_error_and_never_a_prompt(desk: MakeDesk, command: str) -> None:
    here = desk(script("never"))
    done = here.turnlog("-p", command)
    assert (done.returncode in (1, 2), done.stdout, done.stderr.count("\n"), here.requests) == (True, "", 1, []), done


def test_init_asks_the_model_to_write_the_instructions(desk: MakeDesk) -> None:
    here = desk(script("Written."))
    assert here.turnlog("-p", "/init briefly").stdout == "Written.\n"
    sent = json.dumps(here.requests[-1]["messages"])
    assert ("Write CLAUDE.md" in sent, "ARGUMENTS: briefly" in sent) == (True, True)


def test_a_command_file_named_init_takes_precedence(desk: MakeDesk) -> None:
    here = desk(script("Mine."))
    (here.config / "commands").mkdir()
    (here.config / "commands" / "init.md").write_text("My own init")
    here.turnlog("-p", "/init")
    assert "My own init" in json.dumps(here.requests[-1]["messages"])
