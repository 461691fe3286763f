"""Call results, errors that tell the model what to do, and the folders in which calls run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from turnlog.entries.pinned_file import PinnedFile

Object = Mapping[str, Any]


class CallResult(NamedTuple):
    content: str | Sequence[Object]
    """The text or blocks for the model."""
    structured: Any = None
    """The client's own record (`toolUseResult`), which is never sent."""
    is_error: bool = False


class CallFollowUp(NamedTuple):
    """What follows the result of a call: a text for the model, and an attachment that is only recorded."""

    text: str
    attachment: dict[str, Any]


def to_object(value: object) -> Object:
    """Return a value if it is an object; otherwise, return an empty object."""
    return value if isinstance(value, Mapping) else {}


class ToolError(Exception):
    """A call that failed; the text tells the model why it failed and what to do about it."""

    def to_result(self) -> CallResult:
        """Convert the error into a result for the model and the record."""
        return CallResult(str(self), f"Error: {self}", is_error=True)


class RejectedCall(ToolError):
    """A call that was rejected before anything happened, because of invalid input or an unread file."""

    def to_result(self) -> CallResult:
        """Convert the error into a result, tagged as in Claude Code."""
        return CallResult(f"<tool_use_error>{self}</tool_use_error>", f"Error: {self}", is_error=True)


class PinnedPath(NamedTuple):
    """A file that a call names."""

    name: str
    """The name in the call."""
    file: PinnedFile


class Workspace(Struct):
    """The working folders; a shell may change `cwd` to any folder inside them."""

    root: Path
    """The start folder of the client."""
    cwd: Path
    further: Sequence[Path] = ()
    """Additional working folders (`--add-dir`)."""
    pinned: PinnedPath | None = None
    """The file that the call names, held since before it was decided whether the call may run."""
