"""Requests by a program about files: `read_file` and `seed_read_state`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from turnlog.agent.loop import AgentLoop
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.seen_files import locate_file
from turnlog.errors import TurnlogError, UsageError

Object = Mapping[str, Any]
_DEFAULT_MAX_BYTES = 1 << 20
_MAX_SEEN_BYTES = 1 << 20


def read_file(loop: AgentLoop, request: Object) -> dict[str, Any]:
    """Return the content of a file that the model could read without asking; raise TurnlogError otherwise."""
    name, limit = _get_path(request), request.get("max_bytes")
    size = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else _DEFAULT_MAX_BYTES
    denied = TurnlogError(f"read denied: {name}")
    try:
        path = locate_file(name, loop.setup.place)
        if loop.setup.guard.decide("Read", {"file_path": str(path)}, loop.setup.place).verdict != "allow":
            raise denied
        if not path.is_file():  # opening a pipe would wait
            raise denied
        with path.open("rb") as file:
            data = file.read(size + 1)
    except (OSError, ToolError, ValueError):
        raise denied from None
    told = {"absPath": str(path), "requested_path": name, **({"truncated": True} if len(data) > size else {})}
    data = data[:size]
    if request.get("encoding") == "base64":
        return {**told, "contents": base64.b64encode(data).decode("ascii"), "encoding": "base64"}
    text = data.decode("utf-8", "replace")
    return {**told, "contents": text, "lossy": text.encode() != data}


def seed_read_state(loop: AgentLoop, request: Object) -> dict[str, Any]:
    """Let a file count as read by the model if it has not changed since the given time."""
    name, mtime = _get_path(request), request.get("mtime")
    try:
        path = locate_file(name, loop.setup.place)
        status = path.stat()
        is_readable = loop.setup.guard.decide("Read", {"file_path": str(path)}, loop.setup.place).verdict == "allow"
        if is_readable and path.is_file() and status.st_mtime_ns // 1_000_000 == mtime:
            is_small = status.st_size <= _MAX_SEEN_BYTES
            loop.shared.files.note_seen(path, status, path.read_text("utf-8") if is_small else None)
    except (OSError, ToolError, ValueError):
        pass  # a change of the file then needs a new Read, as for any unread file
    return {}


def _get_path(request: Object) -> str:
    name = request.get("path")
    if not isinstance(name, str) or not name:
        raise UsageError(f"{request.get('subtype')}: path is missing")
    return name
