"""The quick looks give what the thorough ones give."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.redact.test_properties import TEXTS
from turnlog.redact import assignments, secret_names, tokens, value_spans
from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.personal_data import _HOME_FOLDER, _iter_home_folders
from turnlog.redact.plausibility import is_strong_secret
from turnlog.redact.text_view import MIN_RUN_CHARS, TextView
from turnlog.redact.token_forms import TOKEN_FORMS, TokenForm


@given(st.sampled_from(["a", "ab", "aab", "."]), st.sampled_from(["b*", "a?(?=b)", "c|", "(?!b)"]), st.text("abc."))
def test_an_anchored_expression_finds_what_the_expression_finds(anchor: str, rest: str, text: str) -> None:
    anchored = AnchoredPattern(anchor, rest)
    found = [match.span() for match in anchored.finditer(text)]
    assert found == [match.span() for match in re.finditer(f"{re.escape(anchor)}(?:{rest})", text)]


def test_what_can_not_be_is_passed_over() -> None:
    anchored = AnchoredPattern("ab", "c?", may_be=lambda text, at: text[at - 1 : at] == "x")
    assert [match.span() for match in anchored.finditer("ab xabc abc xab")] == [(4, 7), (13, 15)]


@given(st.one_of(TEXTS, st.text("aZ0+/_- .é\ud800", min_size=MIN_RUN_CHARS, max_size=90)))
def test_runs_are_what_their_expression_finds(text: str) -> None:
    view = TextView(text)
    assert view.runs == [match.span() for match in re.finditer(rf"[A-Za-z0-9+/_-]{{{MIN_RUN_CHARS},}}+", view.text)]


_HOME_PARTS = ["/", "\\", "-", ":", "C", "x", ".", " ", "é", "home", "Users", "/home/", "/c/Users/", "C:\\Users\\"]


@given(st.lists(st.sampled_from([*_HOME_PARTS, "x" * 63]), max_size=14).map("".join))
@example("C:/Users\\alice")
@example("/home/C:\\Users\\bob")
@example("C:" + "\\" * 9 + "Users\\bob")
def test_home_folders_are_what_their_expression_finds(text: str) -> None:
    found = [match.span() for match in _iter_home_folders(text)]
    assert found == [match.span() for match in _HOME_FOLDER.finditer(text)]


@pytest.mark.parametrize("first", range(0, sys.maxunicode + 1, 0x10000))
def test_no_character_but_two_becomes_a_small_letter_of_ascii_without_being_one(first: int) -> None:
    text = "".join(map(chr, range(first, first + 0x10000))).replace("\u0130", "").replace("\u212a", "")
    lower = TextView(text).lower
    assert len(lower) == len(TextView(text).text)
    assert [*map(_ascii, lower)] == [*map(_ascii, TextView(text).text.lower())]


def test_the_sign_of_kelvin_becomes_a_small_k() -> None:
    assert TextView("TO\u212aEN é").lower == "token é"


@pytest.mark.parametrize("text", ["\u0130TOKEN", "\u0130TO\u212aEN", "é\ud83d\ude00\ud800KEY"])
def test_small_letters_stand_where_the_large_ones_stood(text: str) -> None:
    assert TextView(text).lower == "".join(letter.lower() if letter.isascii() else letter for letter in text)


@given(st.lists(st.sampled_from([*secret_names.KEY_OWNERS, *"-_. \nx"]), max_size=6).map("".join))
def test_what_makes_a_key_a_secret_ends_as_is_known(before: str) -> None:
    key = next(word for word in secret_names.SECRET_WORDS if word.anchor == "key")
    if secret_names.find_name_start(before + "key", len(before), key) is not None:
        assert secret_names.can_be_secret_key(before + "key", len(before))


@given(st.text("aZ1²_.,:;!?)(-\"'`\\ \n\u00a0é", max_size=40))
def test_no_strong_value_stands_where_a_sentence_goes_on(text: str) -> None:
    if assignments._PLAIN_WORD.match(text):
        bare = value_spans._BARE_VALUE.match(text)
        assert not bare or not is_strong_secret(bare[0])
        assert not {*"\"'`"} & {*re.split(r"\s", text)[0]}, "what is in quotes ends only after a space"


@pytest.mark.parametrize("form", [form for form in TOKEN_FORMS if "~" not in form.start], ids=lambda form: form.start)
def test_every_token_begins_with_two_characters_that_are_known(form: TokenForm) -> None:
    start = re.compile(form.start.replace("(?=/0)", "/0").replace("(?=[0-9]{8})", "[0-9]{8}") + ".", re.ASCII)

    @settings(max_examples=60, suppress_health_check=[*HealthCheck])
    @given(st.from_regex(start, fullmatch=True))
    def begins(token: str) -> None:
        assert re.match(f"[{tokens.FIRST_TOKEN_CHARACTERS}][{tokens.SECOND_TOKEN_CHARACTERS}]", token)

    begins()


@given(
    st.lists(st.one_of(TEXTS, st.sampled_from(["x" * MIN_RUN_CHARS, "/a-b" * 9, "\\n", "%2B", "\\u00e9", "~"]))).map(
        "".join
    )
)
def test_every_run_with_the_start_of_a_token_is_a_suspect(text: str) -> None:
    view = TextView(text)
    suspects = tokens._select_suspect_runs(view.text, view.runs)
    for run in set(view.runs).difference(suspects):
        at = max(0, run[0] - tokens._MAX_CHARS_BEFORE_RUN)
        begins = tokens._compile_token_start(tokens._has_escapes(view.text, at, run[1]))
        assert not begins.search(view.text, at, run[1])


def _ascii(letter: str) -> str:
    return letter if letter.isascii() else "?"
