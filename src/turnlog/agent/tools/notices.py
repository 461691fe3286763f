"""The notices that wait for the model: one queue for all commands and sub-agents that ended in the background."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

_NOTICE_TEMPLATE = """<task-notification>
<task-id>{task}</task-id>
<tool-use-id>{call}</tool-use-id>
<output-file>{output}</output-file>
<status>{status}</status>
<summary>{summary}</summary>{more}
</task-notification>"""
_TAG, _NEUTRAL_TAG = "task-notification>", "task-notification&gt;"


class TaskNotice(NamedTuple):
    """A notice for the model."""

    task: str
    text: str
    is_urgent: bool = True
    """Whether it starts a turn; the others wait for the next one."""


def build_notice_text(task: str, call: str, output: object, status: str, summary: str, more: str = "") -> str:
    """Build a notice in Claude Code's words; what a command or an agent has written can't end it."""
    summary, more = (text.replace(_TAG, _NEUTRAL_TAG) for text in (summary, more))
    return _NOTICE_TEMPLATE.format(task=task, call=call, output=output, status=status, summary=summary, more=more)


class NoticeQueue:
    """The notices that the model has not seen yet; any thread may add one."""

    def __init__(self) -> None:
        self._notices: list[TaskNotice] = []
        self._changed = threading.Condition()
        self.watch: Callable[[], object] = lambda: None
        """Called by another thread as soon as there is a notice."""

    def add(self, notice: TaskNotice) -> None:
        with self._changed:
            self._notices.append(notice)
            self._changed.notify_all()
        self.watch()

    def take_all(self) -> list[str]:
        """Return and clear the notices."""
        with self._changed:
            notices, self._notices = self._notices, []
            return [notice.text for notice in notices]

    def take_first(self) -> str | None:
        """Return and clear the first notice that starts a turn; None if there is none."""
        with self._changed:
            found = next((notice for notice in self._notices if notice.is_urgent), None)
            if found is not None:
                self._notices.remove(found)
            return found.text if found else None

    def list_waiting(self) -> list[str]:
        """Return the notices that start a turn, without clearing them."""
        with self._changed:
            return [notice.text for notice in self._notices if notice.is_urgent]

    def wait(self, seconds: float) -> bool:
        """Wait until a notice that starts a turn is there; return whether there is one."""
        with self._changed:
            return self._changed.wait_for(lambda: any(notice.is_urgent for notice in self._notices), seconds)
