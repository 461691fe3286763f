"""TodoWrite: updates the model's task list."""

from __future__ import annotations

from turnlog.agent.tools.call_result import CallResult, Object
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.tool import CallContext

_TODOS_CHANGED_TEXT = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress."
    " Please proceed with the current tasks if applicable"
)
_TODO_KEYS = ("content", "status", "activeForm")


class TodoWrite(DescribedTool):
    def run(self, arguments: Object, context: CallContext) -> CallResult:
        """Replace the task list, or clear it if all tasks are completed."""
        before = list(context.todos)
        after = [{key: task[key] for key in _TODO_KEYS} for task in arguments["todos"]]
        context.todos[:] = [] if all(task["status"] == "completed" for task in after) else after
        return CallResult(_TODOS_CHANGED_TEXT, {"oldTodos": before, "newTodos": after})
