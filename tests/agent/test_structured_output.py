"""Answers as data: `--json-schema` and `initialize` with a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Api
from tests.agent.desk import Desk, call, reply, says, script
from tests.agent.stream import control, fed, user
from tests.interop.mock_anthropic import MockAnthropic

Json = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
WORDS = ("-p", "go", "--output-format", "stream-json", "--verbose", "--json-schema", json.dumps(SCHEMA))
GOOD, BAD = call("StructuredOutput", n=3), call("StructuredOutput", n="x")
CASES = {
    "at once": script(reply(GOOD), "too late"),
    "with text and another call": script(reply(says("hm"), GOOD, call("Bash", command="echo hi")), "too late"),
    "after an invalid one": script(reply(BAD), reply(GOOD), "too late"),
    "after a reminder": script("Done.", reply(GOOD), "too late"),
    "never": script("Done.", when_done="repeat"),
    "always invalid": script(reply(BAD), when_done="repeat"),
}
RESULT_KEYS = ("subtype", "is_error", "result", "structured_output", "errors", "num_turns", "terminal_reason")


class Course:
    """What a run printed, sent and returned."""

    def __init__(self, stdout: str, status: int, mock: MockAnthropic) -> None:
        lines = [json.loads(line) for line in stdout.splitlines()]
        (self.result,) = [{key: line.get(key) for key in RESULT_KEYS} for line in lines if line["type"] == "result"]
        bodies = [request["body"] for request in mock.requests if request["kind"] == "main"]
        self.told = [
            (block.get("type"), block.get("text") or block.get("content"), bool(block.get("is_error")))
            for line in lines
            if line["type"] == "user"
            for block in line["message"]["content"]
        ]
        self.count = len(bodies)
        (tool,) = [tool for tool in bodies[0]["tools"] if tool["name"] == "StructuredOutput"]
        self.schema, self.status = tool["input_schema"], status


def run(base: Path, case: str) -> Course:
    with Api(scenario=CASES[case]) as api:
        done = Desk(base, api).turnlog(*WORDS, "--allowedTools", "Bash")
        return Course(done.stdout, done.returncode, api)


def test_the_output_ends_the_turn(tmp_path: Path) -> None:
    found = run(tmp_path, "at once")
    assert (found.status, found.count, found.schema) == (0, 1, SCHEMA)
    assert (found.result["result"], found.result["structured_output"]) == ('{"n":3}', {"n": 3})


def test_invalid_output_is_returned_to_the_model_with_all_reasons(tmp_path: Path) -> None:
    found = run(tmp_path, "after an invalid one")
    assert found.told[0] == ("tool_result", "Output does not match required schema: /n: must be integer", True)
    assert (found.status, found.result["structured_output"]) == (0, {"n": 3})


def test_after_five_invalid_outputs_the_turn_fails(tmp_path: Path) -> None:
    found = run(tmp_path, "always invalid")
    assert (found.status, found.count) == (1, 5)
    assert found.result["subtype"] == "error_max_structured_output_retries"
    assert "after 5 attempts" in found.result["errors"][0]


def test_the_model_is_reminded_once(tmp_path: Path) -> None:
    found = run(tmp_path, "never")
    assert (found.count, found.result["subtype"], found.result["structured_output"]) == (2, "success", None)


def test_each_turn_of_a_program_has_an_output_of_its_own(tmp_path: Path) -> None:
    with Api(scenario=script(reply(GOOD), reply(call("StructuredOutput", n=4)))) as api:
        told = fed(Desk(tmp_path, api), user("one"), user("two"), more=("--json-schema", json.dumps(SCHEMA)))
    results = [line["structured_output"] for line in told if line["type"] == "result"]
    assert results == [{"n": 3}, {"n": 4}]
    assert "tool_result" in json.dumps(api.requests[-1]["body"]["messages"][-1])


def test_a_program_can_give_the_schema_itself(tmp_path: Path) -> None:
    with Api(scenario=CASES["at once"]) as api:
        told = fed(Desk(tmp_path, api), control("a", subtype="initialize", jsonSchema=SCHEMA), user("one"))
    assert told[-1]["structured_output"] == {"n": 3}


def test_sub_agents_do_not_see_the_tool(tmp_path: Path) -> None:
    task = call("Task", description="d", prompt="look", subagent_type="general-purpose", run_in_background=False)
    scenario = {"conversations": [{"kind": "main", "replies": [reply(task), reply(GOOD)]}]}
    with Api(scenario=scenario) as api:
        done = Desk(tmp_path, api).turnlog(*WORDS)
    offered = ["StructuredOutput" in [tool["name"] for tool in one["body"]["tools"]] for one in api.requests]
    assert (offered[1:-1], done.returncode) == ([False], 0)


@pytest.mark.parametrize(("text", "why"), [("no", "not valid JSON"), ("[]", "not a JSON object"), ('{"foo":1}', "foo")])
def test_a_schema_that_can_not_be_used_is_an_error(tmp_path: Path, text: str, why: str) -> None:
    with Api(scenario=script("x")) as api:
        done = Desk(tmp_path, api).turnlog("-p", "go", "--json-schema", text)
    assert (done.returncode, why in done.stderr, api.requests) == (2, True, [])
