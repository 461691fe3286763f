"""Taking a session up again: what is read, what is completed, and where it goes on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.talk import (
    MODEL,
    STORIES,
    Line,
    Story,
    answer,
    build_thinking,
    cut_off,
    plain,
    rows,
    text,
    write_story,
)
from tests.interop.digest import difference, digests
from tests.interop.recordings import DATA, load
from tests.session.build import Build, encode_lines
from turnlog.agent.conversation import AgentConversation, Object
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.resume.choices import find_latest_session, list_resumable_sessions
from turnlog.agent.resume.resume import continue_in_fork, continue_in_place, load_resumable_session
from turnlog.agent.resume.tool_state import SeenFile
from turnlog.agent.tools.call_result import CallResult
from turnlog.entries.slug import make_slug
from turnlog.errors import Busy, NotFound, Refused
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.resume.additions import INTERRUPTED_RESULT_TEXT

NAME = "11111111-2222-4333-8444-555555555555"
NEXT = {"role": "user", "content": [text("NEXT")]}
FILES = [
    *sorted(DATA.glob("sessions/*/*/projects/*/????????-*.jsonl")),
    *(path for path in sorted(DATA.glob("variants/*.jsonl")) if path.stem != "minimum-without-uuid"),
]


def at_home(folder: Path, source: Path | bytes) -> Path:
    """A session in a config folder of its own."""
    path = folder / "projects" / "-x" / f"{NAME}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(source if isinstance(source, bytes) else source.read_bytes())
    return path


def write_build(folder: Path, build: Build) -> Path:
    return at_home(folder, encode_lines(build.lines))


def words(messages: list[Line]) -> list[tuple[str, str]]:
    """Who says what, in few words."""
    return [
        (
            message["role"],
            " ".join(str(block.get("text") or block.get("id") or block.get("content")) for block in message["content"]),
        )
        for message in messages
    ]


# -- what was said


def test_the_messages_of_a_session_are_what_was_said(tmp_path: Path) -> None:
    found = load_resumable_session(write_story(tmp_path, plain).path)
    assert words(found.messages) == [
        ("user", "What is here?"),
        ("assistant", "A shop."),
        ("user", "And what is in it? Say it with “care” – \U0001f34e."),
        ("assistant", "Apples. Pears."),
    ]
    assert not found.is_unanswered


def test_results_of_parallel_calls_come_together(tmp_path: Path) -> None:
    found = load_resumable_session(write_story(tmp_path, STORIES["parallel"]).path).messages
    assert [block["tool_use_id"] for block in found[2]["content"]] == ["toolu_3", "toolu_1", "toolu_2"]
    assert [block.get("id") for block in found[1]["content"]] == [None, "toolu_1", "toolu_2", "toolu_3"]


def test_after_a_compaction_the_summary_is_all_there_is(tmp_path: Path) -> None:
    found = words(load_resumable_session(write_story(tmp_path, STORIES["compaction"]).path).messages)
    assert [role for role, _ in found] == ["user", "assistant"]
    assert "They asked to go on." in found[0][1]
    assert "What is here?" not in found[0][1]


def test_a_command_for_people_alone_is_not_sent(tmp_path: Path) -> None:
    said = json.dumps(load_resumable_session(write_story(tmp_path, STORIES["commands"]).path).messages)
    assert "Set model to opus" in said
    assert "Total cost" not in said


def test_a_request_that_failed_leaves_only_what_was_asked(tmp_path: Path) -> None:
    found = load_resumable_session(write_story(tmp_path, STORIES["failure"]).path).messages
    assert words(found) == [("user", "Are you there? And now?"), ("assistant", "Yes.")]


def test_what_another_client_says_of_its_own_surroundings_is_left_out(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.lines[-1]["isMeta"] = False
    build.attachment("environment")
    build.lines[-1] |= {"rendered": [{"content": "You are on the moon"}], "renderedRole": "system"}
    build.attachment("file", filename="a.py")
    build.lines[-1] |= {"rendered": [{"content": "a.py holds x = 1"}], "renderedRole": "system"}
    build.answer("hi")
    found = load_resumable_session(write_build(tmp_path, build)).messages
    assert [message["role"] for message in found] == ["user", "assistant"]
    assert found[0]["content"][1]["text"] == "<system-reminder>\na.py holds x = 1\n</system-reminder>"
    assert "moon" not in json.dumps(found)


def test_a_call_has_the_name_under_which_the_tool_is_offered_here(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    for name in ("Task", "Agent"):
        build.call(f"c-{name}", name)
        build.result(f"c-{name}")
    build.answer("done")
    found = load_resumable_session(write_build(tmp_path, build)).messages
    names = [block["name"] for message in found for block in message["content"] if block["type"] == "tool_use"]
    assert names == ["Task", "Task"]


def test_references_to_tools_that_are_not_offered_here_are_left_out(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello")
    build.call("c1", "ToolSearch")
    build.result("c1", [{"type": "tool_reference", "tool_name": "X"}])
    build.call("c2", "ToolSearch")
    build.result("c2", [{"type": "tool_reference", "tool_name": "X"}, text("and this")])
    build.answer("done")
    found = load_resumable_session(write_build(tmp_path, build)).messages
    results = [block["content"] for message in found for block in message["content"] if block["type"] == "tool_result"]
    assert results == [[text("[Tool references removed - tools no longer available]")], [text("and this")]]


def test_thinking_is_sent_to_the_model_that_signed_it(tmp_path: Path) -> None:
    def story(record: SessionRecord) -> None:
        record.write_prompt("hello")
        record.write_answer(answer(build_thinking("A", "YQ=="), "one", model="other"))
        record.write_prompt("hello")
        record.write_answer(answer(build_thinking("B", "Yg=="), build_thinking("C", ""), "two", id="msg_2"))
        record.write_prompt("hello")
        record.write_answer(answer({"type": "redacted_thinking", "data": "Yw=="}, "three", id="msg_3", model="other"))

    path = write_story(tmp_path, story).path

    found = load_resumable_session(path)

    def list_signatures(messages: Sequence[Object]) -> list[str]:
        blocks = [block for message in messages for block in message["content"] if "thinking" in block["type"]]
        return [block.get("signature") or block["data"] for block in blocks]

    taken = AgentConversation(found.messages, thought_by=found.thought_by)
    assert list_signatures(found.messages) == ["YQ==", "Yg==", "Yw=="]
    assert list_signatures([*taken.build_messages(MODEL)]) == ["Yg=="]
    assert list_signatures([*taken.build_messages("other")]) == ["YQ==", "Yw=="]
    assert list_signatures([*taken.build_messages(f"{MODEL}[1m]")]) == ["Yg=="]
    assert [len(message["content"]) for message in taken.build_messages("a third")] == [1] * 6


@pytest.mark.parametrize("name", ["sessions", "variants"])
def test_sessions_of_real_clients_say_what_the_newest_client_sent(name: str) -> None:
    judged = [entry for entry in load(DATA / f"{name}.oracle.jsonl") if entry.outcome == "sent" and not entry.unjudged]
    assert judged
    for entry in judged:
        found = load_resumable_session(DATA / name / entry.file)
        assert difference(entry.messages, digests(found.messages)) is None, entry.file


# -- what else is to be known


def test_model_folder_mode_and_tasks_are_those_that_held_last(tmp_path: Path) -> None:
    def story(record: SessionRecord) -> None:
        record.write_prompt("hello")
        for number, status in enumerate(("pending", "completed")):
            todo = {
                "type": "tool_use",
                "id": f"t{number}",
                "name": "TodoWrite",
                "input": {"todos": [{"content": "x", "status": status}, 7]},
            }
            record.write_answer(answer(todo, id=f"msg_t{number}"))
            record.write_result(f"t{number}", CallResult("noted"))
        record.cwd = tmp_path / "src"
        record.write_permission_mode("plan")
        record.write_answer(answer("done", id="msg_9", model="claude-haiku-5"))
        record.write_synthetic_answer("No answer.")

    found = load_resumable_session(write_story(tmp_path, story).path)
    assert (found.model, found.cwd, found.mode) == ("claude-haiku-5", tmp_path / "src", "plan")
    assert found.todos == [{"content": "x", "status": "completed"}]


def test_a_session_that_says_nothing_of_these_has_none(tmp_path: Path) -> None:
    line = {
        "type": "user",
        "uuid": "a",
        "parentUuid": None,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"role": "user", "content": "hi"},
    }
    found = load_resumable_session(at_home(tmp_path, json.dumps(line).encode()))
    assert (found.model, found.cwd, found.mode, found.todos, found.files, found.slug) == (
        None,
        None,
        None,
        [],
        (),
        None,
    )


def test_the_files_that_the_model_has_seen_are_known_with_the_time(tmp_path: Path) -> None:
    def story(record: SessionRecord) -> None:
        record.write_prompt("hello")
        given: list[tuple[str, Line]] = [
            ("Read", {"file_path": "/a"}),
            ("Read", {"file_path": "/b", "offset": 3}),
            ("Write", {"file_path": "/c", "content": ""}),
            ("Edit", {"file_path": "/failed"}),
            ("Bash", {"command": "cat /d"}),
            ("Read", {"path": "/none"}),
        ]
        for number, (name, said) in enumerate(given):
            record.write_answer(
                answer({"type": "tool_use", "id": f"c{number}", "name": name, "input": said}, id=f"msg_{number}")
            )
            record.write_result(f"c{number}", CallResult("x", is_error=said.get("file_path") == "/failed"))

    path = write_story(tmp_path, story).path
    found = load_resumable_session(path).files
    assert [(file.path, file.is_whole) for file in found] == [("/a", True), ("/b", False), ("/c", True)]
    assert isinstance(found[0], SeenFile)
    assert abs(found[0].time - datetime.now(UTC)) < timedelta(minutes=1)


def test_title_and_plan_go_on_with_the_session(tmp_path: Path) -> None:
    record = SessionRecord.create_session(tmp_path, tmp_path)
    record.slug = "three-small-words"
    record.write_title("Mine")
    record.write_prompt("hello")
    record.write_turn_end(1)
    again = continue_in_place(load_resumable_session(record.path), tmp_path)
    again.write_prompt("more")
    again.write_turn_end(1)
    last = rows(record.path)
    assert last[-2]["customTitle"] == "Mine"
    assert last[-4]["slug"] == "three-small-words"


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a\nb", "x" * 9000 + "/", "-", ""])
def test_the_name_of_a_plan_that_is_more_than_words_is_left_out(tmp_path: Path, name: str) -> None:
    build = Build()
    build.prompt("hello", slug=name)
    assert load_resumable_session(write_build(tmp_path, build)).slug is None


def test_a_title_that_is_too_long_is_not_said_again_and_again(tmp_path: Path) -> None:
    record = write_story(tmp_path, plain)
    record.write_title("x" * 501)
    assert load_resumable_session(record.path).titles == ()


def test_the_permission_mode_of_a_transcript_is_told_but_not_taken_over(tmp_path: Path) -> None:
    build = Build()
    build.prompt("hello", permissionMode="bypassPermissions")
    found = load_resumable_session(write_build(tmp_path, build))
    assert found.mode == "bypassPermissions"
    assert continue_in_place(found, tmp_path).mode == "default"
    assert continue_in_fork(found, tmp_path, tmp_path).mode == "default"


def test_a_title_of_the_model_s_goes_on_too(tmp_path: Path) -> None:
    record = write_story(tmp_path, plain)
    record.path.write_bytes(
        b"".join(line for line in record.path.read_bytes().splitlines(True) if b"custom-title" not in line)
    )
    record = continue_in_place(load_resumable_session(record.path), tmp_path)
    record.write_prompt("hello")
    record.write_title("Its", by_model=True)
    assert [line["aiTitle"] for line in load_resumable_session(record.path).titles] == ["Its"]


# -- going on


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(DATA))[:60]) for path in FILES])
def test_a_session_goes_on_and_nothing_of_it_changes(path: Path, tmp_path: Path) -> None:
    here = at_home(tmp_path, path)
    before = here.read_bytes()
    try:
        found = load_resumable_session(here)
    except Refused:
        return
    for record in (continue_in_place(found, tmp_path), continue_in_fork(found, tmp_path, tmp_path)):
        record.write_prompt("NEXT")
        again = load_resumable_session(record.path)
        assert again.is_unanswered
        assert again.messages[-1] == {"role": "assistant", "content": [text(FILLER_TEXT)]}
        assert again.messages[:-1] == [*found.messages, NEXT]
    assert here.read_bytes().startswith(before)


def test_a_session_that_is_only_looked_at_stays_as_it_is(tmp_path: Path) -> None:
    record = write_story(tmp_path, cut_off)
    before = record.path.read_bytes()
    found = load_resumable_session(record.path)
    continue_in_place(found, tmp_path)
    continue_in_fork(found, tmp_path, tmp_path)
    assert record.path.read_bytes() == before
    assert len(list(record.path.parent.glob("*.jsonl"))) == 1


def test_a_turn_that_an_older_client_hung_beside_the_end_is_told_of(tmp_path: Path) -> None:
    record = write_story(tmp_path, plain)
    lines = rows(record.path)
    assert load_resumable_session(record.path).warnings == ()
    first, *_, last = (line for line in lines if line["type"] in ("user", "assistant"))
    asked = {**first, "uuid": "f86f94e2-6014-4eb6-bdf9-06f1d8b357e3", "parentUuid": last["uuid"]}
    said = {**last["message"], "id": "msg_other"}
    answered = {**last, "uuid": "9d8158c1-4033-44e4-97aa-8b2f005f796e", "parentUuid": asked["uuid"], "message": said}
    with record.path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in (asked, answered))
    (warning,) = load_resumable_session(record.path).warnings
    assert warning.startswith("2 later messages are on a branch")
    assert f"--at {answered['uuid']}`" in warning


def test_calls_that_were_cut_off_get_a_result_that_says_so(tmp_path: Path) -> None:
    record = write_story(tmp_path, cut_off)
    found = load_resumable_session(record.path)
    assert [call for call, _ in found.open_calls] == ["toolu_c2"]
    assert any("cut off" in warning for warning in found.warnings)
    continue_in_place(found, tmp_path).write_prompt("NEXT")
    *_, result, filler, _ = rows(record.path)
    assert result["message"]["content"][0] == {
        "tool_use_id": "toolu_c2",
        "type": "tool_result",
        "content": INTERRUPTED_RESULT_TEXT,
        "is_error": True,
    }
    assert result["sourceToolAssistantUUID"] == found.open_calls[0][1]
    assert filler["message"]["content"] == [text(FILLER_TEXT)]
    assert load_resumable_session(record.path).open_calls == ()


def test_a_prompt_without_an_answer_gets_one_that_is_made_up(tmp_path: Path) -> None:
    record = write_story(tmp_path, STORIES["write_unanswered_prompt"])
    continue_in_place(load_resumable_session(record.path), tmp_path).write_prompt("NEXT")
    assert words(load_resumable_session(record.path).messages)[-4:-1] == [
        ("user", "Are you still there?"),
        ("assistant", FILLER_TEXT),
        ("user", "NEXT"),
    ]


def test_what_goes_on_may_begin_with_a_command_or_a_compaction(tmp_path: Path) -> None:
    record = write_story(tmp_path, cut_off)
    continue_in_place(load_resumable_session(record.path), tmp_path).write_compaction("manual", 10, "Short.", 1)
    assert words(load_resumable_session(record.path).messages)[0][1].find("Short.") > 0
    other = write_story(tmp_path / "other", cut_off)
    continue_in_place(load_resumable_session(other.path), tmp_path).write_local_command("/model", "x", "y")
    assert INTERRUPTED_RESULT_TEXT in words(load_resumable_session(other.path).messages)[-4][1]


def test_a_torn_last_line_is_told_and_left_alone(tmp_path: Path) -> None:
    record = write_story(tmp_path, STORIES["write_unanswered_prompt"])
    record.path.write_bytes(record.path.read_bytes()[:-30])
    found = load_resumable_session(record.path)
    assert any("damaged" in warning for warning in found.warnings)
    assert words(found.messages)[-1] == ("assistant", "Apples. Pears.")
    continue_in_place(found, tmp_path).write_prompt("NEXT")
    assert words(load_resumable_session(record.path).messages)[-2] == ("user", "NEXT")


def test_times_go_on_behind_those_of_a_clock_that_was_ahead(tmp_path: Path) -> None:
    record = write_story(tmp_path, plain)
    ahead = (datetime.now(UTC) + timedelta(days=3)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lines = rows(record.path)
    lines[-4]["timestamp"] = ahead
    record.path.write_bytes(encode_lines(lines))
    continue_in_place(load_resumable_session(record.path), tmp_path).write_prompt("NEXT")
    assert rows(record.path)[-1]["timestamp"] > ahead


def test_a_session_goes_on_behind_an_earlier_line(tmp_path: Path) -> None:
    record = write_story(tmp_path, plain)
    first = next(row["uuid"] for row in rows(record.path) if row["type"] == "assistant")
    branch = continue_in_place(load_resumable_session(record.path, first), tmp_path)
    branch.write_queue_operation("enqueue", "Another")
    branch.write_prompt("Another question")
    *_, named, prompt = rows(record.path)
    assert (named["type"], named["leafUuid"], prompt["parentUuid"]) == ("last-prompt", first, first)
    assert words(load_resumable_session(record.path).messages)[:-1] == [
        ("user", "What is here?"),
        ("assistant", "A shop."),
        ("user", "Another question"),
    ]


def test_a_session_that_grew_since_it_was_read_is_not_written_to(tmp_path: Path) -> None:
    record = write_story(tmp_path, plain)
    found = load_resumable_session(record.path)
    record.write_prompt("still here")
    with pytest.raises(Busy):
        continue_in_place(found, tmp_path).write_prompt("NEXT")


def test_a_fork_keeps_the_ids_of_lines_and_has_one_of_its_own(tmp_path: Path) -> None:
    source = write_story(tmp_path, STORIES["compaction"])
    fork = continue_in_fork(load_resumable_session(source.path), tmp_path, tmp_path, NAME)
    fork.write_prompt("NEXT")
    made = rows(fork.path)
    assert {row["sessionId"] for row in made} == {NAME}
    old = {row["uuid"]: row["timestamp"] for row in rows(source.path) if "uuid" in row}
    copied = [row for row in made if row.get("uuid") in old]
    assert made[0]["subtype"] == "compact_boundary"
    assert all(row["timestamp"] == old[row["uuid"]] for row in copied)
    assert made[-1]["parentUuid"] == copied[-1]["uuid"]


def test_a_session_without_a_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        load_resumable_session(at_home(tmp_path, b'{"type":"custom-title","customTitle":"x"}\n'))
    with pytest.raises(Refused, match="no uuid"):
        load_resumable_session(DATA / "variants" / "minimum-without-uuid.jsonl")


# -- every conversation

blocks = st.builds(
    text, st.text(min_size=1).filter(str.strip).map(lambda said: said.encode("utf-8", "replace").decode())
)
commands = st.dictionaries(
    st.text(st.characters(codec="utf-8"), max_size=5), st.integers(-9, 9) | st.booleans() | st.none(), max_size=3
)
steps = st.lists(
    st.tuples(
        st.lists(blocks, min_size=1, max_size=3),
        st.booleans(),
        st.lists(st.tuples(commands, st.booleans(), blocks), max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@given(steps, st.randoms(use_true_random=False))
def test_every_conversation_that_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    talk: list[tuple[list[Line], bool, list[tuple[Line, bool, Line]]]],
    random: object,
) -> None:
    folder = tmp_path_factory.mktemp("talk")
    record, said = SessionRecord.create_session(folder, folder), []
    for number, (content, thinks, calls) in enumerate(talk):
        record.write_prompt(content)
        said.append({"role": "user", "content": content})
        uses = [
            {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": "Bash", "input": given}
            for at, (given, _, _) in enumerate(calls)
        ]
        first = [*([build_thinking("hm")] if thinks else []), *content, *uses]
        record.write_answer(answer(*first, id=f"msg_{number}"))
        said.append({"role": "assistant", "content": first})
        if calls:
            order = list(range(len(calls)))
            random.shuffle(order)  # type: ignore[attr-defined]
            for at in order:
                record.write_progress(f"toolu_{number}_{at}", {"type": "bash_progress"})
                record.write_result(f"toolu_{number}_{at}", CallResult([calls[at][2]], is_error=calls[at][1]))
            said.append({"role": "user", "content": [_result(number, at, calls[at]) for at in order]})
            record.write_answer(answer("Done.", id=f"msg_{number}_end"))
            said.append({"role": "assistant", "content": [text("Done.")]})
        record.write_turn_end(number)
    assert load_resumable_session(record.path).messages == said
    shutil.rmtree(folder)


def _result(number: int, at: int, call: tuple[Line, bool, Line]) -> Line:
    block = {"tool_use_id": f"toolu_{number}_{at}", "type": "tool_result", "content": [call[2]]}
    return {**block, "is_error": True} if call[1] else block


@pytest.mark.slow
@pytest.mark.parametrize(
    "story", [pytest.param(STORIES[name], id=name) for name in ("parallel", "compaction", "interrupt")]
)
def test_a_session_that_was_cut_at_any_byte_goes_on(story: Story, tmp_path: Path) -> None:
    data = write_story(tmp_path, story).path.read_bytes()
    here = at_home(tmp_path / "cut", data)
    first = data.index(b"\n") + 1
    ends = {at + 1 for at, byte in enumerate(data) if byte == 10}
    for size in sorted({end + more for end in ends for more in (-1, 0, 150) if first <= end + more <= len(data)}):
        here.write_bytes(data[:size])
        try:
            found = load_resumable_session(here)
        except Refused:
            assert b'"uuid"' not in data[: data.rfind(b"\n", 0, size) + 1]
            continue
        continue_in_place(found, tmp_path).write_prompt("NEXT")
        assert load_resumable_session(here).messages[:-1] == [*found.messages, NEXT]


# -- the picker


def test_the_picker_shows_the_sessions_of_a_folder_the_newest_first(tmp_path: Path) -> None:
    cwd = tmp_path / "shop"
    cwd.mkdir()
    first, second = write_story(tmp_path, plain, cwd), write_story(tmp_path, STORIES["parallel"], cwd)
    write_story(tmp_path, STORIES["errors"], tmp_path)
    os.utime(first.path, (1_700_000_000, 1_700_000_000))
    (second.path.parent / f"{NAME}.jsonl").write_bytes(b"")
    found = list_resumable_sessions([tmp_path], cwd)
    assert [(item.session_id, item.title) for item in found] == [
        (second.session_id, "Do three things"),
        (first.session_id, "The shop"),
    ]
    assert found[1].time == datetime.fromtimestamp(1_700_000_000, UTC)
    assert found[1].cwd == str(cwd)
    assert [item.session_id for item in list_resumable_sessions([tmp_path], cwd, limit=1)] == [second.session_id]
    assert len(list_resumable_sessions([tmp_path], None)) == 3
    assert find_latest_session([tmp_path], cwd) == second.path


def test_a_folder_without_sessions_has_nothing_to_continue(tmp_path: Path) -> None:
    assert list_resumable_sessions([tmp_path], tmp_path) == []
    with pytest.raises(NotFound, match="no session to continue"):
        find_latest_session([tmp_path], tmp_path)


def test_sessions_of_sub_agents_alone_are_not_in_the_picker(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / make_slug(str(tmp_path.resolve()))
    folder.mkdir(parents=True)
    build = Build()
    build.prompt("hello", isSidechain=True)
    (folder / f"{NAME}.jsonl").write_bytes(encode_lines(build.lines))
    assert list_resumable_sessions([tmp_path], tmp_path) == []
