"""Choosing a session from a list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, harmful
from turnlog.agent.console.session_picker import MAX_LISTED_SESSIONS, format_age, matches_words, pick_from_list
from turnlog.agent.resume.choices import ResumeChoice
from turnlog.render.terminal import TerminalScreen

NOW = datetime.now(UTC)


def choice(title: str, **more: object) -> ResumeChoice:
    facts = {"last_prompt": None, "time": NOW, "size": 1000, "branch": "main", "cwd": "/home/dana"} | more
    return ResumeChoice(Path(f"/x/{title[:10]}.jsonl"), title, **facts)  # type: ignore[arg-type]


def answer_in_turn(*lines: str | None) -> Callable[[str], str | None]:
    waiting = iter(lines)
    return lambda _: next(waiting)


def choose_session(choices: list[ResumeChoice], *lines: str | None) -> tuple[str | None, str]:
    said: list[str] = []
    found = pick_from_list(choices, answer_in_turn(*lines), lambda *told: said.extend(told), TerminalScreen(width=60))
    return found.title if found else None, "\n".join(said)


FRUIT = [choice("apples"), choice("pears", cwd="/home/dana/orchard"), choice("green apples", last_prompt="And now?")]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["2"], "pears"),
        ([""], "apples"),
        (["green", ""], "green apples"),
        (["apples", "2"], "green apples"),
        (["ORCHARD", "1"], "pears"),
        (["and now", "1"], "green apples"),
        (["9", "1"], "apples"),
        (["nothing of it", "3"], "green apples"),
        (["q"], None),
        ([None], None),
    ],
)
def test_a_session_is_chosen_by_number_after_looking_for_words(lines: list[str | None], expected: str | None) -> None:
    assert choose_session(FRUIT, *lines)[0] == expected


def test_the_list_tells_title_age_size_branch_and_folder() -> None:
    told = choose_session([choice("apples", time=NOW - timedelta(hours=3))], "q")[1]
    assert told.splitlines() == ["  1  apples", "     3 hours ago · 1 KB · main · /home/dana"]


def test_a_long_list_says_how_many_more_there_are() -> None:
    told = choose_session([choice(f"{number}") for number in range(MAX_LISTED_SESSIONS + 2)], "q")[1]
    assert told.splitlines()[-1].strip() == "2 more sessions; type words to search"


def test_words_that_nothing_holds_are_told() -> None:
    assert "no session has 'quince' in its title" in choose_session(FRUIT, "quince", "q")[1]


def test_titles_and_folders_can_t_act_on_the_terminal() -> None:
    told = choose_session([choice(HOSTILE, cwd=HOSTILE, branch=HOSTILE)], HOSTILE + "x", "q")[1]
    assert harmful(told) == set()


def test_all_words_must_be_held() -> None:
    assert matches_words(FRUIT[2], "apples green")
    assert not matches_words(FRUIT[2], "apples red")


@pytest.mark.parametrize(
    ("passed", "expected"),
    [(5, "just now"), (61, "1 minute ago"), (7200, "2 hours ago"), (200_000, "2 days ago"), (-5, "just now")],
)
def test_ages_are_told_in_one_unit(passed: float, expected: str) -> None:
    assert format_age(NOW - timedelta(seconds=passed), NOW) == expected
