"""What a session is doing, told by its transcript."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.entries.strategies import files
from tests.live.session_moves import MOVES, write_moves
from tests.session.build import START, Build, find_recording, outcome, use
from turnlog.entries.reader import scan_lines
from turnlog.live.activity import Activity, OpenCall
from turnlog.live.hook_reports import ReportedEvent
from turnlog.live.processes import ChildProcess
from turnlog.live.signs import HookSign, ScreenSign, SessionSigns
from turnlog.live.states import SessionState, choose_column, judge_state
from turnlog.live.typed_commands import TypedCommand
from turnlog.live.verdicts import to_timestamp

NOW = START + timedelta(hours=1)


def fold_activity(data: bytes, fold: Activity | None = None) -> Activity:
    return (fold or Activity()).add_all(scan_lines(io.BytesIO(data)))


def doing(write: Callable[[Build], object], quiet: float = 1, **signs: object) -> SessionState:
    build = Build(step=1)
    write(build)
    seen = SessionSigns(written=NOW - timedelta(seconds=quiet), **signs)  # type: ignore[arg-type]
    return judge_state(fold_activity(build.data()), NOW, seen)


# -- folding


@given(data=st.builds(write_moves, MOVES) | files, cuts=st.lists(st.integers(0, 5000), max_size=4))
def test_folding_a_tail_onto_what_was_folded_before_equals_folding_the_whole(data: bytes, cuts: list[int]) -> None:
    lines = io.BytesIO(data).readlines()
    fold, done = Activity(), 0
    for cut in sorted(cut % (len(lines) + 1) for cut in cuts):
        fold.add_all(scan_lines(lines[done:cut]))
        fold = msgspec.json.decode(_encode_activity(fold), type=Activity)
        done = max(done, cut)
    fold.add_all(scan_lines(lines[done:]))
    assert _encode_activity(fold) == _encode_activity(fold_activity(data))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I looked at it. All 3 tests pass now.", "All 3 tests pass now."),
        ("# The plan\n\n1. **Read** it.\n2. Run `make check`.\n\n```sh\nmake check\n```\n", "Run make check."),
        ("Which one?\n\n---\n", "Which one?"),
        ("完成了。 好的!", "好的!"),
        ("```\ncode that never ends", ""),
        ("x" * 9_000, "x" * 200),
        ("", ""),
    ],
)
def test_the_last_sentence_is_what_the_model_wrote_last(text: str, wanted: str) -> None:
    build = Build()
    build.prompt("begin")
    build.answer(text)
    assert fold_activity(build.data()).last_sentence == wanted
    build.call("c", "Bash", {"command": "ls"})
    build.prompt("A sentence of mine.")
    assert fold_activity(build.data()).last_sentence == wanted


def _encode_activity(fold: Activity) -> bytes:
    import json

    return json.dumps(msgspec.to_builtins(fold)).encode("utf-8", "surrogatepass")


@settings(max_examples=200)
@given(data=files)
def test_nothing_that_a_file_can_hold_makes_it_fail(data: bytes) -> None:
    found = judge_state(fold_activity(data), NOW)
    choose_column(found, NOW)


# -- states


def test_nothing_said_yet() -> None:
    assert doing(lambda b: b.note("mode", mode="normal")).kind == "empty"


def test_after_a_prompt_the_model_answers() -> None:
    found = doing(lambda b: b.prompt("go"))
    assert (found.kind, found.words, found.since) == ("answering", "answering", "2026-01-01T10:00:01.000Z")


def test_an_open_call_runs() -> None:
    found = doing(lambda b: (b.prompt("go"), b.call("c", "Bash", {"command": "make", "description": "Build it"})))
    assert (found.kind, found.words, found.tools) == ("running", "running Bash: make", ("Bash",))
    assert found.since == "2026-01-01T10:00:02.000Z"


def test_of_parallel_calls_the_answered_ones_no_longer_run() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.answer(use("a", "Read", {"file_path": "x"}), use("b", "Grep", {"pattern": "y"}), stop="tool_use")
        build.result("a")

    assert doing(write).words == "running Grep: y"


def test_after_all_results_the_model_answers_again() -> None:
    assert doing(lambda b: (b.prompt("go"), b.call("c"), b.result("c"))).kind == "answering"


def test_a_stop_reason_ends_the_turn_at_once() -> None:
    assert doing(lambda b: (b.prompt("go"), b.answer("done")), quiet=0).kind == "finished"


def test_without_a_stop_reason_a_text_ends_the_turn_when_nothing_follows_for_a_while() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.answer("done", stop=None)

    assert doing(write, quiet=1).kind == "answering"
    assert doing(write, quiet=6).kind == "finished"


def test_thinking_alone_is_no_end() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.answer({"type": "thinking", "thinking": "hm"}, stop=None)

    assert doing(write, quiet=60).kind == "answering"


def test_a_turn_duration_is_a_sure_end() -> None:
    assert doing(lambda b: (b.prompt("go"), b.answer("x", stop=None), b.system("turn_duration")), 0).kind == "finished"


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("AskUserQuestion", {"questions": [{"question": "Which one?"}]}, "asks: Which one?"),
        ("AskUserQuestion", {"questions": "nonsense"}, "asks: a question"),
        ("ExitPlanMode", {"plan": "1. do it"}, "asks you to approve a plan"),
    ],
)
def test_a_question_waits_for_a_person(name: str, given: object, words: str) -> None:
    found = doing(lambda b: (b.prompt("go"), b.call("c", name, given)), quiet=3600)
    assert (found.kind, found.words) == ("waiting", words)
    assert choose_column(found, NOW, SessionSigns(written=NOW - timedelta(hours=1))) == "needs"


def test_a_call_that_is_silent_for_long_may_wait_for_permission_and_is_not_called_waiting() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.call("c", "Bash", {"command": "rm x"})

    assert doing(write, quiet=10).kind == "running"
    found = doing(write, quiet=40)
    assert (found.kind, found.words) == ("permission", "may be waiting for permission: Bash: rm x")


@pytest.mark.parametrize(
    ("name", "mode"), [("Read", None), ("Agent", None), ("Bash", "bypassPermissions"), ("Edit", "acceptEdits")]
)
def test_what_needs_no_permission_waits_for_none(name: str, mode: str | None) -> None:
    fields = {"permissionMode": mode} if mode else {}
    assert doing(lambda b: (b.prompt("go", **fields), b.call("c", name, {})), quiet=300).kind == "running"


def test_progress_shows_that_a_call_runs() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.call("c", "Bash")
        build.row("progress", data={"type": "bash_progress"}, toolUseID="x", parentToolUseID="c")

    assert doing(write, quiet=300).kind == "running"


def test_an_interruption_ends_the_calls_too() -> None:
    found = doing(lambda b: (b.prompt("go"), b.call("c"), b.interrupt()), quiet=600)
    assert (found.kind, found.tools) == ("interrupted", ())


def test_an_api_error_is_told_with_its_words_and_needs_a_person() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.answer("API Error: 529\nOverloaded", model="<synthetic>", isApiErrorMessage=True)

    found = doing(write)
    assert (found.kind, found.words) == ("error", "error: API Error: 529 Overloaded")
    assert choose_column(found, NOW, SessionSigns(written=NOW)) == "needs"


def test_a_further_attempt_is_no_error() -> None:
    found = doing(lambda b: (b.prompt("go"), b.system("api_error", retryAttempt=3, maxRetries=10)))
    assert (found.kind, found.words) == ("retrying", "the API failed; retrying (attempt 3 of 10)")


def test_what_a_failed_attempt_left_open_does_not_run_for_ever() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.call("lost", id="m1")
        build.answer("done", id="m2")

    assert doing(write, quiet=300).kind == "finished"


def test_a_slash_command_without_work_is_soon_finished() -> None:
    def write(build: Build) -> None:
        build.prompt("<command-name>/model</command-name>")

    assert doing(write, quiet=1).kind == "answering"
    assert doing(write, quiet=30).kind == "finished"

    def write_end(build: Build) -> None:
        write(build)
        build.prompt("<local-command-stdout>ok</local-command-stdout>")

    assert doing(write_end, quiet=0).kind == "finished"


def test_a_shell_command_runs_until_its_output_is_there() -> None:
    found = doing(lambda b: b.prompt("<bash-input>make</bash-input>"), quiet=100)
    assert (found.kind, found.words) == ("running", "running !make")


# -- sub-agents and background tasks


def write_launch(build: Build, agent: str, call: str) -> None:
    build.answer(use(call, "Agent", {"description": f"do {agent}"}), stop="tool_use")
    build.prompt([outcome(call, "launched")], toolUseResult={"isAsync": True, "agentId": agent})


def write_notification(build: Build, agent: str) -> None:
    build.prompt(f"<task-notification><task-id>{agent}</task-id><status>completed</status></task-notification>")


def test_one_sub_agent_that_ends_does_not_end_the_others() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        for number in range(3):
            write_launch(build, f"a{number}", f"c{number}")
        build.answer("they are at work")
        write_notification(build, "a1")
        build.answer("one is done")

    found = doing(write)
    assert found.agents == ("do a0", "do a2")
    assert (found.kind, found.words) == ("background", "2 sub-agents are working")


def test_when_the_last_sub_agent_has_ended_the_session_is_finished() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        write_launch(build, "a0", "c0")
        build.answer("it is at work")
        write_notification(build, "a0")
        build.answer("done")

    found = doing(write)
    assert (found.kind, found.agents) == ("finished", ())


def test_a_notification_that_came_while_the_model_worked_counts_too() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        write_launch(build, "a0", "c0")
        text = "<task-notification><tool-use-id>c0</tool-use-id><status>failed</status></task-notification>"
        build.attachment("queued_command", prompt=text)
        build.answer("done")

    assert doing(write).agents == ()


def test_sub_agents_that_are_waited_for_are_told_by_their_calls() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.answer(
            use("a", "Task", {"description": "one"}), use("b", "Task", {"description": "two"}), stop="tool_use"
        )
        build.result("a")

    assert doing(write, quiet=300).agents == ("two",)


def test_a_background_shell_is_told_until_it_is_stopped() -> None:
    def begin(build: Build) -> None:
        build.prompt("go")
        build.call("c", "Bash", {"command": "serve", "description": "Serve"})
        build.prompt([outcome("c")], toolUseResult={"backgroundTaskId": "b1"})
        build.answer("it runs")

    def end(build: Build) -> None:
        begin(build)
        build.call("k", "KillShell", {"shell_id": "b1"})
        build.result("k")

    found = doing(begin)
    assert (found.kind, found.tasks) == ("background", ("serve",))
    assert choose_column(found, NOW, SessionSigns(written=NOW)) == "idle"
    assert doing(end).tasks == ()


def test_the_lines_of_sub_agents_inside_the_file_are_not_the_sessions_own() -> None:
    def write(build: Build) -> None:
        build.prompt("go")
        build.call("t", "Task", {"description": "look"})
        build.answer("inner words", isSidechain=True, parent=None)

    assert doing(write).words == "running Task: look"


# -- what the client says, and time


def test_what_the_client_says_is_believed_where_the_transcript_leaves_it_open() -> None:
    def call(build: Build) -> None:
        build.prompt("go")
        build.call("c", "Bash", {"command": "x"})

    waiting = doing(call, 100, is_open=True, status="waiting", waiting_for="permission to use Bash")
    assert (waiting.kind, waiting.words) == ("permission", "waiting for permission: Bash: x")
    assert doing(call, 100, is_open=True, status="busy").kind == "running"
    assert doing(call, 100, is_open=True, status="idle").kind == "finished"
    assert doing(call, 1, is_open=True, status="idle").kind == "running"


def test_what_should_be_at_work_and_is_silent_for_long_is_called_silent_unless_its_client_runs() -> None:
    found = doing(lambda b: b.prompt("go"), quiet=3600)
    assert found.kind == "silent"
    assert doing(lambda b: b.prompt("go"), quiet=3600, is_open=True).kind == "answering"


def test_compacting_is_told_by_the_clients_side_work() -> None:
    assert doing(lambda b: b.prompt("go"), is_compacting=True).kind == "compacting"


@pytest.mark.parametrize(("hours", "is_open", "where"), [(0, False, "idle"), (1, False, "ended"), (9, True, "idle")])
def test_a_finished_session_is_idle_for_a_while_and_as_long_as_its_client_runs(
    hours: int, is_open: bool, where: str
) -> None:
    signs = SessionSigns(written=NOW - timedelta(hours=hours), is_open=is_open)
    build = Build()
    build.prompt("go")
    build.answer("done")
    assert choose_column(judge_state(fold_activity(build.data()), NOW, signs), NOW, signs) == where


def test_of_several_requests_behind_a_message_the_last_fills_the_window() -> None:
    requests = [{"type": "message", "cache_read_input_tokens": count} for count in (40_000, 50_000)]
    requests.insert(1, {"type": "advisor_message", "input_tokens": 70_000, "model": "claude-fable-5"})
    usage = {"cache_read_input_tokens": 90_000, "iterations": requests}
    assert doing(lambda b: (b.prompt("go"), b.answer("x", usage=usage))).context == 50_000


def test_the_window_is_the_one_of_the_model() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90_000, "cache_creation_input_tokens": 1_000}
    found = doing(lambda b: (b.prompt("go"), b.answer("x", model="claude-haiku-4-5", usage=usage)))
    assert (found.context, found.window) == (91_005, 200_000)
    assert doing(lambda b: (b.prompt("go"), b.answer("x", model="somebody-elses", usage=usage))).window is None


# -- signs besides the transcript


def at(seconds: float) -> datetime:
    """A time after the start of a session whose entries are one second apart."""
    return START + timedelta(seconds=seconds)


def shell(command: str, started: float) -> ChildProcess:
    return ChildProcess(7, f"/bin/bash -c source /x/shell-snapshots/s.sh && eval '{command}'", at(started).timestamp())


def judge_written(write: Callable[[Build], object], now: float, **signs: Any) -> tuple[str, str, str]:
    build = Build(step=1)
    write(build)
    known = {"written": at(len([line for line in build.lines if "timestamp" in line])), **signs}
    found = judge_state(fold_activity(build.data()), at(now), SessionSigns(**known))
    return found.kind, found.confidence, found.reason


def ask(build: Build) -> None:
    build.prompt("go")


def run(build: Build) -> None:
    build.prompt("go")
    build.call("c", "Bash", {"command": "make test"})


def finish(build: Build) -> None:
    build.prompt("go")
    build.answer("done")


def fill_window(build: Build) -> None:
    build.prompt("go")
    build.answer("done", usage={"input_tokens": 160_000, "output_tokens": 5})


def take_from_queue(seconds: float) -> Callable[[Build], None]:
    def write(build: Build) -> None:
        stamp = at(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        build.note("queue-operation", operation="dequeue", timestamp=stamp)

    return write


def trail_off(build: Build) -> None:
    build.prompt("go")
    build.answer("done", stop=None)


def send(*times: float) -> Callable[[Build], None]:
    def write(build: Build) -> None:
        for seconds in times:
            stamp = at(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            build.note("api-request", querySource="repl_main_thread", timestamp=stamp)

    return write


def run_shell(build: Build) -> None:
    build.prompt("<bash-input>ls</bash-input>")
    build.prompt("<bash-stdout>a.txt</bash-stdout>")


def start_agent(build: Build) -> None:
    build.prompt("go")
    build.call("c", "Task", {"description": "look"})


def typed_at(seconds: float, command: str = "") -> TypedCommand:
    return TypedCommand(at(seconds).timestamp(), command)


def both(*writes: Callable[[Build], object]) -> Callable[[Build], None]:
    def write(build: Build) -> None:
        for one in writes:
            one(build)

    return write


OLD = {"is_open": True, "presence": "open"}
NEW = {"is_open": True, "presence": "open", "is_presence_sure": True}
REPORTED = "the client reports it"
NO_PROCESS = "no result yet, and no child process runs"


@pytest.mark.parametrize(
    ("write", "now", "signs", "expected"),
    [
        # Newer clients report what they do.
        (ask, 3, {"status": "idle", "status_time": at(2), **NEW}, ("finished", "sure", REPORTED)),
        (ask, 1.1, {"status": "idle", "status_time": at(0), **NEW}, ("answering", "sure", None)),
        (run, 99, {"status": "busy", "status_time": at(1), **NEW}, ("running", "sure", REPORTED)),
        (run, 3, {"status": "waiting", "waiting_for": "permission prompt", **NEW}, ("permission", "sure", REPORTED)),
        (run, 3, {"status": "waiting", "waiting_for": "input", **NEW}, ("waiting", "sure", REPORTED)),
        (finish, 9, {"status": "busy", "status_time": at(8.9), **NEW}, ("answering", "sure", REPORTED)),
        (finish, 12, {"status": "busy", "status_time": at(8.9), **NEW}, ("compacting", "inferred", None)),
        (
            finish, 12, {"status": "busy", "status_time": at(8.9), "typed": typed_at(8.5), **NEW},
            ("answering", "sure", REPORTED),
        ),
        # A dialog that a person opened waits for nobody; one that stops the model does.
        (finish, 9, {"status": "waiting", "waiting_for": "dialog open", **NEW}, ("finished", "sure", None)),
        (run, 9, {"status": "waiting", "waiting_for": "dialog open", **NEW}, ("waiting", "sure", REPORTED)),
        (ask, 9, {"status": "waiting", "waiting_for": "dialog open", **NEW}, ("waiting", "sure", REPORTED)),
        (
            ask, 9,
            {
                "status": "waiting", "waiting_for": "dialog open", "status_time": at(8.5),
                "typed": typed_at(8, "/model"), **NEW,
            },
            ("answering", "sure", None),
        ),
        # What was taken from the queue is written a moment later.
        (both(finish, take_from_queue(3)), 5, {"status": "idle", **NEW}, ("answering", "inferred", None)),
        (both(finish, take_from_queue(3)), 9, {"status": "idle", **NEW}, ("finished", "sure", None)),
        (both(take_from_queue(0.5), finish), 2.5, NEW, ("finished", "sure", None)),
        (finish, 5, {"status": "busy", "status_time": at(1), **NEW}, ("answering", "inferred", None)),
        (finish, 2.1, {"status": "busy", "status_time": at(1), **NEW}, ("finished", "sure", None)),
        (finish, 5, {"status": "shell", "status_time": at(3), **NEW}, ("background", "sure", REPORTED)),
        (
            finish, 12, {"status": "busy", "status_time": at(9), "children": (shell("ls", 9),), **NEW},
            ("running", "inferred", None),
        ),
        # Requests that get no answer.
        (both(ask, send(1.1)), 9, {"status": "busy", **NEW}, ("answering", "sure", REPORTED)),
        (both(ask, send(1.1, 4)), 9, {"status": "busy", **NEW}, ("retrying", "inferred", None)),
        (both(fill_window, send(1.1), ask), 9, {"status": "busy", **NEW}, ("compacting", "inferred", None)),
        (both(finish, send(1.1), ask), 9, {"status": "busy", **NEW}, ("answering", "sure", REPORTED)),
        (both(send(1.1), ask), 9, {"status": "busy", **NEW}, ("answering", "sure", REPORTED)),
        (both(finish, send(7)), 7.5, {"status": "busy", **NEW}, ("answering", "sure", REPORTED)),
        (both(send(4.5), run_shell), 9, {"status": "busy", **NEW}, ("answering", "sure", REPORTED)),
        (
            finish, 12, {"status": "busy", "status_time": at(8.9), "children": (), "childless_seconds": 0.5, **NEW},
            ("answering", "sure", REPORTED),
        ),
        # What was typed is in the history of prompts at once.
        (finish, 9, {"typed": typed_at(8.5, "/compact"), **OLD}, ("compacting", "inferred", "somebody typed /compact")),
        (
            finish, 90, {"typed": typed_at(8, "/compact"), "screen": ScreenSign(True), **OLD},
            ("compacting", "inferred", None),
        ),
        (
            finish, 90, {"typed": typed_at(8, "/compact"), "screen": ScreenSign(False), **OLD},
            ("finished", "sure", None),
        ),
        (finish, 9, {"typed": typed_at(1, "/compact"), **OLD}, ("finished", "sure", None)),
        (finish, 9, {"typed": typed_at(8, "/compact")}, ("finished", "sure", None)),
        (finish, 9, {"typed": typed_at(8.5), **OLD}, ("answering", "inferred", "somebody has just typed a prompt")),
        (finish, 9, {"typed": typed_at(8.5, "/config"), **OLD}, ("finished", "sure", None)),
        (finish, 99, {"typed": typed_at(8.5), **OLD}, ("finished", "sure", None)),
        # A suggestion for the next prompt follows a turn.
        (ask, 9, {"has_suggestion": True, **OLD}, ("finished", "inferred", "the client suggests the next prompt")),
        (run, 3, {"has_suggestion": True, **OLD}, ("running", "inferred", "no result yet")),
        # Old clients show processes.
        (run, 99, {"children": (shell("make test", 3),), **OLD}, ("running", "sure", None)),
        (run, 9, {"children": (), "childless_seconds": 5.0, **OLD}, ("permission", "inferred", NO_PROCESS)),
        (run, 9, {"children": (), "childless_seconds": 0.1, **OLD}, ("running", "inferred", "no result yet")),
        (run, 9, {"children": None, **OLD}, ("running", "inferred", "no result yet")),
        (run, 99, {"children": None}, ("permission", "inferred", "nothing was written for 30 s")),
        (ask, 9, {"children": (shell("make", 5),), **OLD}, ("running", "inferred", None)),
        (finish, 9, {"children": (shell("ls", 5),), **OLD}, ("running", "inferred", None)),
        (finish, 9, {"children": (shell("ls", 1),), **OLD}, ("finished", "sure", None)),
        (trail_off, 2.4, {"screen": ScreenSign(False), **OLD}, ("finished", "inferred", None)),
        (trail_off, 60, {"screen": ScreenSign(True, 90), **OLD}, ("answering", "inferred", None)),
        (finish, 60, {"screen": ScreenSign(True, 5), **OLD}, ("compacting", "inferred", None)),
        (finish, 60, {"screen": ScreenSign(True, 1), **OLD}, ("finished", "sure", None)),
        # Clients that are gone.
        (run, 3, {"presence": "ended", "is_presence_sure": True}, ("ended", "sure", "its client has exited")),
        (run, 3, {"presence": "ended"}, ("ended", "inferred", "no client runs in its folder")),
        (finish, 3, {"presence": "left", "is_presence_sure": True}, ("left", "sure", None)),
    ],
)  # fmt: skip
def test_the_state_follows_from_the_signs(
    write: Callable[[Build], object], now: float, signs: dict[str, Any], expected: tuple[str, str, str | None]
) -> None:
    kind, confidence, reason = judge_written(write, now, **signs)
    assert (kind, confidence, reason if expected[2] else None) == expected
    assert reason


def propose(build: Build) -> None:
    build.prompt("go")
    build.call("c", "ExitPlanMode", {"plan": "First this."})


@pytest.mark.parametrize(
    "signs",
    [
        {"status": "waiting", "waiting_for": "permission prompt", "status_time": at(2.5), **NEW},
        {"hook": HookSign("PermissionRequest", at(2.5), "ExitPlanMode"), **OLD},
    ],
)
def test_a_wait_starts_when_it_was_reported_whether_its_call_is_written_or_not(signs: dict[str, Any]) -> None:
    """A notifier sees one wait: what starts at another time is another one."""
    before, after = (judge_state(fold_written(write), at(3), SessionSigns(**signs)) for write in (ask, propose))
    assert before.since == after.since == to_timestamp(at(2.5))
    assert {before.kind, after.kind} <= {"permission", "waiting"}


def fold_written(write: Callable[[Build], object]) -> Activity:
    build = Build(step=1)
    write(build)
    return fold_activity(build.data())


BASH = (OpenCall("Bash", None),)


def hook(event: str, seconds: float, detail: str = "") -> dict[str, HookSign]:
    return {"hook": HookSign(event, at(seconds), detail)}


def ended_in(pid: int) -> dict[str, HookSign]:
    return {"hook": HookSign("SessionEnd", at(5), "clear", processes=((pid, 1),))}


@pytest.mark.parametrize(
    ("write", "signs", "expected"),
    [
        # The end that another client reported says nothing about the one that has the session open now.
        (finish, {**ended_in(7), "client_process": (8, 1), **OLD}, ("finished", "sure")),
        (finish, {**ended_in(7), "client_process": (7, 1), **OLD}, ("left", "sure")),
        (run, hook("PermissionRequest", 2.5, "Bash"), ("permission", "sure")),
        (run, hook("Notification", 2.5, "Claude needs your permission to use Bash"), ("permission", "sure")),
        (run, hook("PermissionRequest", 1.5, "Bash"), ("running", "inferred")),
        (run, {**hook("PermissionRequest", 2.5), "status": "busy", "status_time": at(5)}, ("running", "sure")),
        (run, {**hook("PermissionRequest", 2.5), "children": (shell("make test", 4),)}, ("running", "sure")),
        # A request was answered if no agent has such a call any more, or if the spinner moves again.
        (run, {**hook("PermissionRequest", 2.5, "Write"), "agent_calls": ()}, ("running", "inferred")),
        (start_agent, hook("PermissionRequest", 2.5, "Bash"), ("permission", "sure")),
        (start_agent, {**hook("PermissionRequest", 2.5, "Bash"), "agent_calls": ()}, ("running", "inferred")),
        (start_agent, {**hook("PermissionRequest", 2.5, "Bash"), "agent_calls": BASH}, ("permission", "sure")),
        (run, {**hook("PermissionRequest", 2.5, "Bash"), "screen": ScreenSign(True, 1)}, ("running", "inferred")),
        (run, {**hook("PermissionRequest", 2.5, "Bash"), "screen": ScreenSign(True, 9)}, ("permission", "sure")),
        # A client waits for its Stop hooks, and one that reports its status reports the end of the turn itself.
        (trail_off, hook("Stop", 5.9), ("finished", "inferred")),
        (trail_off, {**hook("Stop", 5.5), "status": "busy"}, ("answering", "sure")),
        (trail_off, {**hook("Stop", 3), "status": "busy"}, ("finished", "sure")),
        (finish, hook("PreCompact", 5, "manual"), ("compacting", "sure")),
        (ask, hook("PreCompact", 3, "auto"), ("compacting", "sure")),
        (finish, {**hook("PreCompact", 3, "auto"), "screen": ScreenSign(False)}, ("finished", "sure")),
        (finish, {**hook("SessionEnd", 5, "other"), **OLD}, ("finished", "sure")),
        (finish, {**hook("SessionEnd", 0.5, "other"), **OLD}, ("finished", "sure")),
        (both(finish), {**hook("SessionEnd", 5, "clear"), **OLD}, ("left", "sure")),
        (finish, {**hook("SessionEnd", 5, "clear"), "client_started": at(5.5), **OLD}, ("finished", "sure")),
        (trail_off, hook("Stop", 2.1), ("finished", "sure")),
        (both(trail_off, ask), hook("Stop", 2.1), ("answering", "sure")),
        (finish, hook("UserPromptSubmit", 5), ("answering", "sure")),
        (finish, hook("UserPromptSubmit", 1), ("finished", "sure")),
        (finish, hook("SessionEnd", 5, "prompt_input_exit"), ("ended", "sure")),
        (finish, hook("SessionEnd", 5, "clear"), ("left", "sure")),
        (finish, {**hook("SessionStart", 5, "resume"), "presence": "ended"}, ("finished", "sure")),
    ],
)
def test_a_hook_outranks_guesses_until_something_newer_is_known(
    write: Callable[[Build], object], signs: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert judge_written(write, 6, **signs)[:2] == expected


def test_an_ended_session_says_what_it_was_doing_and_runs_nothing() -> None:
    found = doing(run, presence="ended", is_presence_sure=True)
    assert (found.words, found.tools, found.agents) == ("ended while running Bash: make test", (), ())
    assert choose_column(found, NOW) == "ended"


@pytest.mark.parametrize("signs", [{}, {"status": "busy"}, {"children": (), "childless_seconds": 600.0}])
def test_silence_after_the_end_of_a_client_does_not_mean_that_it_waited(signs: dict[str, Any]) -> None:
    found = doing(run, 600, presence="ended", is_presence_sure=True, **signs)
    assert found.words == "ended while running Bash: make test"


def test_a_client_that_was_killed_while_it_waited_had_reported_that() -> None:
    found = doing(run, 600, presence="ended", status="waiting", waiting_for="permission prompt")
    assert found.words == "ended while waiting for you"


def test_a_sub_agent_that_writes_does_not_keep_the_main_turn_answering() -> None:
    build = Build(step=1)
    build.prompt("go")
    write_launch(build, "a0", "c0")
    build.answer("it is at work", stop=None)
    signs = SessionSigns(written=NOW - timedelta(seconds=60), agents_written=NOW)
    found = judge_state(fold_activity(build.data()), NOW, signs)
    assert (found.kind, found.agents) == ("background", ("do a0",))


def test_a_prompt_that_is_written_after_its_answer_does_not_start_a_turn() -> None:
    build = Build(step=1)
    build.prompt("go", "p")
    build.answer("done", parent="p")
    build.lines.reverse()
    fold = fold_activity(build.data())
    assert (fold.last, fold.prompt) == ("finished", "go")


def test_a_failure_that_is_written_before_its_prompt_is_retried_all_the_same() -> None:
    build = Build(step=1)
    build.prompt("go", "p")
    build.system("api_error", retryAttempt=1, maxRetries=10, parent="p")
    build.lines.reverse()
    assert judge_state(fold_activity(build.data()), NOW, SessionSigns(written=NOW)).kind == "retrying"


def test_a_stop_hook_runs_until_its_summary() -> None:
    def write(build: Build) -> None:
        trail_off(build)
        build.row("progress", data={"type": "hook_progress", "hookEvent": "Stop"}, toolUseID="x", parentToolUseID="x")

    assert doing(write, quiet=30).words == "running a Stop hook"
    assert doing(both(write, lambda b: b.system("stop_hook_summary"))).kind == "finished"


TIMES = st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))  # noqa: DTZ001
TEXTS = st.text(max_size=20)
CHILDREN = st.lists(st.builds(ChildProcess, st.integers(), TEXTS, st.none() | st.floats(0, 2e9)), max_size=3)
SIGNS = st.builds(
    SessionSigns,
    written=st.none() | TIMES,
    is_open=st.booleans(),
    status=st.sampled_from([None, "busy", "shell", "idle", "waiting"]),
    waiting_for=st.none() | TEXTS,
    is_compacting=st.booleans(),
    status_time=st.none() | TIMES,
    presence=st.sampled_from(["open", "ended", "left", "unknown"]),
    is_presence_sure=st.booleans(),
    agents_written=st.none() | TIMES,
    waiting_agent=TEXTS,
    children=st.none() | CHILDREN.map(tuple),
    childless_seconds=st.floats(0, 1e6),
    screen=st.none() | st.builds(ScreenSign, st.booleans(), st.floats(0, 1e6), st.booleans()),
    client_started=st.none() | TIMES,
    agent_calls=st.none() | st.just((OpenCall("Bash", None),)),
    has_suggestion=st.booleans(),
    typed=st.none() | st.builds(TypedCommand, st.floats(allow_nan=False), st.sampled_from(["", "!", "/compact"])),
    hook=st.none()
    | st.builds(
        HookSign,
        st.sampled_from([*get_args(ReportedEvent), "Other"]),
        TIMES,
        TEXTS,
    ),
)


@settings(max_examples=300)
@given(data=st.builds(write_moves, MOVES) | files, signs=SIGNS, now=TIMES)
def test_no_file_and_no_signs_make_it_fail(data: bytes, signs: SessionSigns, now: datetime) -> None:
    found = judge_state(fold_activity(data), now, signs)
    assert found.reason
    assert found.confidence in ("sure", "inferred")
    assert choose_column(found, now, signs) in ("needs", "working", "idle", "ended")


# -- recorded sessions


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("1.0.128/tools", "finished"),
        ("2.0.76/tools", "finished"),
        ("2.1.29/tools", "finished"),
        ("2.1.45/tools", "finished"),
        ("2.1.325/tools", "finished"),
        ("2.1.325/plain", "finished"),
        ("2.1.325/compact", "finished"),
    ],
)
def test_recorded_sessions_that_ended_are_finished(name: str, kind: str) -> None:
    fold = fold_activity(find_recording(name).read_bytes())
    last = datetime.fromisoformat(fold.heard or "").astimezone(UTC)
    found = judge_state(fold, last + timedelta(seconds=30), SessionSigns(written=last))
    assert (found.kind, found.tools, found.agents) == (kind, (), ())


def test_every_moment_of_recorded_sessions_has_a_state_that_makes_sense(tmp_path: Path) -> None:
    for name in ("2.1.325/tools", "2.0.76/tools", "2.1.325/agents"):
        fold, seen = Activity(), set()
        for piece in scan_lines(io.BytesIO(find_recording(name).read_bytes())):
            fold.add_all([piece])
            heard = datetime.fromisoformat(fold.heard).astimezone(UTC) if fold.heard else NOW
            seen.add(judge_state(fold, heard, SessionSigns(written=heard)).kind)
        assert {"answering", "running", "finished"} <= seen
        assert "error" not in seen


@pytest.mark.parametrize(
    "fields",
    [{"origin": {"kind": "peer", "from": "a"}, "isMeta": True}, {"origin": {"kind": "channel"}}, {}],
)
def test_a_message_of_another_agent_sets_off_work_but_is_no_typed_prompt(fields: dict[str, Any]) -> None:
    build = Build()
    build.prompt("the person's words")
    build.answer("done", stop="end_turn")
    build.prompt("Another Claude session sent a message:\n<agent-message>look</agent-message>", **fields)
    fold = Activity().add_all(scan_lines(io.BytesIO(build.data())))
    assert (fold.last, fold.prompt) == ("prompt", "the person's words")
