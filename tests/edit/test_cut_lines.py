"""What is kept of lines that were cut off."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.session.build import BASE, Build, base, describe_resumed, encode_lines, find_recording
from turnlog.edit.illnesses.cut_lines import CUT_NOTE, complete_json
from turnlog.edit.illnesses.repair import repair_session
from turnlog.edit.illnesses.verdict import judge_session
from turnlog.session.session import Session

TRICKY: dict[str, Any] = {
    "a": [1, -2.5e3, True, None, [], {}, [[{"x": "y"}]]],
    'quote"d \\ key': 'te"xt\\ with [brackets] {and}, : marks',
    "unicode": "ü – 😀 \u2028 \U0001f389\n\t",
    "": "",
    "deep": {"er": {"still": ["one", "two"]}},
}


def is_part(part: Any, whole: Any) -> bool:
    """Return whether a value is a beginning of another."""
    if isinstance(whole, str) and isinstance(part, str):
        return whole.startswith(part)
    if isinstance(whole, dict) and isinstance(part, dict):
        return list(part) == list(whole)[: len(part)] and all(is_part(part[key], whole[key]) for key in part)
    if isinstance(whole, list) and isinstance(part, list):
        return len(part) <= len(whole) and all(is_part(*pair) for pair in zip(part, whole, strict=False))
    return bool(part == whole) and type(part) is type(whole)


@pytest.mark.parametrize("is_ascii", [True, False])
def test_json_that_is_cut_anywhere_gives_a_beginning_of_its_value(is_ascii: bool) -> None:
    raw = json.dumps(TRICKY, ensure_ascii=is_ascii).encode()
    shown: list[Any] = [complete_json(raw[:end]) for end in range(1, len(raw) + 1)]
    assert all(is_part(value, TRICKY) for value in shown)
    assert shown[-1] == TRICKY
    sizes = [len(json.dumps(value)) for value in shown]
    assert sizes == sorted(sizes), "no byte more ever gives less"


def test_genuine_lines_that_are_cut_give_a_beginning_of_their_values() -> None:
    for line in find_recording("2.1.325/tools").read_bytes().splitlines()[:40]:
        whole = json.loads(line)
        for end in range(1, len(line), max(1, len(line) // 60)):
            assert is_part(complete_json(line[:end]), whole)


@pytest.mark.parametrize("raw", [b"", b"[", b"nul", b"\xff\xfe", b"}", b'{"a"]', b"1 2", b'"' + b"\\" * 99])
def test_what_is_no_json_at_all_gives_nothing_and_never_fails(raw: bytes) -> None:
    assert complete_json(raw) in (None, [], {}, 1, "\\" * 49)


def cut_last_line(build: Build, mark: str) -> bytes:
    """The session, with its last line cut right after a text."""
    *before, last = encode_lines(build.lines).splitlines(keepends=True)
    return b"".join(before) + last[: last.index(mark.encode()) + len(mark)]


def repair(data: bytes) -> Session:
    outcome = repair_session(Session.from_bytes(data))
    assert outcome.is_cured
    assert outcome.draft is not None
    session = Session.from_bytes(b"".join(outcome.draft.iterate_lines()))
    assert judge_session(session).is_ok
    return session


def test_the_text_of_a_cut_answer_is_resumed() -> None:
    build = base()
    build.answer("It was the first half of a long answer", uuid="cut")
    assert describe_resumed(repair(cut_last_line(build, "first half")))[-1] == f"A It was the first half\n\n{CUT_NOTE}"


def test_the_text_of_a_cut_prompt_is_resumed() -> None:
    build = base()
    build.prompt("Please write down everything")
    assert describe_resumed(repair(cut_last_line(build, "write down")))[-1] == f"U Please write down\n\n{CUT_NOTE}"


def test_thinking_and_calls_that_are_cut_become_text_because_nothing_else_is_sent() -> None:
    build = base()
    call = {"type": "tool_use", "id": "t9", "name": "Bash", "input": {"command": "make all the things"}}
    build.answer({"type": "thinking", "thinking": "Hm", "signature": "s"}, call)
    last = describe_resumed(repair(cut_last_line(build, "make all")))[-1]
    assert last == f'A Hm\n\n[Bash: {{"command": "make all"}}]\n\n{CUT_NOTE}'


def test_a_cut_result_stays_the_result_of_its_call() -> None:
    build = base()
    build.call("t9", "Bash")
    build.result("t9", "the first lines of an output")
    session = repair(cut_last_line(build, "first lines"))
    (call,) = [call for call in session.calls if call.id == "t9"]
    assert call.result is not None
    (block,) = session.read_body(call.result)["message"]["content"]
    assert block["content"][0]["text"] == f"the first lines\n\n{CUT_NOTE}"


def test_the_marked_end_follows_the_kept_text() -> None:
    """The newest client continues from the entry that the last mark names."""
    build = base()
    build.note("last-prompt", leafUuid="a3", lastPrompt="u3")
    build.answer("first half of an answer")
    assert describe_resumed(repair(cut_last_line(build, "first half")))[-1].startswith("A first half")


def test_a_line_cut_in_the_middle_comes_back_where_later_entries_expect_it() -> None:
    build = base()
    raw = encode_lines(build.lines).splitlines(keepends=True)
    at = next(number for number, line in enumerate(build.lines) if line["uuid"] == "a2")
    raw[at] = raw[at][: raw[at].index(b"a2 te") + 5] + b"\n"
    texts = describe_resumed(repair(b"".join(raw)))
    assert texts == [*BASE[:3], f"A a2 te\n\n{CUT_NOTE}", *BASE[4:]]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"us',
        b'{"type":"attachment","attachment":{"text":"x',
        b'{"isSidechain":true,"message":{"role":"user","content":"side',
    ],
)
def test_a_cut_line_in_which_nothing_was_said_is_removed(line: bytes) -> None:
    assert describe_resumed(repair(base().data() + line)) == BASE
