"""Putting a summary in the place of a conversation: the lines that are written, and what would be sent then."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.session.build import DATA, Build, describe_resumed, use
from turnlog.edit.compress.compact import (
    CONTINUE_TEXT,
    KEPT_MESSAGES_TEXT,
    SUMMARY_INTRODUCTION,
    CompactedDraft,
    compact_draft,
    render_summary_text,
)
from turnlog.edit.compress.recap import RECAP_NOTE, build_recap
from turnlog.edit.compress.summary import build_model_summariser
from turnlog.edit.draft import Draft
from turnlog.edit.strip.conversation_text import render_conversation_text as spoken
from turnlog.errors import Refused, UsageError
from turnlog.model.answer import ModelAnswer
from turnlog.model.failures import AnswerBrokenOff, RequestRejected
from turnlog.model.scripted_model import ScriptedModel
from turnlog.session.session import Session

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def largest(name: str) -> Path:
    found = (DATA / "sessions" / name).rglob("????????-*.jsonl")
    return max(found, key=lambda path: path.stat().st_size)


def work() -> Build:
    """Three turns, the second with a call."""
    build = Build()
    build.prompt("first question about src/cart.py", "u1")
    build.answer("first answer", uuid="a1")
    build.prompt("second question", "u2")
    build.call("c1", "Read", {"file_path": "/home/dana/webshop/src/cart.py"}, uuid="a2")
    build.result("c1", "def total(): ...", uuid="r2")
    build.call("c2", "Bash", {"command": "make test"}, uuid="a3")
    build.result("c2", "failed", error=True, uuid="r3")
    build.answer("second answer", uuid="a4")
    build.prompt("third question", "u3")
    build.answer("third answer", uuid="a5")
    build.note("last-prompt", lastPrompt="third question", leafUuid="a5")
    return build


def compact_build(build: Build, keep: int = 0, **fields: Any) -> CompactedDraft:
    numbers = iter(f"0000000{n}-0000-4000-8000-000000000000" for n in range(9))
    draft = Draft.from_transcript(build.session().file)
    return compact_draft(draft, lambda *_: "THE SUMMARY", keep=keep, now=NOW, uuid=lambda: next(numbers), **fields)


def rows(found: CompactedDraft) -> list[dict[str, Any]]:
    return [json.loads(line) for line in found.draft.iterate_lines()]


def test_without_kept_turns_only_the_summary_is_sent() -> None:
    found = compact_build(work())
    [message] = describe_resumed(Session(found.draft.to_transcript()))
    assert message.startswith(f"U {SUMMARY_INTRODUCTION}")
    assert message.endswith(CONTINUE_TEXT)
    assert (found.turns, found.kept) == (3, 0)


def test_kept_turns_come_behind_the_summary_word_for_word() -> None:
    found = compact_build(work(), keep=2)
    messages = describe_resumed(Session(found.draft.to_transcript()))
    assert messages[0].startswith(f"U {SUMMARY_INTRODUCTION}")
    assert messages[0].endswith(f"{KEPT_MESSAGES_TEXT} + second question")
    assert messages[1:] == [
        "A call c1",
        "U result c1",
        "A call c2",
        "U result c2",
        "A second answer",
        "U third question",
        "A third answer",
    ]
    assert (found.turns, found.kept) == (1, 2)


def test_what_comes_later_hangs_on_what_was_kept() -> None:
    build = work()
    found = compact_build(build, keep=1)
    after = Build()
    after.lines = rows(found)
    after.last = "a5"
    after.wait(9e7)
    after.prompt("fourth question")
    texts = describe_resumed(after.session())
    assert texts[0].endswith("third question")
    assert texts[1:] == ["A third answer", "U fourth question"]


def test_nothing_that_was_in_the_file_is_changed() -> None:
    build = work()
    lines = list(compact_build(build, keep=1).draft.iterate_lines())
    assert b"".join(lines[:-3]) == b"".join(Draft.from_transcript(build.session().file).iterate_lines())


def test_the_lines_are_those_of_the_real_client() -> None:
    """The keys and their order are those that the newest client wrote; it also counts time and place in the turn."""
    genuine = [json.loads(line) for line in largest("2.1.325/tui_more").read_bytes().splitlines()]
    at = max(at for at, row in enumerate(genuine) if row.get("subtype") == "compact_boundary")
    boundary, summary = genuine[at], genuine[at + 1]
    session = Session.open(largest("2.1.325/tui_more"))
    made = [
        json.loads(line)
        for line in compact_draft(Draft.from_transcript(session.file), lambda *_: "x", keep=1).draft.iterate_lines()
    ][-3:]
    session.close()
    assert list(made[0]) == list(boundary)
    assert list(made[0]["compactMetadata"]) == [key for key in boundary["compactMetadata"] if key != "durationMs"]
    assert list(made[1]) == [key for key in summary if key not in ("turnPosition", "session_id")]
    assert {key: made[0][key] for key in ("parentUuid", "content", "level")} == {
        key: boundary[key] for key in ("parentUuid", "content", "level")
    }
    assert made[2]["type"] == "last-prompt"


@pytest.mark.parametrize("name", ["2.1.325/compact", "2.1.325/tui_more"])
def test_the_words_around_a_summary_are_those_of_the_real_client(name: str) -> None:
    found = 0
    with Session.open(largest(name)) as session:
        for entry in session.entries:
            if not entry.is_compact_summary:
                continue
            text = session.read_body(entry)["message"]["content"]
            summary = text.partition("Summary:\n")[2].partition("\n\nIf you need specific details")[0]
            tools = text.partition("summary>")[2].partition("<")[0].split(", ")
            path = text.partition("read the full transcript at: ")[2].partition("\n")[0]
            assert render_summary_text(summary, tools, Path(path), kept=True) == text
            found += 1
    assert found


def test_a_boundary_names_what_it_keeps_and_what_it_cost() -> None:
    boundary, summary, last = rows(compact_build(work(), keep=1))[-3:]
    facts = boundary["compactMetadata"]
    assert facts["preservedMessages"] == {
        "anchorUuid": summary["uuid"],
        "uuids": ["u3", "a5"],
        "allUuids": ["u3", "a5"],
    }
    assert facts["preservedSegment"] == {"headUuid": "u3", "anchorUuid": summary["uuid"], "tailUuid": "a5"}
    assert boundary["logicalParentUuid"] == "a5"
    assert summary["parentUuid"] == boundary["uuid"]
    assert boundary["timestamp"] < summary["timestamp"], "old clients go on from the newest row"
    assert last == {
        "type": "last-prompt",
        "lastPrompt": "third question",
        "leafUuid": "a5",
        "sessionId": summary["sessionId"],
    }
    assert facts["preTokens"] > 0
    assert facts["cumulativeDroppedTokens"] >= 0
    assert "preservedMessages" not in rows(compact_build(work()))[-3]["compactMetadata"]


def test_the_time_is_never_before_that_of_the_session() -> None:
    draft = Draft.from_transcript(work().session().file)
    made = [*compact_draft(draft, lambda *_: "x", now=datetime(2000, 1, 1, tzinfo=UTC)).draft.iterate_lines()]
    assert json.loads(made[-3])["timestamp"] > json.loads(made[-5])["timestamp"]


def test_the_tools_and_the_place_of_the_whole_are_named() -> None:
    [message] = describe_resumed(Session(compact_build(work(), transcript=Path("/x/y.jsonl")).draft.to_transcript()))
    assert "<tools-used-before-summary>Bash, Read</tools-used-before-summary>" in message
    assert "read the full transcript at: /x/y.jsonl\n" in message


@pytest.mark.parametrize("keep", [-1, 3, 99])
def test_at_least_one_turn_must_be_left_to_sum_up(keep: int) -> None:
    with pytest.raises(UsageError, match="the conversation has 3"):
        compact_build(work(), keep=keep)


def test_an_empty_summary_and_a_session_that_can_not_be_resumed_are_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        compact_draft(Draft.from_transcript(work().session().file), lambda *_: " \n")
    with pytest.raises(Refused):
        compact_draft(Draft.from_transcript(Session.from_bytes(b'{"type":"user"}\n').file), lambda *_: "x")


def test_a_second_compaction_sums_up_the_first() -> None:
    first = compact_build(work(), keep=1)
    draft = Draft.from_transcript(first.draft.to_transcript())
    second = compact_draft(draft, build_recap, keep=0)
    assert "Before that (from an earlier summary):\nTHE SUMMARY" in second.summary
    assert "third answer" in second.summary
    assert "second answer" not in second.summary
    boundaries = [row for row in rows(second) if row.get("subtype") == "compact_boundary"]
    dropped = [row["compactMetadata"]["cumulativeDroppedTokens"] for row in boundaries]
    assert dropped[1] >= dropped[0]


# -- the summary


def test_an_outline_tells_prompts_answers_files_and_commands_and_that_it_is_one() -> None:
    session = work().session()
    text = build_recap(session, session.build_thread().rows)
    assert text.startswith(RECAP_NOTE)
    assert "1. Asked: first question about src/cart.py\n   Answered: first answer" in text
    assert "- /home/dana/webshop/src/cart.py: read 1 time, changed 0 times" in text
    assert "- make test (failed)" in text
    assert text == build_recap(session, session.build_thread().rows)


@pytest.mark.parametrize("name", ["2.1.325/tools", "2.1.325/agents", "2.0.76/compact", "1.0.128/compact"])
def test_an_outline_of_a_genuine_session_is_much_shorter_than_the_session(name: str) -> None:
    with Session.open(largest(name)) as session:
        text = build_recap(session, session.build_thread().rows)
    assert 100 < len(text) < largest(name).stat().st_size / 3


def test_a_model_is_asked_with_the_conversation_as_text() -> None:
    model = ScriptedModel(["<analysis>x</analysis><summary>\nAll is well.\n</summary>"])
    found = compact_draft(
        Draft.from_transcript(work().session().file), build_model_summariser(model, "small", wish="the cart {}"), keep=1
    )
    assert found.summary == "All is well."
    asked = str(model.requests[0].messages[0]["content"])
    assert "USER: first question about src/cart.py\n\nASSISTANT: first answer" in asked
    assert 'ASSISTANT: [calls Bash] {"command":"make test"}\n\nUSER: [result with an error] failed' in asked
    assert "third question" not in asked
    assert "What matters most: the cart {} " in asked


def test_a_summary_without_tags_is_taken_and_a_cut_one_is_not() -> None:
    session = work().session()
    assert build_model_summariser(ScriptedModel(["plain"]), "m")(session, session.build_thread().rows) == "plain"
    cut = ModelAnswer(({"type": "text", "text": "<summary>half"},), "max_tokens")
    with pytest.raises(AnswerBrokenOff, match="was cut"):
        build_model_summariser(ScriptedModel([cut]), "m")(session, session.build_thread().rows)
    with pytest.raises(RequestRejected):
        build_model_summariser(ScriptedModel(), "m")(session, session.build_thread().rows)


def test_a_long_conversation_is_cut_to_what_can_be_sent() -> None:
    build = Build()
    build.prompt("go")
    for number in range(30):
        build.call(f"c{number}", given={"command": "x" * 5000})
        build.result(f"c{number}", "y" * 5000)
    build.answer({"type": "thinking", "thinking": "secret", "signature": "s"}, "the end")
    session = build.session()
    lines = session.build_thread().rows
    for longest in (200_000, 40_000, 12_000, 500):
        text = spoken(session, lines, longest)
        assert len(text) <= longest + 60
        assert text.startswith("USER: go")
        assert text.endswith("the end")
        assert "secret" not in text


def test_hostile_rows_are_summed_up_without_harm() -> None:
    build = Build()
    build.prompt([{"type": "text", "text": "go"}, {"type": "image", "source": 5}, 7])
    build.answer(
        {"type": "tool_use", "id": 4, "name": None, "input": ["\ud800"]}, {"type": "new"}, use("c", name="x y")
    )
    build.row("assistant", message={"role": "assistant", "content": 5})
    build.answer("ok")
    session = build.session()
    assert "ok" in build_recap(session, session.build_thread().rows)
    assert "ok" in spoken(session, session.build_thread().rows, 1000)
    assert compact_draft(Draft.from_transcript(session.file), build_recap).summary


def test_an_outline_takes_no_answer_from_the_client_and_says_who_asked() -> None:
    build = Build()
    build.prompt("a question")
    build.answer("the true answer")
    build.answer("No response requested.", model="<synthetic>")
    build.prompt("a report", origin={"kind": "peer", "from": "helper"})
    build.answer("thanks")
    build.prompt("<task-notification><summary>Over</summary></task-notification>")
    build.answer("fine")
    build.prompt("more", origin={"kind": "unclassified"})
    build.answer("No response requested.")
    session = build.session()
    text = build_recap(session, session.entries)
    assert "1. Asked: a question\n   Answered: the true answer" in text
    assert "2. Message from helper (not the user): a report" in text
    assert "3. A background task reported: " in text
    assert "4. Message from another agent (not the user): more\n   Answered:\nNo response requested." in text


def test_a_model_that_sums_up_is_told_whose_words_are_not_the_users() -> None:
    build = Build()
    build.prompt("go")
    build.attachment("queued_command", prompt="delete it", origin={"kind": "peer", "from": "helper"})
    build.attachment("queued_command", prompt="over", commandMode="task-notification")
    build.attachment("queued_command", prompt="and this", origin={"kind": "human"})
    build.system("local_command", content="ran")
    build.answer("ok")
    text = spoken(build.session(), build.session().entries, 10_000)
    assert text.split("\n\n") == [
        "USER: go",
        "MESSAGE FROM helper, NOT THE USER: delete it",
        "BACKGROUND TASK: over",
        "USER: and this",
        "USER: ran",
        "ASSISTANT: ok",
    ]
