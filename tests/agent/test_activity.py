"""The line about the work in progress."""

from __future__ import annotations

import pytest

from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console.activity_line import ActivityLine
from turnlog.agent.events import AnswerStreamed, CallEnded, CallProgress, CallStarted
from turnlog.agent.tools.call_result import CallResult
from turnlog.model.events import AnswerEnded, BlockStarted, RetryStarted, TextPart
from turnlog.render.terminal import TerminalScreen, measure_width


class Work:
    """Work whose clock is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.line = ActivityLine(lambda: self.now)

    def render(self, width: int = 80) -> str:
        return self.line.render(TerminalScreen(width=width))


@pytest.fixture
def work() -> Work:
    return Work()


def test_what_happens_for_how_long_and_how_to_stop_it_are_shown(work: Work) -> None:
    assert work.render() == "✻ Working (0 s · Esc to interrupt)"
    work.line.watch(AnswerStreamed(BlockStarted(0, {"type": "thinking"})))
    work.now += 3
    assert work.render() == "✻ Thinking (3 s · Esc to interrupt)"
    work.now += 60
    work.line.watch(CallStarted("c", "Bash", {"command": "make test"}))
    assert work.render() == "✻ Bash make test (1 min 3 s · Esc to interrupt)"
    work.line.begin()
    assert work.render() == "✻ Working (0 s · Esc to interrupt)"


def test_tokens_are_estimated_until_the_server_counts_them(work: Work) -> None:
    work.line.watch(AnswerStreamed(TextPart(0, "x" * 400)))
    work.line.watch(AnswerStreamed(TextPart(0, "x" * 400), "agent"))
    assert "200 tokens" in work.render()
    work.line.watch(AnswerStreamed(AnswerEnded("end_turn", None, {"output_tokens": 1500})))
    work.line.watch(AnswerStreamed(RetryStarted(2, 1.0, "overloaded", 8), "agent"))
    work.now += 1
    assert "1.5k tokens" in work.render()


def test_the_line_does_not_change_with_every_word(work: Work) -> None:
    before = work.render()
    work.line.watch(AnswerStreamed(TextPart(0, "x" * 4000)))
    assert work.render() == before


def test_the_output_of_a_command_and_the_calls_of_sub_agents_are_shown(work: Work) -> None:
    work.line.watch(CallStarted("t", "Task", {"description": "Look"}))
    work.line.watch(CallStarted("i", "Read", {"file_path": "/x"}, "t"))
    assert work.render().startswith("✻ Read /x (")
    work.line.watch(CallEnded("i", "Read", {}, CallResult(""), 1, "t"))
    assert work.render().startswith("✻ Task Look (")
    work.line.watch(CallStarted("c", "Bash", {"command": "make"}))
    work.line.watch(CallProgress("c", {"output": "one\ntwo\n"}))
    assert work.render().startswith("✻ Bash make: two (")


def test_the_task_that_the_model_works_on_is_named(work: Work) -> None:
    todos = [
        {"content": "a", "status": "completed"},
        {"content": "b", "status": "in_progress", "activeForm": "Doing b"},
    ]
    work.line.watch(CallEnded("c", "TodoWrite", {"todos": todos}, CallResult(""), 1))
    assert work.render().startswith("✻ Doing b (")


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_line_fits_and_can_t_act_on_the_terminal(work: Work, width: int) -> None:
    work.line.watch(CallStarted("c", HOSTILE, {"command": HOSTILE * 20}))
    assert measure_width(work.render(width)) < width
    assert harmful(work.render(width)) == set()
