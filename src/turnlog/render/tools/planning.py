"""Lists of tasks and plans."""

from __future__ import annotations

import re
from typing import Any

from turnlog.render.card import Checklist, Fields, Plain, Section, Task, Text
from turnlog.render.tools.anything import asked as asked_anyhow
from turnlog.render.tools.anything import results
from turnlog.render.tools.work import Earlier, Parts, Sections, Work, settled
from turnlog.render.values import Json, fields, line, objects, rows, scalar, strings, text

_DONE = "completed"
_CREATED = re.compile(r"Task #(\S+) created")
_LINE = re.compile(r"^#(\S+) \[(\w+)\] (.*)$", re.MULTILINE)


# -- the list that is written whole


def todos(work: Work) -> Parts:
    """TodoWrite: the whole list, with what has changed since the one before."""
    new = _items(work.given.get("todos")) or _items(work.record.get("newTodos"))
    recorded = work.record.get("oldTodos")
    old = _items(recorded) if isinstance(recorded, list) else work.earlier.todos
    if work.outcome in ("answered", "unanswered"):
        work.earlier.todos = new
    tasks = _compared(old or [], new)
    done = sum(item.get("status") == _DONE for item in new)
    title = next((_name(item) for item in new if item.get("status") == "in_progress"), "")
    shown: Sections = (Checklist(tuple(tasks)),) if tasks else asked_anyhow(work.detail.input)
    badges = [f"{done} of {len(new)} done"] if new else []
    return Parts(line(title or f"{len(new)} tasks"), shown, settled(work, _unless_done), badges)


def _items(value: Any) -> list[Json]:
    return [item if isinstance(item, dict) else {"content": scalar(item)} for item in rows(value)]


def _name(item: Json) -> str:
    return text(item.get("content"), item.get("subject"), item.get("activeForm")) or "(no text)"


def _compared(old: list[Json], new: list[Json]) -> list[Task]:
    before = {_name(item): text(item.get("status")) for item in old}
    found = []
    for item in new:
        name, state = _name(item), text(item.get("status"))
        change = "" if not old or before.get(name) == state else "changed" if name in before else "new"
        found.append(Task(name, state or "pending", change))
    kept = {task.text for task in found}
    return [*found, *(Task(name, state or "pending", "gone") for name, state in before.items() if name not in kept)]


# -- tasks that are written one by one


def create(work: Work) -> Parts:
    """TaskCreate."""
    subject, description = text(work.given.get("subject")), text(work.given.get("description"))
    created = fields(work.record.get("task"))
    told = _CREATED.search(work.words)
    task = text(created.get("id")) or (told[1] if told else "")
    _learn(work.earlier, task, subject, "pending")
    asked: list[Section] = [Checklist((Task(_numbered(task, subject), "pending", "new"),))]
    if description and description != subject:
        asked.append(Text(description))
    return Parts(line(_numbered(task, subject)), asked, settled(work, _unless_done))


def update(work: Work) -> Parts:
    """TaskUpdate."""
    given = work.given
    task = text(given.get("taskId")) or scalar(given.get("taskId", ""))
    subject, state = work.earlier.tasks.get(task, ("", ""))
    change = fields(work.record.get("statusChange"))
    subject = text(given.get("subject")) or subject
    state = text(given.get("status"), change.get("to")) or state
    if work.outcome == "answered":
        _learn(work.earlier, task, subject, state)
    asked: list[Section] = [Checklist((Task(_numbered(task, subject), state or "unchanged", "changed"),))]
    further = [(name, _several(given[name])) for name in given if name not in ("taskId", "status", "subject")]
    if shown := tuple((name, line(value)) for name, value in further if value):
        asked.append(Fields(shown))
    before = text(change.get("from"))
    badges = [line(f"{before} → {state}" if before else state, 60)] if state else []
    return Parts(line(_numbered(task, subject)), asked, settled(work, _unless_done), badges)


def listing(work: Work) -> Parts:
    """TaskList and TaskGet."""
    one = fields(work.record.get("task"))
    found = objects(work.record.get("tasks")) or ([one] if one else [])
    if not found:
        found = [{"id": task, "status": state, "subject": name} for task, state, name in _LINE.findall(work.words)]
    tasks = []
    for item in found:
        task, subject, state = (text(item.get(name)) for name in ("id", "subject", "status"))
        _learn(work.earlier, task, subject, state)
        tasks.append(Task(_numbered(task, subject), state or "pending"))

    def shown(work: Work) -> Sections:
        about = [Text(told)] if (told := text(one.get("description"))) else []
        return [Checklist(tuple(tasks)), *about] if tasks else results(work)

    done = sum(task.state == _DONE for task in tasks)
    badges = [f"{done} of {len(tasks)} done"] if len(tasks) > 1 else []
    wanted = text(work.given.get("taskId"))
    return Parts(line(f"#{wanted}" if wanted else "all tasks"), (), settled(work, shown), badges)


def _unless_done(work: Work) -> Sections:
    told = text(work.record.get("error"))
    return (Plain(told, "", "error"),) if told else ()


def _learn(earlier: Earlier, task: str, subject: str, state: str) -> None:
    if task:
        known = earlier.tasks.get(task, ("", ""))
        earlier.tasks[task] = (subject or known[0], state or known[1])


def _numbered(task: str, subject: str) -> str:
    return " ".join(part for part in (f"#{line(task, 20)}" if task else "", subject) if part) or "a task"


def _several(value: Any) -> str:
    return ", ".join(strings(value)) if isinstance(value, list) else scalar(value)


# -- plans


def plan(work: Work) -> Parts:
    """ExitPlanMode: the plan, and what the person said to it."""
    given, record = work.given, work.record
    words = text(given.get("plan"), record.get("plan"))
    asked: list[Section] = [Text(words, "Plan")] if words else []
    allowed = [text(item.get("prompt")) for item in objects(given.get("allowedPrompts"))]
    if shown := ", ".join(item for item in allowed if item):
        asked.append(Fields((("allowed without asking", shown),)))
    if path := text(given.get("planFilePath"), record.get("filePath")):
        asked.append(Fields((("file", path),)))
    badges = ["approved"] if work.outcome == "answered" else []
    badges += ["edited by the person"] if record.get("planWasEdited") is True else []
    title = next((row for row in words.split("\n") if row.strip()), "")
    return Parts(line(title.lstrip("# ")), asked, settled(work, _verdict), badges)


def _verdict(work: Work) -> Sections:
    first = work.words.strip().partition("\n")[0]
    return (Plain(line(first), "", "note"),) if first else ()


def begin_plan(work: Work) -> Parts:
    """EnterPlanMode."""
    return Parts("plan before doing", asked_anyhow(work.detail.input), settled(work, _verdict))
