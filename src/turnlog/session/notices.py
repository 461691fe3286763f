"""Notifications of background tasks: how a task that was started earlier has ended."""

from __future__ import annotations

import re
from typing import NamedTuple

_FIELD = re.compile(r"<(task-id|shell-id|tool-use-id|status|summary|output-file|result)>(.*?)</\1>", re.DOTALL)


class Notice(NamedTuple):
    """What a `<task-notification>` says."""

    task_id: str | None
    call_id: str | None
    status: str | None
    summary: str | None


def notice(text: str) -> Notice:
    """Read the text of a notification."""
    found = {name: value.strip() for name, value in _FIELD.findall(text)}
    task = found.get("task-id") or found.get("shell-id")
    return Notice(task, found.get("tool-use-id"), found.get("status"), found.get("summary"))
