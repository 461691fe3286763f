"""Texts and the form in which they stand in files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.files.contents import (
    PLAIN_FORM,
    FileContent,
    TextForm,
    decode_file_content,
    encode_file_text,
    is_damaged_text,
    restore_file_form,
    strip_file_form,
    to_file_content,
)

letters = st.text(alphabet="ab\r\n\ufeff\u2028é", max_size=12)


@given(letters)
def test_a_text_taken_apart_from_its_form_stands_in_the_file_as_it_was(text: str) -> None:
    assert to_file_content(text).file_text == text


@given(st.binary(max_size=12) | letters.map(str.encode) | letters.map(lambda text: text.encode("utf-16")))
def test_bytes_that_are_a_text_give_the_same_bytes_again(data: bytes) -> None:
    found = decode_file_content(data)
    assert found is None or found.data == data


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"a\nb\n", PLAIN_FORM),
        (b"a\r\nb\r\n", TextForm(crlf=True)),
        (b"a\r\nb\n", PLAIN_FORM),
        (b"\xef\xbb\xbfa\n", TextForm(mark=True)),
        ("a\r\n".encode("utf-16"), TextForm(True, True, "utf-16-le")),
    ],
)
def test_the_form_of_a_file_is_known_from_its_bytes(data: bytes, form: TextForm) -> None:
    found = decode_file_content(data)
    assert found is not None
    assert found.form == form


def test_bytes_in_another_encoding_are_no_text() -> None:
    assert decode_file_content(b"caf\xe9\n") is None


def test_a_recorded_text_takes_the_form_that_the_file_had() -> None:
    like = FileContent("old\n", TextForm(True, True, "utf-16-le"))
    assert restore_file_form("one\ntwo\n", like).data == "\ufeffone\r\ntwo\r\n".encode("utf-16-le")
    assert restore_file_form("one\n", None) == FileContent("one\n")


def test_a_text_that_was_recorded_with_mixed_line_ends_keeps_them() -> None:
    assert restore_file_form("one\r\ntwo\n", FileContent("", TextForm(crlf=True))).file_text == "one\r\ntwo\n"


def test_half_a_surrogate_pair_is_written_as_the_client_writes_it() -> None:
    assert encode_file_text("a\ud800b") == "a\ufffdb".encode()
    assert encode_file_text("a") == b"a"


def test_texts_with_lost_bytes_are_told() -> None:
    assert [is_damaged_text(text) for text in ("fine", "caf\ufffd", "o\0n\0e\0")] == [False, True, True]


def test_what_the_client_leaves_out_does_not_make_a_text_another() -> None:
    assert strip_file_form("\ufeffa\r\nb") == strip_file_form("a\nb")
