"""Hooks: what they can forbid and what they can't allow, and that none is skipped without a word."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, says, script
from tests.agent.stream import STREAMS, Json, Talk, control, user
from turnlog.agent.hooks.hook_answer import read_hook_answer
from turnlog.agent.hooks.hook_definitions import HookDefinition
from turnlog.agent.hooks.hook_process import HookOutput

MakeDesk = Callable[[dict[str, Any]], Desk]
TOUCH = script(reply(call("Bash", command="touch made", description="Touch")), "Done.")
ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


def configure(here: Desk, event: str, *commands: str, place: str = "home/.claude/settings.json", **more: Any) -> None:
    """Write hooks into settings, each as a script of the shell."""
    hooks = [{"type": "command", "command": command, **more} for command in commands]
    path = here.base / place
    path.parent.mkdir(parents=True, exist_ok=True)
    old = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**old, "hooks": {**old.get("hooks", {}), event: [{"hooks": hooks}]}}))


def say(value: Any) -> str:
    """A command that prints a value as JSON."""
    return f"cat <<'END'\n{json.dumps(value)}\nEND"


def permit(here: Desk, **rules: list[str]) -> None:
    path = here.config / "settings.json"
    old = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**old, "permissions": rules}))


def results(here: Desk) -> list[Json]:
    """The results of calls in the last request."""
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]


def attachments(here: Desk) -> list[str]:
    return [row["attachment"]["type"] for row in here.session if row["type"] == "attachment"]


# -- what hooks can't allow


@pytest.mark.parametrize(
    ("name", "arguments", "rules"),
    [
        ("Bash", {"command": "touch made", "description": "x"}, {"deny": ["Bash(touch:*)"]}),
        ("Bash", {"command": "touch made", "description": "x"}, {"deny": ["Bash"]}),
        ("Bash", {"command": "touch made", "description": "x"}, {"ask": ["Bash(touch:*)"]}),
        ("Bash", {"command": "true && touch made", "description": "x"}, {"deny": ["Bash(touch:*)"]}),
        ("Bash", {"command": 'x=touch; "$x" made', "description": "x"}, {"deny": ["Bash(touch:*)"]}),
        ("Bash", {"command": "echo x > .git/config", "description": "x"}, {}),
        ("Bash", {"command": "rm -rf ~", "description": "x"}, {}),
        ("Write", {"file_path": "made", "content": "x"}, {"deny": ["Edit(made)"]}),
        ("Write", {"file_path": ".claude/settings.json", "content": "{}"}, {}),
        ("Write", {"file_path": ".git/hooks/pre-commit", "content": "x"}, {}),
        ("Write", {"file_path": ".bashrc", "content": "x"}, {}),
        ("Read", {"file_path": "secret"}, {"deny": ["Read(secret)"]}),
    ],
)
def test_a_hook_that_allows_does_not_override_what_the_rules_forbid(
    desk: MakeDesk, name: str, arguments: Json, rules: dict[str, list[str]]
) -> None:
    here = desk(script(reply(call(name, **arguments)), "Done."))
    (here.cwd / "secret").write_text("s3cret")
    configure(here, "PreToolUse", say(ALLOW))
    permit(here, **rules)
    assert here.turnlog("-p", "go").stdout == "Done.\n"
    assert all(one.get("is_error") for one in results(here))
    assert sorted(path.name for path in here.cwd.iterdir()) == ["secret"]


def test_a_hook_that_changes_the_input_does_not_slip_it_past_a_rule(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="echo hi", description="x")), "Done."))
    answer = {**ALLOW["hookSpecificOutput"], "updatedInput": {"command": "touch made"}}
    configure(here, "PreToolUse", say({"hookSpecificOutput": answer}))
    permit(here, deny=["Bash(touch:*)"])
    here.turnlog("-p", "go")
    assert results(here)[0]["is_error"]
    assert not (here.cwd / "made").exists()


def test_a_hook_that_denies_wins_over_one_that_allows(desk: MakeDesk) -> None:
    here = desk(TOUCH)
    configure(here, "PreToolUse", say(ALLOW), "echo never >&2; exit 2")
    here.turnlog("-p", "go", "--allowedTools", "Bash")
    assert "never" in results(here)[0]["content"]
    assert not (here.cwd / "made").exists()


def test_a_call_with_invalid_input_from_a_hook_does_not_run(desk: MakeDesk) -> None:
    here = desk(TOUCH)
    answer = {**ALLOW["hookSpecificOutput"], "updatedInput": {"command": 5}}
    configure(here, "PreToolUse", say({"hookSpecificOutput": answer}))
    here.turnlog("-p", "go")
    assert results(here)[0]["is_error"]
    assert not (here.cwd / "made").exists()


def test_a_hook_allows_a_call_that_no_rule_mentions(desk: MakeDesk) -> None:
    here = desk(TOUCH)
    configure(here, "PreToolUse", say(ALLOW))
    here.turnlog("-p", "go")
    assert (here.cwd / "made").exists()


@pytest.mark.parametrize("mode", ["plan", "dontAsk"])
def test_a_hook_that_asks_is_not_overridden_by_a_mode(desk: MakeDesk, mode: str) -> None:
    here = desk(TOUCH)
    configure(here, "PreToolUse", say({"hookSpecificOutput": {**ALLOW["hookSpecificOutput"],
                                                               "permissionDecision": "ask"}}))  # fmt: skip
    here.turnlog("-p", "go", "--permission-mode", mode, "--allowedTools", "Bash")
    assert not (here.cwd / "made").exists()


# -- folders that are not trusted


@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart", "Stop"])
def test_nothing_of_a_folder_that_is_not_trusted_runs(desk: MakeDesk, event: str) -> None:
    here = desk(TOUCH)
    configure(here, event, f"touch {here.base}/ran", place="project/.claude/settings.json")
    done = here.turnlog("-p", "go", "--ignore-hooks")
    assert "not trusted" in done.stderr
    assert not (here.base / "ran").exists()


def test_hooks_of_a_folder_that_is_trusted_run(desk: MakeDesk) -> None:
    here = desk(TOUCH)
    here.trust()
    configure(here, "SessionStart", f"touch {here.base}/ran", place="project/.claude/settings.json")
    assert here.turnlog("-p", "go").stderr == ""
    assert (here.base / "ran").exists()


def test_a_hook_does_not_see_the_keys_of_the_client(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    configure(here, "SessionStart", f"env > {here.base}/seen")
    here.turnlog("-p", "go")
    seen = (here.base / "seen").read_text()
    assert "ANTHROPIC_API_KEY" not in seen
    assert f"CLAUDE_PROJECT_DIR={here.cwd}" in seen


# -- time limits, failures


def test_a_hook_that_takes_too_long_is_killed_with_its_children_and_the_person_is_told(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="echo hi", description="x")), "Done."))
    configure(here, "PreToolUse", "sleep 600 & sleep 600", timeout=0.5)
    done = here.turnlog("-p", "go")
    assert (done.stdout, "did not check this action: timed out" in done.stderr) == ("Done.\n", True)
    assert attachments(here) == ["hook_cancelled"]


def test_a_hook_that_leaves_a_process_behind_is_not_waited_for(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    configure(here, "Stop", f"sleep 600 & echo $! > {here.base}/pid")
    assert here.turnlog("-p", "go").stdout == "Done.\n"
    import os
    import signal

    os.kill(int((here.base / "pid").read_text()), signal.SIGKILL)


def test_a_hook_that_writes_without_end_fills_no_memory(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    configure(here, "UserPromptSubmit", "head -c 20000000 /dev/zero | tr '\\0' x; exit 1")
    assert here.turnlog("-p", "go").stdout == "Done.\n"


@pytest.mark.parametrize(
    "text",
    [
        '{"decision": "maybe"}',
        '{"continue": "no"}',
        '{"reason": 5}',
        '{"hookSpecificOutput": 5}',
        '{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "allow"}}',
        '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "yes"}}',
        '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "x", "permissionDecision": "allow"}}',
        "{" * 100_000,
        '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}',
        '[{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}]',
    ],
)
def test_an_answer_that_is_not_valid_allows_nothing(text: str) -> None:
    answer = read_hook_answer(HookDefinition("PreToolUse"), HookOutput(text))
    assert (answer.verdict, answer.updated_input) == (None, None)


@pytest.mark.parametrize("text", ["", "plain", '{"continue": true}', '{"decision": "approve"}', '{"x"'])
def test_exit_status_2_blocks_whatever_is_printed(text: str) -> None:
    answer = read_hook_answer(HookDefinition("PreToolUse"), HookOutput(text, "why", 2))
    assert answer.block_reason is not None


# -- conditions, repetition, background


@pytest.mark.parametrize(("condition", "is_run"), [("Bash(git:*)", False), ("Bash(touch:*)", True), ("Bash", True)])
def test_a_condition_limits_a_hook_to_calls_that_match_a_rule(desk: MakeDesk, condition: str, is_run: bool) -> None:
    here = desk(TOUCH)
    configure(here, "PreToolUse", "exit 2", **{"if": condition})
    here.turnlog("-p", "go", "--allowedTools", "Bash")
    assert (here.cwd / "made").exists() is not is_run


def test_a_hook_configured_twice_runs_once_and_one_for_once_only_once(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="echo a", description="x")),
                       reply(call("Bash", command="echo b", description="x")), "Done."))  # fmt: skip
    configure(here, "PreToolUse", *["echo x >> ran"] * 2)
    configure(here, "PostToolUse", "echo x >> once", once=True)
    here.turnlog("-p", "go")
    assert (here.cwd / "ran").read_text().split() == ["x", "x"]
    assert (here.cwd / "once").read_text().split() == ["x"]


def test_variables_that_a_hook_exports_are_set_for_commands(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="printenv COLOUR", description="x")), "Done."))
    configure(here, "SessionStart", "echo 'export COLOUR=blue' >> \"$CLAUDE_ENV_FILE\"")
    here.turnlog("-p", "go", "--allowedTools", "Bash")
    assert results(here)[0]["content"] == "blue"


# -- sub-agents, compaction, the end


def test_hooks_guard_sub_agents_and_are_told_which(desk: MakeDesk) -> None:
    asks = reply(
        call("Task", description="look", prompt="Look around", subagent_type="Explore", run_in_background=False)
    )
    touch = reply(call("Bash", command="touch made", description="x"))
    agent = {"kind": "agent", "match": "Look around", "replies": [touch, "Seen."]}
    here = desk({"conversations": [{"kind": "main", "replies": [asks, "Done."]}, agent]})
    log = here.base / "log"
    for event in ("PreToolUse", "SubagentStart", "SubagentStop"):
        configure(here, event, f"cat >> {log}; echo >> {log}; " + ("exit 2" if event == "PreToolUse" else ""))
    configure(here, "SubagentStart", f"cat >> {log}; echo >> {log}; echo be quick")
    path = here.config / "settings.json"
    settings = json.loads(path.read_text())
    settings["hooks"]["PreToolUse"][0]["matcher"] = "Bash"
    path.write_text(json.dumps(settings))
    assert here.turnlog("-p", "go", "--allowedTools", "Bash").stdout == "Done.\n"
    told = [json.loads(line) for line in log.read_text().splitlines() if line]
    assert [one["hook_event_name"] for one in told] == ["SubagentStart", "PreToolUse", "SubagentStop"]
    assert {one["agent_type"] for one in told} == {"Explore"}
    assert len({one["agent_id"] for one in told}) == 1
    assert Path(told[-1]["agent_transcript_path"]).is_file()
    assert not (here.cwd / "made").exists()
    assert "be quick" in json.dumps(here.requests[1]["messages"])


def test_a_hook_can_block_a_compaction_and_add_to_its_instructions(desk: MakeDesk) -> None:
    here = desk({"conversations": [{"kind": "main", "replies": ["One.", "<summary>All.</summary>"]}]})
    configure(here, "PreCompact", "echo keep the names")
    lines = [user("go"), user("/compact")]
    here.turnlog(*STREAMS, stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert "keep the names" in json.dumps(here.requests[-1]["messages"][-1])
    configure(here, "PreCompact", "echo not now >&2; exit 2")
    done = here.turnlog("-p", "/compact", "--continue")
    assert "not now" in done.stdout
    assert done.returncode == 1


def test_the_end_of_a_session_is_announced_once(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    configure(here, "SessionEnd", f"cat >> {here.base}/log; echo >> {here.base}/log", timeout=120)
    here.turnlog("-p", "go")
    (told,) = [json.loads(line) for line in (here.base / "log").read_text().splitlines()]
    assert (told["hook_event_name"], told["reason"]) == ("SessionEnd", "other")


# -- programs


def begin(here: Desk, **hooks: Any) -> Talk:
    """A program that defines callbacks and sends a prompt."""
    talk = Talk(here)
    talk.say(control("i", subtype="initialize", hooks=hooks))
    assert talk.until("control_response")["response"]["subtype"] == "success"
    talk.say(user("go"))
    return talk


def test_a_callback_of_a_program_blocks_a_call(desk: MakeDesk) -> None:
    here = desk(script(reply(says("So."), call("Bash", command="echo hi", description="x")), "Done."))
    talk = begin(here, PreToolUse=[{"matcher": "Bash", "hookCallbackIds": ["guard"]}])
    asked = talk.wait_for_request()
    assert (asked["request"]["subtype"], asked["request"]["callback_id"]) == ("hook_callback", "guard")
    assert asked["request"]["input"]["tool_input"] == {"command": "echo hi", "description": "x"}
    assert asked["request"]["tool_use_id"] == asked["request"]["input"]["tool_use_id"]
    talk.answer(asked, decision="block", reason="not this one")
    assert talk.until("result")["result"] == "Done."
    assert "not this one" in results(here)[0]["content"]
    assert talk.end() == 0


def test_a_callback_of_a_program_that_fails_is_reported(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    talk = begin(here, UserPromptSubmit=[{"matcher": None, "hookCallbackIds": ["a"]}])
    asked = talk.wait_for_request()
    error = {"subtype": "error", "request_id": asked["request_id"], "error": "it broke"}
    talk.say({"type": "control_response", "response": error})
    assert talk.until("result")["result"] == "Done."
    assert any("it broke" in str(line.get("content")) for line in talk.told)
    assert talk.end() == 0


def test_an_interrupt_ends_a_callback_that_waits(desk: MakeDesk) -> None:
    here = desk(TOUCH)
    talk = begin(here, PreToolUse=[{"hookCallbackIds": ["guard"]}])
    talk.wait_for_request()
    talk.say(control("stop", subtype="interrupt"))
    assert talk.until("result")["subtype"] == "error_during_execution"
    assert not (here.cwd / "made").exists()
    talk.end()
