"""Words as parts of identifiers, where there are more identifiers than a query can ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path

import pytest

from tests.session.build import Build
from tests.store.findable import Findable
from turnlog.store.search.identifier_lookup import MAX_IDENTIFIERS_PER_WORD
from turnlog.store.search.search import MAX_NEWEST_TEXTS, SearchOptions


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Findable]:
    """A machine without sessions."""
    found = Findable(tmp_path)
    yield found
    found.store.close()


def names(form: str, count: int) -> list[str]:
    """So many identifiers, with something else in the place of the braces each."""
    letters = ("".join(three).capitalize() for three in product("bcdfghjklm", repeat=3))
    return [form.format(part) for part in islice(letters, count)]


def texts(words: Iterable[str]) -> Build:
    build = Build()
    build.prompt("hello")
    for word in words:
        build.answer(word)
    return build


def test_that_not_all_identifiers_with_a_part_were_looked_for_is_told(machine: Findable) -> None:
    machine.add(1, texts([" ".join(names("user{}", MAX_IDENTIFIERS_PER_WORD + 50))]))
    machine.refresh()
    found = machine.find("user")
    assert found.cut == ("user",)
    assert found.is_bounded
    assert found.sessions == 1


def test_nothing_is_told_where_all_were_looked_for(machine: Findable) -> None:
    machine.add(1, texts([" ".join(names("user{}", MAX_IDENTIFIERS_PER_WORD))]))
    machine.refresh()
    found = machine.find("user")
    assert (found.cut, found.is_bounded, found.sessions) == ((), False, 1)


def test_nothing_is_told_where_the_word_itself_fills_the_page(machine: Findable) -> None:
    machine.add(1, texts([" ".join(names("user{}", MAX_IDENTIFIERS_PER_WORD + 50)), "user"]))
    machine.refresh()
    assert machine.find("user", SearchOptions(limit=1)).cut == ()


def test_identifiers_that_were_seen_first_and_last_are_found(machine: Findable) -> None:
    many = [" ".join(names("user{}", MAX_IDENTIFIERS_PER_WORD)), "userOfOld"]
    machine.add(1, texts(["userFirst"]))
    machine.refresh()
    machine.add(2, texts(many))
    machine.refresh()
    machine.add(3, texts(["userLast"]))
    machine.refresh()
    assert set(machine.ids("user")) == {1, 2, 3}


def test_an_identifier_with_all_words_is_found_among_many_with_one_of_them(machine: Findable) -> None:
    for number, words in enumerate(
        (names("user{}", MAX_IDENTIFIERS_PER_WORD), ["getUserTestName"], names("user{}X", MAX_IDENTIFIERS_PER_WORD)), 1
    ):
        machine.add(number, texts([" ".join(words)]))
        machine.refresh()
    machine.add(9, texts([" ".join(names("name{}", MAX_IDENTIFIERS_PER_WORD + 50))]))
    machine.refresh()
    found = machine.find("user name")
    assert found.cut == ("user", "name")
    assert 2 in machine.ids("user name")
    assert not found.is_scattered


def test_a_name_of_several_parts_is_found_among_many_with_its_last_part(machine: Findable) -> None:
    machine.add(1, texts(["oldFileName", "getUserNameOf"]))
    machine.refresh()
    machine.add(2, texts([" ".join(names("{}Name", MAX_IDENTIFIERS_PER_WORD + 50))]))
    machine.refresh()
    assert machine.ids("user_name") == [1]
    assert machine.find("user_name").cut == ()


def test_a_name_that_is_a_part_of_too_many_is_cut_and_found(machine: Findable) -> None:
    machine.add(1, texts([" ".join(names("user{}Name", MAX_IDENTIFIERS_PER_WORD)), "userFile"]))
    machine.add(2, texts([" ".join(names("userName{}", MAX_IDENTIFIERS_PER_WORD + 50))]))
    machine.refresh()
    found = machine.find("user_name")
    assert found.cut == ("user_name",)
    assert machine.ids("user_name") == [2]


def test_many_calls_with_an_identifier_do_not_hide_other_sessions(machine: Findable) -> None:
    for number, count in ((1, 1), (2, 1), (9, MAX_NEWEST_TEXTS + 50)):
        build = texts(["hello"])
        for step in range(count):
            build.call(f"c{number}-{step}", given={"command": f"getUserName {step}"})
        machine.add(number, build)
    machine.refresh()
    assert set(machine.ids("user")) == {1, 2, 9}
    assert machine.find("user").is_bounded
