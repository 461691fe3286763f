"""The search engine: order, grouping, bounds, and texts that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.build import Build
from tests.store.findable import DAY, Findable
from turnlog.store.search.search import MAX_NEWEST_TEXTS, SearchOptions


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Findable]:
    """A machine without sessions."""
    found = Findable(tmp_path)
    yield found
    found.store.close()


def session(*prompts: str, title: str | None = None, day: int = 0) -> Build:
    build = Build()
    build.wait(day * DAY)
    for text in prompts:
        build.prompt(text)
    if title is not None:
        build.note("custom-title", customTitle=title)
    return build


def test_titles_come_before_prompts_before_answers_before_results(machine: Findable) -> None:
    answer, result = session("hello"), session("hello")
    answer.answer("about rounding")
    result.call("c1")
    result.result("c1", "rounding")
    machine.add(1, session("hello", title="Rounding"))
    machine.add(2, session("fix rounding"))
    machine.add(3, answer)
    machine.add(4, result)
    machine.refresh()
    assert machine.ids("rounding") == [1, 2, 3, 4]


def test_of_equal_hits_the_newer_comes_first(machine: Findable) -> None:
    machine.add(1, session("fix rounding", day=0))
    machine.add(2, session("fix rounding", day=90))
    machine.refresh()
    assert machine.ids("rounding") == [2, 1]


def test_what_is_there_as_typed_comes_first(machine: Findable) -> None:
    machine.add(1, session("call getUserName now"))
    machine.add(2, session("call get user name now"))
    machine.refresh()
    assert machine.ids("getUserName") == [1, 2]
    assert machine.ids("get_user_name") == [2, 1]


def test_newest_first_is_by_time_alone(machine: Findable) -> None:
    machine.add(1, session("x", title="rounding", day=0))
    late = session("hello", day=5)
    late.answer("rounding")
    machine.add(2, late)
    machine.refresh()
    assert machine.ids("rounding", SearchOptions(newest=True)) == [2, 1]
    assert machine.ids("rounding") == [1, 2]


def test_hits_are_grouped_by_session_and_limited(machine: Findable) -> None:
    for number in range(5):
        machine.add(number, session(*(f"rounding {step}" for step in range(4))))
    machine.refresh()
    found = machine.find("rounding", SearchOptions(limit=2, hits=3))
    assert (found.total, found.sessions) == (20, 5)
    assert [(group.total, len(group.hits)) for group in found.groups] == [(4, 3), (4, 3)]


def test_hits_that_read_the_same_are_shown_once(machine: Findable) -> None:
    machine.add(1, session("rounding", "rounding", "rounding twice"))
    machine.refresh()
    (group,) = machine.find("rounding").groups
    assert sorted(hit.snippet.text for hit in group.hits if hit.snippet) == ["rounding", "rounding twice"]


def test_a_result_and_its_structured_copy_are_one_hit(machine: Findable) -> None:
    build = session("hello")
    build.call("c1")
    build.result("c1", "rounding errors", toolUseResult={"stdout": "rounding errors", "stderr": "overflow ahead"})
    machine.add(1, build)
    machine.refresh()
    for query in ("rounding", "overflow", "rounding overflow", '"overflow ahead" error:no'):
        found = machine.find(query)
        assert (found.total, found.is_scattered) == (1, False), query
        snippet = found.groups[0].hits[0].snippet
        assert snippet is not None
        assert "rounding errors" in snippet.text
        assert "overflow ahead" in snippet.text


def test_counts_are_bounded_and_say_so(machine: Findable) -> None:
    machine.add(1, session(*(f"common {number}" for number in range(MAX_NEWEST_TEXTS + 50))))
    machine.refresh()
    found = machine.find("common")
    assert found.is_bounded
    assert found.total >= MAX_NEWEST_TEXTS
    assert not machine.find("common 7").is_bounded


def test_a_count_says_so_where_what_was_done_or_the_parts_of_identifiers_were_left_out(machine: Findable) -> None:
    done = session("hello")
    done.call("c", given={"command": "rounding"})
    machine.add(1, session("rounding"))
    machine.add(2, session("rounding"))
    machine.add(3, done)
    machine.add(4, session("roundingMode"))
    machine.refresh()
    bounds = [
        (found.sessions, found.is_bounded) for found in (machine.find("rounding", SearchOptions(n)) for n in (2, 3, 5))
    ]
    assert bounds == [(2, True), (3, True), (4, False)]


def test_many_hits_in_one_session_do_not_hide_the_others(machine: Findable) -> None:
    machine.add(1, session("common", day=0))
    machine.add(2, session("hello", title="common", day=0))
    machine.add(9, session(*(f"common {number}" for number in range(MAX_NEWEST_TEXTS + 50)), day=50))
    machine.refresh()
    assert set(machine.ids("common")) == {1, 2, 9}


def test_many_results_do_not_hide_other_sessions(machine: Findable) -> None:
    many = session("hello")
    for number in range(MAX_NEWEST_TEXTS + 50):
        many.call(f"c{number}", given={"command": f"common {number}"})
    few = session("hello")
    few.call("c", given={"command": "common"})
    machine.add(1, few)
    machine.add(9, many)
    machine.refresh()
    assert set(machine.ids("common")) == {1, 9}


def test_words_in_several_texts_of_a_session_are_offered(machine: Findable) -> None:
    machine.add(1, session("all about rounding", "and about kubernetes"))
    machine.add(2, session("only rounding"))
    machine.refresh()
    found = machine.find("rounding kubernetes")
    assert found.is_scattered
    assert machine.ids("rounding kubernetes") == [1]
    assert not machine.find("rounding nowhere").groups
    assert not machine.find("rounding nowhere").is_scattered


def test_a_prefix_finds_in_what_was_said_and_done(machine: Findable) -> None:
    done = session("hello")
    done.call("c", given={"command": "roundtrip"})
    machine.add(1, session("rounding"))
    machine.add(2, done)
    machine.refresh()
    assert set(machine.ids("round*")) == {1, 2}


def test_filters_alone_show_the_beginning_of_texts(machine: Findable) -> None:
    machine.add(1, session("first words of it"))
    machine.refresh()
    (group,) = machine.find("kind:prompt").groups
    assert [hit.snippet.text for hit in group.hits if hit.snippet] == ["first words of it"]


def test_texts_around_a_hit_are_given_on_demand(machine: Findable) -> None:
    machine.add(1, session("one", "two", "needle", "four", "five", "six"))
    machine.refresh()
    ((hit,),) = [group.hits for group in machine.find("needle", SearchOptions(context=2)).groups]
    assert [item.snippet.text for item in hit.before if item.snippet] == ["one", "two"]
    assert [item.snippet.text for item in hit.after if item.snippet] == ["four", "five"]


def test_a_hit_whose_file_is_gone_is_shown_without_its_text(machine: Findable) -> None:
    path = machine.add(1, session("rounding"))
    machine.add(2, session("rounding too"))
    machine.refresh()
    path.unlink()
    machine.refresh()
    found = machine.find("rounding")
    assert found.unread == 1
    assert [hit.snippet is None for group in found.groups for hit in group.hits] == [False, True]


def test_a_hit_whose_file_was_cut_since_is_shown_without_its_text(machine: Findable) -> None:
    path = machine.add(1, session("hello", "rounding"))
    machine.refresh()
    path.write_bytes(path.read_bytes()[:50])
    assert machine.find("rounding").unread == 1


def test_sub_agents_and_large_results_beside_the_transcript_are_searched(machine: Findable) -> None:
    path = machine.add(1, session("hello"))
    beside = path.with_suffix("")
    (beside / "subagents").mkdir(parents=True)
    (beside / "tool-results").mkdir()
    (beside / "subagents" / "agent-abc.jsonl").write_bytes(session("the agent found rounding").data())
    (beside / "tool-results" / "toolu_1.txt").write_text("line\n" * 9 + "a long result with kubernetes\n")
    machine.refresh()
    for word in ("rounding", "kubernetes"):
        (group,) = machine.find(word).groups
        (hit,) = group.hits
        assert hit.snippet is not None
        assert word in hit.snippet.text


def test_the_folder_and_the_branch_of_a_session_are_found(machine: Findable) -> None:
    build = Build()
    build.prompt("hello", gitBranch="feature/teapot")
    machine.add(1, build)
    machine.refresh()
    (group,) = machine.find("teapot").groups
    assert [hit.snippet.text for hit in group.hits if hit.snippet] == ["/home/dana/webshop feature/teapot"]


def test_an_index_without_texts_gives_nothing(machine: Findable) -> None:
    found = machine.find("anything at all")
    assert (found.groups, found.total, found.is_scattered) == ([], 0, False)
