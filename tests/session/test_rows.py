"""The rows that the newest client keeps of a file: rules 1 to 9, 14 and 15 of docs/format.md.

The sessions are those that were played to the real client; what it sent is what is expected here.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.build import BASE, Build, base, describe_resumed, open_variant, stamp
from turnlog.entries.reader import Transcript
from turnlog.session.resume.rows import LARGE_FILE_BYTES, ResumeRows
from turnlog.session.session import Session


def without_line(name: str) -> list[str]:
    """What is left of a session when the client can't read the line of one row."""
    build = base()
    lines = build.data().splitlines(keepends=True)
    at = build.lines.index(build[name])
    lines[at] = b"{not JSON}\n"
    return describe_resumed(Session.from_bytes(b"".join(lines)))


@pytest.mark.parametrize(
    "name",
    ["blank-lines-between-rows", "crlf-line-ends", "utf-8-bom-first", "garbage-line-in-the-middle",
     "last-line-cut-in-half", "keys-re-ordered-spaces-in-json", "unknown-entry-types-and-extra-fields"],
)  # fmt: skip
def test_rule_1_other_lines_do_no_harm(name: str) -> None:
    whole = describe_resumed(open_variant("genuine-untouched"))
    found = describe_resumed(open_variant(name))
    assert found == whole[: len(found)]
    assert len(found) >= len(whole) - 1


def test_rule_1_a_row_that_can_not_be_read_is_a_missing_parent() -> None:
    assert without_line("u2") == BASE[3:]


def test_rule_1_of_several_objects_on_a_line_only_the_first_is_read() -> None:
    lines = base().data().splitlines()
    lines[2:4] = [lines[2] + lines[3]]
    assert describe_resumed(Session.from_bytes(b"\n".join(lines))) == ["U u3 text", "A a3 text"]


@pytest.mark.parametrize("kind", ["system", "attachment"])
def test_rule_2_system_and_attachment_rows_are_links(kind: str) -> None:
    build = base()
    build.row(kind, "link", parent="a2")
    build["u3"]["parentUuid"] = "link"
    assert build.describe_resumed() == BASE


@pytest.mark.parametrize("kind", ["wombat", "summary", "queue-operation", None, 5, "User"])
def test_rule_2_rows_of_other_types_are_no_links(kind: Any) -> None:
    build = base()
    build["a2"]["type"] = kind
    assert build.describe_resumed() == ["U u3 text", "A a3 text"]


def test_rule_2_side_chain_rows_in_the_chain_are_sent() -> None:
    build = base()
    build["u2"]["isSidechain"] = build["a2"]["isSidechain"] = True
    assert build.describe_resumed() == BASE


def test_rule_3_of_a_uuid_that_is_written_twice_the_place_of_the_first_and_the_content_of_the_last_count() -> None:
    build = base()
    build.lines.append({**build["u2"], "message": {"content": "u2 again"}})
    assert build.describe_resumed() == [*BASE[:2], "U u2 again", *BASE[3:]]


def test_rule_3_rows_without_a_uuid_share_one_place() -> None:
    build = Build()
    for number in (1, 2, 3):
        build.prompt(f"u{number}", parent=None)
        del build.lines[-1]["uuid"]
    assert build.describe_resumed() == ["U u3"]


def test_rule_3_an_absent_parent_is_none() -> None:
    build = base()
    del build["u2"]["parentUuid"]
    assert build.describe_resumed() == BASE[2:]


def test_rule_5_progress_rows_are_looked_through() -> None:
    build = base()
    build.progress("p1", parent="a2")
    build.progress("p2", parent="p1")
    build["u3"]["parentUuid"] = "p2"
    assert build.describe_resumed() == BASE


def test_rule_5_progress_rows_in_a_ring_lead_nowhere() -> None:
    build = base()
    build.progress("p1", parent="p2")
    build.progress("p2", parent="p1")
    build["u3"]["parentUuid"] = "p2"
    assert build.describe_resumed() == BASE[4:]


# -- compaction


def build_compacted(parent: str | None = None, **metadata: Any) -> Build:
    build = base()
    build.boundary("b", **metadata)
    build["b"]["parentUuid"] = parent
    build.summary("SUM", "s")
    build.answer("after", uuid="after")
    return build


@pytest.mark.parametrize("parent", [None, "a3"])
def test_rule_6_the_walk_ends_at_a_compaction(parent: str | None) -> None:
    assert build_compacted(parent).describe_resumed() == ["U SUM", "A after"]


def test_rule_6_only_the_last_compaction_matters() -> None:
    build = build_compacted(preservedMessages={"anchorUuid": "s", "uuids": ["u3", "a3"]})
    build.boundary("b2")
    build.summary("SUM 2")
    assert build.describe_resumed() == ["U SUM 2"]


PRESERVED = ["U SUM + u3 text", "A a3 text", "A after"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedMessages": {"anchorUuid": "s", "uuids": ["u3", "a3"]}},
        {"preservedSegment": {"anchorUuid": "s", "headUuid": "u3", "tailUuid": "a3"}},
    ],
)
def test_rules_7_and_8_preserved_rows_stand_between_the_summary_and_the_rest(metadata: dict[str, Any]) -> None:
    build = build_compacted(**metadata)
    assert [row.uuid for row in build.session().build_thread().rows] == ["s", "u3", "a3", "after"]
    assert build.describe_resumed() == PRESERVED


def test_rule_7_the_order_of_the_list_counts() -> None:
    build = build_compacted(preservedMessages={"anchorUuid": "s", "uuids": ["a1", "u1"]})
    assert [row.uuid for row in build.session().build_thread().rows] == ["s", "a1", "u1", "after"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"preservedMessages": {"anchorUuid": "s", "uuids": ["u3", "gone"]}},
        {"preservedMessages": {"anchorUuid": "s", "uuids": []}},
        {"preservedSegment": {"anchorUuid": "s", "headUuid": "gone", "tailUuid": "a3"}},
        {"preservedSegment": {"anchorUuid": "s", "headUuid": 5, "tailUuid": 5}},
        {"preservedMessages": "odd", "preservedSegment": []},
    ],
)
def test_rule_7_if_one_of_them_is_missing_nothing_is_preserved(metadata: dict[str, Any]) -> None:
    assert build_compacted(**metadata).describe_resumed() == ["U SUM", "A after"]


def test_rule_8_a_row_whose_parent_was_dropped_follows_the_last_preserved_one() -> None:
    build = build_compacted(preservedMessages={"anchorUuid": "s", "uuids": ["a2"]})
    build.prompt("late", "late", parent="u1")
    assert [row.uuid for row in build.session().build_thread("late").rows] == ["s", "a2", "late"]


def test_rule_8_with_the_boundary_as_anchor_preserved_rows_come_first() -> None:
    build = build_compacted(preservedMessages={"anchorUuid": "b", "uuids": ["u3", "a3"]})
    assert [row.uuid for row in build.session().build_thread().rows] == ["u3", "a3", "s", "after"]


def test_rule_8_a_missing_parent_is_not_repaired_by_a_row_that_was_dropped() -> None:
    build = base(step=1)
    build["a3"]["parentUuid"] = "gone"
    build.boundary("b", preservedSegment={"anchorUuid": "s", "headUuid": "u3", "tailUuid": "a3"})
    build.summary("SUM", "s")
    build.answer("after", uuid="after")
    rows = ResumeRows(Transcript.from_bytes(build.data()))
    assert [row.uuid for row in rows.build_chain("after")] == ["s", "u3", "a3", "after"]


def test_rule_9_a_prompt_that_hangs_on_an_old_row_brings_the_old_conversation_back() -> None:
    build = build_compacted()
    build.prompt("back", parent="a3")
    assert build.describe_resumed() == [*BASE, "U back"]


def test_rule_9_of_a_large_file_nothing_before_the_compaction_is_read() -> None:
    build = build_compacted()
    build.note("filler", text="x" * LARGE_FILE_BYTES)
    build.prompt("back", parent="a3")
    assert build.describe_resumed() == ["U back"]


def test_rule_9_a_large_file_keeps_what_was_preserved() -> None:
    build = build_compacted(preservedMessages={"anchorUuid": "s", "uuids": ["u3", "a3"]})
    build.note("filler", text="x" * LARGE_FILE_BYTES)
    assert build.describe_resumed() == PRESERVED


def test_odd_metadata_of_a_compaction_is_none() -> None:
    build = build_compacted()
    build["b"]["compactMetadata"] = "odd"
    assert build.describe_resumed() == ["U SUM", "A after"]


# -- walk


def test_rule_14_a_cycle_ends_the_walk_at_the_first_repeated_row() -> None:
    build = base()
    build["u1"]["parentUuid"] = "a2"
    assert build.describe_resumed() == BASE
    assert describe_resumed(open_variant("parent-cycle"))


def build_lost_parent(seconds: float, name: str = "u2") -> Build:
    """A session in which a row lost its parent and is so much younger than the row before."""
    build = base()
    before = build.lines[build.lines.index(build[name]) - 1]
    build[name]["parentUuid"] = "gone"
    at = 60 * (build.lines.index(before) + 1)
    build[name]["timestamp"] = stamp(at + seconds)
    return build


@pytest.mark.parametrize(("seconds", "repaired"), [(0, True), (2, True), (5, True), (5.001, False), (-1, False)])
def test_rule_15_a_missing_parent_is_the_newest_row_of_the_last_five_seconds(seconds: float, repaired: bool) -> None:
    assert build_lost_parent(seconds).describe_resumed() == (BASE if repaired else BASE[2:])


@pytest.mark.parametrize("time", [1767261722000, "2026-01-01T12:02:02+02:00", "Thu, 01 Jan 2026 10:02:02 GMT"])
def test_rule_15_the_time_may_be_written_in_any_form(time: Any) -> None:
    build = build_lost_parent(2)
    build["u2"]["timestamp"] = time
    assert build.describe_resumed() == BASE


@pytest.mark.parametrize("time", ["yesterday", None])
def test_rule_15_without_a_time_nothing_is_repaired(time: Any) -> None:
    build = build_lost_parent(2)
    build["u2"]["timestamp"] = time
    assert build.describe_resumed() == BASE[2:]


def test_rule_15_of_equal_times_the_first_in_the_file_is_taken() -> None:
    build = build_lost_parent(2)
    build.row("system", "twin", parent=None)
    build["twin"]["timestamp"] = build["a1"]["timestamp"]
    assert build.describe_resumed("a3") == BASE


def test_rule_15_any_row_will_do_but_progress_and_side_chains() -> None:
    build = build_lost_parent(3)
    build.row("attachment", "near", parent="a1")
    build["near"]["timestamp"] = stamp(121)
    build.progress("nearer", parent=None)
    build["nearer"]["timestamp"] = stamp(122)
    build.prompt("side", "side", parent=None, isSidechain=True)
    build["side"]["timestamp"] = stamp(122.5)
    assert [row.uuid for row in build.session().build_thread("a3").rows][:4] == ["u1", "a1", "near", "u2"]


def test_rule_15_a_row_is_never_attached_to_one_below_itself() -> None:
    build = base(step=1)
    build["u1"]["parentUuid"] = "gone"
    build["u1"]["timestamp"] = stamp(9)
    assert build.describe_resumed() == BASE


def test_rule_15_a_row_at_the_top_without_parent_is_never_repaired() -> None:
    build = build_lost_parent(2)
    build["u2"]["parentUuid"] = None
    assert build.describe_resumed() == BASE[2:]
