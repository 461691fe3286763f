"""TodoWrite: the model's list of tasks."""

from __future__ import annotations

from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.tool import Object, Result, Scene

_DONE = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress."
    " Please proceed with the current tasks if applicable"
)
_KEYS = ("content", "status", "activeForm")


class TodoWrite(Offered):
    """The tool."""

    def run(self, given: Object, scene: Scene) -> Result:
        """Put the list in the place of the one before; when all is done, it is empty."""
        before = list(scene.todos)
        after = [{key: task[key] for key in _KEYS} for task in given["todos"]]
        scene.todos[:] = [] if all(task["status"] == "completed" for task in after) else after
        return Result(_DONE, {"oldTodos": before, "newTodos": after})
