"""Notifications of background tasks: how a task that was started earlier has ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..entries.entry import Entry
from ..entries.reader import Transcript
from .prompts import understand

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


def notices(file: Transcript, entries: Iterable[Entry]) -> Iterator[Notice]:
    """What background tasks reported: in prompts of their own, or while the model was at work."""
    for entry in entries:
        if entry.type == "user":
            prompt = understand(file, entry)
            if prompt.kind == "notification":
                yield notice(prompt.text)
        elif entry.kind == "queued_command":
            attachment = file.body(entry).get("attachment")
            text = attachment.get("prompt") if isinstance(attachment, dict) else None
            if isinstance(text, str) and text.startswith("<task-notification"):
                yield notice(text)
