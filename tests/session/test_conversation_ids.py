"""Answers are joined by their id; without one, never."""

from __future__ import annotations

from tests.session.build import Build, encode_lines
from turnlog.session.session import Session


def test_answers_without_an_id_stay_apart() -> None:
    build = Build()
    for words in ("one", "two", "three"):
        build.answer(words, id=None)
    found = Session.from_bytes(encode_lines(build.lines)).conversation().messages
    assert [[block["text"] for block in message["content"]] for message in found] == [["one"], ["two"], ["three"]]


def test_an_id_that_comes_again_behind_a_prompt_is_another_answer() -> None:
    build = Build()
    build.prompt("hello")
    build.answer("one", id="same")
    build.answer("two", id="same")
    build.prompt("hello again")
    build.answer("three", id="same")
    found = Session.from_bytes(encode_lines(build.lines)).conversation().messages
    assert [len(message["content"]) for message in found] == [1, 2, 1, 1]
