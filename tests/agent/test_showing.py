"""What a person sees of a turn."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.test_screen import Paper
from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console.turn_display import TurnDisplay
from turnlog.agent.events import (
    AnswerStreamed,
    CallEnded,
    CallStarted,
    ConversationCompacted,
    EntryWritten,
    TurnEnded,
    WarningIssued,
)
from turnlog.agent.tools.call_result import CallResult
from turnlog.model.events import BlockStarted, RetryStarted, TextPart


class Watched:
    """A turn that is shown on paper."""

    def __init__(self, width: int = 60) -> None:
        self.paper = Paper(width)
        self.watch = TurnDisplay(self.paper.screen, "/home/dana/shop").watch

    def end_call(self, name: str, given: dict[str, Any], result: CallResult, call: str = "c", **more: Any) -> None:
        self.watch(CallEnded(call, name, given, result, more.pop("milliseconds", 5), **more))

    @property
    def text(self) -> str:
        return self.paper.text


@pytest.fixture
def turn() -> Watched:
    return Watched()


def test_words_come_as_they_are_said_and_calls_in_one_line(turn: Watched) -> None:
    turn.watch(AnswerStreamed(BlockStarted(0, {"type": "text"})))
    turn.watch(AnswerStreamed(TextPart(0, "I ")))
    turn.watch(AnswerStreamed(TextPart(0, "look.")))
    turn.watch(CallStarted("c", "Bash", {"command": "ls"}))
    turn.end_call("Bash", {"command": "ls"}, CallResult("a\nb"))
    turn.watch(TurnEnded("finished", "", 1, 1))
    assert turn.text == "I look.\n\n● Bash ls\n  a\n  b\n"


def test_a_result_that_comes_later_names_its_call_again(turn: Watched) -> None:
    for call in ("1", "2"):
        turn.watch(CallStarted(call, "Bash", {"command": f"echo {call}"}))
    turn.end_call("Bash", {"command": "echo 1"}, CallResult("one"), "1")
    turn.end_call("Bash", {"command": "echo 2"}, CallResult("two"), "2")
    assert turn.text.splitlines() == [
        "● Bash echo 1", "● Bash echo 2", "● Bash echo 1", "  one", "● Bash echo 2", "  two",
    ]  # fmt: skip


def test_of_a_long_result_the_first_lines_are_shown(turn: Watched) -> None:
    turn.end_call("Bash", {"command": "seq 99"}, CallResult("\n".join(map(str, range(99)))))
    assert turn.text.splitlines()[-2:] == ["  4", "  … 94 more lines"]


def test_an_edit_is_shown_as_a_difference_with_line_numbers(turn: Watched) -> None:
    hunk = {"oldStart": 9, "oldLines": 2, "newStart": 9, "newLines": 2, "lines": [" same", "-old", "+new"]}
    turn.end_call("Edit", {"file_path": "/home/dana/shop/a.py"}, CallResult("ok", {"structuredPatch": [hunk]}))
    assert turn.text.splitlines() == ["● Edit a.py", "   9   same", "  10 - old", "  10 + new"]


def test_a_change_that_was_just_approved_is_not_shown_again() -> None:
    paper, given = Paper(60), {"file_path": "/home/dana/shop/a.py"}
    display = TurnDisplay(paper.screen, "/home/dana/shop")
    hunk = {"oldStart": 9, "oldLines": 2, "newStart": 9, "newLines": 3, "lines": [" same", "-old", "+new", "+new"]}
    result = CallResult("ok", {"structuredPatch": [hunk]})
    display.note_approved_change("Edit", given)
    display.watch(CallEnded("c", "Edit", given, result, 5))
    display.watch(CallEnded("d", "Edit", given, result, 5))
    assert paper.text.splitlines()[:4] == ["● Edit a.py", "  2 lines added, 1 removed", "● Edit a.py", "   9   same"]


def test_parts_of_a_turn_are_separated_by_an_empty_row(turn: Watched) -> None:
    for number in range(2):
        turn.watch(AnswerStreamed(BlockStarted(0, {"type": "text"})))
        turn.watch(AnswerStreamed(TextPart(0, f"Text {number}.")))
        for call in "ab":
            turn.end_call("Bash", {"command": call}, CallResult(call), call)
    one = ["", "● Bash a", "  a", "● Bash b", "  b"]
    assert turn.text.splitlines() == ["Text 0.", *one, "", "Text 1.", *one]


def test_colours_are_red_and_green() -> None:
    from turnlog.render.diff_lines import render_diff_lines
    from turnlog.render.terminal import TerminalScreen
    from turnlog.session.files.patches import compare_texts

    told = list(render_diff_lines(compare_texts("a\n", "b\n"), TerminalScreen(color=True)))
    assert told == ["\x1b[31m1 - a\x1b[0m", "\x1b[32m1 + b\x1b[0m"]


@pytest.mark.parametrize(
    ("name", "result", "expected"),
    [
        ("Read", CallResult("1\tx", {"type": "text", "file": {"numLines": 12}}), "12 lines"),
        ("Write", CallResult("ok", {"type": "create", "content": "a\nb\n", "structuredPatch": []}), "created, 2 lines"),
        ("Bash", CallResult(""), "(no output)"),
        ("Bash", CallResult("<tool_use_error>No.</tool_use_error>", is_error=True), "No."),
        ("Task", CallResult([{"type": "text", "text": "Found it."}]), "Found it."),
        ("Odd", CallResult("x", {"structuredPatch": "junk", "file": {"numLines": "many"}}), "x"),
    ],
)
def test_what_came_of_a_call_is_told_briefly(turn: Watched, name: str, result: CallResult, expected: str) -> None:
    turn.end_call(name, {}, result)
    assert turn.text.splitlines()[-1] == f"  {expected}"


def test_tasks_are_shown_as_a_list(turn: Watched) -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}, {"content": "c"}, 5]
    turn.end_call("TodoWrite", {"todos": todos}, CallResult("ok"))
    assert turn.text.splitlines()[1:] == ["  [x] a", "  [>] b", "  [ ] c"]


def test_a_long_task_is_wrapped_between_words(turn: Watched) -> None:
    task = "tell the people of the shop about the new till before the evening"
    turn.end_call("TodoWrite", {"todos": [{"content": task}]}, CallResult("ok"))
    assert turn.text.splitlines()[1:] == [
        "  [ ] tell the people of the shop about the new till before",
        "      the evening",
    ]


def test_of_a_sub_agent_only_its_calls_and_errors_are_shown(turn: Watched) -> None:
    turn.watch(AnswerStreamed(TextPart(0, "inner words"), "t"))
    turn.watch(CallStarted("i", "Read", {"file_path": "/x"}, "t"))
    turn.end_call("Read", {"file_path": "/x"}, CallResult("content"), "i", agent="t")
    turn.watch(CallStarted("j", "Read", {"file_path": "/y"}, "t"))
    turn.end_call("Read", {"file_path": "/y"}, CallResult("gone", is_error=True), "j", agent="t")
    assert turn.text.splitlines() == ["  ┆ Read /x", "  ┆ Read /y", "  gone"]


def test_what_a_person_should_know_is_noted(turn: Watched) -> None:
    turn.watch(AnswerStreamed(TextPart(0, "half")))
    turn.watch(AnswerStreamed(RetryStarted(2, 1.0, "overloaded", 8)))
    turn.watch(WarningIssued("trying again"))
    turn.watch(ConversationCompacted("auto", 150_000, "s"))
    turn.watch(ConversationCompacted("micro", 150_000))
    turn.watch(AnswerStreamed(BlockStarted(0, {"type": "thinking"})))
    turn.watch(TurnEnded("error", "API Error: 500", 1, 1))
    turn.watch(TurnEnded("interrupted", "", 1, 1))
    assert turn.text.splitlines() == [
        "half",
        "· trying again",
        "· a summary replaced the conversation (it had 150k tokens);",
        "  the file keeps all of it",
        "· old tool results are no longer sent (the context had 150k",
        "  tokens)",
        "· thinking",
        "· API Error: 500",
        "· interrupted; type what to do instead",
    ]


def test_the_output_of_a_command_keeps_its_lines(turn: Watched) -> None:
    turn.watch(TurnEnded("command_ended", "one\n\ntwo\n", 1, 0))
    assert turn.text.splitlines() == ["one", "", "two"]


def test_nothing_of_a_call_can_act_on_the_terminal(turn: Watched) -> None:
    given = {"command": HOSTILE, "file_path": HOSTILE, HOSTILE: HOSTILE}
    hunk = {"oldStart": 1, "newStart": 1, "lines": ["+" + HOSTILE.replace("\r", "")]}
    for result in (
        CallResult(HOSTILE),
        CallResult(HOSTILE, is_error=True),
        CallResult("", {"structuredPatch": [hunk]}),
    ):
        turn.end_call(HOSTILE, given, result, "x")
    turn.end_call("TodoWrite", {"todos": [{"content": HOSTILE, "status": HOSTILE}]}, CallResult(""))
    turn.watch(WarningIssued(HOSTILE))
    turn.watch(TurnEnded("error", HOSTILE, 1, 1))
    assert harmful(turn.text) == set()


def test_of_output_that_was_put_into_a_file_its_beginning_and_the_file_are_shown(turn: Watched) -> None:
    facts = {"stdout": "1\n2\n3\n4\n5\n6", "persistedOutputPath": f"/r{HOSTILE}", "persistedOutputSize": 50_000}
    turn.end_call("Bash", {"command": "seq"}, CallResult("<persisted-output>\n…</persisted-output>", facts))
    assert turn.text.splitlines()[1:6] == ["  1", "  2", "  3", "  4", "  5"]
    assert "full output (50 KB)" in turn.text
    assert "persisted-output" not in turn.text
    assert harmful(turn.text) == set()


def test_of_a_sub_agent_its_report_and_what_it_took_are_shown(turn: Watched) -> None:
    facts = {"content": [{"type": "text", "text": "Seen."}], "totalToolUseCount": 2, "totalTokens": 1200}
    turn.end_call("Task", {"description": "Look"}, CallResult([{"type": "text", "text": "agentId: a1"}], facts))
    assert turn.text.splitlines() == ["● Task Look", "  Seen.", "  2 calls, 1.2k tokens"]


def test_of_sub_agents_side_by_side_each_line_says_whose_it_is(turn: Watched) -> None:
    for call, task in (("1", "Look"), ("2", "Write")):
        turn.watch(CallStarted(call, "Task", {"description": task}))
    turn.watch(CallStarted("i", "Bash", {"command": "ls"}, agent="2"))
    turn.end_call("Task", {"description": "Look"}, CallResult("Seen."), "1")
    turn.watch(CallStarted("j", "Bash", {"command": "pwd"}, agent="2"))
    told = turn.text.splitlines()
    assert told[2] == "  ┆ Write · Bash ls"
    assert told[-1] == "  ┆ Bash pwd"


def test_a_call_that_was_turned_down_is_said_in_two_words(turn: Watched) -> None:
    turn.end_call(
        "Bash", {"command": "ls"}, CallResult("The user doesn't want …", "User rejected tool use", is_error=True)
    )
    assert turn.text.splitlines() == ["● Bash ls", "  not run"]


def test_of_questions_only_the_question_is_seen(turn: Watched) -> None:
    for name in ("AskUserQuestion", "ExitPlanMode"):
        turn.watch(CallStarted("c", name, {"plan": "x"}))
        turn.end_call(name, {"plan": "x"}, CallResult("User has approved"))
    assert turn.text == ""


def test_that_a_command_in_the_background_has_ended_is_noted(turn: Watched) -> None:
    text = f"<task-notification>\n<summary>Background command {HOSTILE} completed</summary></task-notification>"
    turn.watch(EntryWritten({"type": "user", "isMeta": True, "message": {"content": text}}))
    turn.watch(EntryWritten({"type": "user", "message": {"content": text}}))
    turn.watch(EntryWritten({"type": "system"}))
    assert turn.text.count("· Background command") == 1
    assert harmful(turn.text) == set()
