"""Files that a prompt mentions (`@path`): each is attached as if the model had read it.

    @notes.txt  @src/  @"a b.txt"     a file, a folder (its names), a name with spaces
    @notes.txt#L2  @notes.txt#L2-9    only these lines

A file that a rule forbids reading is not attached; a line reports it to the person. What is mentioned by anyone but the
person at the keyboard (a script, a command's file) is attached only if the model might read it without asking.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.conversation import build_reminder
from turnlog.agent.small_file import read_small_file
from turnlog.agent.toolbox import LazyTool
from turnlog.agent.tools.call_result import ToolError
from turnlog.agent.tools.tool import CallContext

MAX_MENTIONS = 100
MAX_LISTED_NAMES = 1000
MAX_PICTURE_BYTES = 5 << 20
_MENTION_PATTERN = re.compile(r'(?:(?<=\s)|^)@(?:"([^"\n]+)"|([^\s"]+))', re.MULTILINE)
_LINES_PATTERN = re.compile(r"(.+)#L(\d{1,9})(?:-L?(\d{1,9}))?")
_PICTURE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
                  ".webp": "image/webp"}  # fmt: skip


class FileMention(NamedTuple):
    name: str
    first: int = 0
    """The first line, or 0 for the whole file."""
    last: int = 0


class FileAttachment(NamedTuple):
    """A file or folder as it is recorded and sent."""

    attachment: dict[str, Any]
    texts: tuple[str, ...]
    """The text for the model."""
    picture: dict[str, Any] | None = None

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The attachment as the model sees it."""
        return [*map(build_reminder, self.texts), *([self.picture] if self.picture else [])]


def find_mentions(text: str) -> list[FileMention]:
    """Return what a text mentions, each once."""
    found: dict[FileMention, None] = {}
    for match in _MENTION_PATTERN.finditer(text):
        name = match[1] or match[2].rstrip(".,;:!?)]}'")
        lines = _LINES_PATTERN.fullmatch(name)
        if lines:
            found[FileMention(lines[1], int(lines[2]), int(lines[3] or lines[2]))] = None
        elif name:
            found[FileMention(name)] = None
    return list(found)[:MAX_MENTIONS]


def find_resource(mention: FileMention, servers: Iterable[str]) -> tuple[str, str] | None:
    """Return the server and the address of a resource (`@server:scheme://…`), or None if a file is meant."""
    server, _, uri = mention.name.partition(":")
    return (server, uri) if server in servers and re.match(r"[A-Za-z][\w+.-]*:", uri) else None


def resolve_mention(mention: FileMention, cwd: Path, home: Path) -> Path | None:
    """Return the path of what is mentioned, or None if there is no such file or folder."""
    name = mention.name
    path = home / name[2:] if name.startswith("~/") else cwd / name
    try:
        return Path(os.path.normpath(path)) if path.exists() else None
    except (OSError, ValueError):
        return None


def attach_file(mention: FileMention, path: Path, context: CallContext) -> FileAttachment | str:
    """Return a file as an attachment, or why it can't be attached."""
    shown = os.path.relpath(path, context.place.cwd)
    try:
        if path.is_dir():
            return _attach_folder(path, shown)
        if path.suffix.lower() in _PICTURE_TYPES:
            return _attach_picture(path, shown)
        return _attach_text(mention, path, shown, context)
    except ToolError as error:
        return re.sub(r"</?tool_use_error>", "", str(error))
    except OSError as error:
        return error.strerror or "it can't be read"


def _attach_text(mention: FileMention, path: Path, shown: str, context: CallContext) -> FileAttachment:
    lines = {"offset": mention.first, "limit": max(1, mention.last - mention.first + 1)} if mention.first else {}
    result = LazyTool("Read").run({"file_path": str(path), **lines}, context)
    told = _describe_call("Read", {"file_path": str(path)}), f"Result of calling the Read tool:\n{result.content}"
    fields = {"filename": str(path), "content": result.structured, "displayPath": shown}
    return FileAttachment({"type": "file", **fields, "savedCopyFraming": {"enveloped": False}}, told)


def _attach_folder(path: Path, shown: str) -> FileAttachment:
    names = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
    more = len(names) - MAX_LISTED_NAMES
    content = "\n".join([*names[:MAX_LISTED_NAMES], *([f"… and {more} more entries"] if more > 0 else [])])
    call = {"command": f"ls {path}", "description": f"Lists files in {path}"}
    told = _describe_call("Bash", call), f"Result of calling the Bash tool:\n{content}"
    return FileAttachment({"type": "directory", "path": str(path), "content": content, "displayPath": shown}, told)


def _attach_picture(path: Path, shown: str) -> FileAttachment:
    data, kind = read_small_file(path, MAX_PICTURE_BYTES), _PICTURE_TYPES[path.suffix.lower()]
    encoded = base64.b64encode(data).decode("ascii")
    file = {"type": "image", "file": {"base64": encoded, "type": kind, "originalSize": len(data)}}
    fields = {"filename": str(path), "content": file, "displayPath": shown}
    picture = {"type": "image", "source": {"type": "base64", "data": encoded, "media_type": kind}}
    told = (_describe_call("Read", {"file_path": str(path)}),)
    return FileAttachment({"type": "file", **fields, "savedCopyFraming": {"enveloped": False}}, told, picture)


def _describe_call(tool: str, given: dict[str, str]) -> str:
    import json

    text = json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    return f"Called the {tool} tool with the following input: {text}"
