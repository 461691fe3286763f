"""Texts and the form in which they stand in files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.files.contents import PLAIN, Content, Form, bare, content, decoded, encoded, formed, is_damaged

letters = st.text(alphabet="ab\r\n\ufeff\u2028é", max_size=12)


@given(letters)
def test_a_text_taken_apart_from_its_form_stands_in_the_file_as_it_was(text: str) -> None:
    assert content(text).written == text


@given(st.binary(max_size=12) | letters.map(str.encode) | letters.map(lambda text: text.encode("utf-16")))
def test_bytes_that_are_a_text_give_the_same_bytes_again(data: bytes) -> None:
    found = decoded(data)
    assert found is None or found.data == data


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"a\nb\n", PLAIN),
        (b"a\r\nb\r\n", Form(crlf=True)),
        (b"a\r\nb\n", PLAIN),
        (b"\xef\xbb\xbfa\n", Form(mark=True)),
        ("a\r\n".encode("utf-16"), Form(True, True, "utf-16-le")),
    ],
)
def test_the_form_of_a_file_is_known_from_its_bytes(data: bytes, form: Form) -> None:
    found = decoded(data)
    assert found is not None
    assert found.form == form


def test_bytes_in_another_encoding_are_no_text() -> None:
    assert decoded(b"caf\xe9\n") is None


def test_a_recorded_text_takes_the_form_that_the_file_had() -> None:
    like = Content("old\n", Form(True, True, "utf-16-le"))
    assert formed("one\ntwo\n", like).data == "\ufeffone\r\ntwo\r\n".encode("utf-16-le")
    assert formed("one\n", None) == Content("one\n")


def test_a_text_that_was_recorded_with_mixed_line_ends_keeps_them() -> None:
    assert formed("one\r\ntwo\n", Content("", Form(crlf=True))).written == "one\r\ntwo\n"


def test_half_a_surrogate_pair_is_written_as_the_client_writes_it() -> None:
    assert encoded("a\ud800b") == "a\ufffdb".encode()
    assert encoded("a") == b"a"


def test_texts_with_lost_bytes_are_told() -> None:
    assert [is_damaged(text) for text in ("fine", "caf\ufffd", "o\0n\0e\0")] == [False, True, True]


def test_what_the_client_leaves_out_does_not_make_a_text_another() -> None:
    assert bare("\ufeffa\r\nb") == bare("a\nb")
