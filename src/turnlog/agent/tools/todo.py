"""TodoWrite: the model's list of tasks."""

from __future__ import annotations

from turnlog.agent.tools import schema
from turnlog.agent.tools.tool import Object, Result, Scene

_DONE = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress."
    " Please proceed with the current tasks if applicable"
)
_KEYS = ("content", "status", "activeForm")
_TASK = {
    "type": "object",
    "properties": {
        "content": schema.text("What is to be done, as an order: Run the tests", filled=True),
        "status": schema.text("How far it is", ("pending", "in_progress", "completed")),
        "activeForm": schema.text("The same while it is being done: Running the tests", filled=True),
    },
    "required": list(_KEYS),
}


class TodoWrite:
    """The tool."""

    name = "TodoWrite"
    description = (
        "Keeps the list of tasks of this session; the user sees it.\n"
        "- Give the whole list each time: it takes the place of the one before.\n"
        "- Use it for work of three steps or more, or if the user gives several tasks; not for a single small one.\n"
        "- Have one task in_progress at a time. Mark a task completed as soon as it is, and only if it really is:"
        " tests pass, nothing is left open."
    )
    schema = schema.parameters({"todos": {"type": "array", "description": "All tasks", "items": _TASK}}, ["todos"])

    def is_safe(self, given: Object) -> bool:
        """Never: the list before it is part of the result."""
        return False

    def run(self, given: Object, scene: Scene) -> Result:
        """Put the list in the place of the one before; when all is done, it is empty."""
        before = list(scene.todos)
        after = [{key: task[key] for key in _KEYS} for task in given["todos"]]
        scene.todos[:] = [] if all(task["status"] == "completed" for task in after) else after
        return Result(_DONE, {"oldTodos": before, "newTodos": after})
