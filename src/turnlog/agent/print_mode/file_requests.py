"""Requests of a program about files: `read_file` and `seed_read_state`.

Both follow the rules for the Read tool. Nobody is asked: a file that the model would have to ask for stays closed.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

from turnlog.agent.loop import AgentLoop
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.seen_files import locate_file
from turnlog.agent.tools.text_file import MAX_TEXT_FILE_BYTES, load_text_file, stat_regular_file
from turnlog.entries.file_ends import read_at
from turnlog.entries.pinned_file import PinnedFile
from turnlog.errors import TurnlogError

Object = Mapping[str, Any]
DEFAULT_BYTES = 1 << 20
"""How much of a file is sent if the program sets no limit."""


def read_file(loop: AgentLoop, request: Object) -> dict[str, Any]:
    """Return the start of a file in the words of the client's own answer."""
    name, wanted = str(request.get("path") or ""), request.get("max_bytes")
    limit = wanted if isinstance(wanted, int) and not isinstance(wanted, bool) and wanted > 0 else DEFAULT_BYTES
    try:
        file = _hold_readable_file(loop, name)
        data, is_cut = _read_start(file, min(limit, MAX_TEXT_FILE_BYTES))
    except (ToolError, TurnlogError, OSError, ValueError):
        raise TurnlogError(f"read denied: {name}") from None
    found: dict[str, Any] = {"absPath": str(file.path), "requested_path": name}
    if is_cut:
        found["truncated"] = True
    if request.get("encoding") == "base64":
        return {**found, "contents": base64.b64encode(data).decode(), "encoding": "base64"}
    try:
        return {**found, "contents": data.decode(), "lossy": False}
    except UnicodeDecodeError:
        return {**found, "contents": data.decode("utf-8", "replace"), "lossy": True}


def seed_read_state(loop: AgentLoop, request: Object) -> None:
    """Note that the model has read a file, unless it was written since the time that the program states."""
    moment = request.get("mtime")
    if not isinstance(moment, int | float) or isinstance(moment, bool):
        return
    try:
        held = _hold_readable_file(loop, str(request.get("path") or ""))
        file = load_text_file(held)
    except (ToolError, TurnlogError, OSError, ValueError):
        return
    if file.status.st_mtime_ns // 1_000_000 <= moment:
        loop.shared.files.note_seen(held.path, file.status, file.text)


def _hold_readable_file(loop: AgentLoop, name: str) -> PinnedFile:
    """Return a regular file that may be read without asking; raise ToolError for any other."""
    if not name:
        raise ToolError("no path")
    file = PinnedFile(locate_file(name, loop.setup.place))
    for one in (file.path, file.real):
        if loop.setup.guard.decide("Read", {"file_path": str(one)}, loop.setup.place).verdict != "allow":
            raise ToolError("a rule, or the lack of one, forbids it")
    stat_regular_file(file)
    return file


def _read_start(file: PinnedFile, limit: int) -> tuple[bytes, bool]:
    """Return the first bytes of a file, and whether there are more."""
    fd = file.open()
    try:
        return read_at(fd, 0, limit), os.fstat(fd).st_size > limit
    finally:
        os.close(fd)
