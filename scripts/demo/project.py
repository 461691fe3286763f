"""A made-up project: its files, and what the client's tools answer when they touch them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from demo.ids import Row, pick


class Call(NamedTuple):
    """A tool call as the model makes it, with what the tool answers."""

    name: str
    input: Row
    content: Any = None
    result: Any = None
    is_error: bool | None = None
    seconds: float = 0.4
    extra: Row | None = None
    before: tuple[str, str | None] | None = None


class Block(NamedTuple):
    """A text or thinking block of an answer."""

    type: str
    text: str


def text(value: str) -> Block:
    """A text block."""
    return Block("text", value)


def think(value: str) -> Block:
    """A thinking block."""
    return Block("thinking", value)


def failed(name: str, given: Row, message: str, **more: Any) -> Call:
    """A call that the tool refuses or that fails."""
    return Call(name, given, message, f"Error: {message}", True, **more)


def patch(old: str, new: str) -> list[Row]:
    """The client's structured patch between two texts."""
    a, b, hunks = old.splitlines(), new.splitlines(), []
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [" " + line for line in a[i1:i2]]
            else:
                lines += ["-" + line for line in a[i1:i2]] + ["+" + line for line in b[j1:j2]]
        first, last = group[0], group[-1]
        hunks.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return hunks


@dataclass
class Project:
    """The files of one project, and its tools in the dialect of one client version."""

    cwd: str
    new: bool = True
    files: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """The absolute path of a file of the project."""
        if "\\" in self.cwd:
            return self.cwd + "\\" + name.replace("/", "\\")
        return name if name.startswith("/") else f"{self.cwd}/{name}"

    def numbered(self, content: str) -> str:
        """A file's lines as the Read tool shows them."""
        lines = enumerate(content.split("\n"), 1)
        return "\n".join(f"{n}\t{line}" if self.new else f"{n:6}→{line}" for n, line in lines)

    def read(self, name: str) -> Call:
        """Read a whole file."""
        content, path = self.files[name], self.path(name)
        count = content.count("\n") + 1
        file = {"filePath": path, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
        return Call("Read", {"file_path": path}, self.numbered(content), {"type": "text", "file": file}, None, 0.05)

    def edit(self, name: str, old: str, new: str) -> Call:
        """Replace one text in a file."""
        path, before = self.path(name), self.files[name]
        if before.count(old) != 1:
            raise ValueError(f"{name}: the text to replace occurs {before.count(old)} times")
        after = self.files[name] = before.replace(old, new)
        given = {"file_path": path, "old_string": old, "new_string": new}
        result = {
            "filePath": path,
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": patch(before, after),
            "userModified": False,
            "replaceAll": False,
        }
        return Call("Edit", given, self._edited(path, after, new), result, None, 0.1, None, (name, before))

    def multi_edit(self, name: str, edits: list[tuple[str, str]]) -> Call:
        """Several replacements in one call (the old MultiEdit tool)."""
        path, before = self.path(name), self.files[name]
        for old, new in edits:
            self.files[name] = self.files[name].replace(old, new, 1)
        listed = [{"old_string": old, "new_string": new, "replace_all": False} for old, new in edits]
        result = {
            "filePath": path,
            "edits": listed,
            "originalFileContents": before,
            "structuredPatch": patch(before, self.files[name]),
            "userModified": False,
        }
        told = "\n".join(f'{n}. Replaced "{old}" with "{new}"' for n, (old, new) in enumerate(edits, 1))
        given = {"file_path": path, "edits": [{"old_string": o, "new_string": n} for o, n in edits]}
        return Call(
            "MultiEdit",
            given,
            f"Applied {len(edits)} edits to {path}:\n{told}",
            result,
            None,
            0.1,
            None,
            (name, before),
        )

    def write(self, name: str, content: str) -> Call:
        """Create or overwrite a file."""
        path, before = self.path(name), self.files.get(name)
        self.files[name] = content
        result: Row = {
            "type": "create" if before is None else "update",
            "filePath": path,
            "content": content,
            "structuredPatch": [] if before is None else patch(before, content),
            "originalFile": before,
        }
        told = f"File created successfully at: {path}" if before is None else f"The file {path} has been updated."
        if self.new:
            result["userModified"] = False
            told += " (file state is current in your context — no need to Read it back)"
        return Call("Write", {"file_path": path, "content": content}, told, result, None, 0.1, {}, (name, before))

    def bash(
        self,
        command: str,
        out: str = "",
        about: str = "",
        err: str = "",
        code: int = 0,
        seconds: float = 0.6,
        **more: Any,
    ) -> Call:
        """Run a command."""
        given: Row = {"command": command, **({"description": about} if about else {})}
        if code:
            return failed("Bash", given, f"Exit code {code}\n{out}{err}".strip(), seconds=seconds)
        result: Row = {"stdout": out, "stderr": err, "interrupted": False, "isImage": False}
        if self.new:
            result["noOutputExpected"] = not out
        shown = out or ("(Bash completed with no output)" if self.new else "")
        extra = {"sandboxed": False} if self.new else None
        return Call("Bash", given, shown, {**result, **more}, False, seconds, extra)

    def grep(self, pattern: str, mode: str = "content") -> Call:
        """Search the project's files with a regular expression."""
        hits = [
            (name, n, line)
            for name, content in sorted(self.files.items())
            for n, line in enumerate(content.splitlines(), 1)
            if re.search(pattern, line)
        ]
        given = {"pattern": pattern, "output_mode": mode, **({"-n": True} if mode == "content" else {})}
        if mode == "content":
            shown = "\n".join(f"{name}:{n}:{line}" for name, n, line in hits)
            result: Row = {
                "mode": mode,
                "numFiles": 0,
                "filenames": [],
                "content": shown,
                "numLines": len(hits),
            }
            if self.new:
                result["totalLines"] = len(hits)
        else:
            names = sorted({name for name, _, _ in hits})
            shown = f"Found {len(names)} files\n" + "\n".join(names)
            result = {"mode": mode, "filenames": names, "numFiles": len(names)}
        return Call("Grep", given, shown, result, None, 0.05)

    def glob(self, pattern: str, ending: str) -> Call:
        """List the project's files with some ending."""
        names = sorted(name if self.new else self.path(name) for name in self.files if name.endswith(ending))
        result: Row = {
            "filenames": names,
            "durationMs": pick(pattern, 9, 60),
            "numFiles": len(names),
            "truncated": False,
        }
        if self.new:
            result |= {"totalMatches": len(names), "countIsComplete": True}
        return Call("Glob", {"pattern": pattern}, "\n".join(names) or "No files found", result, None, 0.05)

    def todos(self, before: list[Row], after: list[Row]) -> Call:
        """Rewrite the todo list (the old TodoWrite tool)."""
        told = (
            "Todos have been modified successfully. Ensure that you continue to use the todo list to track "
            "your progress. Please proceed with the current tasks if applicable"
        )
        return Call("TodoWrite", {"todos": after}, told, {"oldTodos": before, "newTodos": after}, None, 0.02)

    def _edited(self, path: str, after: str, new: str) -> str:
        if self.new:
            return (
                f"The file {path} has been updated successfully. "
                "(file state is current in your context — no need to Read it back)"
            )
        at = after[: after.index(new)].count("\n") if new in after else 0
        lines = after.split("\n")[max(0, at - 2) : at + new.count("\n") + 3]
        shown = "\n".join(f"{n:6}→{line}" for n, line in enumerate(lines, max(1, at - 1)))
        told = "Here's the result of running `cat -n` on a snippet of the edited file:"
        return f"The file {path} has been updated. {told}\n{shown}"
