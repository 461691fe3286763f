"""AskUserQuestion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.tools.workshop import Clerk, Workshop
from turnlog.agent.tools.ask import AskUserQuestion
from turnlog.agent.tools.tool import Question, Result


def question(text: str = "Which?", labels: str = "AB", *, many: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": label.lower()} for label in labels]
    return {"question": text, "header": "H", "options": options, "multiSelect": many}


def test_the_answers_are_told_and_kept(tmp_path: Path) -> None:
    clerk = Clerk({"answers": {"Which?": "A", "Many?": "A, B"}})
    questions = [question(), question("Many?", many=True)]
    found = Workshop(tmp_path, clerk).call(AskUserQuestion(), questions=questions)
    assert found == Result(
        'Your questions have been answered: "Which?"="A", "Many?"="A, B". '
        "You can now continue with these answers in mind.",
        {"questions": questions, "answers": {"Which?": "A", "Many?": "A, B"}},
    )
    assert clerk.asked == [Question("question", {"questions": questions})]


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
