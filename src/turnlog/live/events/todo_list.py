"""The list of tasks that a session works on, from whichever tools its client uses to maintain it.

`TodoWrite` replaces the whole list. Newer clients change one task at a time (`TaskCreate`, `TaskUpdate`), and only the
result of a call contains the number of a new task, so a change counts when its call has succeeded.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from turnlog.entries.entry import Body
from turnlog.live.events.event import TodoItem
from turnlog.render.call_titles import name_todo

TODO_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"})
MAX_TODO_ITEMS = 200
MAX_TODO_CHARS = 300
_CREATED_TASK = re.compile(r"Task #(\w{1,40}) created")
_DELETED = "deleted"

TodoStatus = Literal["pending", "in_progress", "completed"]
_STATUSES: dict[str, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
}


class TodoList:
    """The tasks after some calls."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}

    def apply_call(self, tool: str, arguments: Any, fields: Body, text: str) -> list[TodoItem] | None:
        """Apply a successful call; return the complete list if it has changed.

        `arguments` is what `keep_todo_input` returned, `fields` is the client's record of the result, and `text` is
        the result's text.
        """
        given = arguments if isinstance(arguments, dict) else {}
        before = dict(self._items)
        if tool == "TodoWrite":
            self._replace_items(given.get("todos"))
        elif tool == "TaskList":
            self._replace_items(fields.get("tasks"))
        elif tool == "TaskCreate":
            self._create_task(given, fields, text)
        else:
            self._update_task(given, fields)
        return None if self._items == before and list(self._items) == list(before) else list(self._items.values())

    def _replace_items(self, todos: Any) -> None:
        if not isinstance(todos, list):
            return
        numbered = enumerate([item for item in todos if isinstance(item, dict)][:MAX_TODO_ITEMS])
        self._items = {_to_key(item.get("id")) or f"@{place}": _to_item(item) for place, item in numbered}

    def _create_task(self, given: Body, fields: Body, text: str) -> None:
        task = fields.get("task")
        named = _to_key(task.get("id")) if isinstance(task, dict) else ""
        if not named and (found := _CREATED_TASK.match(text)):
            named = found[1]
        if len(self._items) < MAX_TODO_ITEMS:
            self._items[named or f"@{len(self._items)}"] = TodoItem(_to_item(given).text, "pending")

    def _update_task(self, given: Body, fields: Body) -> None:
        key = _to_key(given.get("taskId"))
        if not key or fields.get("success") is False:
            return
        if given.get("status") == _DELETED:
            self._items.pop(key, None)
            return
        known = self._items.get(key)
        if known is None and len(self._items) >= MAX_TODO_ITEMS:
            return
        text = _to_item(given).text if given.get("subject") else known.text if known else f"#{key}"
        status = _STATUSES.get(str(given.get("status"))) or (known.status if known else "pending")
        self._items[key] = TodoItem(text, status)


def keep_todo_input(tool: str, arguments: Any) -> Body:
    """Reduce the input of a call to what `TodoList` needs, for as long as the call has no result."""
    given = arguments if isinstance(arguments, dict) else {}
    if tool != "TodoWrite":
        return {name: _shorten(given[name]) for name in ("taskId", "status", "subject", "description") if name in given}
    todos = given.get("todos")
    if not isinstance(todos, list):
        return {}
    items = [item for item in todos if isinstance(item, dict)]
    names = ("id", "content", "subject", "activeForm", "status")
    return {
        "todos": [{name: _shorten(item[name]) for name in names if name in item} for item in items[:MAX_TODO_ITEMS]]
    }


def _shorten(value: Any) -> Any:
    if isinstance(value, str):
        return value[:MAX_TODO_CHARS]
    return value if isinstance(value, int) and -(10**9) < value < 10**9 else None


def _to_key(value: Any) -> str:
    return str(value)[:40] if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _to_item(item: Body) -> TodoItem:
    return TodoItem(name_todo(item)[:MAX_TODO_CHARS], _STATUSES.get(str(item.get("status")), "pending"))
