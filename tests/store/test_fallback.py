"""Where the words of a query find nothing, words like them are looked for, and the answer says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import Build
from tests.store.findable import Findable
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.loose_search import Vocabulary, _measure_distance, search_loosely
from turnlog.store.search.query import parse_query
from turnlog.store.search.search import SearchOptions, SearchOutcome


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Findable]:
    found = Findable(tmp_path)
    build = Build()
    build.prompt("the refactoring of the Müller invoice, with a refund")
    build.answer("I call getUserName in the configuration")
    build.call("c1")
    build.result("c1", "stderr said transactional nonsense")
    found.add(1, build)
    other = Build()
    other.prompt("a refund for the kitchen")
    found.add(2, other)
    found.refresh()
    yield found
    found.store.close()


def loosely(machine: Findable, query: str) -> SearchOutcome:
    return search_loosely(
        machine.store.db, parse_query(query), SearchOptions(), IndexSource(machine.store.folder).read_passage
    )


@pytest.mark.parametrize(
    ("query", "how", "word"),
    [
        ("refact", "prefix", "refactoring"),
        ("REFACT", "prefix", "refactoring"),
        ("mull", "prefix", "muller"),
        ("transact", "prefix", "transactional"),
        ("factor", "substring", "refactoring"),
        ("figur", "substring", "configuration"),
        ("saction", "substring", "transactional"),
        ("refunds", "spelling", "refund"),
        ("invoices", "spelling", "invoice"),
        ("kichen", "spelling", "kitchen"),
        ("kicthen", "spelling", "kitchen"),
        ("kitchin", "spelling", "kitchen"),
        ("configuratoin", "spelling", "configuration"),
        ("cofigurtion", "spelling", "configuration"),
        ("nonsence", "spelling", "nonsense"),
        ("factor refund", "substring", "refactoring"),
        ("figur*", "substring", "configuration"),
    ],
)
def test_a_word_that_finds_nothing_gives_way_to_words_like_it(
    machine: Findable, query: str, how: str, word: str
) -> None:
    found = loosely(machine, query)
    assert found.total >= 1
    (way,) = found.loosened
    assert (way.typed, way.how) == (query.split()[0].rstrip("*"), how)
    assert word in way.words
    snippet = found.groups[0].hits[0].snippet
    assert snippet is not None
    assert snippet.ranges, "the hit shows why it was found"


def test_what_is_found_as_typed_is_not_mixed_with_anything(machine: Findable) -> None:
    found = loosely(machine, "refund")
    assert (found.sessions, found.loosened) == (2, ())


@pytest.mark.parametrize(
    "query", ["zzzqqq", "ab", '"kichen"', "kit.chin", "k", "123456", "日本", "-refund zzzq", "x" * 90]
)
def test_what_is_like_nothing_finds_nothing(machine: Findable, query: str) -> None:
    found = loosely(machine, query)
    assert (found.total, found.loosened) == (0, ())


def test_two_words_may_each_give_way_in_their_own_manner(machine: Findable) -> None:
    found = loosely(machine, "refact refunds")
    assert [(way.typed, way.how) for way in found.loosened] == [("refact", "prefix"), ("refunds", "spelling")]
    assert found.sessions == 1


def test_filters_and_words_that_must_be_absent_stay_as_they_are(machine: Findable) -> None:
    assert loosely(machine, "refunds -kitchen").sessions == 1
    assert loosely(machine, "refunds kind:answer").total == 0
    assert loosely(machine, "(kichen OR zzzqq) kind:prompt").sessions == 1


def test_a_word_that_is_known_elsewhere_gives_way_too_where_a_filter_leaves_nothing(machine: Findable) -> None:
    found = loosely(machine, "said kind:prompt")
    assert found.loosened == ()
    build = Build()
    build.prompt("unsaid words")
    machine.add(3, build)
    machine.refresh()
    (way,) = loosely(machine, "said kind:prompt").loosened
    assert (way.how, way.words) == ("substring", ("unsaid",))


def test_facets_are_no_words(machine: Findable) -> None:
    vocabulary = Vocabulary(machine.store.db)
    assert all(word.isalnum() for word in [*vocabulary._list_all_words("said"), *vocabulary._list_all_words("done")])


words = st.text("abc", max_size=6)


@given(words, words)
def test_a_distance_is_the_same_both_ways(one: str, other: str) -> None:
    assert _measure_distance(one, other) == _measure_distance(other, one)
    assert (_measure_distance(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= _measure_distance(one, other) <= max(len(one), len(other))


@pytest.mark.parametrize(
    ("one", "other", "steps"), [("ab", "ba", 1), ("abc", "ab", 1), ("abc", "axc", 1), ("ab", "", 2)]
)
def test_a_swap_is_one_step(one: str, other: str, steps: int) -> None:
    assert _measure_distance(one, other) == steps
