"""Where the newest client goes on: rules 4 and 11 to 13 of docs/format.md."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import BASE, Build, base, describe_resumed, open_variant, stamp
from turnlog.errors import NotFound, Refused
from turnlog.session.session import Session


def build_branch() -> Build:
    """A session with a second branch below a1, which ends the file."""
    build = base()
    build.prompt("b2 text", "b2", parent="a1")
    build.answer("b2 answer", uuid="b2a")
    return build


BRANCH = [*BASE[:2], "U b2 text", "A b2 answer"]


def is_refused(build: Build) -> bool:
    try:
        build.describe_resumed()
    except Refused as reason:
        return "the client finds no conversation" in str(reason)
    return False


# -- rule 4


@pytest.mark.parametrize(
    "name", ["empty-file", "only-metadata-rows", "all-rows-issidechain-true", "minimum-without-timestamp",
             "minimum-without-message"],
)  # fmt: skip
def test_rule_4_recorded_files_that_the_client_refused_are_refused(name: str) -> None:
    with pytest.raises(Refused):
        describe_resumed(open_variant(name))


def test_rule_4_an_empty_session_is_no_conversation() -> None:
    assert is_refused(Build())


def test_rule_4_a_session_of_local_commands_is_one() -> None:
    build = Build()
    build.system("local_command", content="/cost")
    assert build.describe_resumed() == ["U /cost"]
    build = Build()
    build.system("informational")
    build.attachment("date")
    assert build.describe_resumed() == []


def test_rule_4_a_side_chain_is_no_conversation() -> None:
    build = base()
    for line in build.lines:
        line["isSidechain"] = True
    assert is_refused(build)


@pytest.mark.parametrize("time", [None, "yesterday", "", "2026-01-01T25:00:00Z", 1767261900000, "20260101T100600Z"])
def test_rule_4_the_last_prompt_or_answer_needs_a_valid_time(time: Any) -> None:
    build = base()
    build["a3"]["timestamp"] = time
    assert is_refused(build)


def test_rule_4_the_time_of_the_last_prompt_or_answer_is_enough() -> None:
    build = base()
    for name in ("u1", "a1", "u2", "a2", "u3"):
        del build[name]["timestamp"]
    assert build.describe_resumed() == BASE


def test_rule_4_a_system_row_at_the_end_needs_no_time_and_gives_none() -> None:
    build = base()
    build.system("informational")
    del build.lines[-1]["timestamp"]
    assert build.describe_resumed() == BASE
    build.lines[-1]["timestamp"] = build["a3"].pop("timestamp")
    assert is_refused(build)


@pytest.mark.parametrize("message", [None, "lost", {}, {"content": None}, {"content": 5}, {"content": ""}])
def test_rule_4_an_answer_without_content_needs_no_time(message: Any) -> None:
    build = base()
    build["a3"]["message"] = message
    del build["a3"]["timestamp"]
    assert build.describe_resumed() == BASE[:5]


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": ""}]])
def test_rule_4_an_answer_without_words_needs_one(content: Any) -> None:
    build = base()
    build["a3"]["message"]["content"] = content
    del build["a3"]["timestamp"]
    assert is_refused(build)


def test_rule_4_an_empty_prompt_needs_a_time() -> None:
    build = base()
    build.prompt("")
    del build.lines[-1]["timestamp"]
    assert is_refused(build)


def test_rule_4_a_last_prompt_that_names_a_side_chain_row_is_refused() -> None:
    build = base()
    build.prompt("side", "side", parent=None, isSidechain=True)
    build.note("last-prompt", leafUuid="side")
    assert is_refused(build)


def test_rule_4_roles_ids_and_versions_do_not_matter() -> None:
    build = base()
    for line in build.lines:
        for key in ("sessionId", "version", "cwd"):
            del line[key]
        del line["message"]["role"]
    assert build.describe_resumed() == BASE


# -- rule 11


def test_rule_11_the_last_prompt_names_the_leaf() -> None:
    build = build_branch()
    assert build.describe_resumed() == BRANCH
    build.note("last-prompt", leafUuid="a3")
    assert build.describe_resumed() == BASE


def test_rule_11_the_leaf_moves_to_later_rows_below_it() -> None:
    build = build_branch()
    build.note("last-prompt", leafUuid="a2")
    assert build.describe_resumed() == BASE


def test_rule_11_the_place_of_the_last_prompt_does_not_matter() -> None:
    build = build_branch()
    build.note("last-prompt", leafUuid="a3")
    build.lines.insert(0, build.lines.pop())
    assert build.describe_resumed() == BASE


def test_rule_11_descendants_of_other_rows_of_the_same_answer_count_too() -> None:
    build = base()
    build.answer("more", uuid="a3b", id="m3", parent="u3")
    build.prompt("u4 text", parent="a3b")
    build.prompt("other", parent="a1")
    build.note("last-prompt", leafUuid="a3")
    assert build.describe_resumed()[-1] == "U u4 text"


@pytest.mark.parametrize("kind", ["system", "attachment"])
def test_rule_11_the_leaf_may_be_a_system_or_attachment_row(kind: str) -> None:
    build = base()
    build.row(kind, "dead-end", parent="a2")
    build.prompt("u4 text", parent="a3")
    build.note("last-prompt", leafUuid="dead-end")
    assert build.describe_resumed() == BASE[:4]


@pytest.mark.parametrize("leaf", ["gone", 5, "00000000-0000-0000-0000-000000000000", "A3"])
def test_rule_11_if_the_named_row_does_not_exist_no_earlier_one_is_tried(leaf: Any) -> None:
    build = build_branch()
    build.note("last-prompt", leafUuid="a3")
    build.note("last-prompt", leafUuid=leaf)
    assert build.describe_resumed() == BRANCH


@pytest.mark.parametrize("fields", [{}, {"leafUuid": None}, {"leafUuid": ""}])
def test_rule_11_a_last_prompt_without_a_leaf_is_passed_over(fields: dict[str, Any]) -> None:
    build = build_branch()
    build.note("last-prompt", leafUuid="a3")
    build.note("last-prompt", **fields)
    assert build.describe_resumed() == BASE


def test_rule_11_a_progress_row_is_no_leaf() -> None:
    build = build_branch()
    build.progress("p", parent="a2")
    build.note("last-prompt", leafUuid="p")
    assert build.describe_resumed() == BRANCH


def test_rule_11_a_side_chain_below_the_leaf_is_not_moved_to() -> None:
    build = base()
    build.prompt("side", parent="a3", isSidechain=True)
    build.note("last-prompt", leafUuid="a3")
    assert build.describe_resumed() == BASE


def test_rule_11_a_leaf_before_a_compaction_only_moves_to_rows_behind_it() -> None:
    build = base()
    build.boundary()
    build.summary("SUM")
    build.note("last-prompt", leafUuid="a2")
    assert build.describe_resumed() == BASE[:4]
    build.prompt("back", parent="a3")
    assert build.describe_resumed() == [*BASE, "U back"]


def test_rule_11_a_leaf_at_a_compaction_moves_to_what_follows() -> None:
    build = base()
    build.boundary("b")
    build.summary("SUM")
    build.answer("after")
    build.note("last-prompt", leafUuid="b")
    assert build.describe_resumed() == ["U SUM", "A after"]


def test_rule_11_a_row_that_no_prompt_leads_to_is_no_leaf() -> None:
    build = base()
    build.boundary()
    build.attachment("date", uuid="date")
    build.note("last-prompt", leafUuid="date")
    assert build.describe_resumed() == BASE


def test_rule_11_a_last_prompt_that_the_client_can_not_read_does_not_count() -> None:
    build = build_branch()
    build.note("filler")
    build.note("last-prompt", leafUuid="a3")
    *lines, filler, prompt = build.data().splitlines()
    assert describe_resumed(Session.from_bytes(b"\n".join([*lines, filler + prompt]))) == BRANCH


# -- rules 12 and 13


def test_rule_12_without_a_last_prompt_the_last_row_of_a_conversation_is_the_leaf() -> None:
    build = build_branch()
    build.system("informational", parent="a3")
    assert build.describe_resumed() == BASE


def test_rule_12_rows_that_no_prompt_leads_to_are_passed_over() -> None:
    build = base()
    build.system("informational", parent=None)
    build.progress(parent="a1")
    assert build.describe_resumed() == BASE


def test_rule_12_if_the_last_row_has_children_the_newest_row_without_any_is_taken() -> None:
    build = build_branch()
    build.lines.append(build.lines.pop(0))
    assert build.describe_resumed() == BRANCH
    build["a3"]["timestamp"] = stamp(9999)
    assert build.describe_resumed() == BASE


def test_rule_12_on_a_ring_the_last_row_is_taken() -> None:
    build = base()
    build["u1"]["parentUuid"] = "a3"
    assert build.describe_resumed() == BASE


def test_rule_12_a_last_row_in_a_side_chain_is_passed_over() -> None:
    build = base()
    build["a3"]["isSidechain"] = True
    assert build.describe_resumed() == BASE[:5]


def test_rule_13_a_branch_later_in_the_file_wins_over_a_newer_one() -> None:
    build = build_branch()
    build["b2a"]["timestamp"] = stamp(-9999)
    assert build.describe_resumed() == BRANCH


# -- any leaf


def test_any_row_may_be_asked_for() -> None:
    assert build_branch().describe_resumed("a2") == BASE[:4]
    assert build_branch().describe_resumed("b2") == [*BASE[:2], "U b2 text"]


@pytest.mark.parametrize("leaf", ["gone", "p"])
def test_a_leaf_that_is_none_is_not_found(leaf: str) -> None:
    build = base()
    build.progress("p")
    with pytest.raises(NotFound):
        build.describe_resumed(leaf)
