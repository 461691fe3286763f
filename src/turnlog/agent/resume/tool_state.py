"""What the model knows of files and tasks when a session is taken up again, by the calls that went well."""

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
    """A file that the model has read or written; if it was changed later than that, it must be read again."""

    path: str
    time: datetime
    is_whole: bool
    """Whether all of it was seen in one call; what an edit made of it was not, in the real client neither."""


def _list_call_inputs(session: Session, calls: Sequence[Call], names: Container[str]) -> list[tuple[Call, Json]]:
    """The calls of some tools that went well, with what they were given."""
    wanted = [call for call in calls if call.name in names and call.is_error is False]
    given = read_call_inputs(session.file, wanted)
    return [(call, said) for call, said in zip(wanted, given, strict=True) if isinstance(said, dict)]


def find_last_todos(session: Session, calls: Sequence[Call]) -> list[Json]:
    """The task list as it stood last."""
    for _, given in reversed(_list_call_inputs(session, calls, ("TodoWrite",))):
        if isinstance(said := given.get("todos"), list):
            return [item for item in said if isinstance(item, dict)]
    return []


def find_seen_files(session: Session, calls: Sequence[Call]) -> Iterator[SeenFile]:
    """The files that were read or written, each as it was seen last."""
    found: dict[str, SeenFile] = {}
    for call, given in _list_call_inputs(session, calls, PATH_FIELDS):
        path, time = find_named_path(given, call.name), parse_timestamp(call.ended_at)
        if path is not None and time is not None:
            is_whole = call.name == "Write" or (call.name in READ_TOOLS and given.keys().isdisjoint(_PARTIAL_READ_KEYS))
            found[path] = SeenFile(path, time, is_whole)
    yield from found.values()
