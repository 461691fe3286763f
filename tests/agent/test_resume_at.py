"""Resuming a session at an earlier entry (`--resume-session-at`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.agent.desk import Desk, script

MakeDesk = Callable[[dict[str, Any]], Desk]


def find_answer(here: Desk, text: str) -> str:
    return next(str(row["uuid"]) for row in here.session if row["type"] == "assistant" and text in json.dumps(row))


def test_a_session_continues_after_an_earlier_answer(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three."))
    here.turnlog("-p", "first")
    here.turnlog("-p", "--continue", "second")
    session, leaf = here.session[0]["sessionId"], find_answer(here, "One.")
    here.mock.memory.rewind()  # type: ignore[attr-defined]
    done = here.turnlog("-p", "--resume", session, "--resume-session-at", leaf, "third")
    assert (done.returncode, done.stdout) == (0, "Three.\n")
    sent = json.dumps(here.requests[-1]["messages"])
    assert "first" in sent
    assert "second" not in sent


def test_the_option_needs_a_session_and_an_entry_of_it(desk: MakeDesk) -> None:
    here = desk(script("One."))
    done = here.turnlog("-p", "--resume-session-at", "x", "first")
    assert (done.returncode, "requires --resume" in done.stderr) == (2, True)
    here.turnlog("-p", "first")
    done = here.turnlog("-p", "--resume", here.session[0]["sessionId"], "--resume-session-at", "nope", "second")
    assert done.returncode == 1
    assert "nope: no such entry" in done.stderr


def find_prompt(here: Desk, text: str) -> str:
    return next(str(row["uuid"]) for row in here.session if row.get("promptSource") and text in json.dumps(row))


def test_only_the_turn_that_a_program_names_is_dropped(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two.", "Three.", "Four."))
    for prompt in ("first", "second", "third"):
        here.turnlog("-p", *(("--continue",) if prompt != "first" else ()), prompt)
    session, one, two = here.session[0]["sessionId"], find_answer(here, "One."), find_answer(here, "Two.")
    second, third = find_prompt(here, "second"), find_prompt(here, "third")
    sent = len(here.requests)
    for leaf, prompt, reason in (
        (one, second, f"the prompt {third} comes after this turn"),
        (one, third, f"the entry {second} comes before this prompt"),
        (two, "nope", "the entry"),
        (find_answer(here, "Three."), third, "no such prompt after"),
    ):
        words = ("--resume", session, "--resume-session-at", leaf, "--resume-drops-turn", prompt)
        done = here.turnlog("-p", *words, "again")
        assert (done.returncode, len(here.requests)) == (1, sent)
        assert "Resume rejected by --resume-drops-turn: " in done.stderr
        assert reason in done.stderr
    here.mock.memory.rewind()  # type: ignore[attr-defined]
    words = ("--resume", session, "--resume-session-at", two, "--resume-drops-turn", third)
    assert here.turnlog("-p", *words, "again").stdout == "Four.\n"
    done = here.turnlog("-p", "--resume", session, "--resume-drops-turn", third, "again")
    assert (done.returncode, "requires --resume-session-at" in done.stderr) == (2, True)
