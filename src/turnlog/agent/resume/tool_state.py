"""Determines from a resumed session's successful calls which files and tasks the model knew about."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from turnlog.session.calls import Call, read_call_inputs
from turnlog.session.clock import parse_timestamp
from turnlog.session.session import Session
from turnlog.session.touched_files import PATH_FIELDS, READ_TOOLS, find_named_path

Json = dict[str, Any]
_PARTIAL_READ_KEYS = frozenset({"offset", "limit", "pages"})


class SeenFile(NamedTuple):
    """A file that the model has read or written; if it has changed since then, the model must read it again."""

    path: str
    time: datetime
    is_whole: bool
    """Whether a single call showed the whole file; as in Claude Code, an edit does not count."""


def _list_call_inputs(session: Session, calls: Sequence[Call], names: Container[str]) -> list[tuple[Call, Json]]:
    """Return the successful calls of the given tools with their inputs."""
    wanted = [call for call in calls if call.name in names and call.is_error is False]
    inputs = read_call_inputs(session.file, wanted)
    return [(call, call_input) for call, call_input in zip(wanted, inputs, strict=True) if isinstance(call_input, dict)]


def find_last_todos(session: Session, calls: Sequence[Call]) -> list[Json]:
    for _, call_input in reversed(_list_call_inputs(session, calls, ("TodoWrite",))):
        if isinstance(todos := call_input.get("todos"), list):
            return [item for item in todos if isinstance(item, dict)]
    return []


def find_seen_files(session: Session, calls: Sequence[Call]) -> Iterator[SeenFile]:
    """Yield the files that were read or written, each as the model last saw it."""
    files: dict[str, SeenFile] = {}
    for call, call_input in _list_call_inputs(session, calls, PATH_FIELDS):
        path, time = find_named_path(call_input, call.name), parse_timestamp(call.ended_at)
        if path is not None and time is not None:
            is_whole = call.name == "Write" or (
                call.name in READ_TOOLS and call_input.keys().isdisjoint(_PARTIAL_READ_KEYS)
            )
            files[path] = SeenFile(path, time, is_whole)
    yield from files.values()
