"""Write: a whole file, new or in the place of another."""

from __future__ import annotations

import re
from pathlib import Path

from turnlog.agent.tools.files import CHANGED, UNREAD, Files, Missing, located
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.patch import patch
from turnlog.agent.tools.textfile import TextFile, load, store
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError, Unfit

CURRENT = " (file state is current in your context — no need to Read it back)"
_TRAILING = re.compile(r"[^\S\n]+(?=\n|$)")


class Write(Offered):
    """The tool."""

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
        text = foreseen(before, given, path)
        scene.files.saw(path, store(path, text, before), text.replace("\r\n", "\n"), is_written=True)
        return _result(shown, content, before)


def trimmed(text: str, path: Path) -> str:
    """Drop spaces at the ends of lines; in Markdown they mean something."""
    return text if path.suffix.lower() in (".md", ".mdx") else _TRAILING.sub("", text)


def foreseen(before: TextFile | None, given: Object, path: Path) -> str:
    """The text that a call would leave in a file, as it would stand there."""
    content = trimmed(given["content"], path)
    return before.replaced(content) if before else content


def standing(path: Path) -> TextFile | None:
    """Give the file as it stands; None if there is none."""
    try:
        return load(path)
    except Missing:
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
