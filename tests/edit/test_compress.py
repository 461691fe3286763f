"""Compressing turns: which texts, with a model (scripted, or over a real server) and without; what is never lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.server import QUICK, endpoint, script_server
from tests.session.build import Build, use
from turnlog.edit.compress.compress import (
    SHORT_ALREADY_REASON,
    SHORTENED_BEFORE_REASON,
    CompressionResult,
    apply_compression,
    build_message_reader,
    compress_turns,
)
from turnlog.edit.compress.key_terms import find_key_terms, find_lost_terms
from turnlog.edit.compress.log import render_compress_log
from turnlog.edit.compress.turn_bands import parse_band
from turnlog.edit.compress.units import split_units
from turnlog.edit.draft import Draft
from turnlog.errors import UsageError
from turnlog.model.answer import ModelAnswer
from turnlog.model.anthropic import connect_model
from turnlog.model.failures import KeyRejected, RequestRejected, ServerBusy
from turnlog.model.request import ModelRequest
from turnlog.model.scripted_model import DelayedStep, ScriptedModel
from turnlog.session.session import Session

LONG = (
    "I looked at src/cart.py and found that `total()` ignores the discount of 15% in three places. "
    "That is why the tests fail on Windows and nowhere else, as far as I can see. "
    "The reason is a rewrite of the loop, which nobody looked at again afterwards. "
    "I would put it back and add a test for it, if you agree with that. "
    "Tell me how you want to go on, and I will do it at once and report back."
)
CODE = "```python\ndef total(items):\n    return 1  # 99\n```"
WITH_CODE = f"{LONG}\n\n{CODE}\n\nThis is `the_fix`, and it is all that is needed to make it work again."
GOOD = "`total()` in src/cart.py ignores the 15% discount since the loop's rewrite; put it back, add a test."
NAME = re.compile(r"n\d+x")
ALL = [parse_band("oldest=100%")]


def talk(*answers: Any, prompt: str = "please") -> Session:
    build = Build()
    for number, answer in enumerate(answers, 1):
        build.prompt(f"{prompt} {number}")
        build.answer(*(answer if isinstance(answer, tuple) else (answer,)))
    return build.session()


def texts(found: CompressionResult) -> dict[int, Any]:
    return {index: values["message"]["content"] for index, values in found.changes.items()}


def reasons(found: CompressionResult) -> list[str | None]:
    return [piece.reason for piece in found.pieces]


# -- without a model


def test_only_texts_of_the_named_turns_become_shorter() -> None:
    found = compress_turns(talk(LONG, LONG + " One.", LONG + " Two."), [parse_band("turns=2")], 0.35)
    assert list(found.changes) == [3]
    assert found.turns == (2,)
    assert found.chars_after < found.chars_before
    assert found.ratio == found.chars_after / found.chars_before < 0.8
    assert (found.model, found.to) == (None, 0.35)


def test_history_that_was_written_again_becomes_as_short_as_its_first_copy() -> None:
    build = Build()
    build.prompt("please")
    build.answer(LONG)
    build.lines += [dict(line) for line in build.lines]
    session = build.session()
    found = compress_turns(session, ALL, to=0.3)
    rows = apply_compression(Draft.from_transcript(session.file), found).rows
    changed = [at for at, row in enumerate(rows) if row.changed]
    assert changed == [1, 3]
    assert rows[1].changed == rows[3].changed


def test_thinking_calls_results_and_other_fields_stay_as_they_are() -> None:
    thinking = {"type": "thinking", "thinking": LONG, "signature": "sig"}
    cited = {"type": "text", "text": LONG, "citations": [{"x": 1}]}
    text = {"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}
    session = talk((thinking, text, cited, use("c1", given={"command": LONG})))
    message = compress_turns(session, ALL, 0.35).changes[1]["message"]
    before = session.read_body(session.entries[1])["message"]
    assert [message["content"][at] for at in (0, 2, 3)] == [before["content"][at] for at in (0, 2, 3)]
    assert message["content"][1].keys() == text.keys()
    assert len(message["content"][1]["text"]) < len(LONG)
    assert {k: v for k, v in message.items() if k != "content"} == {k: v for k, v in before.items() if k != "content"}
    assert before["content"][1]["text"] == LONG, "the source is not changed"


def test_short_texts_synthetic_answers_errors_and_earlier_extracts_are_left_alone() -> None:
    build = Build()
    build.prompt("go")
    build.answer("Short.")
    build.answer(LONG, model="<synthetic>")
    build.answer(LONG, isApiErrorMessage=True)
    first = build.session()
    assert reasons(compress_turns(first, ALL, 0.35)) == [SHORT_ALREADY_REASON]
    [short] = texts(compress_turns(talk(LONG), ALL, 0.35)).values()
    assert reasons(compress_turns(talk(short[0]["text"] * 1), ALL, 0.35, shortest=10)) == [SHORTENED_BEFORE_REASON]


def test_prompts_become_shorter_only_if_wanted() -> None:
    session = talk("ok", prompt=LONG)
    assert not compress_turns(session, ALL, 0.35).changes
    found = compress_turns(session, ALL, 0.35, prompts=True)
    assert list(found.changes) == [0]
    assert isinstance(found.changes[0]["message"]["content"], str)
    assert found.shortened_texts[0].slot.role == "user"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "tool_result", "tool_use_id": "x", "content": LONG}],
        "<system-reminder>" + LONG + "</system-reminder>",
        "<ide_selection>x</ide_selection>" + LONG,
        "This session is being continued from a previous conversation. " + LONG,
        "<command-name>/x</command-name><command-args>" + LONG + "</command-args>",
    ],
)
def test_what_nobody_typed_is_no_prompt(content: Any) -> None:
    build = Build()
    build.prompt("go")
    build.answer("ok")
    build.prompt(content)
    build.answer("ok")
    assert not compress_turns(build.session(), ALL, 0.35, prompts=True).changes


@pytest.mark.parametrize(
    "content", [None, 7, [None, 3, {"type": "text"}, {"type": "text", "text": 4}], {"a": 1}, [], ""]
)
def test_hostile_content_is_no_text(content: Any) -> None:
    build = Build()
    build.prompt("go")
    build.row("assistant", message={"role": "assistant", "content": content, "model": "m"})
    build.answer(LONG)
    assert list(compress_turns(build.session(), ALL, 0.35).changes) == [2]


def test_an_answer_that_is_a_string_stays_one() -> None:
    build = Build()
    build.prompt("go")
    build.row("assistant", message={"role": "assistant", "content": LONG, "model": "m"})
    [content] = texts(compress_turns(build.session(), ALL, 0.35)).values()
    assert isinstance(content, str)
    assert len(content) < len(LONG)


def test_turns_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="turns 1 to 1"):
        compress_turns(talk(LONG), [parse_band("turns=2")], 0.35)


# -- with a model


def test_what_the_model_says_takes_the_place_of_a_text() -> None:
    model = ScriptedModel(["<text>\n" + GOOD + "\n</text>"])
    found = compress_turns(talk(LONG), ALL, 0.35, model, name="small")
    assert texts(found)[1] == [{"type": "text", "text": GOOD}]
    assert found.used == {"input_tokens": 1, "output_tokens": (len(GOOD) + 15) // 4}
    [request] = model.requests
    assert request.model == "small"
    asked = str(request.messages[0]["content"])
    assert LONG in asked
    assert f"about {round(len(LONG) * 0.35)} characters" in asked
    assert "src/cart.py, total(), 15%" in asked


def test_code_never_reaches_the_model_and_comes_back_letter_by_letter() -> None:
    model = ScriptedModel([f"{GOOD}\n⟦code 1⟧\n`the_fix` does it."])
    found = compress_turns(talk(WITH_CODE), ALL, 0.35, model)
    assert "return 1" not in str(model.requests[0].messages)
    assert texts(found)[1][0]["text"] == f"{GOOD}\n{CODE}\n`the_fix` does it."


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        (WITH_CODE.replace(CODE, "⟦code 1⟧") + " And more.", "not shorter"),
        (f"{GOOD} `the_fix`", "code is missing"),
        (f"{GOOD} `the_fix`\n⟦code 1⟧\n⟦code 1⟧", "code is missing"),
        ("⟦code 1⟧ `total()` ignores 15% in src/carts.py; `the_fix`", "lost src/cart.py"),
        ("⟦code 1⟧ `total()` ignores 150% in src/cart.py; `the_fix`", "lost 15%"),
    ],
)
def test_an_answer_that_lost_something_is_asked_for_again_and_then_not_taken(answer: str, told: str) -> None:
    model = ScriptedModel([answer, answer])
    found = compress_turns(talk(WITH_CODE), ALL, 0.35, model)
    assert not found.changes
    assert told in (reasons(found)[0] or "")
    assert len(model.requests) == 2
    assert told in str(model.requests[1].messages[-1]["content"])
    assert found.unshortened_texts == list(found.pieces)
    model = ScriptedModel([answer, f"{GOOD}\n⟦code 1⟧\n`the_fix`"])
    assert compress_turns(talk(WITH_CODE), ALL, 0.35, model).changes


def test_a_text_that_looks_like_our_own_lines_is_left_alone() -> None:
    model = ScriptedModel()
    assert "contains ⟦" in (reasons(compress_turns(talk(LONG + " ⟦code 1⟧"), ALL, 0.35, model))[0] or "")
    assert model.requests == []


def test_an_answer_that_was_cut_is_not_taken() -> None:
    cut = ModelAnswer(({"type": "text", "text": GOOD},), "max_tokens")
    assert reasons(compress_turns(talk(LONG), ALL, 0.35, ScriptedModel(then=cut))) == ["the answer was cut off"]


def test_a_failure_leaves_one_text_as_it_was_and_not_the_others() -> None:
    def answer(request: ModelRequest) -> Any:
        return ServerBusy("full") if "Two." in str(request.messages) else GOOD

    found = compress_turns(talk(LONG, LONG + " Two.", LONG + " Three."), ALL, 0.35, ScriptedModel(then=answer))
    assert sorted(found.changes) == [1, 5]
    assert reasons(found) == [None, "the model failed: full", None]


def test_a_key_that_is_not_accepted_stops_all() -> None:
    model = ScriptedModel(then=KeyRejected("401: invalid x-api-key"))
    with pytest.raises(KeyRejected, match="invalid x-api-key"):
        compress_turns(talk(*[f"{LONG} {n}." for n in range(40)]), ALL, 0.35, model, jobs=1)
    assert len(model.requests) < 5


def test_equal_texts_are_asked_for_once() -> None:
    model = ScriptedModel([GOOD])
    assert len(compress_turns(talk(LONG, LONG, LONG), ALL, 0.35, model).changes) == 3
    assert len(model.requests) == 1


def test_no_more_requests_than_allowed_are_at_work_at_a_time() -> None:
    lock, at_work, most = threading.Lock(), [0], [0]

    def answer(request: ModelRequest) -> str:
        with lock:
            at_work[0] += 1
            most[0] = max(most[0], at_work[0])
        time.sleep(0.02)
        with lock:
            at_work[0] -= 1
        return f"{GOOD} {NAME.findall(str(request.messages))[0]}"

    done: list[tuple[int, int]] = []
    session = talk(*[f"{LONG} It is n{n}x." for n in range(12)])
    found = compress_turns(
        session, ALL, 0.35, ScriptedModel(then=answer), jobs=3, progress=lambda *now: done.append(now)
    )
    assert most[0] == 3
    assert done == [(n, 12) for n in range(1, 13)]
    assert [texts(found)[1 + 2 * n][0]["text"][-len(f"n{n}x") :] for n in range(12)] == [f"n{n}x" for n in range(12)]


def test_a_progress_that_raises_ends_all_requests() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    model = ScriptedModel([GOOD], then=DelayedStep(60, GOOD))
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compress_turns(talk(LONG, LONG + " 2", LONG + " 3"), ALL, 0.35, model, jobs=2, progress=stop)
    assert time.monotonic() - began < 60, "before the answers would have come"


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another thing there")
def test_an_interrupt_ends_a_compression_at_once(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        from tests.edit.test_compress import ALL, LONG, talk
        from turnlog.edit.compress.compress import compress_turns
        from turnlog.model.scripted_model import DelayedStep, ScriptedModel
        print("ready", flush=True)
        compress_turns(talk({LONG!r}, {LONG!r} + "2"), ALL, 0.35, ScriptedModel(then=DelayedStep(60, "x")))
        """
    )
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in err


def test_over_a_real_server_that_fails_first() -> None:
    overloaded = {"error": {"status": 529, "type": "overloaded_error", "message": "Overloaded"}}
    cut = {"content": [{"type": "text", "text": GOOD}], "drop_after": 4}
    with script_server(overloaded, cut, GOOD) as server:
        found = compress_turns(talk(LONG), ALL, 0.35, connect_model(endpoint(server.url), QUICK))
        assert len(server.requests) == 3
    assert texts(found)[1][0]["text"] == GOOD


PARTS = [
    "`total()`",
    "src/cart.py",
    "15%",
    "`the_fix`",
    "⟦code 1⟧",
    "\n",
    "plain words",
    "42",
    "⟦code 2⟧",
    "```\nx\n```",
]


@given(st.lists(st.sampled_from(PARTS), max_size=14).map(" ".join))
def test_whatever_the_model_says_nothing_gets_lost(answer: str) -> None:
    [piece] = compress_turns(talk(WITH_CODE), ALL, 0.35, ScriptedModel(then=answer)).pieces
    if piece.short is None:
        assert piece.reason
    else:
        assert piece.short.count(CODE) == 1
        assert len(piece.short) < len(WITH_CODE)
        assert not find_lost_terms(find_key_terms(WITH_CODE), piece.short)


@pytest.mark.corpus
def test_in_real_sessions_no_mark_and_no_code_gets_lost(corpus: Path) -> None:
    found = sorted((corpus / "wild").rglob("*.jsonl"), key=lambda path: path.stat().st_size)[-8:-3]
    shorter = 0
    for path in found:
        with Session.open(path) as session:
            for piece in compress_turns(session, ALL, 0.35).shortened_texts if session.turns else ():
                text = piece.slot.text
                assert not find_lost_terms(find_key_terms(text), piece.text_after)
                code = (text[unit.start : unit.end] for unit in split_units(text) if unit.kind == "code")
                assert all(part in piece.text_after for part in code)
                assert len(piece.text_after) < len(text)
                shorter += 1
    assert shorter > 10


# -- with other edits


def test_a_draft_gets_the_shorter_texts_and_keeps_all_other_bytes() -> None:
    session = talk(LONG, "ok")
    draft = Draft.from_transcript(session.file)
    found = compress_turns(session, ALL, 0.35, current=build_message_reader(draft))
    lines = list(apply_compression(draft, found).iterate_lines())
    before = [session.file.read_raw(entry) for entry in session.file.entries]
    assert [at for at, (old, new) in enumerate(zip(before, lines, strict=True)) if old != new] == [1]
    assert json.loads(lines[1])["message"] == found.changes[1]["message"]


def test_what_edits_before_have_changed_or_taken_away_counts() -> None:
    session = talk(LONG, LONG + " Two.")
    draft = Draft.from_transcript(session.file).with_changes(
        {1: {"message": {"role": "assistant", "content": "now short", "model": "m"}}}
    )
    draft = draft.without_rows({3})
    found = compress_turns(session, ALL, 0.35, current=build_message_reader(draft))
    assert [piece.slot.text for piece in found.pieces] == ["now short"]
    assert apply_compression(draft, found) == draft


# -- the log


def test_the_log_shows_every_text_before_and_after_and_why_others_stayed() -> None:
    def answer(request: ModelRequest) -> Any:
        return (
            RequestRejected("no `way`\nat all") if "Two." in str(request.messages) else f"{GOOD}\n⟦code 1⟧\n`the_fix`"
        )

    found = compress_turns(talk(WITH_CODE, LONG + " Two.", "ok"), ALL, 0.35, ScriptedModel(then=answer), name="small")
    log = render_compress_log(found, "my\nsession")
    assert log.startswith("# Compressed: my session\n\nTurns 1–3, with the model small.\n1 of 3 texts are shorter: ")
    assert f"````text\n{WITH_CODE}\n````" in log
    assert "- Turn 2, answer (entry 3, block 1)," in log
    assert log.endswith("the model failed: no 'way' at all\n")


def test_the_log_says_when_no_model_was_asked_and_quotes_stay_quotes() -> None:
    text = "`````\n# fake\n`````\n" + LONG
    log = render_compress_log(compress_turns(talk(text), ALL, 0.35))
    assert "without a model: sentences were left out" in log
    assert f"``````text\n{text}\n``````" in log
