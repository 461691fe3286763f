"""Builders of sessions that touch files: calls with structured results, and the client's copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.session.build import SESSION, Build, stamp


def text(content: Any = "a\nb\n", start: Any = 1, count: Any = 3, total: Any = 3, **more: Any) -> Any:
    """What Read records of a text file."""
    file = {"content": content, "startLine": start, "numLines": count, "totalLines": total, **more}
    return {"type": "text", "file": file}


def do(build: Build, tool: str, given: Any, structured: Any = None, *, content: Any = "done", call: str = "") -> None:
    """A call with its result."""
    name = call or f"c{len(build.lines)}"
    build.call(name, tool, given)
    build.result(name, content, toolUseResult=structured)


def snapshot(build: Build, message: str, files: Any, **fields: Any) -> None:
    """The entry that names the copies of a prompt."""
    build.note(
        "file-history-snapshot",
        messageId=message,
        snapshot={"messageId": message, "trackedFileBackups": files, "timestamp": stamp(0)},
        **fields,
    )


def copy(name: Any, version: Any = 1, seconds: float = 60) -> dict[str, Any]:
    """One copy, as an entry names it."""
    return {"backupFileName": name, "version": version, "backupTime": stamp(seconds)}


def config(folder: Path, build: Build) -> Path:
    """The session as a file in a config folder."""
    project = folder / "projects" / "-home-dana"
    project.mkdir(parents=True)
    return build.write(project)


def history(folder: Path) -> Path:
    """The folder of the session's copies."""
    place = folder / "file-history" / SESSION
    place.mkdir(parents=True)
    return place
