"""The files that a session's calls read and wrote."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from turnlog.entries.reader import Transcript
from turnlog.session.calls import Call, read_call_inputs

PATH_FIELDS = {
    "Read": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
}
"""The field that names the file, by tool."""
READ_TOOLS = frozenset({"Read", "NotebookRead"})


class TouchedFile(Struct):
    """A file and the number of calls that touched it."""

    path: str
    reads: int = 0
    writes: int = 0
    failures: int = 0
    """Calls that were refused or failed; they count neither as reads nor as writes."""
    first: str | None = None
    last: str | None = None


def list_touched_files(file: Transcript, calls: Iterable[Call]) -> list[TouchedFile]:
    """List the files that were read or written, in order of first use."""
    found: dict[str, TouchedFile] = {}
    wanted = [call for call in calls if call.name in PATH_FIELDS]
    for call, arguments in zip(wanted, read_call_inputs(file, wanted), strict=True):
        path = find_named_path(arguments, call.name)
        if path is None:
            continue
        item = found.setdefault(path, TouchedFile(path, first=call.started_at))
        item.last = call.started_at
        if call.is_error is not False:
            item.failures += 1
        elif call.name in READ_TOOLS:
            item.reads += 1
        else:
            item.writes += 1
    return list(found.values())


def find_named_path(arguments: Any, tool: str) -> str | None:
    """Return the path that a call's input names, if any."""
    path = arguments.get(PATH_FIELDS[tool]) if isinstance(arguments, dict) else None
    return path if isinstance(path, str) and path else None
