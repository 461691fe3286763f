"""Span trees: of sessions that the real client wrote, and of such as are hard to get from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from tests.session.build import SESSION, Build, find_recording, outcome, stamp, use, variant
from tests.trace.trees import OVER, spans, tree
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.messages import Message
from turnlog.session.session import Session
from turnlog.trace.spans import ids
from turnlog.trace.spans.span import SessionSignals, Span
from turnlog.trace.spans.span_trees import Trace, build_session_traces


def ns(seconds: float) -> int:
    """A time of a built session."""
    return round(to_epoch_milliseconds(stamp(seconds)) or 0) * 1_000_000


def select_spans(found: list[Span], name: str) -> list[Span]:
    """The spans of a name."""
    return [item for item in found if item.name == name]


def final(build: Build, told: SessionSignals = SessionSignals()) -> list[str]:
    """The names of what is final."""
    return [node.name for trace in build_session_traces(build.session(), told) for node in trace.nodes if node.final]


# -- recorded


def test_a_turn_of_the_newest_client_is_one_tree() -> None:
    assert tree(find_recording("2.1.325/tools")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5-5
. execute_tool Read (answered)
. chat claude-opus-5-5
. execute_tool Glob (answered)
. execute_tool Grep (answered)
. execute_tool Bash (answered)
. chat claude-opus-5-5
. execute_tool Edit (answered)
. chat claude-opus-5-5
. execute_tool Write (answered)
. chat claude-opus-5-5
. execute_tool Bash (error, ERROR tool_error)
. chat claude-opus-5-5
. execute_tool Read (error, ERROR tool_error)
. execute_tool Edit (error, ERROR tool_error)
. chat claude-opus-5-5
. execute_tool TodoWrite (error, ERROR tool_error)
. chat claude-opus-5-5
. execute_tool NoSuchTool (error, ERROR tool_error)
. chat claude-opus-5-5\
""")


def test_a_call_without_is_error_has_failed_if_its_words_say_so() -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    build.result("c1", "Exit code 1")
    build.call("c2", "Edit")
    build.result("c2", "<tool_use_error>File has not been read yet.</tool_use_error>")
    build.call("c3")
    build.result("c3", "Exit code 1", toolUseResult={"stdout": "Exit code 1"})
    build.answer("so")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)
. execute_tool Bash (error, ERROR tool_error)
. chat claude-opus-5 (missing)
. execute_tool Edit (error, ERROR tool_error)
. chat claude-opus-5 (missing)
. execute_tool Bash (answered)
. chat claude-opus-5 (missing)\
""")


def test_rows_in_the_short_form_of_other_tools_are_a_turn() -> None:
    from tests.session.test_terse import DATA

    assert tree(Session.from_bytes(DATA)) == snapshot("""\
invoke_agent claude-code (finished, borrowed)
. chat (borrowed, missing)
. execute_tool Read (answered, borrowed)
. chat claude-sonnet-4-5-20250929 (borrowed, partial)\
""")


def test_an_advisors_answer_is_a_generation_below_the_answer_that_asked_it() -> None:
    build = Build()
    build.prompt()
    advice = {"type": "advisor_message", "model": "claude-fable-5", "input_tokens": 500, "output_tokens": 60}
    own = {"type": "message", "input_tokens": 1, "output_tokens": 20}
    build.answer("Done.", id="m", usage={"input_tokens": 2, "output_tokens": 40, "iterations": [own, advice, own]})
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5
. . chat claude-fable-5\
""")
    (found,) = select_spans(spans(build.session()), "chat claude-fable-5")
    assert found.id == ids.build_generation_span_id("m#1")
    assert (found.attributes["gen_ai.usage.input_tokens"], found.attributes["gen_ai.usage.output_tokens"]) == (500, 60)
    assert found.attributes["claude_code.request_kind"] == "advisor_message"


def test_sub_agents_in_the_background_stand_below_their_calls_and_their_ends_are_turns() -> None:
    assert tree(find_recording("2.1.325/agents")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5-5
. execute_tool Task (launched)
. . invoke_agent general-purpose (finished)
. . . chat claude-opus-5-5
. . . execute_tool Bash (answered)
. . . chat claude-opus-5-5
. execute_tool Task (launched)
. . invoke_agent Explore (finished)
. . . chat claude-opus-5-5
. . . execute_tool Read (answered)
. . . chat claude-opus-5-5
. chat claude-opus-5-5
invoke_agent claude-code (finished)
. chat claude-opus-5-5
invoke_agent claude-code (finished)
. chat claude-opus-5-5\
""")


def test_a_hook_that_says_go_on_adds_a_stretch() -> None:
    assert tree(find_recording("2.1.325/hooks")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5-5
. execute_tool Bash (answered)
. chat claude-opus-5-5
. execute_tool Bash (denied, ERROR denied)
. chat claude-opus-5-5
. execute_tool Task (answered)
. . invoke_agent general-purpose (finished)
. . . chat claude-opus-5-5
. . . execute_tool Read (answered)
. . . chat claude-opus-5-5
. chat claude-opus-5-5
. invoke_agent claude-code (finished, continued)
. . chat claude-opus-5-5\
""")


def test_failed_requests_that_were_made_again_leave_no_span() -> None:
    assert tree(find_recording("2.1.325/errors")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5-5
. execute_tool Bash (answered)
. chat claude-opus-5-5
invoke_agent claude-code (finished, compacted)
. chat claude-opus-5-5\
""")


def test_compacted_turns_say_so() -> None:
    assert tree(find_recording("2.1.325/compact")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5-5
. execute_tool Read (answered)
. chat claude-opus-5-5
invoke_agent claude-code (finished)
. chat claude-opus-5-5
invoke_agent claude-code (finished, compacted)
. chat claude-opus-5-5
. execute_tool Bash (answered)
. chat claude-opus-5-5
invoke_agent claude-code (finished, compacted)
. chat claude-opus-5-5
invoke_agent claude-code (finished)
. chat claude-opus-5-5\
""")


def test_turns_of_a_terminal_with_interruptions_and_denials() -> None:
    assert tree(find_recording("2.1.45/tui_edge")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (partial)
. execute_tool Read (answered)
. chat claude-sonnet-4-6 (placeholder)
. execute_tool Edit (answered)
. chat claude-sonnet-4-6 (placeholder)
. execute_tool Write (answered)
. chat claude-sonnet-4-6 (placeholder)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (placeholder)
. execute_tool Edit (answered)
. chat claude-sonnet-4-6 (placeholder)
invoke_agent claude-code (interrupted)
. chat claude-sonnet-4-6 (partial)
. execute_tool Bash (interrupted, ERROR interrupted)
invoke_agent claude-code (interrupted)
. chat claude-sonnet-4-6 (placeholder)
. execute_tool Bash (denied, ERROR denied)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (partial)
. execute_tool Bash (answered)
. chat claude-sonnet-4-6 (placeholder)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (placeholder)
. execute_tool Bash (launched)
. chat claude-sonnet-4-6 (placeholder)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (placeholder)\
""")


def test_sub_agents_inside_the_file_of_an_old_client() -> None:
    assert tree(find_recording("1.0.128/agents")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-sonnet-4-20250514
. execute_tool Task (answered)
. . invoke_agent general-purpose (finished)
. . . chat claude-sonnet-4-20250514
. . . execute_tool Bash (answered)
. . . chat claude-sonnet-4-20250514
. execute_tool Task (answered)
. . invoke_agent general-purpose (finished)
. . . chat claude-sonnet-4-20250514
. . . execute_tool Read (answered)
. . . chat claude-sonnet-4-20250514
. chat claude-sonnet-4-20250514\
""")


def test_work_that_was_left_unfinished_was_interrupted() -> None:
    assert tree(find_recording("1.0.128/errors")) == snapshot("""\
invoke_agent claude-code (interrupted)
. chat claude-sonnet-4-20250514
. execute_tool Bash (answered)
. chat claude-sonnet-4-20250514
. execute_tool Bash (answered)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-20250514\
""")


def test_loose_agents_of_2_0_and_warm_ups() -> None:
    assert tree(find_recording("2.0.76/agents")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-sonnet-4-5-20250929
. execute_tool Task (answered)
. . invoke_agent general-purpose (finished)
. . . chat claude-sonnet-4-5-20250929
. . . execute_tool Bash (answered)
. . . chat claude-sonnet-4-5-20250929
. execute_tool Task (answered)
. . invoke_agent Explore (finished)
. . . chat claude-haiku-4-5-20251001
. . . execute_tool Read (answered)
. . . chat claude-haiku-4-5-20251001
. chat claude-sonnet-4-5-20250929
invoke_agent warm-up (finished)
. chat claude-haiku-4-5-20251001
invoke_agent warm-up (finished)
. chat claude-sonnet-4-5-20250929\
""")


def test_lines_that_2_1_29_wrote_elsewhere_are_traced_there() -> None:
    assert tree(find_recording("2.1.29/tui_progress")) == snapshot("""\
invoke_agent claude-code (open)
. chat claude-sonnet-4-5-20250929 (placeholder)
. execute_tool Task (answered)
. . invoke_agent general-purpose (finished)
. . . chat claude-sonnet-4-5-20250929 (placeholder)
. . . execute_tool Read (answered)
. . . chat claude-sonnet-4-5-20250929 (placeholder)
. execute_tool Bash (answered)
invoke_agent prompt_suggestion (finished)
. chat claude-sonnet-4-5-20250929 (placeholder)
. invoke_agent prompt_suggestion (finished, continued)
. . chat claude-sonnet-4-5-20250929 (placeholder)\
""")


def test_a_resumed_session() -> None:
    assert tree(find_recording("2.1.45/resume")) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (placeholder)
. execute_tool Bash (answered)
. execute_tool Bash (answered)
. chat claude-sonnet-4-6 (placeholder)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (placeholder)
invoke_agent claude-code (finished)
. chat claude-sonnet-4-6 (placeholder)\
""")


def test_tools_can_stand_below_the_generation_that_asked_for_them() -> None:
    assert tree(find_recording("2.1.29/paced"), nest=True) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-sonnet-4-5-20250929 (placeholder)
. . execute_tool Bash (answered)
. . execute_tool Bash (answered)
. chat claude-sonnet-4-5-20250929 (placeholder)\
""")


@pytest.mark.parametrize("version", ["1.0.128", "2.0.76", "2.1.29", "2.1.45", "2.1.325"])
def test_each_version_makes_the_same_tree_of_the_same_work(version: str) -> None:
    root, chat = tree(find_recording(f"{version}/plain")).splitlines()
    assert root == "invoke_agent claude-code (finished)"
    assert chat.startswith(". chat claude-")


@pytest.mark.corpus
def test_every_message_and_call_of_sessions_of_others_has_one_span(corpus: Path) -> None:
    for path in sorted(corpus.glob("wild/**/*.jsonl")):
        with Session.open(path) as session:
            found = spans(session)
            assert len({item.id for item in found}) == len(found)
            known = {item.id for item in found} | {None}
            assert all(item.parent in known for item in found)
            assert all(0 <= item.start <= item.end for item in found)
            made = {item.id for item in found if item.kind == "generation"}
            said = [
                message.key for message in session.messages if not message.is_synthetic and _is_fresh(session, message)
            ]
            assert {ids.build_generation_span_id(key) for key in said if key[0] != "@"} <= made, path


def _is_fresh(session: Session, message: Message) -> bool:
    """Whether a message begins with a line that does not stand there already."""
    line = message.lines[0]
    return line.uuid is None or session.file.by_uuid[line.uuid] == line.index


# -- ids


def test_a_fork_has_the_spans_of_its_original() -> None:
    names = sorted(find_recording("2.1.325/resume").parent.glob("????????-*.jsonl"))
    with Session.open(names[0]) as one, Session.open(names[1]) as other:
        shared = {item.id for item in spans(one)} & {item.id for item in spans(other)}
    assert len(shared) == 9


def test_a_clone_with_uuids_of_its_own_has_the_messages_of_its_original() -> None:
    with (
        Session.open(variant("genuine-untouched")) as one,
        Session.open(variant("clone-new-sessionid-all-uuids-mapped")) as two,
    ):
        first, second = spans(one), spans(two)
    assert {item.trace for item in first}.isdisjoint(item.trace for item in second)
    assert {item.id for item in first if item.kind != "agent"} == {item.id for item in second if item.kind != "agent"}


def test_ids_come_from_what_the_transcript_calls_things() -> None:
    build = Build()
    build.prompt(uuid="u1")
    build.call("c1", id="m1")
    found = spans(build.session())
    assert [item.id for item in found] == [
        ids.build_root_span_id("u1"),
        ids.build_generation_span_id("m1"),
        ids.build_tool_span_id("c1"),
    ]
    assert {item.trace for item in found} == {ids.build_trace_id("u1")}
    assert [item.parent for item in found] == [None, ids.build_root_span_id("u1"), ids.build_root_span_id("u1")]


def test_lines_without_any_id_are_told_apart_by_session_and_place(tmp_path: Path) -> None:
    build = Build()
    build.prompt(uuid="u1")
    build.answer("yes", id=None)
    del build.lines[-1]["uuid"]
    found = []
    for name in (SESSION, SESSION.replace("1", "2")):
        with Session.open(build.write(tmp_path, name)) as session:
            found.append(spans(session)[1].id)
    assert found[0] != found[1]


# -- what is final


def test_a_prompt_without_an_answer_waits() -> None:
    build = Build()
    build.prompt()
    assert build_session_traces(build.session(), OVER) == []


def test_an_answer_is_final_when_the_next_one_is_there() -> None:
    build = Build()
    build.prompt()
    build.call("c1", id="m1")
    assert final(build) == []
    build.result("c1")
    assert final(build) == ["execute_tool Bash"]
    build.answer("done")
    assert final(build) == ["chat claude-opus-5", "execute_tool Bash"]


@pytest.mark.parametrize("closing", ["prompt", "turn_duration", "meta"])
def test_a_turn_that_rests_is_final_when_something_comes_after_it(closing: str) -> None:
    build = Build()
    build.prompt()
    build.answer("done")
    assert final(build) == []
    if closing == "prompt":
        build.prompt()
    elif closing == "turn_duration":
        build.system("turn_duration", durationMs=5)
    else:
        build.prompt("go on", isMeta=True)
        build.answer("more")
    assert final(build)[:2] == ["invoke_agent claude-code", "chat claude-opus-5"]


def test_a_turn_duration_after_a_call_closes_nothing() -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    build.system("turn_duration", durationMs=5)
    assert final(build) == []


def test_what_rests_is_final_when_the_client_says_that_it_has_finished() -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    assert final(build, SessionSignals(at_rest=True)) == []
    build.result("c1")
    build.answer("done")
    assert len(final(build, SessionSignals(at_rest=True))) == 4


def test_a_command_that_does_nothing_ends_no_work() -> None:
    build = Build()
    build.prompt()
    call = build.call("c1")
    build.prompt("<command-name>/model</command-name>")
    build.result("c1", parent=call)
    build.answer("done")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)
. execute_tool Bash (answered)
. chat claude-opus-5 (missing)\
""")


def test_a_result_after_the_turn_was_over_does_not_count() -> None:
    build = Build()
    build.prompt()
    call = build.call("c1")
    build.prompt("next")
    build.result("c1", parent=call)
    build.answer("done", parent=build.lines[2]["uuid"])
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (interrupted)
. chat claude-opus-5 (missing)
. execute_tool Bash (unanswered, borrowed)
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)\
""")


def test_a_trace_is_settled_when_nothing_more_is_expected_in_it() -> None:
    def list_settled(build: Build) -> list[bool]:
        return [trace.settled for trace in build_session_traces(build.session())]

    build = Build()
    build.prompt()
    build.answer("done")
    assert list_settled(build) == [False]
    build.prompt()
    assert list_settled(build) == [True]
    build.answer("done")
    assert list_settled(build) == [True, False]


# -- stretches


def test_an_answer_after_an_interruption_is_a_stretch_of_its_own() -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    build.interrupt()
    build.answer("more")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (interrupted)
. chat claude-opus-5 (missing)
. execute_tool Bash (unanswered, borrowed)
. invoke_agent claude-code (finished, continued)
. . chat claude-opus-5 (missing)\
""")


def test_an_answer_that_broke_off_and_was_asked_for_again_is_no_rest() -> None:
    build = Build()
    build.prompt()
    build.answer("half of", stop=None)
    build.answer("all of it")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)
. chat claude-opus-5 (missing)\
""")


def test_an_api_error_ends_a_stretch() -> None:
    build = Build()
    build.prompt()
    build.answer("API Error: 529", model="<synthetic>", isApiErrorMessage=True, apiErrorType="overloaded_error")
    build.answer("again")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (error, ERROR overloaded_error)
. chat (ERROR overloaded_error)
. invoke_agent claude-code (finished, continued)
. . chat claude-opus-5 (missing)\
""")


def test_work_that_goes_on_from_a_summary_is_a_trace_of_its_own() -> None:
    build = Build()
    build.boundary()
    build.summary(uuid="s1")
    build.answer("going on")
    build.prompt()
    build.answer("hello")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (finished, continued)
. chat claude-opus-5 (missing)
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)\
""")
    assert [(trace.number, trace.name) for trace in build_session_traces(build.session(), OVER)] == [
        (0, "claude-code"),
        (1, "Turn 1"),
    ]


def test_an_answer_that_comes_late_to_an_older_turn_is_a_stretch_of_that() -> None:
    build = Build()
    first = build.prompt()
    build.answer("one")
    build.prompt()
    build.answer("two")
    build.answer("late", parent=first)
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)
. invoke_agent claude-code (finished, continued)
. . chat claude-opus-5 (missing)
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)\
""")


def test_lines_of_an_old_message_that_are_written_again_change_nothing() -> None:
    build = Build()
    build.prompt()
    build.answer("one", id="m1")
    build.prompt()
    build.answer("two", id="m2")
    before = tree(build.session())
    build.answer("one", id="m1")
    assert tree(build.session()) == before


def test_what_the_client_says_in_the_models_place_is_no_generation() -> None:
    build = Build()
    build.prompt()
    build.answer("No response requested.", model="<synthetic>")
    assert tree(build.session()) == ""


def test_a_question_that_waits_for_a_person_and_work_that_was_left() -> None:
    build = Build()
    build.prompt()
    build.call("c1", "AskUserQuestion")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (waiting)
. chat claude-opus-5 (missing)
. execute_tool AskUserQuestion (unanswered, borrowed)\
""")
    build.prompt()
    build.call("c2")
    assert tree(build.session()) == snapshot("""\
invoke_agent claude-code (interrupted)
. chat claude-opus-5 (missing)
. execute_tool AskUserQuestion (unanswered, borrowed)
invoke_agent claude-code (open)
. chat claude-opus-5 (missing)
. execute_tool Bash (unanswered, borrowed)\
""")


# -- numbers


def numbers(build: Build) -> list[int]:
    return [trace.number for trace in build_session_traces(build.session(), OVER)]


def test_turns_have_the_numbers_that_people_use() -> None:
    build = Build()
    for text in ("one", "<command-name>/model</command-name>", "two", "<bash-input>ls</bash-input>", "three"):
        build.prompt(text)
        if not text.startswith("<"):
            build.answer("yes")
    assert numbers(build) == [1, 2, 4]
    assert [trace.number for trace in build_session_traces(build.session(), OVER, first_turn=8)] == [8, 9, 11]


def test_a_command_with_a_text_is_a_turn_before_it_is_answered() -> None:
    build = Build()
    build.prompt("<command-name>/fix</command-name>")
    build.prompt("the skill", isMeta=True)
    build.prompt("two")
    build.answer("yes")
    assert numbers(build) == [2]


def test_a_number_does_not_change_when_an_older_command_is_answered_late() -> None:
    build = Build()
    command = build.prompt("<command-name>/fix</command-name>")
    build.prompt("two")
    build.answer("yes")
    assert numbers(build) == [1]
    build.answer("late", parent=command)
    assert numbers(build) == [1, 1]


# -- times


def test_a_generation_runs_from_what_it_answers_and_a_tool_from_its_own_line() -> None:
    build = Build(step=10)
    build.prompt()
    build.answer("thinking", id="m1", stop=None)
    build.call("c1", id="m1")
    build.call("c2", "Read", id="m1")
    build.result("c2")
    build.result("c1")
    build.answer("done", id="m2")
    found = spans(build.session())
    assert [(item.name, item.start, item.end) for item in found] == [
        ("invoke_agent claude-code", ns(10), ns(70)),
        ("chat claude-opus-5", ns(10), ns(40)),
        ("chat claude-opus-5", ns(60), ns(70)),
        ("execute_tool Bash", ns(30), ns(60)),
        ("execute_tool Read", ns(40), ns(50)),
    ]


def test_a_generation_whose_parent_is_missing_runs_from_the_entry_before_it() -> None:
    build = Build(step=10)
    build.prompt()
    build.answer("done", parent="nowhere")
    assert spans(build.session())[1].start == ns(10)


def test_missing_times_are_borrowed_from_the_entry_before() -> None:
    build = Build(step=10)
    build.prompt()
    del build[build.call("c1")]["timestamp"]
    build.result("c1")
    found = spans(build.session())
    assert [(item.start, item.end) for item in found] == [(ns(10), ns(30)), (ns(10), ns(10)), (ns(10), ns(30))]
    assert [item.attributes["claude_code.time"] for item in found[1:]] == ["borrowed"] * 2


def test_without_any_time_before_it_the_next_one_is_borrowed() -> None:
    build = Build(step=10)
    del build[build.prompt()]["timestamp"]
    build.answer("done")
    assert [(item.start, item.end) for item in spans(build.session())] == [(ns(20), ns(20))] * 2


def test_without_any_time_at_all_a_span_is_at_zero() -> None:
    build = Build()
    build.prompt()
    build.answer("done")
    for line in build.lines:
        line["timestamp"] = "once upon a time"
    assert [(item.start, item.end) for item in spans(build.session())] == [(0, 0)] * 2


@pytest.mark.parametrize("time", ["1969-12-31T23:59:59.000Z", "2300-01-01T00:00:00.000Z", "9999-12-31T00:00:00.000Z"])
def test_a_time_that_cannot_be_sent_is_none(time: str) -> None:
    build = Build(step=10)
    build.prompt()
    build[build.answer("done")]["timestamp"] = time
    assert [(item.start, item.end) for item in spans(build.session())] == [(ns(10), ns(10))] * 2


def test_an_end_before_the_start_is_moved_there() -> None:
    build = Build(step=10)
    build.prompt()
    build.call("c1")
    build[build.result("c1")]["timestamp"] = stamp(5)
    tool = select_spans(spans(build.session()), "execute_tool Bash")[0]
    assert (tool.start, tool.end, tool.attributes["claude_code.time"]) == (ns(20), ns(20), "clamped")


def test_a_call_without_a_result_borrows_the_end_of_its_stretch() -> None:
    build = Build(step=10)
    build.prompt()
    build.answer(use("c1"), use("c2"), stop="tool_use")
    build.result("c1")
    tool = spans(build.session())[-1]
    assert (tool.start, tool.end, tool.attributes["claude_code.time"]) == (ns(20), ns(30), "borrowed")


# -- sub-agents


def agent_line(build: Build, folder: Path, name: str = "a1", call: str | None = "c1") -> None:
    """Write a sub-agent with an answer, and what tells of it."""
    inner = Build()
    inner.prompt("look", f"{name}-1", isSidechain=True)
    inner._now = build._now
    inner.answer("seen", uuid=f"{name}-2", id=f"inner-{name}", isSidechain=True)
    place = folder / SESSION / "subagents"
    place.mkdir(parents=True, exist_ok=True)
    (place / f"agent-{name}.jsonl").write_bytes(inner.data())
    if call:
        (place / f"agent-{name}.meta.json").write_text(f'{{"agentType":"Explore","toolUseId":"{call}"}}')


def open_traces(build: Build, folder: Path, told: SessionSignals) -> tuple[str, list[Trace]]:
    with Session.open(build.write(folder)) as session:
        return tree(session, told), build_session_traces(session, told)


def test_the_end_of_a_sub_agent_is_reported_by_the_result_of_its_call(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    agent_line(build, tmp_path)
    assert open_traces(build, tmp_path, SessionSignals())[0] == ""
    assert open_traces(build, tmp_path, SessionSignals(agents=frozenset({"a1"})))[0] == snapshot("""\
invoke_agent Explore (finished)
. chat claude-opus-5 (missing)\
""")
    build.result("c1")
    assert open_traces(build, tmp_path, SessionSignals())[0] == snapshot("""\
execute_tool Task (answered)
. invoke_agent Explore (finished)
. . chat claude-opus-5 (missing)\
""")


def test_the_end_of_a_sub_agent_in_the_background_is_reported_by_its_notification(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    build.result("c1", toolUseResult={"isAsync": True, "agentId": "a1"})
    build.answer("it runs")
    build.system("turn_duration", durationMs=1)
    agent_line(build, tmp_path)
    text, found = open_traces(build, tmp_path, SessionSignals())
    assert "Explore" not in text
    assert [trace.settled for trace in found] == [False]
    build.wait(600)
    build.attachment("queued_command", prompt="<task-notification><task-id>a1</task-id></task-notification>")
    text, found = open_traces(build, tmp_path, SessionSignals())
    assert "invoke_agent Explore (finished)" in text
    assert [trace.settled for trace in found] == [True]


def test_a_sub_agent_that_no_call_started_is_a_trace_of_its_own_when_the_session_is_over(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.answer("done")
    agent_line(build, tmp_path, "acompact-0123456789abcdef", None)
    agent_line(build, tmp_path, "a2", "a call of another session")
    assert open_traces(build, tmp_path, SessionSignals())[0] == ""
    text, found = open_traces(build, tmp_path, OVER)
    assert text == snapshot("""\
invoke_agent claude-code (finished)
. chat claude-opus-5 (missing)
invoke_agent Explore (finished)
. chat claude-opus-5 (missing)
invoke_agent compact (finished)
. chat claude-opus-5 (missing)\
""")
    assert [(trace.number, trace.name) for trace in found] == [(1, "Turn 1"), (0, "Explore"), (0, "compact")]


def test_a_span_stands_in_one_trace_only_even_if_two_files_have_its_lines(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.answer("seen", id="inner-aprompt_suggestion-012345")
    agent_line(build, tmp_path, "aprompt_suggestion-012345", None)
    with Session.open(build.write(tmp_path)) as session:
        found = spans(session)
    assert [item.id for item in found].count(ids.build_generation_span_id("inner-aprompt_suggestion-012345")) == 1


def test_results_that_stand_before_their_calls_are_found() -> None:
    build = Build(step=10)
    build.prompt()
    build.prompt([outcome("c1")])
    build.call("c1")
    assert final(build) == ["execute_tool Bash"]


def test_a_sub_agent_that_was_stopped_is_final_when_the_next_turn_has_begun(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    inner = Build()
    inner.prompt("look", "inner-1", isSidechain=True)
    inner._now = build._now
    inner.call("c2", uuid="inner-2", id="inner", isSidechain=True)
    agent_line(build, tmp_path)
    (tmp_path / SESSION / "subagents" / "agent-a1.jsonl").write_bytes(inner.data())
    build.result("c1", "[Request interrupted by user for tool use]", error=True)
    assert "Explore" not in open_traces(build, tmp_path, SessionSignals())[0]
    build.prompt("something else")
    assert open_traces(build, tmp_path, SessionSignals())[0] == snapshot("""\
invoke_agent claude-code (interrupted)
. chat claude-opus-5 (missing)
. execute_tool Task (interrupted, ERROR interrupted)
. . invoke_agent Explore (interrupted)
. . . chat claude-opus-5 (missing)
. . . execute_tool Bash (unanswered, borrowed)\
""")


def test_the_launch_of_a_sub_agent_by_a_sub_agent_is_not_its_end(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    build.result("c1", "Async agent launched successfully.")
    build.answer("it runs")
    build.wait(600)
    agent_line(build, tmp_path)
    build.prompt("something else")
    assert "Explore" not in open_traces(build, tmp_path, SessionSignals())[0]


def test_a_sub_agent_whose_file_is_gone_is_left_out(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    build.result("c1")
    build.answer("done")
    agent_line(build, tmp_path)
    agent_line(build, tmp_path, "acompact-0123456789abcdef", None)
    with Session.open(build.write(tmp_path)) as session:
        assert len(session.agents) == 2
        for file in (tmp_path / SESSION / "subagents").glob("*.jsonl"):
            file.unlink()
        assert len(spans(session)) == 4


def test_a_file_that_begins_with_side_chains_only_waits_until_it_is_over() -> None:
    build = Build()
    build.prompt("side", isSidechain=True)
    build.answer("one", isSidechain=True)
    build.prompt("side", isSidechain=True)
    assert final(build) == []
    assert len(final(build, OVER)) == 2


def test_sub_agents_of_sub_agents_stand_below_their_calls(tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.call("c1", "Task")
    agent_line(build, tmp_path)
    agent_line(build, tmp_path, "a2", "c2")
    inner = Build()
    inner.prompt("look", "inner-1", isSidechain=True)
    inner.call("c2", "Task", uuid="inner-2", id="inner", isSidechain=True)
    (tmp_path / SESSION / "subagents" / "agent-a1.jsonl").write_bytes(inner.data())
    assert open_traces(build, tmp_path, OVER)[0] == snapshot("""\
invoke_agent claude-code (open)
. chat claude-opus-5 (missing)
. execute_tool Task (unanswered, borrowed)
. . invoke_agent Explore (open)
. . . chat claude-opus-5 (missing)
. . . execute_tool Task (unanswered, borrowed)
. . . . invoke_agent Explore (finished)
. . . . . chat claude-opus-5 (missing)\
""")
