"""Cards for questions to the user, files for the user, and structured answers."""

from __future__ import annotations

import re
from typing import Any

from turnlog.render.card import FieldsSection, PlainSection, QuestionChoice, QuestionsSection, Section, TreeSection
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.tools.generic_tools import show_input, show_result
from turnlog.render.values import Json, format_scalar, pick_text, to_dict, to_dict_list, to_short_line, to_string_list

_ANSWER_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')


def build_question_parts(work: CardSource) -> CardParts:
    """Build the card parts for AskUserQuestion: the questions, their options and the answers."""
    questions = to_dict_list(work.input_fields.get("questions")) or to_dict_list(work.record.get("questions"))
    if not questions and pick_text(work.input_fields.get("question")):
        questions = [work.input_fields]
    answers = _read_answers(work)
    choices = tuple(_build_choice(item, answers) for item in questions)
    if not choices:
        return CardParts(show_input(work.detail.input), show_outcome(work, show_result))
    chosen = any(choice.answers for choice in choices)
    notes = list(_show_notes(work.record.get("annotations")))
    return CardParts(
        (QuestionsSection(choices, work.outcome != "unanswered"),),
        show_outcome(work, lambda work: notes if chosen else show_result(work)),
        [to_short_line(", ".join(choices[0].answers), 60)] if len(choices) == 1 and choices[0].answers else [],
    )


def _read_answers(work: CardSource) -> Json:
    if recorded := to_dict(work.record.get("answers")):
        return recorded
    return dict(_ANSWER_PAIR.findall(work.words)) if work.outcome == "answered" else {}


def _build_choice(item: Json, answers: Json) -> QuestionChoice:
    question = pick_text(item.get("question"), item.get("header")) or "(no question)"
    options = [
        (pick_text(option.get("label"), option.get("value")), pick_text(option.get("description")))
        for option in to_dict_list(item.get("options"))
    ]
    options += [(option, "") for option in to_string_list(item.get("options"))]
    answer = answers.get(question, answers.get(pick_text(item.get("header"))))
    labels = {label for label, _ in options}
    return QuestionChoice(question, tuple(options), tuple(_split_choices(answer, labels)))


def _split_choices(answer: Any, labels: set[str]) -> list[str]:
    """Split several choices, given as a list or as a string with commas."""
    if isinstance(answer, list):
        return [format_scalar(item) for item in answer if format_scalar(item)]
    text = format_scalar(answer) if answer is not None else ""
    parts = [part.strip() for part in text.split(", ")]
    return parts if len(parts) > 1 and labels.issuperset(parts) else [text] if text else []


def _show_notes(annotations: Any) -> list[Section]:
    notes = [
        (to_short_line(question), pick_text(to_dict(note).get("notes")))
        for question, note in to_dict(annotations).items()
    ]
    rows = tuple((question, note) for question, note in notes if note)
    return [FieldsSection(rows)] if rows else []


def build_user_file_parts(work: CardSource) -> CardParts:
    """Build the card parts for SendUserFile: files for the user."""
    names = to_string_list(work.input_fields.get("files")) or to_string_list(work.input_fields.get("attachments"))
    asked = show_input({name: value for name, value in work.input_fields.items() if name != "files"})
    files = (FieldsSection(tuple(("file", name) for name in names)),) if names else ()
    return CardParts((*files, *asked), show_outcome(work, show_result))


def build_structured_parts(work: CardSource) -> CardParts:
    """Build the card parts for StructuredOutput: the answer as data."""
    arguments = work.detail.input
    asked: SectionList = (TreeSection(arguments),) if isinstance(arguments, dict | list) else show_input(arguments)
    return CardParts(asked, show_outcome(work, _show_short_result))


def _show_short_result(work: CardSource) -> SectionList:
    return (PlainSection(to_short_line(work.words), "", "note"),) if work.words else ()
