"""Write: a whole file, new or in the place of another."""

from __future__ import annotations

import re
from pathlib import Path

from turnlog.agent.tools import schema
from turnlog.agent.tools.files import CHANGED, UNREAD, Files, located
from turnlog.agent.tools.patch import patch
from turnlog.agent.tools.textfile import TextFile, load, store
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError, Unfit

CURRENT = " (file state is current in your context — no need to Read it back)"
_TRAILING = re.compile(r"[^\S\n]+(?=\n|$)")


class Write:
    """The tool."""

    name = "Write"
    description = (
        "Writes a file: a new one, or a whole new content for one that is there.\n"
        "- A file that is there must have been read first, and not have changed since.\n"
        "- To change a part of a file, use Edit.\n"
        "- Folders on the way are made. Spaces at the ends of lines are dropped, except in Markdown.\n"
        "- Write documentation only if the user asks for it."
    )
    schema = schema.parameters(
        {
            "file_path": schema.text("Absolute path of the file"),
            "content": schema.text("The content of the file"),
        },
        ["file_path", "content"],
    )

    def is_safe(self, given: Object) -> bool:
        """Never: it changes a file."""
        return False

    def run(self, given: Object, scene: Scene) -> Result:
        """Write it."""
        shown = given["file_path"]
        path = located(shown, scene.place)
        if path.is_dir():
            raise Unfit(
                f"{shown} is a directory, not a file. To create a file inside it, include the file name in file_path."
            )
        content = trimmed(given["content"], path)
        before = standing(path)
        if before is not None:
            _must_be_known(before, path, scene.files)
        text = before.replaced(content) if before else content
        scene.files.saw(path, store(path, text, before), text.replace("\r\n", "\n"))
        return _result(shown, content, before)


def trimmed(text: str, path: Path) -> str:
    """Drop spaces at the ends of lines; in Markdown they mean something."""
    return text if path.suffix.lower() in (".md", ".mdx") else _TRAILING.sub("", text)


def standing(path: Path) -> TextFile | None:
    """Give the file as it stands; None if there is none."""
    try:
        return load(path)
    except FileNotFoundError:
        return None


def _must_be_known(before: TextFile, path: Path, files: Files) -> None:
    if not files.is_known(path):
        raise Unfit(UNREAD)
    if files.is_changed(path, before.status, before.text):
        raise Unfit(CHANGED)
    before.must_be_sound(ToolError)


def _result(shown: str, content: str, before: TextFile | None) -> Result:
    if before is None:
        told = f"File created successfully at: {shown}{CURRENT}"
    else:
        told = f"The file {shown} has been updated successfully.{CURRENT}"
    structured = {
        "type": "update" if before else "create",
        "filePath": shown,
        "content": content,
        "structuredPatch": patch(before.shown, content) if before else [],
        "originalFile": before.text if before else None,
        "userModified": False,
    }
    return Result(told, structured)
