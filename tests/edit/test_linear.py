"""The portable form: one line of entries that says what the session says, for every version of the client."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.interop.block_cases import block_cases
from tests.interop.digest import difference, digests
from tests.interop.linear import main_rows
from tests.session.build import DATA, Build, describe_resumed, outcome, stamp, use
from turnlog.edit.draft import Draft
from turnlog.edit.fork.linear import linearise_draft
from turnlog.errors import Refused
from turnlog.session.session import Session

SESSIONS = sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")) + sorted(DATA.glob("variants/*.jsonl"))


def linearise(session: Session, leaf: str | None = None) -> Session:
    return Session(linearise_draft(session, Draft.from_transcript(session.file), leaf).to_transcript())


def describe_linear(build: Build, leaf: str | None = None) -> list[str]:
    return describe_resumed(linearise(build.session(), leaf))


def bodies(session: Session) -> list[dict[str, Any]]:
    return [session.read_body(entry) for entry in session.file.entries]


def conversation(session: Session) -> list[dict[str, Any]] | None:
    """The messages of a session that has any to write."""
    try:
        return session.conversation().messages or None
    except Refused:
        return None


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.relative_to(DATA).as_posix())
def test_the_portable_form_says_what_the_session_says_in_one_line(path: Path, tmp_path: Path) -> None:
    with Session.open(path) as session:
        expected = conversation(session)
        if expected is None:
            return
        found = linearise(session)
    assert found.conversation().messages == expected
    written = tmp_path / "s.jsonl"
    written.write_bytes(b"".join(found.file.read_raw(item) for item in found.file.items))
    rows = main_rows(written)
    assert rows[0]["parentUuid"] is None
    assert all(row["parentUuid"] == above["uuid"] for above, row in pairwise(rows))
    assert all(row["timestamp"] > above["timestamp"] for above, row in pairwise(rows))
    assert all(isinstance(row["message"]["content"], list) for row in rows if row["type"] == "assistant")
    assert {row["type"] for row in rows} <= {"user", "assistant", "system"}
    answers = [row["message"]["id"] for row in rows if row["type"] == "assistant"]
    assert len(set(answers)) == len(answers) or path.stem == "last-row-tool-use-without-result"
    assert bodies(found)[-1]["leafUuid"] == rows[-1]["uuid"]


@pytest.mark.corpus
def test_the_portable_form_of_any_real_session_says_what_it_says(corpus: Path) -> None:
    count = 0
    for path in sorted(corpus.glob("wild/**/*.jsonl")):
        if path.stat().st_size > 4_000_000:
            continue
        with Session.open(path) as session:
            if (expected := conversation(session)) is not None:
                found = linearise(session).conversation().messages
                assert difference(digests(expected), digests(found)) is None, path
                count += 1
    assert count > 100


def test_parallel_calls_become_one_answer_with_its_results_directly_behind() -> None:
    build = Build()
    build.prompt("one")
    build.answer("text", uuid="a", id="m")
    build.answer(use("c1"), uuid="b", id="m")
    build.result("c1", sourceToolAssistantUUID="b")
    build.answer(use("c2"), uuid="c", id="m")
    build.result("c2", parent="c", sourceToolAssistantUUID="c")
    found = linearise(build.session())
    rows = bodies(found)
    assert [row["type"] for row in rows] == ["user", "assistant", "user", "user", "last-prompt"]
    assert [block["type"] for block in rows[1]["message"]["content"]] == ["text", "tool_use", "tool_use"]
    assert {row["sourceToolAssistantUUID"] for row in rows[2:4]} == {"a"}
    assert describe_resumed(found) == describe_resumed(build.session())


@pytest.mark.parametrize("name", [name for name in block_cases() if name.startswith(("thought", "served"))])
def test_thinking_between_calls_and_the_server_s_own_tools_are_written_as_they_are_sent(name: str) -> None:
    session = Session.from_bytes(block_cases()[name])
    assert linearise(session).conversation().messages == session.conversation().messages


def test_what_a_compaction_preserved_is_written_out_behind_its_summary() -> None:
    build = Build()
    build.prompt("kept", "u1")
    build.answer("KEPT", uuid="a1")
    build.boundary("b", preservedMessages={"anchorUuid": "s", "uuids": ["u1", "a1"]})
    build.summary("SUM", "s")
    build.prompt("two")
    build.answer("TWO")
    found = linearise(build.session())
    assert describe_resumed(found) == ["U SUM + kept", "A KEPT", "U two", "A TWO"]
    boundary = bodies(found)[0]
    assert (boundary["uuid"], boundary["logicalParentUuid"]) == ("b", None)
    assert boundary["compactMetadata"] == {"trigger": "auto", "preTokens": 1000}


def test_queued_prompts_and_local_commands_become_plain_user_entries() -> None:
    build = Build()
    build.prompt("one")
    build.call("c1")
    build.result("c1")
    build.attachment("queued_command", prompt="and this")
    build.answer("ONE")
    build.system("local_command", content="<local-command-stdout>out</local-command-stdout>")
    build.attachment("file", content="x")
    build.answer("TWO")
    rows = bodies(linearise(build.session()))
    assert [row["type"] for row in rows] == "user assistant user user assistant user assistant last-prompt".split()
    queued, command = rows[3], rows[5]
    assert queued["message"]["content"] == [{"type": "text", "text": "and this"}]
    assert "attachment" not in queued
    assert command["message"]["role"] == "user"
    assert not {"subtype", "content"} & command.keys()


def test_progress_side_chains_other_branches_and_reminders_go() -> None:
    build = Build()
    build.prompt("one", "u1")
    build.progress()
    build.attachment("file", content="x")
    build.answer("ONE", uuid="a1")
    build.prompt("other", parent="a1")
    build.prompt("side", parent=None, isSidechain=True)
    build.prompt("two", parent="a1")
    build.answer("TWO")
    found = linearise(build.session())
    assert describe_resumed(found) == ["U one", "A ONE", "U two", "A TWO"]
    assert len(found.file.entries) == 5


def test_of_metadata_the_last_of_each_kind_stays_and_snapshots_of_what_stays() -> None:
    build = Build()
    build.note("custom-title", customTitle="Old")
    build.prompt("one", "u1")
    build.note("file-history-snapshot", messageId="u1", snapshot={})
    build.note("file-history-snapshot", messageId="gone", snapshot={})
    build.note("custom-title", customTitle="New")
    build.note("queue-operation", operation="enqueue")
    build.note("last-prompt", leafUuid="u1")
    build.answer("ONE")
    rows = bodies(linearise(build.session()))
    assert [row["type"] for row in rows[2:]] == ["file-history-snapshot", "custom-title", "last-prompt"]
    assert rows[3]["customTitle"] == "New"


def test_times_only_ever_grow_and_missing_ones_are_made_up() -> None:
    build = Build()
    build.prompt("one", timestamp=stamp(50))
    build.answer("ONE", timestamp=stamp(10))
    build.prompt("two", timestamp="never")
    build.answer("TWO", timestamp=stamp(90))
    times = [row["timestamp"] for row in bodies(linearise(build.session()))[:4]]
    assert times == [stamp(50), stamp(50.001), stamp(50.002), stamp(90)]


def test_answers_without_an_id_get_one_each() -> None:
    build = Build()
    for number in range(3):
        build.prompt(f"q{number}")
        build.answer(f"a{number}", id=None)
    ids = [row["message"]["id"] for row in bodies(linearise(build.session())) if row["type"] == "assistant"]
    assert len(set(ids)) == 3


def test_an_unanswered_call_at_the_end_stands_alone_so_that_the_text_before_it_survives() -> None:
    build = Build()
    build.prompt("one")
    build.answer("text", use("c1"), uuid="a")
    rows = bodies(linearise(build.session()))
    assert [block["type"] for row in rows[1:3] for block in row["message"]["content"]] == ["text", "tool_use"]
    assert rows[1]["uuid"] == "a"
    assert rows[2]["uuid"] != "a"
    assert describe_linear(build) == ["U one", "A text + call c1"]


def test_a_call_whose_result_is_not_directly_behind_it_goes_and_its_text_stays() -> None:
    build = Build()
    build.prompt("one")
    build.answer("text", use("c1"))
    build.call("c2")
    build.result("c2")
    build.result("c1")
    build.answer("ONE")
    assert describe_linear(build) == ["U one", "A text", "A call c2", "U result c2", "A ONE"]


def test_results_that_answer_nothing_go_and_results_come_before_texts() -> None:
    build = Build()
    build.prompt("one")
    build.call("c1")
    build.prompt("typed meanwhile")
    build.prompt([outcome("c1"), outcome("c1", "again"), outcome("c9")])
    build.answer("ONE")
    rows = bodies(linearise(build.session()))
    assert rows[2]["message"]["content"] == [outcome("c1")]
    assert rows[3]["message"]["content"] == "typed meanwhile"


def test_a_message_that_nothing_changes_keeps_its_bytes() -> None:
    build = Build()
    build.prompt("one")
    build.answer("ONE")
    raw = build.data().replace(b'"text":"ONE"', b'"text" : "\\u004fNE"')
    session = Session.from_bytes(raw)
    assert b'"text" : "\\u004fNE"' in b"".join(
        linearise_draft(session, Draft.from_transcript(session.file)).iterate_lines()
    )


def test_earlier_edits_of_the_draft_count() -> None:
    build = Build()
    build.prompt("one")
    build.answer("ONE")
    build.prompt("two")
    build.answer("TWO")
    session = build.session()
    draft = (
        Draft.from_transcript(session.file)
        .with_changes({0: {"message": {"role": "user", "content": "other"}}})
        .without_rows({3})
    )
    assert describe_resumed(Session(linearise_draft(session, draft).to_transcript())) == ["U other", "A ONE", "U two"]


def test_entries_that_an_edit_made_up_are_written_like_others() -> None:
    build = Build()
    build.prompt("one")
    last = build.answer("ONE")
    session = build.session()
    made_up = {**build.lines[0], "uuid": "new", "parentUuid": last, "message": {"role": "user", "content": "two"}}
    draft = linearise_draft(session, Draft.from_transcript(session.file).with_added_lines(made_up))
    assert describe_resumed(Session(draft.to_transcript())) == ["U one", "A ONE", "U two"]


def test_another_leaf_may_be_written() -> None:
    build = Build()
    build.prompt("one")
    build.answer("ONE", uuid="a1")
    build.prompt("two")
    assert describe_linear(build, "a1") == ["U one", "A ONE"]


def test_a_session_in_which_nothing_is_said_has_no_portable_form() -> None:
    build = Build()
    build.prompt("  ")
    session = build.session()
    with pytest.raises(Refused, match="contains nothing to send"):
        linearise_draft(session, Draft.from_transcript(session.file))
