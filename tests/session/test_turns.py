"""Turns: what a person started, and all that followed from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.session.build import Build, base, genuine, open_variant
from turnlog.entries.speakers import Speaker
from turnlog.session.session import Session
from turnlog.session.turns import RESUME_GAP, Turn

COMMAND = "<command-name>/{0}</command-name><command-message>{0}</command-message><command-args></command-args>"
OUTPUT = "<local-command-stdout>ok</local-command-stdout>"
NOTICE = "<task-notification><task-id>b1</task-id><status>completed</status></task-notification>"
FRAME = "Another Claude session sent a message:\n"
PEER: dict[str, Any] = {"isMeta": True, "origin": {"kind": "peer", "from": "helper"}}


def turns(build: Build) -> list[Turn]:
    return build.session().turns


def texts(build: Build) -> list[str]:
    return [turn.text for turn in turns(build)]


def outcomes(build: Build) -> list[str]:
    return [turn.outcome for turn in turns(build)]


# -- what starts a turn


def test_every_prompt_starts_a_turn() -> None:
    found = turns(base())
    assert [turn.text for turn in found] == ["u1 text", "u2 text", "u3 text"]
    assert [turn.index for turn in found] == [0, 1, 2]
    assert [turn.kind for turn in found] == ["prompt"] * 3
    assert [len(turn.messages) for turn in found] == [1, 1, 1]


def test_a_picture_starts_a_turn() -> None:
    build = Build()
    build.prompt([{"type": "image"}])
    assert [turn.kind for turn in turns(build)] == ["prompt"]


def test_a_command_that_reaches_the_model_starts_a_turn() -> None:
    build = Build()
    build.prompt(COMMAND.format("greet"))
    build.prompt("Greet the person.", isMeta=True)
    build.answer("Good day!")
    (turn,) = turns(build)
    assert (turn.kind, turn.text, turn.outcome) == ("command", "/greet", "finished")


def test_a_command_whose_text_waits_for_an_answer_starts_a_turn() -> None:
    build = Build()
    build.prompt(COMMAND.format("greet"))
    build.prompt("Greet the person.", isMeta=True)
    assert outcomes(build) == ["open"]


def test_a_local_command_without_an_answer_starts_no_turn() -> None:
    build = base()
    build.prompt("Caveat", isMeta=True)
    build.prompt(COMMAND.format("model"))
    build.prompt(OUTPUT, uuid="out")
    assert texts(build) == ["u1 text", "u2 text", "u3 text"]
    session = build.session()
    assert session.find_turn(session.entries[-1]) is None


def test_an_answer_that_the_client_made_up_is_no_work_of_a_command() -> None:
    build = Build()
    build.prompt(COMMAND.format("compact"))
    build.prompt(OUTPUT)
    build.answer("No response requested.", model="<synthetic>")
    build.prompt("next", uuid="next")
    build.answer("fine")
    session = build.session()
    assert [(turn.index, turn.text, len(turn.messages)) for turn in session.turns] == [(0, "next", 1)]
    found = session.find_turn(session.entries[-1])
    assert found is session.turns[0]


def test_a_bash_command_starts_a_turn_though_nobody_answers() -> None:
    build = Build()
    build.prompt("<bash-input>ls</bash-input>")
    build.prompt("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>")
    (turn,) = turns(build)
    assert (turn.kind, turn.text, turn.outcome) == ("bash", "!ls", "finished")
    assert turn.ended_at == build.lines[1]["timestamp"]


NO_STARTS: list[tuple[Any, dict[str, Any]]] = [
    ("a note", {"isMeta": True}),
    ("Stop hook feedback: …", {"isMeta": True}),
    (OUTPUT, {}),
    ("SUMMARY", {"isCompactSummary": True}),
    ([{"type": "text", "text": "[Request interrupted by user]"}], {}),
    (NOTICE, {}),
    ('<teammate-message teammate_id="a">hi</teammate-message>', {}),
    (f"{FRAME}hi", {}),
    ("hi", PEER),
    ("hi", {"origin": {"kind": "channel"}}),
    ("", {}),
]


@pytest.mark.parametrize(("content", "fields"), NO_STARTS)
def test_what_nobody_typed_starts_no_turn(content: Any, fields: dict[str, Any]) -> None:
    build = base()
    build.prompt(content, **fields)
    assert len(turns(build)) == 3


def test_work_after_a_notification_is_a_turn_that_names_its_origin() -> None:
    build = base()
    build.prompt(NOTICE)
    build.answer("The job is over.")
    turn = turns(build)[-1]
    assert (turn.kind, turn.outcome) == ("notification", "finished")
    assert turn.origin is not None
    assert (turn.origin.task_id, turn.origin.status) == ("b1", "completed")
    assert turns(build)[0].origin is None


def test_work_after_a_teammates_message_is_a_turn_of_its_kind() -> None:
    build = base()
    build.prompt('<teammate-message teammate_id="a">look</teammate-message>')
    build.answer("I look.")
    assert turns(build)[-1].kind == "teammate"


@pytest.mark.parametrize(
    ("content", "fields", "kind", "name", "words"),
    [
        (f'{FRAME}<teammate-message teammate_id="dev">\nlook\n</teammate-message>', {}, "teammate", "dev", "look"),
        (f'{FRAME}<agent-message from="x">\nlook\n</agent-message>', PEER, "peer", "helper", "look"),
        ("look", {"origin": {"kind": "of tomorrow"}}, "other", None, "look"),
    ],
)
def test_work_after_another_agents_message_is_a_turn_that_names_who_sent_it(
    content: str, fields: dict[str, Any], kind: str, name: str | None, words: str
) -> None:
    build = Build()
    build.prompt(content, **fields)
    build.answer("looking")
    assert [(turn.kind, turn.speaker, turn.text) for turn in turns(build)] == [(kind, Speaker(kind, name), words)]


def test_a_persons_words_about_a_message_are_a_prompt() -> None:
    build = Build()
    build.prompt(f"why did I get this?\n{FRAME}<agent-message>x</agent-message>")
    build.answer("because")
    assert [(turn.kind, turn.speaker.kind) for turn in turns(build)] == [("prompt", "person")]


def test_another_agents_message_in_the_queue_is_no_further_prompt() -> None:
    build = Build()
    build.prompt("first")
    message = '<teammate-message teammate_id="dev">\nlook\n</teammate-message>'
    build.note("queue-operation", operation="enqueue", content=message)
    build.note("queue-operation", operation="remove")
    build.note("queue-operation", operation="enqueue", content=message)
    build.prompt(f"{FRAME}{message}")
    build.note("queue-operation", operation="enqueue", content="typed")
    build.note("queue-operation", operation="remove")
    build.answer("done")
    assert [(turn.kind, turn.further) for turn in turns(build)] == [("prompt", []), ("teammate", ["typed"])]


def test_a_prompt_that_is_rewritten_under_its_uuid_is_one_turn() -> None:
    build = base()
    build.prompt("u2 written anew", "u2", parent="a1")
    session = build.session()
    assert [turn.start.uuid for turn in session.turns] == ["u1", "u2", "u3"]
    assert session.find_turn(session.file.entries[-1]) is session.turns[1]


def test_a_prompt_that_is_written_twice_with_one_uuid_is_one_turn() -> None:
    twice, once = open_variant("first-rows-written-twice-same-uuids"), open_variant("genuine-untouched")
    assert [turn.text for turn in twice.turns] == [turn.text for turn in once.turns]
    assert [turn.outcome for turn in twice.turns] == [turn.outcome for turn in once.turns]
    again = next(twice.file.entries[places[0]] for places in twice.file.repeated.values())
    assert twice.find_turn(again) is twice.turns[0]


# -- what belongs to a turn


def test_calls_results_and_answers_belong_to_the_turn_they_descend_from() -> None:
    build = Build()
    first = build.prompt("one", "one")
    build.prompt("two", "two")
    build.call("c1", parent=first)
    build.result("c1")
    build.answer("done with one")
    one, two = turns(build)
    assert ([call.id for call in one.calls], len(one.messages)) == (["c1"], 2)
    assert (two.calls, two.messages) == ([], [])
    session = build.session()
    assert session.find_turn(session.entries[-1]) is session.turns[0]


def test_what_hangs_on_nothing_belongs_to_the_turn_that_was_at_work() -> None:
    build = base()
    build.answer("from nowhere", parent="gone")
    assert len(turns(build)[-1].messages) == 2


def test_what_comes_before_the_first_prompt_belongs_to_no_turn() -> None:
    build = Build()
    build.system("informational")
    build.answer("who asked?")
    build.call()
    build.prompt()
    session = build.session()
    assert session.find_turn(session.entries[0]) is None
    assert (session.turns[0].messages, session.turns[0].calls) == ([], [])


def test_a_compaction_in_the_middle_does_not_end_a_turn() -> None:
    session = genuine("2.1.325/compact")
    assert [turn.text for turn in session.turns][2] == "Question three: echo big"
    assert [len(turn.messages) for turn in session.turns] == [2, 1, 2, 1, 1]


def test_the_duration_is_that_of_the_same_turn() -> None:
    build = base()
    build.system("turn_duration", durationMs=1500.4)
    build.prompt("another")
    build.system("turn_duration", parent="a2", durationMs=700)
    build.system("turn_duration", durationMs="long")
    assert [turn.duration_ms for turn in turns(build)] == [None, 700, 1500, None]


def test_an_endless_duration_is_none() -> None:
    build = base()
    build.system("turn_duration", durationMs=12345)
    data = build.data().replace(b"12345", b"1e400")
    assert Session.from_bytes(data).turns[-1].duration_ms is None


def test_a_turn_ends_with_its_work_and_not_with_a_command_hours_later() -> None:
    build = base()
    build.system("turn_duration", durationMs=5)
    end = build.lines[-1]["timestamp"]
    build.wait(3600)
    build.system("local_command", content="/context")
    build.attachment("date")
    build.prompt("Caveat", isMeta=True)
    build.answer("No response requested.", model="<synthetic>")
    turn = turns(build)[-1]
    assert (turn.started_at, turn.ended_at) == (build["u3"]["timestamp"], end)


# -- text that was typed while a turn was at work


def build_working() -> Build:
    build = Build("2.1.45")
    build.prompt("work")
    build.call("c1")
    return build


def test_absorbed_text_is_a_further_prompt_of_the_turn_in_the_new_form() -> None:
    build = build_working()
    build.note("queue-operation", operation="enqueue", content="also this")
    build.note("queue-operation", operation="remove", content="also this", reason="absorbed_mid_turn")
    build.result("c1")
    build.attachment("queued_command", prompt="also this", origin={"kind": "human"})
    build.attachment("queued_command", prompt=[{"type": "text", "text": "and that"}, {"type": "image"}, "x"])
    build.attachment("queued_command", prompt=NOTICE, origin={"kind": "task-notification"})
    build.attachment("queued_command", prompt=NOTICE)
    build.attachment("queued_command", prompt="a report", origin=PEER["origin"])
    build.attachment("queued_command", prompt=None)
    build.answer("both done")
    (turn,) = turns(build)
    assert turn.further == ["also this", "and that"]


def test_absorbed_text_is_a_further_prompt_of_the_turn_in_the_old_form() -> None:
    build = build_working()
    build.note("queue-operation", operation="enqueue", content="also this")
    build.note("queue-operation", operation="enqueue", content="and that")
    build.note("queue-operation", operation="remove")
    build.note("queue-operation", operation="remove")
    build.note("queue-operation", operation="remove")
    build.result("c1")
    build.answer("both done")
    (turn,) = turns(build)
    assert turn.further == ["also this", "and that"]


def test_queued_text_that_became_a_prompt_is_a_turn_of_its_own() -> None:
    build = build_working()
    build.note("queue-operation", operation="enqueue", content="next")
    build.answer("done")
    build.note("queue-operation", operation="dequeue")
    build.prompt("next")
    assert [(turn.text, turn.further) for turn in turns(build)] == [("work", []), ("next", [])]


def test_queued_text_that_was_taken_back_is_no_prompt() -> None:
    build = build_working()
    build.note("queue-operation", operation="enqueue", content="never mind")
    build.note("queue-operation", operation="popAll", content="never mind")
    build.note("queue-operation", operation="remove")
    assert turns(build)[0].further == []


def test_a_notification_in_the_queue_is_no_further_prompt() -> None:
    build = build_working()
    build.note("queue-operation", operation="enqueue", content=NOTICE)
    build.note("queue-operation", operation="remove")
    build.note("queue-operation", operation="enqueue")
    build.note("queue-operation", operation="remove")
    assert turns(build)[0].further == []


def test_what_clients_leave_in_the_queue_does_not_hide_absorbed_text() -> None:
    """2.1.45 notes the start of a background task there, and takes notifications out without saying so."""
    build = build_working()
    build.note("queue-operation", operation="enqueue", content='{"task_id":"b1","task_type":"local_bash"}')
    build.note("queue-operation", operation="enqueue", content=NOTICE)
    build.answer("runs")
    build.prompt(NOTICE)
    build.call("c2")
    build.note("queue-operation", operation="enqueue", content="also this")
    build.note("queue-operation", operation="remove")
    assert [turn.further for turn in turns(build)] == [[], ["also this"]]


@pytest.mark.parametrize("version", ["2.0.76", "2.1.45", "2.1.325"])
def test_recorded_versions_absorbed_the_queued_text(version: str) -> None:
    session = genuine(f"{version}/tui_edge")
    assert [turn.further for turn in session.turns if turn.further] == [["also do this queued thing"]]


# -- how a turn ended


def test_a_turn_that_was_answered_is_finished() -> None:
    assert outcomes(base()) == ["finished"] * 3


def test_the_last_turn_without_an_answer_is_open_and_an_earlier_one_was_interrupted() -> None:
    build = Build()
    build.prompt("one")
    build.prompt("two")
    assert outcomes(build) == ["interrupted", "open"]


def test_a_turn_that_ends_with_a_result_is_not_finished() -> None:
    build = Build()
    build.prompt()
    build.call()
    assert outcomes(build) == ["open"]
    build.result()
    assert outcomes(build) == ["open"]
    build.answer("done")
    assert outcomes(build) == ["finished"]


def test_a_turn_that_a_person_stopped_is_interrupted() -> None:
    build = Build()
    build.prompt()
    build.answer("I be")
    build.interrupt()
    assert outcomes(build) == ["interrupted"]


def test_a_turn_that_went_on_after_an_interruption_is_finished() -> None:
    build = Build()
    build.prompt()
    build.interrupt()
    build.answer("done after all")
    assert outcomes(build) == ["finished"]


def test_going_on_later_does_not_finish_a_turn_that_was_not() -> None:
    """The client writes "No response requested." after an unanswered prompt or an interruption when it resumes."""
    build = Build()
    build.prompt("one")
    build.interrupt()
    build.answer("No response requested.", model="<synthetic>")
    build.prompt("two")
    build.answer("No response requested.", model="<synthetic>")
    build.prompt("three")
    build.answer("Prompt is too long", model="<synthetic>", isApiErrorMessage=True)
    build.answer("No response requested.", model="<synthetic>")
    build.prompt("four")
    build.answer("fine")
    assert outcomes(build) == ["interrupted", "interrupted", "error", "finished"]


def test_a_turn_that_ended_with_an_api_error_is_an_error() -> None:
    build = Build()
    build.prompt()
    build.answer("API Error: 500", model="<synthetic>", isApiErrorMessage=True)
    assert outcomes(build) == ["error"]
    build.answer("now it works")
    assert outcomes(build) == ["finished"]


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_a_question_without_an_answer_waits_for_a_person(tool: str) -> None:
    build = Build()
    build.prompt()
    build.call("c1", tool)
    assert outcomes(build) == ["waiting"]
    build.prompt("something else")
    build.answer("fine")
    assert outcomes(build) == ["interrupted", "finished"]


def test_a_turn_that_went_on_after_a_lost_result_is_finished() -> None:
    build = Build()
    build.prompt()
    build.call("c1")
    build.answer("done")
    assert outcomes(build) == ["finished"]
    build.call("c2")
    build.prompt("next")
    build.answer("yes")
    assert outcomes(build) == ["interrupted", "finished"]


RECORDED: list[tuple[str, list[str]]] = [
    ("2.0.76/tui_edge", "finished finished interrupted interrupted finished finished finished".split()),
    ("2.1.45/tui_edge", "finished finished interrupted interrupted interrupted finished finished finished".split()),
    ("2.1.325/tui_edge", "finished finished finished interrupted finished finished finished finished".split()),
    ("1.0.128/errors", ["interrupted", "finished"]),
    ("2.1.45/errors", ["finished", "error"]),
    ("2.1.325/tools", ["finished"]),
]


@pytest.mark.parametrize(("run", "expected"), RECORDED)
def test_recorded_turns_ended_as_a_reader_of_the_file_would_say(run: str, expected: list[str]) -> None:
    assert [turn.outcome for turn in genuine(run).turns] == expected


# -- round types


def test_how_a_turn_follows_on_the_one_before() -> None:
    build = Build()
    build.prompt("one")
    build.answer("done")
    build.prompt("two")
    build.answer("done")
    build.wait(RESUME_GAP.total_seconds())
    build.prompt("three")
    assert [turn.round for turn in turns(build)] == ["new_session", "new_round", "resume"]


def test_the_gap_that_makes_a_resumption_can_be_chosen(tmp_path: Any) -> None:
    path = base().write(tmp_path)
    with Session.open(path, gap=timedelta(seconds=30)) as session:
        assert [turn.round for turn in session.turns] == ["new_session", "resume", "resume"]
    with Session.open(path, gap=timedelta(seconds=60)) as session:
        assert [turn.round for turn in session.turns] == ["new_session", "new_round", "new_round"]


def test_without_times_nothing_is_a_resumption() -> None:
    build = base()
    for line in build.lines:
        del line["timestamp"]
    assert [turn.round for turn in turns(build)] == ["new_session", "new_round", "new_round"]


def test_every_user_entry_has_a_round_type() -> None:
    build = Build()
    build.prompt("one")
    build.call()
    build.result()
    build.answer("done")
    build.prompt("two")
    session = build.session()
    found = [session.find_round_type(entry) for entry in session.entries if entry.type == "user"]
    assert found == ["new_session", "continue", "new_round"]
