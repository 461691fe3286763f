"""AskUserQuestion: let the person choose, in the middle of the work."""

from __future__ import annotations

from typing import Any, ClassVar

from turnlog.agent.tools.tool import Object, Question, Result, Scene, ToolError, Unfit

_UNANSWERED = (
    "The questions were not answered: nobody is there, or the user did not want to. Go on with what you think best, "
    "say what you assumed, and do nothing that can't be undone."
)
_OPTION = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "description": "The choice, in one to five words"},
        "description": {"type": "string", "description": "What it means, and what follows from it"},
    },
    "required": ["label", "description"],
    "additionalProperties": False,
}
_QUESTION = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "The whole question"},
        "header": {"type": "string", "description": "A label of at most 12 characters"},
        "options": {"type": "array", "items": _OPTION, "minItems": 2, "maxItems": 4},
        "multiSelect": {"type": "boolean", "description": "Whether several may be chosen"},
    },
    "required": ["question", "header", "options", "multiSelect"],
    "additionalProperties": False,
}


class AskUserQuestion:
    """Asks the person."""

    name = "AskUserQuestion"
    description = (
        "Ask the user one to four questions with two to four choices each, when the answer decides what you do and "
        "you can't find it out yourself.\n"
        "The user can always write something else. Put the choice that you would make first."
    )
    schema: ClassVar[Object] = {
        "type": "object",
        "properties": {
            "questions": {"type": "array", "items": _QUESTION, "minItems": 1, "maxItems": 4},
            "answers": {"type": "object", "description": "Filled in by the client"},
        },
        "required": ["questions"],
        "additionalProperties": False,
    }

    def is_safe(self, given: Object) -> bool:
        """A person can be asked one thing at a time."""
        return False

    def run(self, given: Object, scene: Scene) -> Result:
        """Ask. The desk answers with `answers`: a text for each question (choices of several joined by ", ")."""
        questions = given["questions"]
        _check(questions)
        found = scene.desk.ask(Question("question", {"questions": questions}))
        if found is None:
            raise ToolError(_UNANSWERED)
        answers = {str(name): str(text) for name, text in dict(found.get("answers") or {}).items()}
        pairs = ", ".join(f'"{name}"="{text}"' for name, text in answers.items())
        structured: dict[str, Any] = {"questions": questions, "answers": answers}
        told = f"Your questions have been answered: {pairs}. You can now continue with these answers in mind."
        return Result(told, structured)


def _check(questions: list[Object]) -> None:
    if not 1 <= len(questions) <= 4:
        raise Unfit("Ask one to four questions at a time.")
    if len({question["question"] for question in questions}) < len(questions):
        raise Unfit("Each question must be asked once.")
    for question in questions:
        labels = {option["label"] for option in question["options"]}
        if not 2 <= len(question["options"]) <= 4 or len(labels) < len(question["options"]):
            raise Unfit(f"Give two to four different choices: {question['question']}")
