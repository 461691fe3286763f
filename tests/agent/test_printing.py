"""Print mode: one turn against a scripted server, told as text, as one object, or line by line."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.api import hang
from tests.agent.desk import Desk, call, reply, says, script
from tests.agent.waits import finish, run

MakeDesk = Callable[[dict[str, Any]], Desk]
ECHO = call("Bash", command="echo hi", description="Say hi")
TOUCH = call("Bash", command="touch /etc/nobody-may", description="Touch")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_text_is_the_last_text_of_the_model(desk: MakeDesk) -> None:
    done = desk(script(reply(says("Let me look."), ECHO), "Done.")).turnlog("-p", "hello")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Done.\n", "")


def test_the_session_is_written_where_claude_code_keeps_its_own(desk: MakeDesk) -> None:
    here = desk(script("Hi."))
    here.turnlog("-p", "hello")
    kinds = [(row["type"], row.get("message", {}).get("role")) for row in here.session if "message" in row]
    assert kinds == [("user", "user"), ("assistant", "assistant")]
    assert here.session[0]["promptSource"] == "sdk"


def test_json_tells_what_came_of_the_turn(desk: MakeDesk) -> None:
    here = desk(script(reply(says("Let me look."), ECHO, TOUCH, usage={"input_tokens": 100}), "Done."))
    done = here.turnlog("-p", "hello", "--output-format", "json", "--model", "opus")
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert (told["type"], told["subtype"], told["is_error"], told["result"]) == ("result", "success", False, "Done.")
    assert (told["num_turns"], told["stop_reason"], told["terminal_reason"]) == (3, "end_turn", "completed")
    assert told["session_id"] == here.session[0]["sessionId"]
    assert [denied["tool_input"]["command"] for denied in told["permission_denials"]] == ["touch /etc/nobody-may"]
    (used,) = told["modelUsage"].values()
    assert used["inputTokens"] == told["usage"]["input_tokens"] > 100
    assert told["total_cost_usd"] == used["costUSD"] > 0


def test_stream_json_tells_everything_in_order(desk: MakeDesk) -> None:
    here = desk(script(reply(says("Let me look."), ECHO), "Done."))
    told = lines(here.turnlog("-p", "hello", "--output-format", "stream-json", "--verbose").stdout)
    assert [line["type"] for line in told] == ["system", "assistant", "assistant", "user", "assistant", "result"]
    init, text, use, result, last, _ = told
    assert (init["subtype"], init["cwd"], init["permissionMode"]) == ("init", str(here.cwd), "default")
    assert init["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert {"Bash", "Read", "Edit", "Task"} <= set(init["tools"])
    assert {"general-purpose", "Explore", "Plan"} <= set(init["agents"])
    assert text["message"]["content"] == [says("Let me look.")]
    assert result["message"]["content"][0]["tool_use_id"] == use["message"]["content"][0]["id"]
    assert result["tool_use_result"]["stdout"] == "hi"
    assert last["message"]["stop_reason"] == "end_turn"
    assert {line["session_id"] for line in told} == {here.session[0]["sessionId"]}
    assert {line["uuid"] for line in (text, use, result, last)} <= {row.get("uuid") for row in here.session}


def test_pieces_are_told_as_the_server_sent_them(desk: MakeDesk) -> None:
    here = desk(script("Hello there."))
    words = ("-p", "hi", "--output-format", "stream-json", "--include-partial-messages")
    events = [line["event"] for line in lines(here.turnlog(*words).stdout) if line["type"] == "stream_event"]
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert len(deltas) > 1
    assert "".join(deltas) == "Hello there."


def test_a_call_that_was_not_allowed_is_told_when_it_happens(desk: MakeDesk) -> None:
    here = desk(script(reply(TOUCH), "Well."))
    told = lines(here.turnlog("-p", "hi", "--output-format", "stream-json").stdout)
    (denied,) = [line for line in told if line.get("subtype") == "permission_denied"]
    assert (denied["tool_name"], bool(denied["message"])) == ("Bash", True)


@pytest.mark.parametrize(
    ("scenario", "words", "subtype", "text"),
    [
        (
            script(reply(ECHO), when_done="repeat"),
            ("--max-turns", "2"),
            "error_max_turns",
            "Error: Reached max turns (2)",
        ),
        (
            script(reply(ECHO, usage={"input_tokens": 900_000}), when_done="repeat"),
            ("--max-budget-usd", "0.01"),
            "error_max_budget_usd",
            "Error: Exceeded USD budget (0.01)",
        ),
    ],
)
def test_a_limit_ends_the_turn_as_an_error(
    desk: MakeDesk, scenario: dict[str, Any], words: tuple[str, str], subtype: str, text: str
) -> None:
    here = desk(scenario)
    done = here.turnlog("-p", "hi", "--output-format", "json", *words)
    told = json.loads(done.stdout)
    assert (done.returncode, told["subtype"], told["is_error"], len(told["errors"])) == (1, subtype, True, 1)
    assert "result" not in told
    done = here.turnlog("-p", "hi", *words)
    assert (done.returncode, done.stdout) == (1, f"{text}\n")


def test_an_error_of_the_api_is_the_result_and_exit_status_1(desk: MakeDesk) -> None:
    error = {"status": 400, "type": "invalid_request_error", "message": "bad thing"}
    here = desk(script({"error": error}, when_done="repeat"))
    done = here.turnlog("-p", "hi", "--output-format", "json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["subtype"], told["is_error"]) == (1, "success", True)
    assert told["result"].startswith("API Error:")
    assert "bad thing" in told["result"]
    assert told["terminal_reason"] == "api_error"
    assert "bad thing" in here.turnlog("-p", "hi").stdout


def test_that_a_busy_server_is_asked_again_is_told_on_standard_error(desk: MakeDesk) -> None:
    busy = {"error": {"status": 529, "type": "overloaded_error", "message": "busy"}}
    done = desk(script(busy, "Done.")).turnlog("-p", "hi")
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert (done.stderr.count("\n"), "retrying" in done.stderr) == (1, True)


def test_standard_input_stands_behind_the_prompt(desk: MakeDesk) -> None:
    here = desk(script("ok", when_done="repeat"))
    here.turnlog("-p", "review this", stdin="the diff\n")
    assert here.requests[0]["messages"][0]["content"][-1]["text"] == "review this\nthe diff\n"
    here.turnlog("-p", stdin="only this")
    assert here.requests[1]["messages"][0]["content"][-1]["text"] == "only this"


def test_without_a_prompt_there_is_nothing_to_do(desk: MakeDesk) -> None:
    done = desk(script("ok")).turnlog("-p", stdin="")
    assert done.returncode == 2
    assert "requires a prompt" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a folder in use can't be removed")
def test_that_the_folder_is_gone_is_told(desk: MakeDesk) -> None:
    here = desk(script("never"))
    gone = here.cwd / "gone"
    gone.mkdir()
    command = f'rmdir "{gone}" && exec "{sys.executable}" -m turnlog -p hi'
    done = subprocess.run(
        ["sh", "-c", command], cwd=gone, env=here.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "turnlog: the current folder no longer exists\n")


def test_memory_and_surroundings_stand_before_the_first_prompt(desk: MakeDesk) -> None:
    here = desk(script("ok"))
    (here.cwd / "CLAUDE.md").write_text("Use tabs.")
    here.turnlog("-p", "hi")
    memory, around, prompt = here.requests[0]["messages"][0]["content"]
    assert "Use tabs." in memory["text"]
    assert str(here.cwd) in around["text"]
    assert all(block["text"].startswith("<system-reminder>\n") for block in (memory, around))
    assert prompt["text"] == "hi"


def test_a_session_goes_on_and_its_prefix_stays_the_same(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three."))
    here.turnlog("-p", "first")
    here.turnlog("-p", "second", "--continue")
    name = here.session[0]["sessionId"]
    here.turnlog("-p", "third", "--resume", name)
    bodies = here.requests
    assert [len(body["messages"]) for body in bodies] == [1, 3, 5]
    assert bodies[0]["system"] == bodies[1]["system"] == bodies[2]["system"]
    assert bodies[0]["tools"] == bodies[2]["tools"]
    said = [block["text"] for block in bodies[2]["messages"][0]["content"]]
    assert said == [block["text"] for block in bodies[0]["messages"][0]["content"]]
    assert {row["sessionId"] for row in here.session} == {name}


def test_a_fork_leaves_the_session_as_it_was(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    here.turnlog("-p", "first")
    (path,) = here.config.glob("projects/*/*.jsonl")
    before = path.read_bytes()
    told = json.loads(here.turnlog("-p", "second", "-c", "--fork-session", "--output-format", "json").stdout)
    assert path.read_bytes() == before
    assert told["session_id"] != path.stem
    assert len(here.requests[1]["messages"]) == 3


@pytest.mark.parametrize(
    ("allowed", "denied"),
    [
        ("Bash(touch a),Bash(touch b)", ("Bash(touch b)", "Write")),
        ("Bash(touch a), Bash(touch b)", ("Bash(touch b) Write",)),
    ],
)
def test_rules_of_the_command_line_allow_and_deny(desk: MakeDesk, allowed: str, denied: tuple[str, ...]) -> None:
    here = desk(script(reply(call("Bash", command="touch a"), call("Bash", command="touch b")), "ok"))
    here.turnlog("-p", "hi", "--allowedTools", allowed, "--disallowedTools", *denied)
    assert (here.cwd / "a").exists()
    assert not (here.cwd / "b").exists()
    assert "Write" not in {tool["name"] for tool in here.requests[0]["tools"]}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 1), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_the_turn_and_the_session_says_so(desk: MakeDesk, number: int, status: int) -> None:
    here = desk(script({**reply(says("x" * 300)), "do": hang(4)}))
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "-p", "hi", "--output-format", "stream-json", "--include-partial-messages"],
        cwd=here.cwd,
        env=here.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "content_block_delta" not in process.stdout.readline():
        pass
    process.send_signal(number)
    out, _ = finish(process)
    told = json.loads(out.splitlines()[-1])
    assert (process.returncode, told["subtype"], told["is_error"]) == (status, "error_during_execution", True)
    assert any("[Request interrupted by user]" in json.dumps(row) for row in here.session)


@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_programs_are_told_of_a_turn_that_could_not_begin(desk: MakeDesk, form: str) -> None:
    here, nobody = desk(script("ok")), "487f21e9-69d7-480e-b9d8-929d035babf8"
    done = here.turnlog("-p", "hi", "--resume", nobody, "--output-format", form, "--verbose")
    (told,) = lines(done.stdout)
    assert (done.returncode, told["type"], told["subtype"]) == (1, "result", "error_during_execution")
    assert nobody in told["errors"][0]
    assert told["errors"][0] in done.stderr
    assert told["is_error"]


@pytest.mark.parametrize("name", ["home/.claude/settings.json", "project/.claude/settings.json"])
def test_settings_that_are_broken_end_it_in_one_line_that_names_the_place(desk: MakeDesk, name: str) -> None:
    here = desk(script("never"))
    path = here.base / name
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"permissions": {\n  "deny": ["Bash(echo:*)"],\n}}')
    done = here.turnlog("-p", "hi")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{path}: line 3: not valid JSON" in done.stderr
    assert "fix it or move it aside" in done.stderr
    assert here.requests == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a bash")
def test_settings_may_be_what_another_command_prints(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="echo hi")), "Done."))
    rules = '{"permissions": {"deny": ["Bash(echo:*)"]}}'
    words = f"exec {shlex.quote(sys.executable)} -m turnlog -p hi --settings <(echo '{rules}') </dev/null"
    done = run(["bash", "-c", words], cwd=here.cwd, env=here.environ, text=True)
    assert (done.stdout, done.stderr) == ("Done.\n", "")
    assert "denied" in here.requests[-1]["messages"][-1]["content"][0]["content"]


def test_a_sub_agent_that_is_not_described_is_told_of_on_standard_error(desk: MakeDesk) -> None:
    here = desk(script("ok"))
    (here.config / "agents").mkdir()
    (here.config / "agents" / "x.md").write_text("---\nname: x\n---\nx")
    done = here.turnlog("-p", "hi")
    assert (done.stdout, done.stderr.count("\n")) == ("ok\n", 1)
    assert "x.md: it has no description" in done.stderr


def test_programs_are_told_of_a_session_that_another_process_went_on_with(desk: MakeDesk) -> None:
    line = json.dumps({"type": "user", "uuid": "d2719a3e-5b0c-4f3e-9c43-2f4f3c1f8a11", "message": {}})
    meddling = call("Bash", command=f"for file in ../home/.claude/projects/*/*.jsonl; do echo '{line}' >> $file; done")
    here = desk(script(reply(meddling), "ok"))
    done = here.turnlog("-p", "hi", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
    told = lines(done.stdout)
    assert (done.returncode, told[0]["subtype"], told[-1]["subtype"]) == (1, "init", "error_during_execution")
    assert told[-1]["session_id"] == told[0]["session_id"]
    assert "another process is continuing" in told[-1]["errors"][0]


def test_a_pipe_that_nobody_closes_is_not_waited_for(desk: MakeDesk) -> None:
    here = desk(script("ok"))
    reader, writer = os.pipe()
    with os.fdopen(reader) as silent:
        words = [sys.executable, "-m", "turnlog", "-p", "hi"]
        done = run(words, cwd=here.cwd, env=here.environ, stdin=silent, text=True)
    os.close(writer)
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert "standard input" in done.stderr


def test_what_a_sub_agent_does_names_the_call_that_it_works_for(desk: MakeDesk) -> None:
    task = call("Task", description="Look", prompt="Look around", subagent_type="Explore", run_in_background=False)
    scenario = script(reply(task), "Both done.")
    scenario["conversations"].append({"kind": "agent", "replies": [reply(ECHO), "Seen."]})
    here = desk(scenario)
    told = lines(here.turnlog("-p", "hi", "--output-format", "stream-json").stdout)
    (use,) = [line for line in told if "Task" in json.dumps(line.get("message", {}))]
    inner = [line for line in told if line.get("parent_tool_use_id")]
    assert {line["parent_tool_use_id"] for line in inner} == {use["message"]["content"][0]["id"]}
    assert [line["type"] for line in inner] == ["user", "assistant", "user"]  # its text is forwarded on demand
    assert {(line["subagent_type"], line["task_description"]) for line in inner} == {("Explore", "Look")}
    (agent,) = {line["agent_id"] for line in inner}
    tasks = [line for line in told if line.get("task_id")]
    assert [line["subtype"] for line in tasks] == ["task_started", "task_progress", "task_updated", "task_notification"]
    assert {line["task_id"] for line in tasks} == {agent}
    assert told[-1]["result"] == "Both done."
    assert told[-1]["num_turns"] == 2


BREAKS = "\x85\u2028\u2029"


def test_each_object_is_one_line_for_every_reader_of_lines(desk: MakeDesk) -> None:
    here = desk(script(reply(says(f"Look{BREAKS}."), call("Bash", command=f"echo 'a{BREAKS}b'")), f"Done{BREAKS}."))
    told = lines(here.turnlog("-p", f"he{BREAKS}llo", "--output-format", "stream-json", "--verbose").stdout)
    assert told[1]["message"]["content"] == [says(f"Look{BREAKS}.")]
    assert told[-1]["result"] == f"Done{BREAKS}."
    assert BREAKS.encode() in next(here.base.rglob("projects/*/*.jsonl")).read_bytes()


def test_text_in_a_pipe_carries_no_controls(desk: MakeDesk) -> None:
    done = desk(script("\x1b]52;c;SGFjaw==\x07\tred\x9b31m\nb")).turnlog("-p", "hello")
    assert done.stdout == "\\x1b]52;c;SGFjaw==\\x07\tred\\x9b31m\nb\n"
