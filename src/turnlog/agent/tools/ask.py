"""AskUserQuestion: asks the person questions during a turn."""

from __future__ import annotations

from turnlog.agent.tools.call_result import CallResult, Object, ToolError, to_object
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.input_schema import InvalidInput
from turnlog.agent.tools.tool import CallContext, Question

_UNANSWERED_TEXT = (
    "The questions were not answered: nobody is there, or the user declined. Continue with what you think is best, "
    "say what you assumed, and do nothing that can't be undone."
)

_PLAIN_ANSWER_TEXT = "Your questions have been answered: {}. You can now continue with these answers in mind."
_OWN_WORDS_TEXT = (
    "The user answered: {}. Read the answers carefully — they may request clarification, changes, or that you not"
    " proceed — and follow what they actually say."
)


class AskUserQuestion(DescribedTool):
    """Asks the person, one question at a time."""

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        """Ask the questions. The host returns `answers`: a string per question, with several choices joined by ", ".

        It may also return `annotations` with `notes` on some answers; a person who declines can give a reason
        (`words`).
        """
        questions = arguments["questions"]
        _check_questions(questions)
        reply = context.desk.ask(Question("question", {"questions": questions}, context.call))
        if reply is None or "answers" not in reply:
            raise ToolError((reply or {}).get("words") or _UNANSWERED_TEXT)
        answers, notes = to_object(reply["answers"]), to_object(reply.get("annotations"))
        structured = {"questions": questions, "answers": answers, **({"annotations": notes} if notes else {})}
        return CallResult(_describe_answers(questions, answers, notes), structured)


def _describe_answers(questions: list[Object], answers: Object, notes: Object) -> str:
    """Describe the answers, which are either plain choices or text that the model must read carefully."""
    if not answers:
        return "The user did not answer the questions."
    pairs, by_text = [], {question["question"]: question for question in questions}
    for name, answer in answers.items():
        note = to_object(notes.get(name)).get("notes")
        text = ",".join(map(str, answer)) if isinstance(answer, list) else answer
        pairs.append(f'"{name}"="{text}"' + (f" notes: {note}" if note else ""))
    is_plain = not notes and all(_is_offered_choice(answer, by_text.get(name, {})) for name, answer in answers.items())
    return (_PLAIN_ANSWER_TEXT if is_plain else _OWN_WORDS_TEXT).format(", ".join(pairs))


def _is_offered_choice(answer: object, question: Object) -> bool:
    labels = {option["label"] for option in question.get("options", ())}
    if question.get("multiSelect"):
        return labels.issuperset(answer if isinstance(answer, list) else str(answer).split(", "))
    return isinstance(answer, str) and answer in labels


def _check_questions(questions: list[Object]) -> None:
    labels = [[option["label"] for option in question["options"]] for question in questions]
    if any(len(set(names)) < len(names) for names in (*labels, [question["question"] for question in questions])):
        message = "Question texts must be unique, option labels must be unique within each question"
        raise InvalidInput.from_details({"code": "custom", "path": [], "message": message})
