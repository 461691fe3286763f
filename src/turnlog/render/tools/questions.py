"""Questions to the person, files for the person, and answers as data."""

from __future__ import annotations

import re
from typing import Any

from turnlog.render.card import FieldsSection, PlainSection, QuestionChoice, QuestionsSection, Section, TreeSection
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.tools.generic_tools import show_input as asked_anyhow
from turnlog.render.tools.generic_tools import show_result
from turnlog.render.values import Json, format_scalar, pick_text, to_dict, to_dict_list, to_short_line, to_string_list

_ANSWER_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')


def build_question_parts(work: CardSource) -> CardParts:
    """AskUserQuestion: what was asked, what there was to choose from, what was chosen."""
    asked = to_dict_list(work.input_fields.get("questions")) or to_dict_list(work.record.get("questions"))
    if not asked and pick_text(work.input_fields.get("question")):
        asked = [work.input_fields]
    answers = _read_answers(work)
    choices = tuple(_build_choice(item, answers) for item in asked)
    if not choices:
        return CardParts(asked_anyhow(work.detail.input), show_outcome(work, show_result))
    chosen = any(choice.answers for choice in choices)
    notes = list(_show_notes(work.record.get("annotations")))
    return CardParts(
        (QuestionsSection(choices),),
        show_outcome(work, lambda work: notes if chosen else show_result(work)),
        [to_short_line(", ".join(choices[0].answers), 60)] if len(choices) == 1 and choices[0].answers else [],
    )


def _read_answers(work: CardSource) -> Json:
    """What was answered, by question."""
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
    told = answers.get(question, answers.get(pick_text(item.get("header"))))
    labels = {label for label, _ in options}
    return QuestionChoice(question, tuple(options), tuple(_split_choices(told, labels)))


def _split_choices(told: Any, labels: set[str]) -> list[str]:
    """Several choices stand as a list, or in one text between commas."""
    if isinstance(told, list):
        return [format_scalar(item) for item in told if format_scalar(item)]
    words = format_scalar(told) if told is not None else ""
    parts = [part.strip() for part in words.split(", ")]
    return parts if len(parts) > 1 and labels.issuperset(parts) else [words] if words else []


def _show_notes(annotations: Any) -> list[Section]:
    found = [
        (to_short_line(question), pick_text(to_dict(note).get("notes")))
        for question, note in to_dict(annotations).items()
    ]
    rows = tuple((question, note) for question, note in found if note)
    return [FieldsSection(rows)] if rows else []


def build_user_file_parts(work: CardSource) -> CardParts:
    """SendUserFile: files for the person."""
    names = to_string_list(work.input_fields.get("files")) or to_string_list(work.input_fields.get("attachments"))
    asked = asked_anyhow({name: value for name, value in work.input_fields.items() if name != "files"})
    sent = (FieldsSection(tuple(("file", name) for name in names)),) if names else ()
    return CardParts((*sent, *asked), show_outcome(work, show_result))


def build_structured_parts(work: CardSource) -> CardParts:
    """StructuredOutput: the answer as data."""
    given = work.detail.input
    asked: SectionList = (TreeSection(given),) if isinstance(given, dict | list) else asked_anyhow(given)
    return CardParts(asked, show_outcome(work, _show_short_result))


def _show_short_result(work: CardSource) -> SectionList:
    return (PlainSection(to_short_line(work.words), "", "note"),) if work.words else ()
