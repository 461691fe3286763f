"""Notifications of background tasks: how a task that was started earlier has ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.prompts import read_queued, understand

_OPENED = re.compile(r"<(task-id|shell-id|tool-use-id|status|summary|output-file|result)>")


class Notice(NamedTuple):
    """What a `<task-notification>` says."""

    task_id: str | None
    call_id: str | None
    status: str | None
    summary: str | None


def notice(text: str) -> Notice:
    """Read the text of a notification."""
    found = dict(_fields(text))
    task = found.get("task-id") or found.get("shell-id")
    return Notice(task, found.get("tool-use-id"), found.get("status"), found.get("summary"))


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """What stands between tags; in linear time, since a text of nothing but opening tags is easily made."""
    place, endless = 0, set[str]()
    while opened := _OPENED.search(text, place):
        name, place = opened[1], opened.end()
        end = -1 if name in endless else text.find(f"</{name}>", place)
        if end < 0:
            endless.add(name)
            continue
        yield name, text[place:end].strip()
        place = end


def notices(file: Transcript, entries: Iterable[Entry]) -> Iterator[Notice]:
    """What background tasks reported: in prompts of their own, or while the model was at work."""
    for entry in entries:
        if entry.type == "user":
            prompt = understand(file, entry)
            if prompt.kind == "notification":
                yield notice(prompt.text)
        elif entry.kind == "queued_command":
            attachment = file.body(entry).get("attachment")
            prompt = read_queued(attachment if isinstance(attachment, dict) else {})
            if prompt.kind == "notification":
                yield notice(prompt.text)
