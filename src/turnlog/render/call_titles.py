"""The title of a tool call: one line that describes what it does.

Every part of turnlog that mentions a call (`show`, `messages`, `context`, cards, the live state and the console) gets
its title from here, so that a call is recognisable wherever it appears. A title depends only on the tool, its input and
the working folder, so it is the same before and after the call returns a result. A title is plain text on one line;
each part escapes, colours and shortens it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnlog.render.figures import format_count
from turnlog.render.values import (
    Json,
    format_scalar,
    pick_text,
    strip_working_folder,
    to_dict,
    to_dict_list,
    to_list,
    to_short_line,
    to_string_list,
)

MAX_TITLE_CHARS = 200
_MAX_PART_CHARS = 120
_MAX_NAME_CHARS, _MAX_VALUE_CHARS, _MAX_LISTED_FIELDS = 40, 60, 8

_PATH_FIELDS = frozenset({"file_path", "notebook_path", "path", "filePath"})

# A command comes before its description, because the description is the model's claim and the command is what runs.
_TITLE_FIELDS: dict[str, tuple[str, ...]] = {
    "Agent": ("description", "prompt", "subagent_type"),
    "Bash": ("command", "description"),
    "BashOutput": ("task_id", "bash_id", "shell_id", "agentId"),
    "Edit": ("file_path", "path"),
    "LS": ("path",),
    "REPL": ("description", "code", "script", "input", "command"),
    "Read": ("file_path", "notebook_path", "path"),
    "ScheduleWakeup": ("reason", "prompt"),
    "TaskCreate": ("subject", "description"),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "Workflow": ("title", "name", "description", "script"),
}
"""The fields that describe a call to a tool, best first."""
_SAME_FIELDS_AS = {
    "AgentOutputTool": "BashOutput",
    "KillBash": "BashOutput",
    "KillShell": "BashOutput",
    "MultiEdit": "Edit",
    "NotebookEdit": "Read",
    "NotebookRead": "Read",
    "PowerShell": "Bash",
    "Task": "Agent",
    "TaskOutput": "BashOutput",
    "TaskStop": "BashOutput",
    "ToolSearch": "WebSearch",
    "Write": "Edit",
}
_COMMON_FIELDS = (
    "command", "file_path", "notebook_path", "pattern", "url", "uri", "query", "code", "subject", "title",
    "description", "skill", "plan", "message", "prompt", "name", "path", "reason", "text",
)  # fmt: skip
"""The fields that describe a call to an unknown tool, such as one from an MCP server."""


def build_call_title(name: str, arguments: Any, cwd: str | None = None) -> str:
    """Build the title of a call from its tool name and input; paths are relative to the working folder."""
    fields = to_dict(arguments)
    if build := _TITLE_BUILDERS.get(name):
        title = build(fields, cwd)
    else:
        title = _pick_field(fields, _TITLE_FIELDS.get(_SAME_FIELDS_AS.get(name, name), ()), cwd)
    return to_title_line(title or _pick_field(fields, _COMMON_FIELDS, cwd) or _list_values(arguments))


def to_title_line(text: str) -> str:
    """Return the first non-blank line of the text and the number of lines that follow.

    Lines are never joined, because a joined script would do something different.
    """
    first, _, rest = text.strip().partition("\n")
    more = f" (+{format_count(rest.count(chr(10)) + 1, 'line')})" if rest else ""
    return to_short_line(first, MAX_TITLE_CHARS - len(more)) + more


def _pick_field(fields: Json, names: tuple[str, ...], cwd: str | None) -> str:
    for name in names:
        if text := pick_text(fields.get(name)):
            return strip_working_folder(text, cwd) if name in _PATH_FIELDS else text
    return ""


def _list_values(arguments: Any) -> str:
    """Describe an input without a descriptive field by its field names and short values."""
    if not isinstance(arguments, dict):
        return "" if arguments is None else _format_value(arguments)
    fields = list(arguments.items())[:_MAX_LISTED_FIELDS]
    return ", ".join(f"{to_short_line(name, _MAX_NAME_CHARS)}={_format_value(value)}" for name, value in fields)


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return format_count(len(value), "item")
    if isinstance(value, dict):
        return format_count(len(value), "field")
    return to_short_line(format_scalar(value), _MAX_VALUE_CHARS)


def _format_number(value: Any) -> str:
    return "" if value is None else format_scalar(value)


# -- tools whose title combines several fields


def _name_search(fields: Json, cwd: str | None) -> str:
    pattern, path = pick_text(fields.get("pattern")), pick_text(fields.get("path"))
    where = f" in {strip_working_folder(path, cwd)}" if path else ""
    return to_short_line(pattern, _MAX_PART_CHARS) + where if pattern else ""


def _name_symbol(fields: Json, cwd: str | None) -> str:
    path, line = _pick_field(fields, ("filePath", "file_path"), cwd), _format_number(fields.get("line"))
    place = f"{path}:{line}" if line else path
    return " ".join(part for part in (pick_text(fields.get("operation")), place) if part)


def _name_monitor(fields: Json, cwd: str | None) -> str:
    return _pick_field(fields, ("description", "command"), cwd) or pick_text(to_dict(fields.get("ws")).get("url"))


def _name_skill(fields: Json, cwd: str | None) -> str:
    name = _pick_field(fields, ("skill", "command", "name"), cwd)
    return f"{name} {pick_text(fields.get('args'))}".strip() if name else ""


def _name_message(fields: Json, cwd: str | None) -> str:
    receiver = to_short_line(_pick_field(fields, ("to", "recipient", "agentId"), cwd), _MAX_PART_CHARS)
    summary = _pick_field(fields, ("summary", "message", "content", "type"), cwd)
    return ": ".join(part for part in (f"to {receiver}" if receiver else "", summary) if part)


def _name_current_todo(fields: Json, _: str | None) -> str:
    todos = to_list(fields.get("todos"))
    current = next((item for item in to_dict_list(todos) if item.get("status") == "in_progress"), {})
    return name_todo(current) if current else format_count(len(todos), "task")


def name_todo(item: Json) -> str:
    """Return the text of a task list item."""
    return pick_text(item.get("content"), item.get("subject"), item.get("activeForm")) or "(no text)"


def name_task(task: str, subject: str) -> str:
    """Name a task by its number and subject."""
    number = f"#{to_short_line(task, _MAX_NAME_CHARS)}" if task else ""
    return " ".join(part for part in (number, subject) if part) or "a task"


def _name_task_update(fields: Json, _: str | None) -> str:
    task = name_task(_format_number(fields.get("taskId")), pick_text(fields.get("subject")))
    return ": ".join(part for part in (task, pick_text(fields.get("status"))) if part)


def _name_task_query(fields: Json, _: str | None) -> str:
    task = _format_number(fields.get("taskId"))
    return name_task(task, "") if task else "all tasks"


def _name_plan(fields: Json, _: str | None) -> str:
    first = pick_text(fields.get("plan")).strip().partition("\n")[0]
    return first.lstrip("# ") or "a plan"


def _name_question(fields: Json, cwd: str | None) -> str:
    first = next(iter(to_dict_list(fields.get("questions"))), fields)
    return _pick_field(first, ("question", "header"), cwd) or "a question"


def _name_user_files(fields: Json, _: str | None) -> str:
    names = to_string_list(fields.get("files")) or to_string_list(fields.get("attachments"))
    return pick_text(fields.get("caption")) or ", ".join(names)


def _name_resource(fields: Json, _: str | None) -> str:
    return " › ".join(filter(None, (pick_text(fields.get("server")), pick_text(fields.get("uri")))))


_TITLE_BUILDERS: dict[str, Callable[[Json, str | None], str]] = {
    "AskUserQuestion": _name_question,
    "EnterPlanMode": lambda _fields, _cwd: "plan before making changes",
    "ExitPlanMode": _name_plan,
    "Glob": _name_search,
    "Grep": _name_search,
    "LSP": _name_symbol,
    "ListMcpResourcesTool": lambda fields, _cwd: pick_text(fields.get("server")) or "all servers",
    "Monitor": _name_monitor,
    "ReadMcpResourceTool": _name_resource,
    "SendMessage": _name_message,
    "SendUserFile": _name_user_files,
    "Skill": _name_skill,
    "SlashCommand": _name_skill,
    "StructuredOutput": lambda _fields, _cwd: "a structured answer",
    "TaskGet": _name_task_query,
    "TaskList": _name_task_query,
    "TaskUpdate": _name_task_update,
    "TodoWrite": _name_current_todo,
}
