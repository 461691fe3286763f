"""The console, in a terminal of its own, against a scripted server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, Terminal, call, reply, says, script

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
MakeDesk = Callable[[dict[str, Any]], Desk]
READY = "\x1b[?2004h> "
"""The line editor waits for a prompt."""


@pytest.fixture
def trusted(desk: MakeDesk) -> MakeDesk:
    """A desk whose project is trusted."""

    def make(scenario: dict[str, Any]) -> Desk:
        made = desk(scenario)
        made.trust()
        return made

    return make


def slow(text: str = "word " * 40) -> dict[str, Any]:
    """An answer that takes its time."""
    return reply(says(text), pace=0.7)


def said(here: Desk) -> list[str]:
    """What the person said in the last request, without reminders."""
    blocks = [
        block for message in here.asked[-1]["messages"] if message["role"] == "user" for block in message["content"]
    ]
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in texts if not text.startswith("<system-reminder>")]


def texts(body: dict[str, Any]) -> list[str]:
    """All texts of a request."""
    return [block["text"] for message in body["messages"] for block in message["content"]]


def leave(terminal: Terminal) -> int:
    terminal.expect(READY)
    terminal.send("\x04")
    return terminal.ended()


def test_a_prompt_is_answered_and_ctrl_d_leaves(trusted: MakeDesk) -> None:
    here = trusted(script("Hello **there**."))
    with here.terminal() as terminal:
        terminal.expect(READY)
        terminal.send("hi\r")
        terminal.expect("Hello **there**.")
        assert leave(terminal) == 0
        assert f"--resume {here.session[0]['sessionId']}" in terminal.text
    assert said(here) == ["hi"]
    assert here.session[0]["promptSource"] == "typed"


def test_a_prompt_of_the_command_line_is_said_first(trusted: MakeDesk) -> None:
    here = trusted(script("Hello."))
    with here.terminal("hi there") as terminal:
        terminal.expect("Hello.")
        leave(terminal)
    assert said(here) == ["hi there"]


def test_a_folder_is_trusted_once(desk: MakeDesk) -> None:
    here = desk(script("Hello."))
    with here.terminal() as terminal:
        terminal.expect("Do you trust it?")
        terminal.send("n\r")
        assert terminal.ended() == 1
    with here.terminal() as terminal:
        terminal.expect("Do you trust it?")
        terminal.send("y\r")
        assert leave(terminal) == 0
    with here.terminal() as terminal:
        assert leave(terminal) == 0
        assert "Do you trust it?" not in terminal.text
    state = json.loads((here.home / ".claude.json").read_text())
    assert state["projects"][str(here.cwd)]["hasTrustDialogAccepted"] is True


def test_a_call_is_asked_for_shown_and_made(trusted: MakeDesk) -> None:
    path = "{}/a.txt"
    here = trusted(script())
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
        terminal.expect("Written.")
        leave(terminal)
    assert (here.cwd / "a.txt").read_text() == "one\n"
    assert not (here.cwd / ".claude").exists()


def test_always_writes_the_rule_that_was_shown(trusted: MakeDesk) -> None:
    picks = [reply(call("Bash", command=f"./pick apples {colour}")) for colour in ("red", "green")]
    here = trusted(script(*picks, "Done."))
    (here.cwd / "pick").write_text('#!/bin/sh\necho "$2" >> picked\n')
    (here.cwd / "pick").chmod(0o755)
    with here.terminal("go") as terminal:
        asked = terminal.expect("allow? [y/a/n]")
        terminal.send("a\r")
        terminal.expect("Done.")
        leave(terminal)
        assert terminal.text.count("allow?") == 1
    (rule,) = json.loads((here.cwd / ".claude" / "settings.local.json").read_text())["permissions"]["allow"]
    assert f"adds {rule} to {here.cwd}/.claude/settings.local.json" in asked
    assert (here.cwd / "picked").read_text() == "red\ngreen\n"


def test_what_was_typed_before_the_question_is_no_answer_to_it(trusted: MakeDesk) -> None:
    here = trusted(script(reply(says("word " * 20), call("Bash", command="touch x"), pace=0.3), "ok"))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send("y")
        terminal.expect("allow?")
        terminal.send("\r")
        terminal.expect("allow?")
        assert not (here.cwd / "x").exists()
        terminal.send("n\r")
        terminal.expect("interrupted")
        terminal.expect("> y")


def test_no_with_words_tells_the_model_and_goes_on(trusted: MakeDesk) -> None:
    here = trusted(script(reply(call("Bash", command="touch x")), "I use make."))
    with here.terminal("go") as terminal:
        terminal.expect("allow?")
        terminal.send("n use make instead\r")
        terminal.expect("I use make.")
        leave(terminal)
    assert "use make instead" in json.dumps(here.asked[-1]["messages"][-1])
    assert not (here.cwd / "x").exists()


def test_a_bare_no_ends_the_turn(trusted: MakeDesk) -> None:
    here = trusted(script(reply(call("Bash", command="touch x")), "never"))
    with here.terminal("go") as terminal:
        terminal.expect("allow?")
        terminal.send("n\r")
        terminal.expect("interrupted")
        leave(terminal)
    assert len(here.asked) == 1
    assert not (here.cwd / "x").exists()


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_escape_and_ctrl_c_interrupt_the_turn(trusted: MakeDesk, key: str) -> None:
    here = trusted(script(slow()))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send(key)
        terminal.expect("interrupted")
        assert leave(terminal) == 0
    assert any("[Request interrupted by user]" in json.dumps(row) for row in here.session)


def test_an_arrow_key_interrupts_nothing(trusted: MakeDesk) -> None:
    here = trusted(script(slow(), "Second."))
    with here.terminal("go") as terminal:
        terminal.expect("word")
        terminal.send("\x1b[A\x1bOB")
        terminal.expect(READY)
        assert "interrupted" not in terminal.text


def test_what_is_typed_during_a_turn_is_said_next(trusted: MakeDesk) -> None:
    here = trusted(script(slow(), "Second."))
    with here.terminal("first") as terminal:
        terminal.expect("word")
        terminal.send("secondX\x7f\r")
        terminal.expect("will be said next: second")
        terminal.expect("Second.")
        leave(terminal)
    assert said(here) == ["first", "second"]
    queue = [(row["operation"], row.get("content")) for row in here.session if row["type"] == "queue-operation"]
    assert queue == [("enqueue", "second"), ("dequeue", None)]


def test_what_was_typed_ahead_comes_back_when_the_turn_is_interrupted(trusted: MakeDesk) -> None:
    here = trusted(script(slow(), "Edited."))
    with here.terminal("first") as terminal:
        terminal.expect("word")
        terminal.send("second\r")
        terminal.expect("will be said next")
        terminal.send("\x1b")
        terminal.expect("interrupted")
        terminal.expect("second")
        terminal.send(" thoughts\r")
        terminal.expect("Edited.")
        leave(terminal)
    assert said(here)[-1] == "second thoughts"
    assert [row["operation"] for row in here.session if row["type"] == "queue-operation"] == ["enqueue", "popAll"]


def test_a_line_goes_on_after_a_backslash_or_escape_and_enter_and_a_paste_is_one_piece(trusted: MakeDesk) -> None:
    here = trusted(script("one", "two", "three"))
    with here.terminal() as terminal:
        for typed, answer in (("a\\\rb\r", "one"), ("c\x1b\rd\r", "two"), ("\x1b[200~e\nf\x1b[201~\r", "three")):
            terminal.expect(READY)
            terminal.send(typed)
            terminal.expect(answer)
        leave(terminal)
    assert said(here) == ["a\nb", "c\nd", "e\nf"]


def test_ctrl_c_at_the_prompt_leaves_the_second_time(trusted: MakeDesk) -> None:
    with trusted(script()).terminal() as terminal:
        terminal.expect(READY)
        terminal.send("half a line")
        terminal.press("\x03", "Ctrl-C again")
        terminal.expect(READY)
        terminal.press("\x03", "\x1b[?2004l")
        assert terminal.ended() == 0


def test_a_question_of_the_model_is_answered_by_number(trusted: MakeDesk) -> None:
    options = [{"label": "Apple", "description": "red"}, {"label": "Pear", "description": "green"}]
    question = {"question": "Which fruit?", "header": "Fruit", "options": options, "multiSelect": False}
    here = trusted(script(reply(call("AskUserQuestion", questions=[question])), "Pears it is."))
    with here.terminal("go") as terminal:
        terminal.expect("or your own words:")
        terminal.send("2\r")
        terminal.expect("Pears it is.")
        leave(terminal)
    assert '\\"Which fruit?\\"=\\"Pear\\"' in json.dumps(here.asked[-1]["messages"][-1])


def test_a_plan_that_is_agreed_to_ends_plan_mode(trusted: MakeDesk) -> None:
    touch = call("Bash", command="mkdir made")
    here = trusted(script(reply(touch), reply(call("ExitPlanMode", plan="1. make it")), reply(touch), "Made."))
    with here.terminal("plan it", "--permission-mode", "plan") as terminal:
        terminal.expect("go ahead? [y/a/n]")
        assert not (here.cwd / "made").exists()
        terminal.send("a\r")
        terminal.expect("Made.")
        leave(terminal)
    assert (here.cwd / "made").is_dir()
    assert "plan mode" in json.dumps(here.asked[0]["messages"][0])
    assert [row["permissionMode"] for row in here.session if row["type"] == "permission-mode"] == ["acceptEdits"]


def test_nothing_on_the_screen_is_cleared_and_no_colour_is_sent_without_leave(trusted: MakeDesk) -> None:
    here = trusted(script(reply(says("\x1b[2J\x1b[3J\x1b[H evil"), call("Bash", command="echo hi")), "Done."))
    with here.terminal("go", NO_COLOR="1") as terminal:
        terminal.expect("Done.")
        leave(terminal)
        assert "\\x1b[2J" in terminal.text
        for sequence in ("\x1b[2J", "\x1b[3J", "\x1b[H", "\x1b[A", "\x1b[1A", "\x1b[3", "\x1b[1m", "\x1b[2m"):
            assert sequence not in terminal.text


def test_clear_begins_a_new_session_and_resume_takes_the_first_up_again(trusted: MakeDesk) -> None:
    here = trusted(script("One.", "Two.", "Three."))
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
    assert [len(body["messages"]) for body in here.asked] == [1, 1, 3]
    assert said(here) == ["first", "third"]
    assert len(list(here.config.glob("projects/*/*.jsonl"))) == 2


def test_compact_replaces_the_conversation_by_a_summary(trusted: MakeDesk) -> None:
    scenario = script("One.", "<summary>They said first.</summary>", "Three.")
    here = trusted(scenario)
    with here.terminal("first") as terminal:
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("/compact keep names\r")
        terminal.expect("replaced by a summary")
        terminal.expect(READY)
        terminal.send("third\r")
        terminal.expect("Three.")
        leave(terminal)
        assert "One." in terminal.text
    assert "keep names" in json.dumps(here.asked[1]["messages"][-1])
    assert "They said first." in json.dumps(here.asked[2]["messages"])
    assert any(row.get("isCompactSummary") for row in here.session)
    here.turnlog("-p", "fourth", "--continue")
    before, after = (texts(body) for body in here.asked[-2:])
    assert after[: len(before)] == before


def test_a_session_is_chosen_from_a_list(trusted: MakeDesk) -> None:
    here = trusted(script("One.", "Two.", "Three."))
    here.turnlog("-p", "about apples")
    here.turnlog("-p", "about pears")
    with here.terminal("--resume") as terminal:
        terminal.expect("number, words to look for")
        terminal.send("apples\r")
        terminal.expect("number, words to look for")
        terminal.send("1\r")
        terminal.expect("One.")
        terminal.expect(READY)
        terminal.send("go on\r")
        terminal.expect("Three.")
        leave(terminal)
    assert said(here) == ["about apples", "go on"]


def test_a_session_that_is_open_elsewhere_is_not_taken_up(trusted: MakeDesk) -> None:
    here = trusted(script("One.", "Two."))
    with here.terminal("first") as terminal:
        terminal.expect("One.")
        terminal.expect(READY)
        done = here.turnlog("-p", "second", "--continue")
        assert done.returncode == 1
        assert "--fork-session" in done.stderr
        registered = list((here.config / "sessions").glob("*.json"))
        assert [json.loads(path.read_text())["status"] for path in registered] == ["idle"]
        terminal.send("\x04")
        terminal.ended()
    assert list((here.config / "sessions").glob("*.json")) == []


def test_prompts_are_kept_for_next_time(trusted: MakeDesk, tmp_path: Path) -> None:
    here = trusted(script("One.", "Two."))
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
    assert said(here)[-1] == "remember me"


def test_the_end_of_the_terminal_ends_the_program_and_what_it_left_running(trusted: MakeDesk) -> None:
    here = trusted(
        script(reply(call("Bash", command="echo $$ > pid; exec sleep 300", run_in_background=True)), "Runs.")
    )
    with here.terminal("go", "--dangerously-skip-permissions") as terminal:
        terminal.expect("Runs.")
        terminal.expect(READY)
        terminal.hang_up()
        assert terminal.ended() != 0
    assert is_gone(int((here.cwd / "pid").read_text()))
    assert list((here.config / "sessions").glob("*.json")) == []


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so within a while."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
