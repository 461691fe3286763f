"""Questions to the person, files for the person, and answers as data."""

from __future__ import annotations

import re
from typing import Any

from turnlog.render.card import Choice, Fields, Plain, Questions, Section, Tree
from turnlog.render.tools.anything import asked as asked_anyhow
from turnlog.render.tools.anything import results
from turnlog.render.tools.work import Parts, Sections, Work, settled
from turnlog.render.values import Json, fields, line, objects, scalar, strings, text

_PAIR = re.compile(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')


def questions(work: Work) -> Parts:
    """AskUserQuestion: what was asked, what there was to choose from, what was chosen."""
    asked = objects(work.given.get("questions")) or objects(work.record.get("questions"))
    if not asked and text(work.given.get("question")):
        asked = [work.given]
    answers = _answers(work)
    choices = tuple(_choice(item, answers) for item in asked)
    title = choices[0].question if choices else ""
    if not choices:
        return Parts(line(title), asked_anyhow(work.detail.input), settled(work, results))
    chosen = any(choice.answers for choice in choices)
    notes = list(_notes(work.record.get("annotations")))
    return Parts(
        line(title),
        (Questions(choices),),
        settled(work, lambda work: notes if chosen else results(work)),
        [line(", ".join(choices[0].answers), 60)] if len(choices) == 1 and choices[0].answers else [],
    )


def _answers(work: Work) -> Json:
    """What was answered, by question."""
    if recorded := fields(work.record.get("answers")):
        return recorded
    return dict(_PAIR.findall(work.words)) if work.outcome == "answered" else {}


def _choice(item: Json, answers: Json) -> Choice:
    question = text(item.get("question"), item.get("header")) or "(no question)"
    options = [
        (text(option.get("label"), option.get("value")), text(option.get("description")))
        for option in objects(item.get("options"))
    ]
    options += [(option, "") for option in strings(item.get("options"))]
    told = answers.get(question, answers.get(text(item.get("header"))))
    labels = {label for label, _ in options}
    return Choice(question, tuple(options), tuple(_chosen(told, labels)))


def _chosen(told: Any, labels: set[str]) -> list[str]:
    """Several choices stand as a list, or in one text between commas."""
    if isinstance(told, list):
        return [scalar(item) for item in told if scalar(item)]
    words = scalar(told) if told is not None else ""
    parts = [part.strip() for part in words.split(", ")]
    return parts if len(parts) > 1 and labels.issuperset(parts) else [words] if words else []


def _notes(annotations: Any) -> list[Section]:
    found = [(line(question), text(fields(note).get("notes"))) for question, note in fields(annotations).items()]
    rows = tuple((question, note) for question, note in found if note)
    return [Fields(rows)] if rows else []


def files(work: Work) -> Parts:
    """SendUserFile: files for the person."""
    names = strings(work.given.get("files")) or strings(work.given.get("attachments"))
    title = text(work.given.get("caption")) or ", ".join(names)
    asked = asked_anyhow({name: value for name, value in work.given.items() if name != "files"})
    sent = (Fields(tuple(("file", name) for name in names)),) if names else ()
    return Parts(line(title), (*sent, *asked), settled(work, results))


def structured(work: Work) -> Parts:
    """StructuredOutput: the answer as data."""
    given = work.detail.input
    asked: Sections = (Tree(given),) if isinstance(given, dict | list) else asked_anyhow(given)
    return Parts("an answer as data", asked, settled(work, _short))


def _short(work: Work) -> Sections:
    return (Plain(line(work.words), "", "note"),) if work.words else ()
