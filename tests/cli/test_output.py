"""JSON output: valid UTF-8 whatever the session holds."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.cli.output import _escape_as_json, encode_json
from turnlog.live.page_updates import encode_update_data

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet=st.characters(exclude_categories=())), inner),
    max_leaves=10,
)


@given(JSON)
def test_any_value_is_encoded_and_comes_back(value: Any) -> None:
    document = encode_json(value)
    document.decode("utf-8")
    assert json.loads(document) == value


def test_half_a_surrogate_pair_is_escaped() -> None:
    assert encode_json({"a": "\ud800"}) == b'{"a":"\\ud800"}'


def test_texts_are_not_escaped_without_need() -> None:
    assert encode_json({"a": "é漢"}) == '{"a":"é漢"}'.encode()


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_a_document_is_one_line_for_every_reader_of_lines(text: str) -> None:
    (line,) = encode_json({text: [text, "\x85\u2028\u2029"]}).decode().splitlines()
    assert json.loads(line) == {text: [text, "\x85\u2028\u2029"]}


def test_an_update_of_a_page_is_one_line_for_every_reader_of_lines() -> None:
    for text in ("\x85\u2028\u2029", "\x85\u2028\u2029\ud800"):
        (line,) = encode_update_data([text]).decode().splitlines()
        assert json.loads(line)[0].startswith("\x85\u2028\u2029")


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_are_null(number: float) -> None:
    assert encode_json([number]) == b"[null]"
    assert encode_json([number, 2**70, (1, "\udfff")]) == b'[null,1180591620717411303424,[1,"\\udfff"]]'


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_on_a_terminal_json_is_harmless_and_means_the_same(text: str) -> None:
    shown = _escape_as_json(encode_json([text]).decode())
    assert json.loads(shown) == [text]
    assert all(char.isprintable() or char == "\u200d" for char in shown)


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_on_a_terminal_json_is_indented() -> None:
    code = "import pty, sys; pty.spawn([sys.executable, '-m', 'turnlog', *sys.argv[1:]])"
    for words, start in (
        (["ls", "--json"], b'{\r\n  "sessions": ['),
        (["messages", "last", "--json"], b'{\r\n  "messages": ['),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
        remark, _, document = done.stdout.partition(b"\r\n")
        assert b"made-up" in remark
        assert document.startswith(start)
        json.loads(document)


@pytest.mark.skipif(os.name == "nt", reason="closes file descriptors in a shell")
@pytest.mark.parametrize(
    "words", ["ls", "ls --json", "show last", "messages last --json", "check last", "cat /dev/null"]
)
def test_a_program_without_standard_streams_just_ends(words: str) -> None:
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m turnlog {words} <&- >&- 2>&-"], check=False, timeout=60)
    assert done.returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="closes file descriptors in a shell")
def test_a_closed_standard_input_is_told() -> None:
    words = ["sh", "-c", f"'{sys.executable}' -m turnlog cat - <&-"]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"turnlog: standard input is closed\n")
