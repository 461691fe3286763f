"""A made-up project: its files, and what the client's tools return for them."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from demo.ids import Row, pick_number


class Call(NamedTuple):
    """A tool call by the model, with the tool's result."""

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


def build_text(value: str) -> Block:
    return Block("text", value)


def build_thinking(value: str) -> Block:
    return Block("thinking", value)


def build_failed_call(name: str, arguments: Row, message: str, **more: Any) -> Call:
    """Build a call that the tool refuses or that fails."""
    return Call(name, arguments, message, f"Error: {message}", True, **more)


def build_patch(old: str, new: str) -> list[Row]:
    """Build the client's structured patch between two versions of a file."""
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

    def resolve_path(self, name: str) -> str:
        """Return the absolute path of a file in the project."""
        if "\\" in self.cwd:
            return self.cwd + "\\" + name.replace("/", "\\")
        return name if name.startswith("/") else f"{self.cwd}/{name}"

    def number_lines(self, content: str) -> str:
        """Number the lines of a file as the Read tool does."""
        lines = enumerate(content.split("\n"), 1)
        return "\n".join(f"{n}\t{line}" if self.new else f"{n:6}→{line}" for n, line in lines)

    def read_file(self, name: str) -> Call:
        """Read a whole file."""
        content, path = self.files[name], self.resolve_path(name)
        count = content.count("\n") + 1
        file = {"filePath": path, "content": content, "numLines": count, "startLine": 1, "totalLines": count}
        return Call("Read", {"file_path": path}, self.number_lines(content), {"type": "text", "file": file}, None, 0.05)

    def edit_file(self, name: str, old: str, new: str) -> Call:
        """Replace one passage in a file."""
        path, before = self.resolve_path(name), self.files[name]
        if before.count(old) != 1:
            raise ValueError(f"{name}: the text to replace occurs {before.count(old)} times")
        after = self.files[name] = before.replace(old, new)
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        result = {
            "filePath": path,
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": build_patch(before, after),
            "userModified": False,
            "replaceAll": False,
        }
        return Call("Edit", arguments, self._describe_edit(path, after, new), result, None, 0.1, None, (name, before))

    def edit_file_repeatedly(self, name: str, edits: list[tuple[str, str]]) -> Call:
        """Make several replacements in one call (the old MultiEdit tool)."""
        path, before = self.resolve_path(name), self.files[name]
        for old, new in edits:
            self.files[name] = self.files[name].replace(old, new, 1)
        applied = [{"old_string": old, "new_string": new, "replace_all": False} for old, new in edits]
        result = {
            "filePath": path,
            "edits": applied,
            "originalFileContents": before,
            "structuredPatch": build_patch(before, self.files[name]),
            "userModified": False,
        }
        content = "\n".join(f'{n}. Replaced "{old}" with "{new}"' for n, (old, new) in enumerate(edits, 1))
        arguments = {"file_path": path, "edits": [{"old_string": o, "new_string": n} for o, n in edits]}
        return Call(
            "MultiEdit",
            arguments,
            f"Applied {len(edits)} edits to {path}:\n{content}",
            result,
            None,
            0.1,
            None,
            (name, before),
        )

    def write_file(self, name: str, content: str) -> Call:
        """Create or overwrite a file."""
        path, before = self.resolve_path(name), self.files.get(name)
        self.files[name] = content
        result: Row = {
            "type": "create" if before is None else "update",
            "filePath": path,
            "content": content,
            "structuredPatch": [] if before is None else build_patch(before, content),
            "originalFile": before,
        }
        message = f"File created successfully at: {path}" if before is None else f"The file {path} has been updated."
        if self.new:
            result["userModified"] = False
            message += " (file state is current in your context — no need to Read it back)"
        return Call("Write", {"file_path": path, "content": content}, message, result, None, 0.1, {}, (name, before))

    def run_command(
        self,
        command: str,
        out: str = "",
        about: str = "",
        err: str = "",
        code: int = 0,
        seconds: float = 0.6,
        **more: Any,
    ) -> Call:
        arguments: Row = {"command": command, **({"description": about} if about else {})}
        if code:
            return build_failed_call("Bash", arguments, f"Exit code {code}\n{out}{err}".strip(), seconds=seconds)
        result: Row = {"stdout": out, "stderr": err, "interrupted": False, "isImage": False}
        if self.new:
            result["noOutputExpected"] = not out
        content = out or ("(Bash completed with no output)" if self.new else "")
        extra = {"sandboxed": False} if self.new else None
        return Call("Bash", arguments, content, {**result, **more}, False, seconds, extra)

    def search_files(self, pattern: str, mode: str = "content") -> Call:
        """Search the project's files with a regular expression."""
        hits = [
            (name, n, line)
            for name, content in sorted(self.files.items())
            for n, line in enumerate(content.splitlines(), 1)
            if re.search(pattern, line)
        ]
        arguments = {"pattern": pattern, "output_mode": mode, **({"-n": True} if mode == "content" else {})}
        if mode == "content":
            content = "\n".join(f"{name}:{n}:{line}" for name, n, line in hits)
            result: Row = {
                "mode": mode,
                "numFiles": 0,
                "filenames": [],
                "content": content,
                "numLines": len(hits),
            }
            if self.new:
                result["totalLines"] = len(hits)
        else:
            names = sorted({name for name, _, _ in hits})
            content = f"Found {len(names)} files\n" + "\n".join(names)
            result = {"mode": mode, "filenames": names, "numFiles": len(names)}
        return Call("Grep", arguments, content, result, None, 0.05)

    def list_files(self, pattern: str, ending: str) -> Call:
        """List the project's files that have a given ending."""
        names = sorted(name if self.new else self.resolve_path(name) for name in self.files if name.endswith(ending))
        result: Row = {
            "filenames": names,
            "durationMs": pick_number(pattern, 9, 60),
            "numFiles": len(names),
            "truncated": False,
        }
        if self.new:
            result |= {"totalMatches": len(names), "countIsComplete": True}
        return Call("Glob", {"pattern": pattern}, "\n".join(names) or "No files found", result, None, 0.05)

    def write_todos(self, before: list[Row], after: list[Row]) -> Call:
        """Rewrite the todo list (the old TodoWrite tool)."""
        content = (
            "Todos have been modified successfully. Ensure that you continue to use the todo list to track "
            "your progress. Please proceed with the current tasks if applicable"
        )
        return Call("TodoWrite", {"todos": after}, content, {"oldTodos": before, "newTodos": after}, None, 0.02)

    def _describe_edit(self, path: str, after: str, new: str) -> str:
        if self.new:
            return (
                f"The file {path} has been updated successfully. "
                "(file state is current in your context — no need to Read it back)"
            )
        at = after[: after.index(new)].count("\n") if new in after else 0
        lines = after.split("\n")[max(0, at - 2) : at + new.count("\n") + 3]
        snippet = "\n".join(f"{n:6}→{line}" for n, line in enumerate(lines, max(1, at - 1)))
        heading = "Here's the result of running `cat -n` on a snippet of the edited file:"
        return f"The file {path} has been updated. {heading}\n{snippet}"
