"""Notifications from background tasks, which report how a task ended."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.prompts import parse_queued_prompt, parse_user_entry

_OPENING_TAG = re.compile(r"<(task-id|shell-id|tool-use-id|status|summary|output-file|result)>")


class Notice(NamedTuple):
    """The content of a `<task-notification>`."""

    task_id: str | None
    call_id: str | None
    status: str | None
    summary: str | None


def parse_notice(text: str) -> Notice:
    found = dict(_list_tag_fields(text))
    task = found.get("task-id") or found.get("shell-id")
    return Notice(task, found.get("tool-use-id"), found.get("status"), found.get("summary"))


def _list_tag_fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text between tags in linear time, even if hostile text consists only of opening tags."""
    place, endless = 0, set[str]()
    while opened := _OPENING_TAG.search(text, place):
        name, place = opened[1], opened.end()
        end = -1 if name in endless else text.find(f"</{name}>", place)
        if end < 0:
            endless.add(name)
            continue
        yield name, text[place:end].strip()
        place = end


def list_notices(file: Transcript, entries: Iterable[Entry]) -> Iterator[Notice]:
    """Yield what background tasks reported, either in prompts of their own or while the model was working."""
    for entry in entries:
        if entry.type == "user":
            prompt = parse_user_entry(file, entry)
            if prompt.kind == "notification":
                yield parse_notice(prompt.text)
        elif entry.kind == "queued_command":
            attachment = file.read_body(entry).get("attachment")
            prompt = parse_queued_prompt(attachment if isinstance(attachment, dict) else {})
            if prompt.kind == "notification":
                yield parse_notice(prompt.text)
