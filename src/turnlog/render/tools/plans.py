"""Cards for task lists and plans."""

from __future__ import annotations

import re
from typing import Any

from turnlog.render.call_titles import name_task, name_todo
from turnlog.render.card import ChecklistSection, ChecklistTask, FieldsSection, PlainSection, Section, TextSection
from turnlog.render.tools.card_parts import CardParts, CardSource, EarlierCalls, SectionList, show_outcome
from turnlog.render.tools.generic_tools import show_input, show_result
from turnlog.render.values import (
    Json,
    format_scalar,
    pick_text,
    to_dict,
    to_dict_list,
    to_list,
    to_short_line,
    to_string_list,
)

_DONE_STATUS = "completed"
_CREATED_TEXT = re.compile(r"Task #(\S+) created")
_TASK_LINE = re.compile(r"^#(\S+) \[(\w+)\] (.*)$", re.MULTILINE)


# -- lists that are written as a whole


def build_todo_parts(work: CardSource) -> CardParts:
    """Build the card parts for TodoWrite: the whole list, with the changes since the previous one."""
    new = _to_items(work.input_fields.get("todos")) or _to_items(work.record.get("newTodos"))
    recorded = work.record.get("oldTodos")
    old = _to_items(recorded) if isinstance(recorded, list) else work.earlier.todos
    if work.outcome in ("answered", "unanswered"):
        work.earlier.todos = new
    tasks = _compare_items(old or [], new)
    done = sum(item.get("status") == _DONE_STATUS for item in new)
    sections: SectionList = (ChecklistSection(tuple(tasks)),) if tasks else show_input(work.detail.input)
    badges = [f"{done} of {len(new)} done"] if new else []
    return CardParts(sections, show_outcome(work, _show_error), badges)


def _to_items(value: Any) -> list[Json]:
    return [item if isinstance(item, dict) else {"content": format_scalar(item)} for item in to_list(value)]


def _compare_items(old: list[Json], new: list[Json]) -> list[ChecklistTask]:
    before = {name_todo(item): pick_text(item.get("status")) for item in old}
    found = []
    for item in new:
        name, state = name_todo(item), pick_text(item.get("status"))
        change = "" if not old or before.get(name) == state else "changed" if name in before else "new"
        found.append(ChecklistTask(name, state or "pending", change))
    remaining = {task.text for task in found}
    return [
        *found,
        *(ChecklistTask(name, state or "pending", "gone") for name, state in before.items() if name not in remaining),
    ]


# -- tasks that are written one by one


def build_task_create_parts(work: CardSource) -> CardParts:
    subject, description = pick_text(work.input_fields.get("subject")), pick_text(work.input_fields.get("description"))
    created = to_dict(work.record.get("task"))
    created_text = _CREATED_TEXT.search(work.words)
    task = pick_text(created.get("id")) or (created_text[1] if created_text else "")
    _remember_task(work.earlier, task, subject, "pending")
    asked: list[Section] = [ChecklistSection((ChecklistTask(name_task(task, subject), "pending", "new"),))]
    if description and description != subject:
        asked.append(TextSection(description))
    return CardParts(asked, show_outcome(work, _show_error), [name_task(task, "")] if task else [])


def build_task_update_parts(work: CardSource) -> CardParts:
    fields = work.input_fields
    task = pick_text(fields.get("taskId")) or format_scalar(fields.get("taskId", ""))
    subject, state = work.earlier.tasks.get(task, ("", ""))
    change = to_dict(work.record.get("statusChange"))
    subject = pick_text(fields.get("subject")) or subject
    state = pick_text(fields.get("status"), change.get("to")) or state
    if work.outcome == "answered":
        _remember_task(work.earlier, task, subject, state)
    asked: list[Section] = [
        ChecklistSection((ChecklistTask(name_task(task, subject), state or "unchanged", "changed"),))
    ]
    further = [(name, _join_values(fields[name])) for name in fields if name not in ("taskId", "status", "subject")]
    if rows := tuple((name, to_short_line(value)) for name, value in further if value):
        asked.append(FieldsSection(rows))
    before = pick_text(change.get("from"))
    badges = [
        "" if fields.get("subject") else to_short_line(subject, 60),
        to_short_line(f"{before} → {state}" if before else "" if fields.get("status") else state, 60),
    ]
    return CardParts(asked, show_outcome(work, _show_error), badges)


def build_task_list_parts(work: CardSource) -> CardParts:
    """Build the card parts for TaskList and TaskGet."""
    one = to_dict(work.record.get("task"))
    items = to_dict_list(work.record.get("tasks")) or ([one] if one else [])
    if not items:
        items = [{"id": task, "status": state, "subject": name} for task, state, name in _TASK_LINE.findall(work.words)]
    tasks = []
    for item in items:
        task, subject, state = (pick_text(item.get(name)) for name in ("id", "subject", "status"))
        _remember_task(work.earlier, task, subject, state)
        tasks.append(ChecklistTask(name_task(task, subject), state or "pending"))

    def show_sections(work: CardSource) -> SectionList:
        about = [TextSection(description)] if (description := pick_text(one.get("description"))) else []
        return [ChecklistSection(tuple(tasks)), *about] if tasks else show_result(work)

    done = sum(task.state == _DONE_STATUS for task in tasks)
    badges = [f"{done} of {len(tasks)} done"] if len(tasks) > 1 else []
    return CardParts((), show_outcome(work, show_sections), badges)


def _show_error(work: CardSource) -> SectionList:
    error = pick_text(work.record.get("error"))
    return (PlainSection(error, "", "error"),) if error else ()


def _remember_task(earlier: EarlierCalls, task: str, subject: str, state: str) -> None:
    if task:
        known = earlier.tasks.get(task, ("", ""))
        earlier.tasks[task] = (subject or known[0], state or known[1])


def _join_values(value: Any) -> str:
    return ", ".join(to_string_list(value)) if isinstance(value, list) else format_scalar(value)


# -- plans


def build_plan_parts(work: CardSource) -> CardParts:
    """Build the card parts for ExitPlanMode: the plan and the user's response."""
    fields, record = work.input_fields, work.record
    plan = pick_text(fields.get("plan"), record.get("plan"))
    asked: list[Section] = [TextSection(plan, "Plan")] if plan else []
    allowed = [pick_text(item.get("prompt")) for item in to_dict_list(fields.get("allowedPrompts"))]
    if prompts := ", ".join(item for item in allowed if item):
        asked.append(FieldsSection((("allowed without asking", prompts),)))
    if path := pick_text(fields.get("planFilePath"), record.get("filePath")):
        asked.append(FieldsSection((("file", path),)))
    badges = ["approved"] if work.outcome == "answered" else []
    badges += ["edited by the user"] if record.get("planWasEdited") is True else []
    return CardParts(asked, show_outcome(work, _show_verdict), badges)


def _show_verdict(work: CardSource) -> SectionList:
    first = work.words.strip().partition("\n")[0]
    return (PlainSection(to_short_line(first), "", "note"),) if first else ()


def build_plan_mode_parts(work: CardSource) -> CardParts:
    """Build the card parts for EnterPlanMode."""
    return CardParts(show_input(work.detail.input), show_outcome(work, _show_verdict))
