"""A folder in which file tools are called as the loop calls them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from turnlog.agent.tools.call_result import CallResult, Object, ToolError, Workspace
from turnlog.agent.tools.edit import Edit
from turnlog.agent.tools.glob import Glob
from turnlog.agent.tools.grep import Grep
from turnlog.agent.tools.input_schema import validate_input
from turnlog.agent.tools.notebook import NotebookEdit
from turnlog.agent.tools.read import Read
from turnlog.agent.tools.seen_files import SeenFiles
from turnlog.agent.tools.todo import TodoWrite
from turnlog.agent.tools.tool import CallContext, Question, Tool, ToolHost
from turnlog.agent.tools.write import Write
from turnlog.model.cancel import Cancel

TOOLS: Sequence[Tool] = (Read(), Write(), Edit(), NotebookEdit(), Glob(), Grep(), TodoWrite())


class Nobody:
    """A desk at which nobody sits: these tools ask for nothing."""

    def ask(self, question: Question) -> Object | None:
        raise AssertionError(question)

    def delegate(self, *given: object) -> CallResult:
        raise AssertionError(given)

    def consult(self, *given: object, **more: object) -> Sequence[Object]:
        raise AssertionError(given)


class Room:
    """A folder, and what the model has seen of it."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.scene = CallContext(
            call="toolu_1",
            place=Workspace(folder, folder),
            session=folder.parent / "session",
            session_id="s",
            files=SeenFiles(),
            shells=cast("Any", None),
            desk=cast("ToolHost", Nobody()),
            cancel=Cancel(),
            environ=dict(os.environ if environ is None else environ),
        )

    def call(self, name: str, **given: object) -> CallResult:
        """Call a tool."""
        tool = next(tool for tool in TOOLS if tool.name == name)
        try:
            return tool.run(validate_input(name, tool.schema, given), self.scene)
        except ToolError as error:
            return error.to_result()

    def write(self, name: str, content: str | bytes) -> Path:
        """Put a file there, behind the model's back."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str) -> str:
        """Read a file with the tool, and give what the model is told."""
        return str(self.call("Read", file_path=str(self.folder / name)).content)

    def edit(self, name: str, old: str, new: str, **more: object) -> CallResult:
        """Edit a file with the tool."""
        return self.call("Edit", file_path=str(self.folder / name), old_string=old, new_string=new, **more)

    def put(self, name: str, content: str) -> CallResult:
        """Write a file with the tool."""
        return self.call("Write", file_path=str(self.folder / name), content=content)
