"""AskUserQuestion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.tools.workshop import Clerk, Workshop
from turnlog.agent.tools.ask import AskUserQuestion
from turnlog.agent.tools.call_result import CallResult
from turnlog.agent.tools.tool import Question


def question(text: str = "Which?", labels: str = "AB", *, many: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": label.lower()} for label in labels]
    return {"question": text, "header": "H", "options": options, "multiSelect": many}


def test_the_answers_are_told_and_kept(tmp_path: Path) -> None:
    clerk = Clerk({"answers": {"Which?": "A", "Many?": "A, B"}})
    questions = [question(), question("Many?", many=True)]
    found = Workshop(tmp_path, clerk).call(AskUserQuestion(), questions=questions)
    assert found == CallResult(
        'Your questions have been answered: "Which?"="A", "Many?"="A, B". '
        "You can now continue with these answers in mind.",
        {"questions": questions, "answers": {"Which?": "A", "Many?": "A, B"}},
    )
    assert clerk.asked == [Question("question", {"questions": questions}, "toolu_1")]


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"answers": {"Which?": "neither"}}, '"Which?"="neither". Read the answers carefully'),
        ({"answers": {"Which?": ["A", "B"]}}, '"Which?"="A,B". Read the answers carefully'),
        (
            {"answers": {"Which?": "A"}, "annotations": {"Which?": {"notes": "soon"}}},
            '"Which?"="A" notes: soon. Read the answers carefully',
        ),
        ({"answers": {"Many?": ["A", "B"]}}, 'have been answered: "Many?"="A,B". You can now'),
        ({"answers": {"Else?": "A"}}, '"Else?"="A". Read the answers carefully'),
        ({"answers": {}}, "The user did not answer the questions."),
    ],
)
def test_what_is_no_plain_choice_is_told_so_that_it_is_read(tmp_path: Path, found: dict[str, Any], told: str) -> None:
    questions = [question(), question("Many?", many=True)]
    result = Workshop(tmp_path, Clerk(found)).call(AskUserQuestion(), questions=questions)
    assert told in str(result.content)
    assert result.structured == {"questions": questions, **found}


def test_who_declines_may_say_why(tmp_path: Path) -> None:
    found = Workshop(tmp_path, Clerk({"words": "not now"})).call(AskUserQuestion(), questions=[question()])
    assert (found.content, found.is_error) == ("not now", True)


def test_without_an_answer_the_model_goes_on_by_itself(tmp_path: Path) -> None:
    found = Workshop(tmp_path, Clerk(None)).call(AskUserQuestion(), questions=[question()])
    assert found.is_error
    assert str(found.content).startswith("The questions were not answered")


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [question(str(number)) for number in range(5)],
        [question(), question()],
        [question(labels="A")],
        [question(labels="ABCDE")],
        [question(labels="AA")],
    ],
)
def test_questions_that_nobody_could_answer_are_not_asked(tmp_path: Path, questions: list[dict[str, Any]]) -> None:
    clerk = Clerk({"answers": {}})
    found = Workshop(tmp_path, clerk).call(AskUserQuestion(), questions=questions)
    assert found.is_error
    assert clerk.asked == []


def test_a_person_is_asked_one_thing_at_a_time() -> None:
    assert not AskUserQuestion().is_safe({})
