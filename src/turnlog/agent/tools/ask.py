"""AskUserQuestion: let the person choose, in the middle of the work."""

from __future__ import annotations

from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.schema import InvalidInput
from turnlog.agent.tools.tool import Object, Question, Result, Scene, ToolError

_UNANSWERED = (
    "The questions were not answered: nobody is there, or the user did not want to. Go on with what you think best, "
    "say what you assumed, and do nothing that can't be undone."
)


class AskUserQuestion(Offered):
    """Asks the person, one thing at a time."""

    def run(self, given: Object, scene: Scene) -> Result:
        """Ask. The desk answers with `answers`: a text for each question (choices of several joined by ", ")."""
        questions = given["questions"]
        _check(questions)
        found = scene.desk.ask(Question("question", {"questions": questions}))
        if found is None:
            raise ToolError(_UNANSWERED)
        answers = {str(name): str(text) for name, text in dict(found.get("answers") or {}).items()}
        pairs = ", ".join(f'"{name}"="{text}"' for name, text in answers.items())
        told = f"Your questions have been answered: {pairs}. You can now continue with these answers in mind."
        return Result(told, {"questions": questions, "answers": answers})


def _check(questions: list[Object]) -> None:
    labels = [[option["label"] for option in question["options"]] for question in questions]
    if any(len(set(names)) < len(names) for names in (*labels, [question["question"] for question in questions])):
        message = "Question texts must be unique, option labels must be unique within each question"
        raise InvalidInput.of({"code": "custom", "path": [], "message": message})
