"""What a file is about, folded line by line; folding a tail onto the rest is folding the whole."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.build import DATA, Build
from turnlog.entries.typed_text import MAX_LISTED_CHARS
from turnlog.session.texts.lines import TextLine, read_text_lines
from turnlog.session.texts.outline import TranscriptOutline


def fold(data: bytes, onto: TranscriptOutline | None = None) -> TranscriptOutline:
    outline = deepcopy(onto) if onto else TranscriptOutline()
    for placed in read_text_lines(data.splitlines(keepends=True)):
        if placed is not None:
            outline.find_move(placed.line)
            outline.add_placed_line(placed)
    return outline


def fold_entries(*entries: dict[str, Any]) -> TranscriptOutline:
    return fold(b"".join(json.dumps(entry).encode() + b"\n" for entry in entries))


def prompt(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"content": content}, **fields}


def test_a_session_has_its_times_its_place_and_its_prompts() -> None:
    build = Build()
    build.prompt("first", "u1", gitBranch="main")
    build.answer("a")
    build.prompt("last", cwd="/home/dana/other", version="2.2.0")
    found = fold(build.data())
    assert (found.entries, found.prompts) == (3, 2)
    assert found.first_prompt == "first"
    assert (found.started, found.ended) == (build.lines[0]["timestamp"], build.lines[2]["timestamp"])
    assert (found.cwd, found.last_cwd, found.git_branch) == ("/home/dana/webshop", "/home/dana/other", "main")
    assert (found.version, found.root) == ("2.2.0", "u1")


def test_times_are_the_earliest_and_the_latest_in_any_order() -> None:
    times = ["2026-01-02T00:00:00.000Z", "2026-01-03T00:00:00.000Z", "2026-01-01T00:00:00.000Z", "nonsense", None]
    found = fold_entries(*({"type": "system", "timestamp": time} for time in times))
    assert (found.started, found.ended) == (times[2], times[1])


def test_titles_are_the_last_of_each_kind() -> None:
    found = fold_entries(
        {"type": "custom-title", "customTitle": "old"},
        {"type": "custom-title", "customTitle": "new"},
        {"type": "ai-title", "aiTitle": "a model's"},
        {"type": "summary", "summary": "of old"},
        {"type": "tag", "tag": "t"},
        {"type": "custom-title"},
    )
    assert (found.custom, found.ai, found.summary, found.tag) == ("new", "a model's", "of old", "t")


def test_a_tag_that_was_taken_away_is_gone() -> None:
    assert fold_entries({"type": "tag", "tag": "t"}, {"type": "tag", "tag": ""}).tag is None


def test_long_titles_and_prompts_are_cut() -> None:
    found = fold_entries(prompt("x" * 5000), {"type": "ai-title", "aiTitle": "y" * 5000})
    assert found.first_prompt == "x" * MAX_LISTED_CHARS
    assert found.ai == "y" * MAX_LISTED_CHARS


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        ("<command-name>/init</command-name><command-args>now</command-args>", "/init now"),
        ("<bash-input>ls -l</bash-input>", "!ls -l"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
    ],
)
def test_a_prompt_is_what_was_typed(content: Any, typed: str) -> None:
    assert fold_entries(prompt(content)).best == typed


def test_what_nobody_typed_is_no_prompt() -> None:
    found = fold_entries(
        prompt("hello", isMeta=True),
        prompt([{"type": "tool_result", "content": "x"}]),
        prompt("all before", isCompactSummary=True),
        prompt("<bash-stdout>x</bash-stdout>"),
    )
    assert (found.prompts, found.first_prompt) == (0, None)


def test_a_sidechain_names_a_session_only_where_nothing_else_does() -> None:
    found = fold_entries(prompt("agent's", isSidechain=True), prompt("mine"), prompt("again", isSidechain=True))
    assert (found.prompts, found.best) == (1, "mine")
    assert fold_entries(prompt("agent's", isSidechain=True), prompt("again", isSidechain=True)).best == "agent's"


def test_a_prompt_of_pictures_alone_counts_and_gives_no_title() -> None:
    found = fold_entries(prompt([{"type": "image"}]), {"type": "user"})
    assert (found.prompts, found.best) == (1, None)


def test_compactions_are_counted() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    told = {"type": "system", "subtype": "informational", "content": 'the "compact_boundary" is near'}
    quoted = {"type": "system", "subtype": "informational", "about": "compact_boundary"}
    assert fold_entries(boundary, told, quoted, boundary).compactions == 2


@pytest.mark.parametrize(
    ("fork", "expected"), [({"sessionId": "s"}, "s"), ({"sessionId": 5}, None), ({}, None), ("s", None), (None, None)]
)
def test_a_fork_names_where_it_comes_from(fork: Any, expected: str | None) -> None:
    assert fold_entries(prompt("x", forkedFrom=fork), prompt("y")).forked_from == expected


def test_the_first_fork_counts() -> None:
    assert (
        fold_entries(prompt("x", forkedFrom={"sessionId": "a"}), prompt("y", forkedFrom={"sessionId": "b"})).forked_from
        == "a"
    )


def test_a_move_is_told_once() -> None:
    outline = TranscriptOutline()
    assert outline.find_move(TextLine(cwd="/a", git_branch="main")) == "/a\nmain"
    assert outline.find_move(TextLine(cwd="/a", git_branch="main")) is None
    assert outline.find_move(TextLine(cwd="/b", git_branch="main")) == "/b"
    assert outline.find_move(TextLine()) is None
    assert outline.find_move(TextLine(cwd="/b", git_branch="dev")) == "dev"
    assert (outline.cwd, outline.last_cwd, outline.git_branch) == ("/a", "/b", "dev")


RECORDED = [path.read_bytes() for path in sorted(DATA.glob("sessions/*/*/projects/*/*.jsonl"))[::4]]


@given(st.sampled_from(RECORDED), st.data())
def test_folding_a_tail_onto_the_rest_is_folding_the_whole(data: bytes, draw: st.DataObject) -> None:
    cut = data.find(b"\n", draw.draw(st.integers(0, len(data)))) + 1
    assert fold(data[cut:], fold(data[:cut])) == fold(data)


@pytest.mark.parametrize(("verb", "expected"), [("clone", "clone"), ("x y", None), (3, None), ("x" * 30, None)])
def test_what_turnlog_made_says_how_and_from_what(verb: object, expected: str | None) -> None:
    found = fold_entries({"type": "turnlog", "verb": verb, "forkedFrom": {"sessionId": "s1"}})
    assert (found.made_by, found.forked_from) == (expected, "s1")


def test_what_a_person_typed_while_the_model_worked_is_a_prompt_and_a_peers_message_is_none() -> None:
    build = Build()
    build.prompt("Another Claude session sent a message:\nhi")
    build.prompt("first", origin={"kind": "human"})
    build.attachment("queued_command", prompt="also this", origin={"kind": "human"})
    build.attachment("queued_command", prompt="a report", origin={"kind": "peer"})
    found = fold(build.data())
    assert (found.prompts, found.first_prompt) == (2, "first")
