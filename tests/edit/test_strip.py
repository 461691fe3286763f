"""What each wish takes out of a session, and what stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edit.strip_checks import EXTREME, must_be_sound, result, strip_draft
from tests.session.build import DATA, Build, describe_resumed, outcome, use
from turnlog.edit.strip import content_cut
from turnlog.edit.strip.presets import MAX_MARK_CHARS, PRESETS
from turnlog.edit.strip.strip_options import StripOptions, StripRule
from turnlog.errors import Refused
from turnlog.session.session import Session
from turnlog.session.window.pieces import build_context_pieces
from turnlog.session.window.window_fill import compute_window_fill, estimate_text_tokens

REMOVE = StripOptions(StripRule(0, None, 0))
DATA_URL = "iVBORw0KGgo" * 100
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA_URL}}


class Work(Build):
    """A session with one call in each turn."""

    def turn(self, call: str, output: Any = "o" * 50 + " x" * 1000, tool: str = "Bash", given: Any = None) -> None:
        self.prompt(f"do {call}")
        self.answer({"type": "thinking", "thinking": "t" * 100, "signature": "s"}, id=f"m{call}")
        self.call(call, tool, given or {"command": call}, id=f"m{call}")
        self.result(call, output, toolUseResult={"stdout": output, "type": "text"})
        self.answer(f"did {call}")


def work(turns: int) -> Work:
    build = Work()
    for number in range(1, turns + 1):
        build.turn(f"c{number}")
    return build


def body(session: Session, uuid: str) -> dict[str, Any]:
    return session.read_body(session.file.entries[session.file.by_uuid[uuid]])


def contents(session: Session) -> dict[str, Any]:
    """The content of each result by its call."""
    found = {}
    for row in session.entries:
        message = session.read_body(row).get("message") or {}
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        found.update({b["tool_use_id"]: b.get("content") for b in blocks if b.get("type") == "tool_result"})
    return found


# -- tools


def test_calls_of_the_last_turns_that_have_calls_stay_and_older_ones_go_with_their_results() -> None:
    build = work(4)
    build.prompt("thanks")
    build.answer("welcome")
    after = must_be_sound(build.session(), StripOptions(StripRule(2, None, 2)))
    assert [call.id for call in after.calls] == ["c3", "c4"]
    assert describe_resumed(after)[:4] == ["U do c1", "A did c1", "U do c2", "A did c2"]


def test_older_calls_are_shortened_in_input_result_and_the_clients_copy() -> None:
    build = Work()
    build.turn("c1", "line\n" * 500, "Write", {"file_path": "/" + "p" * 400, "content": "a b " * 300})
    build.turn("c2")
    after = must_be_sound(build.session(), StripOptions(StripRule(1, 100)))
    detail = after.read_detail(after.calls[0])
    assert detail.input["file_path"] == "/" + "p" * 400
    assert len(detail.input["content"]) <= 100 + MAX_MARK_CHARS
    assert detail.input["content"].startswith("a b ")
    assert "[turnlog: 1,100 characters cut]" in detail.input["content"]
    assert len(detail.result) <= 100 + MAX_MARK_CHARS
    assert len(detail.structured["stdout"]) <= 100 + MAX_MARK_CHARS
    assert detail.structured["type"] == "text"
    assert contents(after)["c2"] == contents(build.session())["c2"]


def test_array_results_are_shortened_block_by_block_and_images_in_them_go_as_a_whole() -> None:
    build = Work()
    build.turn("c1", [{"type": "text", "text": "x y " * 500}, PICTURE, {"type": "tool_reference", "name": "T"}])
    after = must_be_sound(build.session(), StripOptions(StripRule(0, 40)))
    text, picture, other = contents(after)["c1"]
    assert len(text["text"]) <= 40 + MAX_MARK_CHARS
    assert picture == {"type": "text", "text": "[turnlog: image/png, 825 bytes, was removed]"}
    assert other == {"type": "tool_reference", "name": "T"}
    assert DATA_URL[:300] not in json.dumps(body(after, build.lines[3]["uuid"]))


def test_base64_is_never_cut_in_half_wherever_it_stands() -> None:
    text = f"before data:image/png;base64,{DATA_URL} behind " + "words " * 100
    assert content_cut.cut_text(text, 300).startswith(
        "before data:image/png;base64,[turnlog: 1,100 characters of base64 cut] behind"
    )
    wrapped = "\n".join(DATA_URL[at : at + 76] for at in range(0, 1100, 76)) + "=="
    assert content_cut.cut_copy({"file": {"base64": wrapped}}, 20) == {
        "file": {"base64": "[turnlog: 1,116 characters of base64 cut]"}
    }


@given(st.lists(st.sampled_from(["A" * 59, "A" * 60, "/+9" * 90, "\n", "\r\n", "=", " ", "é", "\ud800"])).map("".join))
def test_text_is_searched_for_base64_only_where_some_can_be(text: str) -> None:
    if content_cut._BASE64_PATTERN.search(text):
        assert content_cut._may_have_base64(text)


def test_long_lists_of_lines_keep_their_head_and_tail() -> None:
    lines = [f"line {number}" for number in range(100)]
    short = content_cut.cut_copy({"lines": lines}, 60)["lines"]
    assert short == [*lines[:6], "[turnlog: 92 lines cut]", *lines[98:]]
    assert content_cut.cut_copy(short, 60) == short


def test_what_is_nested_too_deep_stays_as_it_is() -> None:
    value: Any = "x" * 1000
    for _ in range(150):
        value = [value]
    assert content_cut.cut_input(value, 10) == value


def test_calls_are_removed_by_name_and_pattern_in_every_row_of_a_message() -> None:
    build = Build()
    build.prompt("go")
    build.answer("I look", id="m")
    rows = [build.call(call, tool, id="m") for call, tool in (("c1", "Bash"), ("c2", "Read"), ("c3", "mcp__a__b"))]
    for call, row in zip(("c2", "c1", "c3"), (rows[1], rows[0], rows[2]), strict=True):
        build.result(call, parent=row)
    build.answer("done")
    wishes = StripOptions(named=(("Bash", StripRule(0, None, 0)), ("mcp__*", StripRule(0, None, 0))))
    after = must_be_sound(build.session(), wishes)
    assert describe_resumed(after) == ["U go", "A I look + call c2", "U result c2", "A done"]


def test_parallel_calls_of_a_message_without_words_are_still_found_when_the_chain_ran_through_a_removed_one() -> None:
    build = Build()
    prompt = build.prompt("go")
    first = build.call("c1", "Bash", id="m")
    second = build.call("c2", "Read", id="m")
    build.result("c2", parent=second)
    build.result("c1", parent=first)
    build.answer("done")
    after = must_be_sound(build.session(), StripOptions(named=(("Bash", StripRule(0, None, 0)),)))
    assert describe_resumed(after) == ["U go", "A call c2", "U result c2", "A done"]
    assert body(after, second)["parentUuid"] == prompt


def test_calls_in_one_row_and_results_in_one_row_lose_only_what_is_removed() -> None:
    build = Build()
    build.prompt("go")
    build.answer("both", use("c1", "Bash"), use("c2", "Read"), id="m")
    build.prompt([outcome("c1"), outcome("c2")], toolUseResult="the client's own")
    build.answer("done")
    after = must_be_sound(build.session(), StripOptions(named=(("Bash", StripRule(0, None, 0)),)))
    assert describe_resumed(after) == ["U go", "A both + call c2", "U result c2", "A done"]
    assert body(after, build.lines[2]["uuid"])["toolUseResult"] == "the client's own"


def test_a_removed_row_leaves_its_children_to_its_own_ancestor_and_branches_apart() -> None:
    build = work(1)
    fork = build.lines[0]["uuid"]
    build.prompt("another way", parent=fork)
    build.call("c2")
    build.result("c2")
    build.answer("did it otherwise")
    after = must_be_sound(build.session(), REMOVE)
    assert [row.parent_uuid for row in after.graph.rows] == [None, fork, fork, "user-5"]
    assert len(after.graph.branches) == 1


def test_protected_tools_are_never_touched() -> None:
    build = work(2)
    build.turn("c3", tool="Task")
    after = must_be_sound(build.session(), StripOptions(StripRule(0, None, 0), protected=frozenset({"Task"})))
    assert [call.id for call in after.calls] == ["c3"]


def test_a_call_without_a_result_is_never_touched_nor_is_the_thinking_before_it() -> None:
    build = work(1)
    build.prompt("more")
    build.answer({"type": "thinking", "thinking": "hm", "signature": "s"}, id="m")
    build.call("c2", given={"command": "c " * 1000}, id="m")
    after = must_be_sound(build.session(), EXTREME)
    assert describe_resumed(after)[-1] == "A thinking + call c2"
    assert after.read_detail(after.calls[0]).input == {"command": "c " * 1000}


def test_where_the_session_goes_on_stays() -> None:
    build = work(1)
    build.prompt("more")
    build.call("c2")
    end = build.result("c2", "words " * 100)
    build.note("last-prompt", leafUuid=end)
    after = must_be_sound(build.session(), EXTREME)
    assert after.find_leaf().uuid == end
    assert contents(after)["c2"] == "\n[turnlog: 600 characters cut]\n"


def test_a_result_beside_something_that_was_said_is_shortened_instead_of_removed() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1")
    build.prompt([outcome("c1", "word " * 200), {"type": "text", "text": "and be quick"}])
    build.answer("done")
    after = must_be_sound(build.session(), REMOVE)
    assert describe_resumed(after) == ["U go", "A call c1", "U result c1 + and be quick", "A done"]
    assert len(contents(after)["c1"]) < MAX_MARK_CHARS


def test_one_user_entry_stays_even_if_it_is_a_result() -> None:
    build = Build()
    build.call("c1")
    build.result("c1")
    build.answer("done")
    must_be_sound(build.session(), REMOVE)


def test_a_note_that_was_written_while_a_tool_ran_stays_in_the_conversation() -> None:
    build = Build()
    build.prompt("go")
    build.call("c1")
    row = build.result("c1")
    build.attachment("queued_command", prompt="also this")
    build.answer("done", parent=row)
    after = must_be_sound(build.session(), REMOVE)
    assert describe_resumed(after) == ["U go + also this", "A done"]


def test_a_row_whose_parent_is_missing_is_found_when_what_was_written_before_it_goes() -> None:
    build = Build(step=1)
    build.prompt("go")
    build.answer("yes", id="m")
    build.wait(60)
    build.call("c1", id="m")
    build.result("c1")
    build.prompt("and then", parent="in another file")
    after = must_be_sound(build.session(), REMOVE)
    assert describe_resumed(after) == ["U go", "A yes", "U and then"]


def test_the_named_leaf_is_named_anew_when_its_row_goes_so_that_no_other_branch_is_resumed() -> None:
    build = Build()
    build.prompt("go", "p")
    build.call("c1", id="m")
    named = build.result("c1")
    build.answer("one way", uuid="one")
    build.prompt("other way", parent="p")
    build.note("last-prompt", leafUuid=named)
    after = must_be_sound(build.session(), REMOVE)
    assert describe_resumed(after) == ["U go", "A one way"]


# -- results that are there again, or out of date


def test_results_that_come_again_and_stale_reads_become_a_placeholder_and_lose_their_copy() -> None:
    build = Work()
    build.turn("c1", given={"command": "same"})
    build.turn("c2", given={"command": "same"})
    build.turn("c3", tool="Read", given={"file_path": "/a"})
    build.turn("c4", "ok", tool="Edit", given={"file_path": "/a"})
    build.turn("c5", "ok", given={"command": "again"})
    build.turn("c6", "ok", given={"command": "again"})
    after = must_be_sound(build.session(), StripOptions(duplicates=True, stale_reads=True))
    found = contents(after)
    assert found["c1"] == "[turnlog: the same call comes later]"
    assert found["c3"] == "[turnlog: out of date, see later]"
    assert found["c5"] == "ok"
    assert found["c2"] == build.lines[8]["message"]["content"][0]["content"]
    assert ["toolUseResult" in body(after, build.lines[at]["uuid"]) for at in (3, 8, 13, 18)] == [
        False,
        True,
        False,
        True,
    ]


def test_inputs_that_became_equal_by_shortening_are_not_taken_for_the_same_call() -> None:
    build = Work()
    for number, word in enumerate("ab"):
        build.turn(f"c{number}", given={"command": f"{'x ' * 200}{word}{'y ' * 200}"})
    once = result(build.session(), StripOptions(StripRule(0, 100)))
    assert contents(result(once, StripOptions(duplicates=True))) == contents(once)


# -- thinking


def test_thinking_stays_in_the_last_turns_and_what_becomes_empty_goes() -> None:
    build = work(3)
    build.prompt("x")
    build.answer({"type": "redacted_thinking", "data": "d" * 50}, "words", {"type": "thinking", "thinking": "t"})
    after = must_be_sound(build.session(), StripOptions(thinking=2))
    kinds = [block["type"] for message in after.conversation().messages for block in message["content"]]
    assert kinds.count("thinking") == 2
    assert kinds.count("redacted_thinking") == 1
    assert len(strip_draft(build.session(), StripOptions(thinking=2)).draft.rows) == len(build.lines) - 2


def test_thinking_of_another_model_goes_too() -> None:
    build = Build()
    build.prompt("x")
    build.answer({"type": "thinking", "thinking": "t", "signature": "s"}, "old", model="another")
    build.answer("new")
    after = must_be_sound(build.session(), StripOptions(thinking=0))
    assert body(after, build.lines[1]["uuid"])["message"]["content"] == [{"type": "text", "text": "old"}]


# -- images


def test_the_newest_images_stay_and_copies_of_the_others_go_with_them() -> None:
    build = Work()
    build.prompt([{"type": "text", "text": "look"}, PICTURE])
    build.answer("seen")
    build.turn("c1", [PICTURE, PICTURE])
    build.lines[5]["toolUseResult"] = {"type": "image", "file": {"base64": DATA_URL}}
    after = must_be_sound(build.session(), StripOptions(images=1))
    assert body(after, build.lines[0]["uuid"])["message"]["content"][1]["type"] == "text"
    assert [block["type"] for block in contents(after)["c1"]] == ["text", "image"]
    copy = body(after, build.lines[5]["uuid"])["toolUseResult"]
    assert copy == {"type": "image", "file": {"base64": "[turnlog: 1,100 characters of base64 cut]"}}


# -- noise


def test_noise_goes_and_the_last_of_repeated_metadata_stays_where_it_stands() -> None:
    build = Build()
    build.note("permission-mode", permissionMode="plan")
    build.prompt("go")
    build.progress()
    build.attachment("hook_success", content="ok")
    build.attachment("hook_additional_context", content="to the model")
    build.answer("done")
    build.note("file-history-snapshot", messageId="m", snapshot={})
    build.note("api-request", id="r")
    for number in range(3):
        build.note("ai-title", aiTitle=f"title {number}")
    build.note("permission-mode", permissionMode="default")
    build.note("last-prompt", leafUuid=build.last, lastPrompt="go")
    build.note("last-prompt", lastPrompt="go")
    after = must_be_sound(build.session(), StripOptions(noise=True))
    kinds = [entry.kind or entry.type for entry in after.file.entries]
    assert kinds == [
        "user", "hook_additional_context", "assistant", "ai-title", "permission-mode", "last-prompt", "last-prompt",
    ]  # fmt: skip
    assert after.titles.best == "title 2"


def test_the_row_that_the_session_goes_on_from_stays_even_if_it_is_noise() -> None:
    build = Build()
    build.prompt("go")
    build.answer("done")
    end = build.attachment("hook_success", content="ok")
    build.note("last-prompt", leafUuid=end)
    assert must_be_sound(build.session(), StripOptions(noise=True)).find_leaf().uuid == end


# -- copies


def test_the_clients_own_copies_go_outside_of_the_last_turns_with_calls_and_results_stay() -> None:
    after = must_be_sound(work(3).session(), StripOptions(copies=1))
    assert ["toolUseResult" in after.read_body(row) for row in after.entries if row.type == "user"] == [
        False, False, False, False, False, True,
    ]  # fmt: skip
    assert contents(after) == contents(work(3).session())


# -- all of it


def test_nothing_asked_for_changes_no_byte() -> None:
    data = work(2).data()
    assert b"".join(strip_draft(Session.from_bytes(data), StripOptions()).draft.iterate_lines()) == data


def test_what_a_session_had_before_a_compaction_is_older_than_all_behind_it() -> None:
    build = work(3)
    build.boundary()
    build.summary()
    build.turn("c4")
    after = must_be_sound(build.session(), StripOptions(StripRule(2, None, 2)))
    assert [call.id for call in after.calls] == ["c3", "c4"]


def test_a_branch_keeps_the_calls_that_are_recent_in_it() -> None:
    build = work(2)
    end = build.last
    build.turn("c3")
    build.turn("c4")
    build.last = end
    build.turn("c5")
    after = must_be_sound(build.session(), StripOptions(StripRule(1, None, 1)))
    assert [call.id for call in after.calls] == ["c4", "c5"]


def test_a_session_that_would_not_be_resumed_is_stripped_all_the_same() -> None:
    build = work(2)
    for line in build.lines:
        line.pop("timestamp")
    with pytest.raises(Refused):
        build.session().conversation()
    done = strip_draft(build.session(), StripOptions(StripRule(1, None, 1)))
    assert done.report.tokens_before is None
    assert done.report.rows_after == 7


def test_entries_that_could_not_be_decoded_in_the_ordinary_way_are_left_alone() -> None:
    build = work(2)
    build.lines[2]["message"]["usage"] = "of an unexpected type"
    after = must_be_sound(build.session(), REMOVE)
    assert contents(after).keys() == {"c1"}


def test_the_report_adds_up() -> None:
    report = strip_draft(work(3).session(), REMOVE).report
    (removed,) = report.rules
    assert (removed.rule, removed.calls, removed.results, removed.copies, removed.thinking, removed.rows) == (
        "removed", 3, 3, 0, 3, 9,
    )  # fmt: skip
    relinked = 3 * (len("assistant-99") + 8)
    assert abs(report.bytes_before - report.bytes_after - removed.bytes) <= relinked
    assert report.rows_before - report.rows_after == removed.rows
    assert report.tokens_before is not None
    assert report.tokens_after is not None
    assert report.tokens_before - report.tokens_after == removed.tokens


TOLERANCE = 0.02
"""What is foretold of the tokens that stay, and what does."""


def _foretold(session: Session) -> list[tuple[str, int, int, int]]:
    found = compute_window_fill(session)
    rows = []
    for preset in PRESETS:
        done = strip_draft(session, preset.strip_options)
        left = build_context_pieces(Session(done.draft.to_transcript())).all
        real = (
            found.unseen
            + found.later
            + sum(estimate_text_tokens(piece.size, found.rate) + piece.fixed for piece in left)
        )
        assert done.report.tokens_after is not None
        rows.append((preset.name, found.estimate, done.report.tokens_after, real))
    return rows


@pytest.mark.parametrize("name", ["2.1.325/tools", "2.1.325/tui_edge", "2.1.45/tools", "2.0.76/tools", "1.0.128/tools"])
def test_what_context_foretells_is_what_stripping_leaves(name: str) -> None:
    path = next(iter(sorted(DATA.glob(f"sessions/{name}/projects/*/????????-*.jsonl"))))
    for preset, before, foretold, real in _foretold(Session.from_bytes(path.read_bytes())):
        assert abs(foretold - real) <= TOLERANCE * before + 50, preset


@pytest.mark.slow
@pytest.mark.corpus
def test_what_context_foretells_is_what_stripping_leaves_of_sessions_of_other_people(corpus: Path) -> None:
    for path in sorted(corpus.glob("wild/**/*.jsonl")):
        session = Session.from_bytes(path.read_bytes())
        try:
            rows = [] if session.file.repeated else _foretold(session)
        except Refused:
            continue
        for preset, before, foretold, real in rows:
            assert abs(foretold - real) <= TOLERANCE * before + 50, (path.name, preset)
