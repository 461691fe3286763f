"""How text becomes words, and the words by which results are filtered."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.store.index.facets import FACET_MARK, build_facets
from turnlog.store.index.name_numbers import NameNumbers
from turnlog.store.index.words import (
    find_identifiers,
    join_identifier_parts,
    list_identifier_parts,
    split_identifier,
    to_index_words,
    to_indexed_text,
    to_query_text,
)

TOKENIZER = "unicode61 remove_diacritics 2"


def is_found(text: str, expression: str) -> bool:
    """Whether FTS5 finds a text by an expression."""
    db = apsw.Connection(":memory:")
    db.execute(f'CREATE VIRTUAL TABLE t USING fts5 (words, tokenize="{TOKENIZER}")')
    db.execute("INSERT INTO t VALUES (?)", (to_indexed_text(text),))
    return bool(db.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).get)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("getUserName", "get user name"),
        ("HTTPServer2", "http server 2"),
        ("getHTTPResponseCode", "get http response code"),
        ("sha256Hash", "sha 256 hash"),
        ("userIDs", "user ids"),
        ("iOS", "i os"),
        ("URLs", "urls"),
        ("plain", "plain"),
    ],
)
def test_an_identifier_falls_into_its_parts(word: str, expected: str) -> None:
    assert " ".join(split_identifier(word)) == expected


def map_identifiers(text: str) -> dict[str, str]:
    """The identifiers of a text as the index knows them, with their parts."""
    found: dict[str, str] = {}
    for name in NameNumbers([]).select_unknown(find_identifiers(to_indexed_text(text).encode())):
        for part, word in list_identifier_parts(name):
            found[word] = f"{found[word]} {part}" if word in found else part
    return found


def test_each_identifier_of_a_text_is_taken_apart_once() -> None:
    text = "setItem, getUserName; setItem(getUserName)"
    assert map_identifiers(text) == {"setitem": "set item", "getusername": "get user name"}


@pytest.mark.parametrize("name", ["getUserName", "HTTPServer2", "größeWert", "aB" * 9, "naïveBayes"])
def test_the_index_keeps_the_parts_and_the_words_that_an_identifier_falls_into(name: str) -> None:
    pairs = list_identifier_parts(name)
    assert set(join_identifier_parts(name).split()) == {part for part, _ in pairs}
    assert not pairs or set(to_index_words(name)) == {word for _, word in pairs}


def test_plain_words_are_no_identifiers() -> None:
    assert map_identifiers("The quick Brown fox_jumps over 12 URLs, IDs and A1") == {}


def test_ascii_text_stays_as_it_is() -> None:
    text = "def getUserName(): return foo_bar[0]"
    assert to_indexed_text(text) is text


def test_random_ids_and_long_words_are_not_taken_apart() -> None:
    assert map_identifiers("toolu_01cDtnieWwVj6wNMPTJMKQ8Z") == {}
    assert map_identifiers("aB" * 1_000_000) == {}


def test_an_identifier_glued_to_other_scripts_is_taken_apart() -> None:
    assert map_identifiers("調べるgetUserName関数") == {"getusername": "get user name"}


@pytest.mark.parametrize("text", ["größeWert", "→getUser │setItem", "naïveBayes"])
def test_an_identifier_outside_ascii_is_the_word_that_the_tokenizer_makes(text: str) -> None:
    assert map_identifiers(text)
    assert all(is_found(text, f'"{word}"') for word in map_identifiers(text))


@pytest.mark.parametrize("piece", ["日本", "本語", "語を", "日本語", "한국", "ไทย", "ひらがな", "𠮷野"])
def test_any_piece_of_a_sentence_without_spaces_is_a_phrase(piece: str) -> None:
    assert is_found("これは日本語を話すひらがなtext한국어ภาษาไทย𠮷野家です", f'"{to_query_text(piece)}"')


def test_what_is_glued_to_such_a_script_is_a_word_of_its_own() -> None:
    assert is_found("日本語text", '"text"')
    assert is_found("日本語text", f'"{to_query_text("語text")}"')
    assert not is_found("日本語text", f'"{to_query_text("日語")}"')


def test_colours_of_a_terminal_do_not_hide_a_word() -> None:
    assert is_found("\x1b[31mfailed\x1b[0m: one", '"failed"')


def test_nul_and_half_surrogates_are_replaced() -> None:
    words = to_indexed_text("a\0b \ud83dc")
    assert "\0" not in words
    assert words.encode()


@given(st.text())
def test_whatever_a_text_holds_it_can_be_indexed(text: str) -> None:
    words = to_indexed_text(text)
    assert words.encode() is not None
    assert "\0" not in words


@given(st.text(st.characters(codec="ascii"), max_size=200), st.from_regex(r"[a-z]{2,6}[A-Z][a-z]{2,6}", fullmatch=True))
def test_the_parts_of_an_identifier_are_found_wherever_it_stands(around: str, name: str) -> None:
    text = f"{around} {name} {around}"
    assert map_identifiers(text)[name.lower()] == " ".join(dict.fromkeys(split_identifier(name)))


def test_facets_say_all_that_is_known_of_a_text() -> None:
    words = build_facets(kind=2, session=17, project=4, tool=9, model=3, failed=True, in_agent=True, time=1_768_435_200)
    expected = "k2 s17 p4 t9 m3 e a y2026 n202601 d20260115"
    assert words.replace(FACET_MARK, "") == expected
    assert words.count(FACET_MARK) == len(expected.split())


def test_facets_leave_out_what_is_not_known() -> None:
    assert build_facets(kind=0, session=1, project=2).replace(FACET_MARK, "") == "k0 s1 p2"
    assert build_facets(kind=0, session=1, project=2, time=10**15).replace(FACET_MARK, "") == "k0 s1 p2"


def test_a_facet_is_one_word_to_the_tokenizer() -> None:
    db = apsw.Connection(":memory:")
    db.execute(f'CREATE VIRTUAL TABLE t USING fts5 (facet, tokenize="{TOKENIZER}")')
    db.execute("INSERT INTO t VALUES (?)", (build_facets(kind=1, session=12, project=3),))
    count = "SELECT count(*) FROM t WHERE t MATCH ?"
    assert db.execute(count, (f'"{FACET_MARK}s12"',)).get == 1
    assert db.execute(count, (f'"{FACET_MARK}s1"',)).get == 0
    assert db.execute(count, ('"s12"',)).get == 0
