"""The console, in a terminal of its own, against a scripted server."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.api import Gate
from tests.agent.desk import Desk, Terminal, call, reply, says, script
from tests.agent.waits import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")]
MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "
"""The line editor waits for a prompt."""


@pytest.fixture
def make_trusted_desk(desk: MakeDesk) -> MakeDesk:
    """A desk whose project is trusted."""

    def make(scenario: dict[str, Any]) -> Desk:
        made = desk(scenario)
        made.trust()
        return made

    return make


def hold_answer(gate: Gate, *blocks: dict[str, Any]) -> dict[str, Any]:
    """An answer that stops in the middle of a text, until the gate is opened."""
    return {**reply(says("word " * 40), *blocks), "do": gate}


def list_last_prompts(here: Desk) -> list[str]:
    """What the person said in the last request, without reminders."""
    blocks = [
        block for message in here.requests[-1]["messages"] if message["role"] == "user" for block in message["content"]
    ]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in texts if not text.startswith("<system-reminder>")]


def texts(body: dict[str, Any]) -> list[str]:
    """All texts of a request."""
    return [block["text"] for message in body["messages"] for block in message["content"]]


def leave(terminal: Terminal, hint: str = READY) -> int:
    terminal.expect(hint)
    terminal.send("\x04")
    return terminal.wait_for_end()


def test_a_prompt_is_answered_and_ctrl_d_leaves(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("Hello **there**."))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("hi\r")
        terminal.expect("Hello \x1b[1mthere\x1b[0m.")
        assert leave(terminal) == 0
        assert f"--resume {here.session[0]['sessionId']}" in terminal.text
    assert list_last_prompts(here) == ["hi"]
    assert here.session[0]["promptSource"] == "typed"


def test_a_prompt_of_the_command_line_is_said_first(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("Hello."))
    with here.terminal("hi there") as terminal:
        terminal.expect("> hi there")
        terminal.expect("Hello.")
        leave(terminal)
    assert list_last_prompts(here) == ["hi there"]


def test_a_folder_is_trusted_once(desk: MakeDesk) -> None:
    here = desk(script("Hello."))
    with here.terminal() as terminal:
        terminal.expect("Do you trust this folder?")
        terminal.send("n\r")
        assert terminal.wait_for_end() == 1
    with here.terminal() as terminal:
        terminal.expect("Do you trust this folder?")
        terminal.send("y\r")
        assert leave(terminal) == 0
    with here.terminal() as terminal:
        assert leave(terminal) == 0
        assert "Do you trust this folder?" not in terminal.text
    state = json.loads((here.home / ".claude.json").read_text())
    assert state["projects"][str(here.cwd)]["hasTrustDialogAccepted"] is True


def test_a_call_is_asked_for_shown_and_made(make_trusted_desk: MakeDesk) -> None:
    path = "{}/a.txt"
    here = make_trusted_desk(script())
    here.mock.scenario.conversations[0]["replies"] = [
        reply(call("Write", file_path=path.format(here.cwd), content="one\n")),
        "Written.",
    ]
    with here.terminal("write") as terminal:
        asked = terminal.expect("allow?")
        assert "1 + one" in asked
        assert not (here.cwd / "a.txt").exists()
        terminal.send("y\r")
        terminal.expect("Write")
        assert "allow? [y/s/a/n] y" in terminal.text
        terminal.expect("Written.")
        leave(terminal)
    assert (here.cwd / "a.txt").read_text() == "one\n"
    assert not (here.cwd / ".claude").exists()


def test_always_writes_the_rule_that_was_shown(make_trusted_desk: MakeDesk) -> None:
    picks = [reply(call("Bash", command=f"./pick apples {colour}")) for colour in ("red", "green")]
    here = make_trusted_desk(script(*picks, "Done."))
    (here.cwd / "pick").write_text('#!/bin/sh\necho "$2" >> picked\n')
    (here.cwd / "pick").chmod(0o755)
    with here.terminal("go") as terminal:
        asked = terminal.expect("allow? [y/s/a/n]")
        terminal.send("a\r")
        terminal.expect("Done.")
        leave(terminal)
        assert terminal.text.count("allow?") == 1
    (rule,) = json.loads((here.cwd / ".claude" / "settings.local.json").read_text())["permissions"]["allow"]
    assert f"adds {rule} to {here.cwd}/.claude/settings.local.json".replace(" ", "") in "".join(asked.split())
    assert (here.cwd / "picked").read_text() == "red\ngreen\n"


def test_an_answer_for_this_session_allows_the_next_call_and_writes_no_rule(make_trusted_desk: MakeDesk) -> None:
    picks = [reply(call("Bash", command=f"./pick apples {colour}")) for colour in ("red", "green")]
    here = make_trusted_desk(script(*picks, "Done."))
    (here.cwd / "pick").write_text('#!/bin/sh\necho "$2" >> picked\n')
    (here.cwd / "pick").chmod(0o755)
    with here.terminal("go") as terminal:
        terminal.expect("allow? [y/s/a/n]")
        terminal.send("s\r")
        terminal.expect("Done.")
        leave(terminal)
        assert terminal.text.count("allow?") == 1
    assert (here.cwd / "picked").read_text() == "red\ngreen\n"
    assert not (here.cwd / ".claude").exists()


def test_what_was_typed_before_the_question_is_no_answer_to_it(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(gate := Gate(), call("Bash", command="touch x")), "ok"))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send("y")
        terminal.expect("y")
        gate.open()
        terminal.expect("allow?")
        terminal.send("\r")
        terminal.expect("allow?")
        assert not (here.cwd / "x").exists()
        terminal.send("n\r")
        terminal.expect("interrupted")
        terminal.expect("> y")


def test_no_with_words_tells_the_model_and_goes_on(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(reply(call("Bash", command="touch x")), "I use make."))
    with here.terminal("go") as terminal:
        terminal.expect("allow?")
        terminal.send("n use make instead\r")
        terminal.expect("I use make.")
        leave(terminal)
    assert "use make instead" in json.dumps(here.requests[-1]["messages"][-1])
    assert not (here.cwd / "x").exists()


def test_a_bare_no_ends_the_turn(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(reply(call("Bash", command="touch x")), "never"))
    with here.terminal("go") as terminal:
        terminal.expect("allow?")
        terminal.send("n\r")
        terminal.expect("interrupted")
        leave(terminal)
    assert len(here.requests) == 1
    assert not (here.cwd / "x").exists()


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_escape_and_ctrl_c_interrupt_the_turn(make_trusted_desk: MakeDesk, key: str) -> None:
    here = make_trusted_desk(script(hold_answer(Gate())))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send(key)
        terminal.expect("interrupted")
        assert leave(terminal) == 0
    assert any("[Request interrupted by user]" in json.dumps(row) for row in here.session)


@pytest.mark.parametrize("key", ["\x1b", "\x03", "\x04"])
def test_whoever_turns_away_from_a_question_ends_the_turn(make_trusted_desk: MakeDesk, key: str) -> None:
    here = make_trusted_desk(script(reply(call("Bash", command="touch x"), call("Bash", command="touch y")), "never"))
    with here.terminal("go") as terminal:
        terminal.expect("allow?")
        terminal.send(key)
        terminal.expect("interrupted")
        leave(terminal)
        assert terminal.text.count("allow?") == 1
    assert len(here.requests) == 1
    assert not list(here.cwd.iterdir())
    assert any("[Request interrupted by user for tool use]" in json.dumps(row) for row in here.session)


def test_a_question_of_a_sub_agent_that_is_turned_away_from_ends_the_whole_turn(make_trusted_desk: MakeDesk) -> None:
    task = call("Task", description="Look", prompt="look", subagent_type="general-purpose", run_in_background=False)
    here = make_trusted_desk(script(reply(task), "never"))
    here.mock.scenario.conversations.insert(
        0, {"kind": "agent", "replies": [reply(call("Bash", command="touch x")), "Seen."]}
    )
    with here.terminal("go") as terminal:
        terminal.expect("A sub-agent wants")
        terminal.expect("allow?")
        terminal.send("\x1b")
        terminal.expect("interrupted")
        leave(terminal)
    assert not (here.cwd / "x").exists()


def test_an_answer_can_be_edited_and_words_behind_it_answer_nothing_else(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(reply(call("Bash", command="touch x"), call("Bash", command="touch y")), "never"))
    with here.terminal("go") as terminal:
        terminal.expect("allow?")
        terminal.send("nonsense here\x17\x15yy\x7f\ry\r")
        terminal.expect("touch y")
        terminal.expect("allow?")
        terminal.send("n\r")
        terminal.expect("interrupted")
        leave(terminal)
    assert (here.cwd / "x").exists()
    assert not (here.cwd / "y").exists()


def test_shift_tab_changes_the_mode_and_the_model_is_told_of_plans(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One.", "Two.", reply(call("Bash", command="mkdir made")), "Three."))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("half\x1b[Z")
        terminal.expect("acceptEdits > half")
        terminal.send("\x1b[Z")
        terminal.expect("plan > half")
        terminal.send(" a line\r")
        terminal.expect("One.")
        terminal.expect("plan > ")
        terminal.send("\x1b[Z")
        terminal.expect(READY)
        terminal.send("on\r")
        terminal.expect("Two.")
        terminal.expect(READY)
        terminal.send("\x1b[Z")
        terminal.expect("acceptEdits > ")
        terminal.send("make it\r")
        terminal.expect("Three.")
        leave(terminal, "acceptEdits > ")
    assert (here.cwd / "made").is_dir()
    assert list_last_prompts(here) == ["half a line", "on", "make it"]
    told = [texts(here.requests[at]) for at in (0, 1)]
    assert sum("is in plan mode" in text for text in told[0]) == 1
    assert sum("has ended plan mode" in text for text in told[1]) == 1
    modes = [row["permissionMode"] for row in here.session if row["type"] == "permission-mode"]
    assert modes == ["default", "acceptEdits"]
    prompts = [row["permissionMode"] for row in here.session if row.get("promptSource")]
    assert prompts == ["plan", "default", "acceptEdits"]


@pytest.mark.parametrize("mode", ["bypassPermissions", "dontAsk"])
def test_shift_tab_leads_back_to_the_mode_that_the_settings_begin_with(make_trusted_desk: MakeDesk, mode: str) -> None:
    here = make_trusted_desk(script())
    (here.config / "settings.json").write_text(json.dumps({"permissions": {"defaultMode": mode}}))
    with here.terminal() as terminal:
        for shown in (f"{mode} > ", f"\n{READY}", "acceptEdits > ", "plan > ", f"{mode} > "):
            terminal.expect(shown)
            terminal.send("\x1b[Z")


def test_keys_that_ask_for_completions_change_no_mode(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One."))
    (here.home / ".inputrc").write_text("tab: menu-complete\n")
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("a\t\x1b?\x1b*b\r")
        terminal.expect("One.")
        leave(terminal)
    assert list_last_prompts(here) == ["a?*b"]


@pytest.mark.parametrize("text", ["fix it", "bad", "done?", "7 of 9", "/etc/hosts is odd", '"so" \\ it', "ärger", "OK"])
@pytest.mark.parametrize("times", [1, 2])
def test_escape_after_the_end_of_a_turn_eats_no_key(make_trusted_desk: MakeDesk, text: str, times: int) -> None:
    here = make_trusted_desk(script("One.", "Two."))
    with here.terminal("first") as terminal:
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("\x1b" * times)
        terminal.send(f"{text}\r")
        terminal.expect("Two.")
        leave(terminal)
    assert list_last_prompts(here) == ["first", text]


def test_escape_in_a_line_eats_no_key_and_arrows_with_ctrl_or_alt_go_by_words(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One."))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("one two\x1bf\x1b[1;5DX\x1b[1;3DY\x1b[1;3CZ\r")
        terminal.expect("One.")
        leave(terminal)
    assert list_last_prompts(here) == ["one YXtwofZ"]


def test_shift_tab_during_a_turn_holds_for_the_calls_that_follow(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(gate := Gate(), call("Bash", command="mkdir made")), "Done."))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send("\x1b[Z")
        terminal.expect("acceptEdits")
        gate.open()
        terminal.expect("Done.")
        leave(terminal, "acceptEdits > ")
    assert (here.cwd / "made").is_dir()


def test_a_command_of_the_person_s_own_runs_unasked_and_is_told_to_the_model(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("I see."))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("!mkdir made; echo it is made\r")
        terminal.expect("it is made")
        terminal.expect("I see.")
        leave(terminal)
    assert (here.cwd / "made").is_dir()
    assert list_last_prompts(here) == [
        "<bash-input>mkdir made; echo it is made</bash-input>",
        "<bash-stdout>it is made</bash-stdout><bash-stderr></bash-stderr>",
    ]
    here.turnlog("-p", "next", "--continue")
    assert list_last_prompts(here)[:2] == [text for text in list_last_prompts(here) if text.startswith("<bash-")]


def test_an_own_command_that_takes_too_long_is_stopped(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("never"))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("!echo begun; sleep 300\r")
        terminal.expect("✻ ! echo begun; sleep 300: begun (")
        terminal.expect("s · Esc to interrupt)")
        terminal.send("\x1b")
        assert leave(terminal) == 0
    assert here.requests == []


def test_a_session_gets_a_title_that_lists_show(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(
        {"conversations": [{"kind": "title", "replies": ['"Price test"\n']}, *script("One.")["conversations"]]}
    )
    with here.terminal(CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="0") as terminal:
        terminal.expect(READY)
        terminal.send("why does the price test fail?\r")
        terminal.expect("One.")
        terminal.expect(READY)
        wait_until(lambda: any(row["type"] == "ai-title" for row in here.session))
        terminal.send("/exit\r")
        assert terminal.wait_for_end() == 0
    assert {row["aiTitle"] for row in here.session if row["type"] == "ai-title"} == {"Price test"}
    assert "Price test" in here.turnlog("ls").stdout
    with here.terminal("--resume") as terminal:
        terminal.expect("Price test")
        terminal.send("\x1b")
        assert terminal.wait_for_end() == 0


def test_a_title_that_can_t_be_had_is_missed_by_nobody(make_trusted_desk: MakeDesk) -> None:
    wrong = {"error": {"status": 400, "type": "invalid_request_error", "message": "no titles"}}
    here = make_trusted_desk(
        {"conversations": [{"kind": "title", "replies": [wrong]}, *script("One.")["conversations"]]}
    )
    with here.terminal("go", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="") as terminal:
        terminal.expect("One.")
        assert leave(terminal) == 0
        assert "no titles" not in terminal.text
    assert not any(row["type"] == "ai-title" for row in here.session)


def test_an_arrow_key_interrupts_nothing(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(gate := Gate()), "Second."))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send("\x1b[A\x1bOBx")
        terminal.expect("x")
        gate.open()
        terminal.expect(f"{READY}x")
        assert "interrupted" not in terminal.text


def test_what_is_typed_during_a_turn_is_said_next(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(gate := Gate()), "Second."))
    with here.terminal("first") as terminal:
        terminal.expect("word")
        terminal.send("secondX\x7f\r")
        terminal.expect("queued: second")
        gate.open()
        terminal.expect("Second.")
        leave(terminal)
    assert list_last_prompts(here) == ["first", "second"]
    queue = [(row["operation"], row.get("content")) for row in here.session if row["type"] == "queue-operation"]
    assert queue == [("enqueue", "second"), ("dequeue", None)]


def test_what_is_pasted_during_a_turn_is_one_piece(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(gate := Gate()), "Second."))
    with here.terminal("first") as terminal:
        terminal.expect("word")
        terminal.send("\x1b[200~one\rtwo")
        terminal.send(" more\x1b[201~!\r")
        terminal.expect("queued: one two more!")
        gate.open()
        terminal.expect("Second.")
        leave(terminal)
    assert list_last_prompts(here) == ["first", "one\ntwo more!"]


def test_what_was_typed_ahead_comes_back_when_the_turn_is_interrupted(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(Gate()), "Edited."))
    with here.terminal("first") as terminal:
        terminal.expect("word")
        terminal.send("second\r")
        terminal.expect("queued")
        terminal.send("\x1b")
        terminal.expect("interrupted")
        terminal.expect("second")
        terminal.send(" thoughts\r")
        terminal.expect("Edited.")
        leave(terminal)
    assert list_last_prompts(here)[-1] == "second thoughts"
    assert [row["operation"] for row in here.session if row["type"] == "queue-operation"] == ["enqueue", "popAll"]


def test_a_line_goes_on_after_a_backslash_or_escape_and_enter_and_a_paste_is_one_piece(
    make_trusted_desk: MakeDesk,
) -> None:
    here = make_trusted_desk(script("one", "two", "three"))
    with here.terminal() as terminal:
        for typed, answer in (("a\\\rb\r", "one"), ("c\x1b\rd\r", "two"), ("\x1b[200~e\nf\x1b[201~\r", "three")):
            terminal.expect(READY)
            terminal.send(typed)
            terminal.expect(answer)
        leave(terminal)
    assert list_last_prompts(here) == ["a\nb", "c\nd", "e\nf"]


def test_ctrl_c_at_the_prompt_leaves_the_second_time(make_trusted_desk: MakeDesk) -> None:
    with make_trusted_desk(script()).terminal() as terminal:
        terminal.expect(READY)
        terminal.send("half a line")
        terminal.press("\x03", "Ctrl-C again")
        terminal.expect(READY)
        terminal.press("\x03", "\x1b[?2004l")
        assert terminal.wait_for_end() == 0


def test_a_question_of_the_model_is_answered_by_number(make_trusted_desk: MakeDesk) -> None:
    options = [{"label": "Apple", "description": "red"}, {"label": "Pear", "description": "green"}]
    question = {"question": "Which fruit?", "header": "Fruit", "options": options, "multiSelect": False}
    here = make_trusted_desk(script(reply(call("AskUserQuestion", questions=[question])), "Pears it is."))
    with here.terminal("go") as terminal:
        terminal.expect("or your own answer:")
        terminal.send("2\r")
        terminal.expect("Pears it is.")
        leave(terminal)
    assert '\\"Which fruit?\\"=\\"Pear\\"' in json.dumps(here.requests[-1]["messages"][-1])


def test_a_plan_that_is_agreed_to_ends_plan_mode(make_trusted_desk: MakeDesk) -> None:
    touch = call("Bash", command="mkdir made")
    here = make_trusted_desk(
        script(reply(touch), reply(call("ExitPlanMode", plan="1. make it")), reply(touch), "Made.")
    )
    with here.terminal("plan it", "--permission-mode", "plan") as terminal:
        terminal.expect("go ahead? [y/a/e/n]")
        assert not (here.cwd / "made").exists()
        terminal.send("a\r")
        terminal.expect("Made.")
        leave(terminal, "acceptEdits > ")
    assert (here.cwd / "made").is_dir()
    assert "plan mode" in json.dumps(here.requests[0]["messages"][0])
    assert [row["permissionMode"] for row in here.session if row["type"] == "permission-mode"] == ["acceptEdits"]


def test_nothing_on_the_screen_is_cleared_and_no_colour_is_sent_without_leave(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(reply(says("\x1b[2J\x1b[3J\x1b[H evil"), call("Bash", command="echo hi")), "Done."))
    with here.terminal("go", NO_COLOR="1") as terminal:
        terminal.expect("Done.")
        leave(terminal)
        assert "\\x1b[2J" in terminal.text
        assert not re.search("\x1b\\[(?:[23]J|[0-9;]*[Hfm])", terminal.text)


def test_clear_begins_a_new_session_and_resume_takes_the_first_up_again(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One.", "Two.", "Three."))
    with here.terminal("first") as terminal:
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("/clear\r")
        name = terminal.expect("\r\n" + READY).rpartition("/resume ")[2].split()[0]
        terminal.send("second\r")
        terminal.expect("Two.")
        terminal.expect(READY)
        terminal.send(f"/resume {name[:8]}\r")
        terminal.expect(READY)
        terminal.send("third\r")
        terminal.expect("Three.")
        leave(terminal)
    assert [len(body["messages"]) for body in here.requests] == [1, 1, 3]
    assert list_last_prompts(here) == ["first", "third"]
    assert len(list(here.config.glob("projects/*/*.jsonl"))) == 2


def test_clear_keeps_model_and_mode_and_this_very_session_is_not_taken_up(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One.", "Two."))
    with here.terminal() as terminal:
        for typed, answer in (("/model opus\r", "Set model"), ("\x1b[Z", "acceptEdits > "), ("first\r", "One.")):
            terminal.send(typed)
            terminal.expect(answer)
        terminal.expect("acceptEdits > ")
        terminal.send("/clear\r")
        terminal.expect("Started a new session")
        terminal.expect("acceptEdits > ")
        terminal.send("second\r")
        terminal.expect("Two.")
        terminal.expect("acceptEdits > ")
        terminal.send("/resume\r")
        terminal.expect("number, words")
        terminal.send("1\r")
        terminal.expect("The session is unchanged")
        leave(terminal, "acceptEdits > ")
    assert {body["model"] for body in here.requests} == {"claude-opus-5-5"}
    assert len(list(here.config.glob("projects/*/*.jsonl"))) == 2


def test_compact_replaces_the_conversation_by_a_summary(make_trusted_desk: MakeDesk) -> None:
    scenario = script("One.", "<summary>They said first.</summary>", "Three.")
    here = make_trusted_desk(scenario)
    with here.terminal("first") as terminal:
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("/compact keep names\r")
        terminal.expect("a summary replaced the conversation")
        terminal.expect(READY)
        terminal.send("third\r")
        terminal.expect("Three.")
        leave(terminal)
        assert "One." in terminal.screen_text
    assert "keep names" in json.dumps(here.requests[1]["messages"][-1])
    assert "They said first." in json.dumps(here.requests[2]["messages"])
    assert any(row.get("isCompactSummary") for row in here.session)
    here.turnlog("-p", "fourth", "--continue")
    before, after = (texts(body) for body in here.requests[-2:])
    assert after[: len(before)] == before


def test_a_resumed_session_shows_what_was_typed_and_said_last(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One.", "Two."))
    (here.config / "commands").mkdir()
    (here.config / "commands" / "go.md").write_text("Go.")
    with here.terminal("/go now") as terminal:
        terminal.expect("One.")
        leave(terminal)
    with here.terminal("--continue") as terminal:
        terminal.expect("> /go now")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("/compact\r")
        terminal.expect("a summary replaced")
        leave(terminal)
    with here.terminal("--resume") as terminal:
        assert "/go now" in terminal.expect("number, words")
        terminal.send("1\r")
        terminal.expect("> /go now")
        leave(terminal)
        assert "No response requested" not in terminal.text


def test_a_session_is_chosen_from_a_list(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One.", "Two.", "Three."))
    here.turnlog("-p", "about apples")
    here.turnlog("-p", "about pears")
    with here.terminal("--resume") as terminal:
        terminal.expect("number, words to search for")
        terminal.send("apples\r")
        terminal.expect("number, words to search for")
        terminal.send("1\r")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("go on\r")
        terminal.expect("Three.")
        leave(terminal)
    assert list_last_prompts(here) == ["about apples", "go on"]


def test_a_session_that_is_open_elsewhere_is_not_taken_up(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script("One.", "Two."))
    with here.terminal("first") as terminal:
        terminal.expect("One.")
        terminal.expect(READY)
        done = here.turnlog("-p", "second", "--continue")
        assert done.returncode == 1
        assert "--fork-session" in done.stderr
        registered = list((here.config / "sessions").glob("*.json"))
        assert [json.loads(path.read_text())["status"] for path in registered] == ["idle"]
        terminal.send("\x04")
        terminal.wait_for_end()
    assert list((here.config / "sessions").glob("*.json")) == []


def test_prompts_are_kept_for_next_time(make_trusted_desk: MakeDesk, tmp_path: Path) -> None:
    here = make_trusted_desk(script("One.", "Two."))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("remember me\r")
        terminal.expect("One.")
        leave(terminal)
    history = tmp_path / "data" / "chat_history"
    assert "remember me" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("\x1b[A\r")
        terminal.expect("Two.")
        leave(terminal)
    assert list_last_prompts(here)[-1] == "remember me"


def test_a_dumb_terminal_is_sent_no_sequence(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(script(hold_answer(gate := Gate(), call("Bash", command="touch x")), "Done.", "Next."))
    with here.terminal("go", columns=60, TERM="dumb") as terminal:
        terminal.expect("word")
        terminal.send("ahead\r")
        terminal.expect("queued: ahead")
        gate.open()
        terminal.expect("allow?")
        terminal.send("n use make\r")
        terminal.expect("Done.")
        terminal.expect("> ahead")
        terminal.expect("Next.")
        terminal.expect("> ")
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
        assert "\x1b" not in terminal.text


@pytest.mark.parametrize(
    ("typed", "environ"),
    [(b"a\xffb\r", {}), ("hällo\r".encode(), {"LC_ALL": "POSIX"}), ("hällo\r".encode(), {"PYTHONIOENCODING": "ascii"})],
)
def test_characters_that_the_terminal_does_not_know_end_nothing(
    make_trusted_desk: MakeDesk, typed: bytes, environ: dict[str, Any]
) -> None:
    here = make_trusted_desk(script("Wörter ● 漢字 there"))
    with here.terminal(**environ) as terminal:
        terminal.expect("> ")
        terminal.send_raw(typed)
        terminal.expect("there")
        terminal.expect("> ")
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    assert len(here.requests) == 1


def test_what_was_typed_ahead_is_still_there_behind_a_question(make_trusted_desk: MakeDesk) -> None:
    first, second = Gate(), Gate()
    here = make_trusted_desk(script(hold_answer(first, call("Bash", command="touch x")), hold_answer(second), "Third."))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send("ahead")
        terminal.expect("ahead")
        first.open()
        terminal.expect("allow?")
        terminal.send("y\r")
        terminal.expect("> ahead")
        terminal.send(" of it\r")
        terminal.expect("queued: ahead of it")
        second.open()
        terminal.expect("Third.")
        leave(terminal)
    assert list_last_prompts(here)[-1] == "ahead of it"


def test_that_a_command_in_the_background_has_ended_is_told(make_trusted_desk: MakeDesk) -> None:
    running = call("Bash", command="true", run_in_background=True, description="Wait a bit")
    here = make_trusted_desk(script(reply(running), "Well."))
    with here.terminal("go", "--dangerously-skip-permissions") as terminal:
        terminal.expect('· Background command "Wait a bit" completed')


WAITS = "until [ -e go ]; do sleep 0.05; done"


def test_a_command_that_ends_while_somebody_types_is_told_at_once_and_once(make_trusted_desk: MakeDesk) -> None:
    running = call("Bash", command=WAITS, run_in_background=True, description="Wait a bit")
    here = make_trusted_desk(script(reply(running), "Runs.", "So it ended.", "Fine."))
    with here.terminal("--allowedTools", "Bash") as terminal:
        terminal.expect(READY)
        terminal.send("go\r")
        terminal.expect("Runs.")
        terminal.expect(READY)
        terminal.send("is it")
        terminal.expect("is it")
        (here.cwd / "go").touch()
        terminal.expect('· Background command "Wait a bit" completed (exit code 0)')
        terminal.expect("So it ended.")
        terminal.expect(f"{READY}is it")
        terminal.send(" over?\r")
        terminal.expect("Fine.")
        assert leave(terminal) == 0
    assert terminal.text.count("Background command") == 1
    assert "<task-notification>" in json.dumps(here.requests[-2]["messages"][-1])
    assert "is it over?" in json.dumps(here.requests[-1]["messages"][-1])


def test_the_end_of_the_terminal_ends_the_program_and_what_it_left_running(make_trusted_desk: MakeDesk) -> None:
    here = make_trusted_desk(
        script(reply(call("Bash", command="echo $$ > pid; exec sleep 300", run_in_background=True)), "Runs.")
    )
    with here.terminal("go", "--dangerously-skip-permissions") as terminal:
        terminal.expect("Runs.")
        terminal.expect("bypassPermissions > ")
        terminal.hang_up()
        assert terminal.wait_for_end() != 0
    wait_until(lambda: is_gone(int((here.cwd / "pid").read_text())))
    assert list((here.config / "sessions").glob("*.json")) == []


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("where", "is_flat"),
    [
        ("flag", True),
        ("variable", True),
        ("home/.claude/settings.json", True),
        ("project/.claude/settings.json", False),
    ],
)
def test_for_a_screen_reader_nothing_is_painted_twice(make_trusted_desk: MakeDesk, where: str, is_flat: bool) -> None:
    text = "".join(f"word{number} " for number in range(30))
    here = make_trusted_desk(script(hold_answer(gate := Gate(), {"type": "text", "text": text})))
    words = ["go", "--ax-screen-reader"] if where == "flag" else ["go"]
    if where.endswith(".json"):
        path = here.base / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"axScreenReader": true}')
    with here.terminal(*words, columns=60, CLAUDE_AX_SCREEN_READER="1" if where == "variable" else "") as terminal:
        terminal.expect("> go" if is_flat else "Esc to interrupt")
        gate.open()
        terminal.expect("word29")
        terminal.expect("> ")
        terminal.send("\x04")
        assert terminal.wait_for_end() == 0
    assert ("Esc to interrupt" not in terminal.text) == is_flat
    assert (terminal.text.count("word7 ") == 1) or not is_flat
