"""A compressed session says so, in a line that no client sends or stops at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.edit.test_compress import LONG
from tests.session.build import Build
from turnlog.edit.compress.compress import CompressionResult, apply_compression, compress_turns
from turnlog.edit.compress.compression_mark import mark_compression
from turnlog.edit.compress.turn_bands import parse_compress_selection
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.verdict import judge_session, list_regressions
from turnlog.session.session import Session


def conversation(*, turns: int = 4) -> Build:
    build = Build()
    for number in range(turns):
        build.prompt(f"prompt {number}")
        build.answer(f"{LONG} Number {number}.")
    return build


def compress_and_mark(session: Session, words: str = "oldest=50%") -> tuple[CompressionResult, Draft]:
    done = compress_turns(session, parse_compress_selection(["offline", words]).bands, 0.3, None)
    draft = apply_compression(Draft.from_transcript(session.file), done)
    return done, mark_compression(session, draft, done)


def rows(draft: Draft) -> list[dict[str, Any]]:
    return [json.loads(line) for line in draft.iterate_lines()]


def test_the_mark_stands_behind_the_compressed_turns_and_says_what_was_done() -> None:
    session = conversation().session()
    done, draft = compress_and_mark(session)
    found = rows(draft)
    (at,) = (number for number, row in enumerate(found) if row["type"] == "system")
    mark, behind = found[at], found[at + 1]
    assert (mark["subtype"], mark["compressed"]["turns"], mark["compressed"]["texts"]) == ("informational", [1, 2], 2)
    assert mark["content"].startswith("turnlog compressed the conversation above: 2 texts of turns 1 to 2, ")
    assert f"{done.chars_before:,} to {done.chars_after:,} characters" in mark["content"]
    assert behind["message"]["content"] == "prompt 2"
    assert (behind["parentUuid"], mark["parentUuid"]) == (mark["uuid"], found[at - 1]["uuid"])


def test_all_is_sent_as_without_the_mark() -> None:
    session = conversation().session()
    done, draft = compress_and_mark(session)
    plain = apply_compression(Draft.from_transcript(session.file), done)
    for as_sent in (False, True):
        with_mark, without = (
            Session(one.to_transcript()).conversation(as_sent=as_sent).messages for one in (draft, plain)
        )
        assert with_mark == without
    assert list_regressions(judge_session(session), judge_session(Session(draft.to_transcript()))) == []


def test_where_nothing_follows_the_mark_is_a_line_of_turnlogs_own() -> None:
    session = conversation().session()
    _, draft = compress_and_mark(session, "oldest=100%")
    last = rows(draft)[-1]
    assert (last["type"], last["verb"], last["compressed"]["texts"]) == ("turnlog", "compress", 4)


def test_a_session_in_which_nothing_became_shorter_has_no_mark() -> None:
    build = Build()
    build.prompt("short")
    build.answer("yes")
    build.prompt("on")
    build.answer("yes")
    session = build.session()
    assert compress_and_mark(session)[1] == Draft.from_transcript(session.file)


@pytest.mark.parametrize("beside", ["answer", "prompt"])
def test_no_answer_beside_what_follows_is_hidden_by_the_mark(beside: str) -> None:
    build = conversation()
    fork = [line for line in build.lines if line["type"] == "assistant"][1]["uuid"]
    branch = build.answer if beside == "answer" else build.prompt
    branch("beside", parent=fork)
    build.note("last-prompt", leafUuid=[line for line in build.lines if line["type"] == "assistant"][3]["uuid"])
    session = build.session()
    _, draft = compress_and_mark(session)
    assert list_regressions(judge_session(session), judge_session(Session(draft.to_transcript()))) == []
