"""The graph: how entries hang together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build, base, encode_lines, genuine, open_variant, outcome, use
from turnlog.entries.entry import MISSING_PARENT, NO_PARENT, Entry
from turnlog.session.graph import Graph
from turnlog.session.session import Session


def names(rows: list[Entry]) -> list[str | None]:
    return [row.uuid for row in rows]


def graph(build: Build) -> Graph:
    return build.session().graph


def test_a_straight_session_has_one_root_one_leaf_and_no_branch() -> None:
    found = graph(base())
    assert names(found.roots) == ["u1"]
    assert names(found.leaves) == ["a3"]
    assert found.branches == []
    assert (found.rows_missing_parent, found.duplicates, found.cycles, found.compactions) == ([], [], [], [])


def test_the_walk_upwards_goes_from_a_row_to_its_root() -> None:
    assert names(list(graph(base()).walk_up("a2"))) == ["a2", "u2", "a1", "u1"]
    assert list(graph(base()).walk_up("nobody")) == []


def test_a_prompt_that_was_written_again_is_a_branch() -> None:
    build = base()
    build.prompt("again", "u3b", parent="a2")
    build.answer("other", uuid="a3b")
    found = graph(build)
    assert [(branch.fork.uuid, names(branch.starts)) for branch in found.branches] == [("a2", ["u3", "u3b"])]
    assert names(found.leaves) == ["a3", "a3b"]


def test_three_continuations_of_one_row_are_one_branch_with_three_leaves() -> None:
    build = base()
    for name in ("x", "y"):
        build.prompt(name, name, parent="a2")
    found = graph(build)
    assert len(found.branches) == 1
    assert names(found.leaves) == ["a3", "x", "y"]


def test_a_second_answer_to_one_prompt_is_a_branch() -> None:
    build = base()
    build.answer("other", uuid="other", parent="u3")
    assert [branch.fork.uuid for branch in graph(build).branches] == ["u3"]


def test_results_of_parallel_calls_are_no_branch() -> None:
    build = Build()
    build.prompt()
    build.call("c1", uuid="x1", id="m")
    build.call("c2", uuid="x2", id="m")
    build.result("c1", parent="x1")
    build.result("c2", uuid="r2", parent="x2")
    build.answer("done", uuid="end")
    found = graph(build)
    assert found.branches == []
    assert names(found.leaves) == ["end"]


def test_an_answer_that_goes_on_below_a_result_is_no_branch() -> None:
    """2.1.325 writes the next line of a message below the result of the call before."""
    build = Build()
    build.prompt()
    first = build.call("c1", id="m")
    build.result("c1")
    build.call("c2", id="m", parent=first)
    build.result("c2")
    build.answer("done", uuid="end")
    assert graph(build).branches == []
    assert names(graph(build).leaves) == ["end"]


@pytest.mark.parametrize("side", ["progress", "attachment", "system", "meta"])
def test_notes_beside_the_conversation_are_no_branches(side: str) -> None:
    build = base()
    if side == "meta":
        build.prompt("a note", parent="a2", isMeta=True)
    else:
        build.row(side, parent="a2")
    assert graph(build).branches == []
    assert len(graph(build).leaves) == 1


def test_a_progress_entry_is_never_a_leaf() -> None:
    build = base()
    build.progress()
    assert names(graph(build).leaves) == ["a3"]


def test_a_root_that_says_nothing_leads_to_no_leaf() -> None:
    build = Build()
    build.system("informational", parent=None)
    build.progress(parent=None)
    assert graph(build).leaves == []
    assert len(graph(build).roots) == 2


def test_a_parent_that_is_not_in_the_file_is_missing() -> None:
    build = base()
    build["u2"]["parentUuid"] = "gone"
    found = graph(build)
    assert names(found.rows_missing_parent) == ["u2"]
    assert names(found.roots) == ["u1"]
    assert names(found.leaves) == ["a1", "a3"]


def test_an_empty_parent_is_none_at_all() -> None:
    build = base()
    build["u2"]["parentUuid"] = ""
    assert names(graph(build).roots) == ["u1", "u2"]


def test_parents_are_known_by_place() -> None:
    build = base()
    build["u3"]["parentUuid"] = "gone"
    found = graph(build)
    assert [found.get_parent(row) for row in found.rows] == [NO_PARENT, 0, 1, 2, MISSING_PARENT, 4]
    assert list(found.list_children(0)) == [1]
    assert list(found.list_children(5)) == []


def test_a_uuid_that_two_different_entries_have_is_a_duplicate_once() -> None:
    build = base()
    build.prompt("something else", uuid="u2", parent="a1")
    assert [row.uuid for row in graph(build).duplicates] == ["u2"]


def test_history_that_is_written_again_holds_no_duplicates() -> None:
    assert not open_variant("first-rows-written-twice-same-uuids").graph.duplicates


def test_rows_that_are_their_own_ancestors_are_a_cycle_once() -> None:
    build = base()
    build["u2"]["parentUuid"] = "a3"
    found = graph(build)
    assert [sorted(map(str, names(ring))) for ring in found.cycles] == [["a2", "a3", "u2", "u3"]]
    assert len(list(found.walk_up("a3"))) == 4


def test_a_row_may_be_its_own_parent() -> None:
    build = base()
    build["u2"]["parentUuid"] = "u2"
    assert [names(ring) for ring in graph(build).cycles] == [["u2"]]


def test_a_row_below_a_ring_is_not_part_of_it() -> None:
    build = base()
    build["u1"]["parentUuid"] = "a1"
    assert [sorted(map(str, names(ring))) for ring in graph(build).cycles] == [["a1", "u1"]]


def test_children_before_their_parents_are_no_cycle() -> None:
    session = open_variant("rows-in-reverse-order")
    assert session.graph.cycles == []
    assert len(session.graph.leaves) == len(open_variant("genuine-untouched").graph.leaves)


def test_every_compaction_has_its_boundary() -> None:
    assert len(genuine("2.1.325/compact").graph.compactions) == 3


def build_compacted(times: int) -> Build:
    build = base()
    for number in range(times):
        build.boundary(f"b{number}")
        build.summary()
        build.answer(uuid=f"after-{number}")
    return build


def test_compactions_go_on_with_what_was_before_them() -> None:
    found = graph(build_compacted(3))
    assert len(found.roots) == 4
    assert names(found.leaves) == ["after-2"]
    assert len(genuine("2.1.325/compact").graph.leaves) == 1


def test_a_compaction_continues_the_branch_that_it_names() -> None:
    build = base()
    build.prompt("again", "u3b", parent="a2")
    build.answer(uuid="a3b")
    build.boundary(before="a3")
    build.answer(uuid="end")
    assert names(graph(build).leaves) == ["a3b", "end"]


@pytest.mark.parametrize("named", ["gone", 7])
def test_a_compaction_of_what_is_not_in_the_file_continues_what_was_written_before_it(named: object) -> None:
    build = build_compacted(1)
    build["b0"]["logicalParentUuid"] = named
    found = graph(build)
    assert names(found.leaves) == ["after-0"]
    assert names([row for row in [found.find_continued_row(found.compactions[0])] if row]) == ["a3"]


def test_a_compaction_with_nothing_before_it_stands_alone() -> None:
    build = Build()
    build.boundary("b", before="gone")
    build.answer(uuid="end")
    assert names(graph(build).leaves) == ["end"]


def test_a_compaction_below_another_row_is_a_row_like_others() -> None:
    build = build_compacted(1)
    build["b0"]["parentUuid"] = "a3"
    assert names(graph(build).leaves) == ["after-0"]


def test_compactions_that_continue_each_other_in_a_ring_end_somewhere() -> None:
    build = build_compacted(2)
    build["b0"]["logicalParentUuid"] = "after-1"
    build["b1"]["logicalParentUuid"] = "after-0"
    assert names(graph(build).leaves) == ["a3", "after-1"]


def test_compactions_are_followed_whatever_the_order_of_the_file() -> None:
    rows = build_compacted(2)
    found = Session.from_bytes(b"".join(reversed(rows.data().splitlines(keepends=True)))).graph
    assert len(found.leaves) == 1


def test_entries_without_a_uuid_are_outside_of_the_graph() -> None:
    build = base()
    build.note("last-prompt", leafUuid="a3")
    assert len(graph(build).rows) == 6


def test_side_chains_inside_the_file_are_not_the_conversation() -> None:
    session = genuine("1.0.128/agents")
    assert len(session.graph.roots) == 1
    assert len(session.graph.rows) < len(session.file.entries)


@pytest.mark.parametrize(
    ("run", "branches", "leaves"),
    [("2.1.325/tui_plan", 1, 2), ("2.1.325/tui_edge", 1, 2), ("2.1.325/tools", 0, 1), ("2.1.45/tui_progress", 0, 1)],
)
def test_recorded_sessions_branch_where_a_person_went_back(run: str, branches: int, leaves: int) -> None:
    found = genuine(run).graph
    assert (len(found.branches), len(found.leaves)) == (branches, leaves)


def test_the_row_written_before_another_is_known() -> None:
    found = graph(base())
    rows = {row.uuid: row for row in found.rows}
    before = found.find_previous(rows["u2"])
    assert before is not None
    assert before.uuid == "a1"
    assert found.find_previous(rows["u1"]) is None


uuids = st.sampled_from("abcdef")
links = st.lists(
    st.tuples(uuids, st.none() | uuids, st.sampled_from(["user", "assistant", "system", "progress", "attachment"])),
    max_size=10,
)


@given(links)
def test_walking_ends_on_any_graph(rows: list[tuple[str, str | None, str]]) -> None:
    blocks = [use(), outcome()]
    session = Session.from_bytes(
        encode_lines(
            [
                {"type": kind, "uuid": uuid, "parentUuid": parent, "message": {"id": "m", "content": blocks[:1]}}
                for uuid, parent, kind in rows
            ]
        )
    )
    found = session.graph
    for uuid in "abcdef":
        assert len(list(found.walk_up(uuid))) <= len(rows)
    for row in found.rows:
        below = list(found.list_descendants(row.index))
        assert len(below) == len(set(below)) <= len(rows)
    assert len(found.leaves) <= len(rows)
    assert len(found.roots) + len(found.rows_missing_parent) <= len(rows)
    in_rings = [row.index for ring in found.cycles for row in ring]
    assert len(in_rings) == len(set(in_rings))
    for branch in found.branches:
        assert len(branch.starts) > 1
