"""The lines that print mode writes about commands and sub-agents that work beside the conversation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from turnlog.agent.tools.task_events import TaskEnded, TaskMoved, TaskProgressed, TaskStarted

Json = dict[str, Any]


class TaskLines:
    """Builds these lines, and knows which tasks are running."""

    def __init__(self) -> None:
        self._tasks: dict[str, TaskStarted] = {}
        self._running: dict[str, TaskStarted] = {}
        """Those that run in the background."""

    def build_lines(self, event: TaskStarted | TaskMoved | TaskProgressed | TaskEnded) -> Iterator[Json]:
        if isinstance(event, TaskStarted):
            yield from self._build_start_lines(event)
        elif isinstance(event, TaskMoved):
            self._running[event.task] = self._tasks[event.task]
            yield self._build_list_line()
            yield _build_update_line(event.task, {"is_backgrounded": True})
        elif isinstance(event, TaskProgressed):
            yield {
                **_build_head("task_progress", event),
                "description": event.description,
                "subagent_type": event.agent_type,
                "usage": dict(event.usage),
                "last_tool_name": event.last_tool,
            }
        else:
            yield from self._build_end_lines(event)

    def is_in_foreground(self, call: str) -> bool:
        """Return whether a call waits for the sub-agent that it has started."""
        task = next((task for task in self._tasks.values() if task.call == call), None)
        return task is not None and task.task not in self._running

    def describe_agent(self, call: str | None) -> Json:
        """Return the keys that tell whose line it is, if a sub-agent wrote it."""
        task = next((task for task in self._tasks.values() if task.call == call), None) if call else None
        return (
            {"agent_id": task.task, "subagent_type": task.agent_type, "task_description": task.description}
            if task
            else {}
        )

    def _build_start_lines(self, event: TaskStarted) -> Iterator[Json]:
        self._tasks[event.task] = event
        if event.is_background:
            self._running[event.task] = event
            yield self._build_list_line()
        is_agent = event.kind == "local_agent"
        yield {
            **_build_head("task_started", event),
            "description": event.description,
            **({"subagent_type": event.agent_type} if is_agent else {}),
            "is_backgrounded": event.is_background,
            **({"spawn_depth": 1} if is_agent else {}),
            "task_type": event.kind,
            **({"prompt": event.prompt} if is_agent else {}),
        }
        if is_agent and not event.is_background:
            message = {"role": "user", "content": [{"type": "text", "text": event.prompt}]}
            around = {"parent_tool_use_id": event.call, "agent_id": event.task}
            yield {"type": "user", "message": message, **around, **self.describe_agent(event.call)}

    def _build_end_lines(self, event: TaskEnded) -> Iterator[Json]:
        yield _build_update_line(event.task, {"status": event.status, "end_time": round(time.time() * 1000)})
        yield {
            **_build_head("task_notification", event),
            "status": "stopped" if event.status == "killed" else event.status,
            "output_file": event.output,
            "summary": event.summary,
            **({"usage": dict(event.usage)} if event.usage else {}),
        }
        if self._running.pop(event.task, None) is not None:
            yield self._build_list_line()

    def _build_list_line(self) -> Json:
        tasks = [
            {
                "task_id": task.task,
                "task_type": task.kind,
                **({"subagent_type": task.agent_type} if task.agent_type else {}),
                "description": task.description,
            }
            for task in self._running.values()
        ]
        return {"type": "system", "subtype": "background_tasks_changed", "tasks": tasks}


def _build_update_line(task: str, patch: Json) -> Json:
    return {"type": "system", "subtype": "task_updated", "task_id": task, "patch": patch}


def _build_head(subtype: str, event: TaskStarted | TaskProgressed | TaskEnded) -> Json:
    return {"type": "system", "subtype": subtype, "task_id": event.task, "tool_use_id": event.call}
