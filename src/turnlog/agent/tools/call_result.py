"""What comes of a call: a result, or an error that tells the model what to do; and the folders that a call works in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

Object = Mapping[str, Any]


class CallResult(NamedTuple):
    """What came of a call."""

    content: str | Sequence[Object]
    """What the model is told: a text, or blocks."""
    structured: Any = None
    """The client's own record of it, `toolUseResult`; never sent."""
    is_error: bool = False


def to_object(value: object) -> Object:
    """A value that should be an object; an empty one if it is none."""
    return value if isinstance(value, Mapping) else {}


class ToolError(Exception):
    """A call that can't be done: its text tells the model why, and what to do about it."""

    def to_result(self) -> CallResult:
        """What the model is told, and what is recorded."""
        return CallResult(str(self), f"Error: {self}", is_error=True)


class RejectedCall(ToolError):
    """A call that was turned down before anything was tried: a wrong input, a file that was not read."""

    def to_result(self) -> CallResult:
        """The same, marked as the real client marks it."""
        return CallResult(f"<tool_use_error>{self}</tool_use_error>", f"Error: {self}", is_error=True)


class Workspace(Struct):
    """Where the work is done; a shell may move within it."""

    root: Path
    """The folder that the client was started in."""
    cwd: Path
    further: Sequence[Path] = ()
    """Other folders that may be worked in (`--add-dir`)."""
