"""Search finds a word in every kind of place that a transcript has, and none that nobody can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.store.recall import HIDDEN, NO_TEXT, SAME_TWICE, WORDLESS, Garden, plant
from turnlog.entries.format import FieldFormat, ObjectFormat, load_format
from turnlog.store.search.index_source import IndexSource
from turnlog.store.search.match_expression import plan_search
from turnlog.store.search.query import parse_query
from turnlog.store.search.search import SearchOptions, SearchOutcome, search_index
from turnlog.store.store import Store


class Searched(NamedTuple):
    """A planted corpus and its index."""

    store: Store
    source: IndexSource
    garden: Garden

    def find(self, word: str) -> SearchOutcome:
        return search_index(
            self.store.db, plan_search(self.store.db, parse_query(word)), SearchOptions(), self.source.read_passage
        )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    folder, garden = tmp_path_factory.mktemp("planted"), Garden()
    plant(garden, folder / "projects" / "-home-dana")
    with Store.open(folder / "data") as store:
        done = store.refresh([folder])
        assert (done.left, done.unread) == (0, ())
        yield Searched(store, IndexSource(folder / "data"), garden)


def is_hidden(place: str) -> bool:
    return place.startswith("hidden: ") or place.removeprefix("result/") in SAME_TWICE


def test_every_place_is_found(corpus: Searched) -> None:
    planted = {place: word for place, word in corpus.garden.words.items() if not is_hidden(place)}
    missed = [place for place, word in planted.items() if not corpus.find(word).total]
    assert missed == []
    assert len(planted) > 400


def test_what_is_found_can_be_shown(corpus: Searched) -> None:
    unshown = []
    for place, word in corpus.garden.words.items():
        found = corpus.find(word)
        hits = [hit for group in found.groups for hit in group.hits]
        if hits and not any(hit.snippet and word in hit.snippet.text.lower() for hit in hits):
            unshown.append(place)
    assert unshown == []


@pytest.mark.parametrize("place", HIDDEN)
def test_what_nobody_can_read_is_not_found(corpus: Searched, place: str) -> None:
    assert corpus.find(corpus.garden.words[f"hidden: {place}"]).total == 0


def list_own_fields(kind: ObjectFormat) -> list[FieldFormat]:
    """The fields of a type that can hold the text of a person, a model or a tool."""
    fields = load_format().list_fields(kind)
    return [field for name, field in fields.items() if name not in {"type", "rendered", *NO_TEXT}]


def test_every_known_type_has_a_plant(corpus: Searched) -> None:
    known = load_format()
    kinds = {"entry": known.entries, "system": known.system, "attachment": known.attachments}
    kinds |= {"progress": known.progress, "block": known.blocks}
    bare = {
        tag
        for kind, tags in kinds.items()
        for tag in tags
        if not any(place.startswith(f"{kind}/{tag}.") for place in corpus.garden.words)
    }
    nameless = {
        tag
        for tags in kinds.values()
        for tag, found in tags.items()
        if not any("string" in field.type or field.type == "any" or field.holds for field in list_own_fields(found))
    }
    assert bare - nameless == WORDLESS - nameless, "a type that can hold text needs a plant"
