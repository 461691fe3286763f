"""The line of descent of an entry."""

from __future__ import annotations

from tests.session.build import Build, open_variant
from turnlog.session.lineage import find_current_leaf_uuid, find_lineage, list_turns_to


def test_an_entry_descends_from_its_parents_and_not_from_other_branches() -> None:
    build = Build()
    build.prompt("1", "u1")
    build.answer("a", uuid="a1")
    build.prompt("2", "u2")
    build.prompt("3", "u3", parent="a1")
    session = build.session()
    assert find_lineage(session, "u2") == {"u1", "a1", "u2"}
    assert [turn.text for turn in list_turns_to(session, "u3")] == ["1", "3"]


def test_descent_goes_on_over_a_compaction() -> None:
    build = Build()
    build.prompt("1", "u1")
    build.answer("a", uuid="a1")
    build.boundary("b1")
    build.summary(uuid="s1")
    build.prompt("2", "u2")
    assert find_lineage(build.session(), "u2") == {"u1", "a1", "b1", "s1", "u2"}


def test_what_is_not_in_the_file_is_taken_to_be_what_was_written_before() -> None:
    build = Build()
    build.prompt("1", "u1")
    build.boundary("b1", before="gone")
    build.prompt("2", "u2", parent="nobody")
    assert find_lineage(build.session(), "u2") == {"u1", "b1", "u2"}


def test_a_compaction_at_the_top_ends_the_line() -> None:
    build = Build()
    build.boundary("b1", before="gone")
    build.prompt("2", "u2")
    assert find_lineage(build.session(), "u2") == {"b1", "u2"}


def test_an_unknown_entry_descends_from_nothing() -> None:
    assert find_lineage(Build().session(), "nobody") == set()


def test_a_ring_of_parents_ends_the_line() -> None:
    session = open_variant("parent-cycle")
    assert all(find_lineage(session, row.uuid) for row in session.graph.rows if row.uuid)


def test_turns_that_can_not_be_placed_are_on_every_line() -> None:
    build = Build()
    build.prompt("1", "u1")
    build.prompt("2")
    del build.lines[-1]["uuid"]
    assert [turn.text for turn in list_turns_to(build.session(), "u1")] == ["1", "2"]


def test_the_current_leaf_is_the_clients_or_none() -> None:
    build = Build()
    build.prompt("1", "u1")
    assert find_current_leaf_uuid(build.session()) == "u1"
    build["u1"]["timestamp"] = "never"
    assert find_current_leaf_uuid(build.session()) is None
