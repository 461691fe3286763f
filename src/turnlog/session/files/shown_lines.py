"""The parts of files that a session shows: results from Read, and files that the client attached."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.session.calls import CallDetail
from turnlog.session.failures import to_result_text

_NUMBERED_LINE = re.compile(r" *(\d{1,9})(?:→|\t)(.*)", re.DOTALL)
_MAX_LINE_CHARS = 2000
_MAX_READ_LINES = 2000
"""The tool's default limits: lines per file, and characters per line."""


class ShownLines(NamedTuple):
    """A range of lines in a file."""

    text: str
    first: int
    """The number of the first line, starting at 1."""
    total: int | None
    """The number of lines in the file; a line end at the end of the file starts one more line."""
    is_whole: bool

    @property
    def last(self) -> int:
        return self.first + self.text.count("\n")


def parse_read_call(detail: CallDetail) -> ShownLines | None:
    """Parse what a Read call showed; return None if it was not text."""
    if isinstance(detail.structured, dict):
        return parse_shown_file(detail.structured)
    limited = isinstance(detail.input, dict) and not {"offset", "limit"}.isdisjoint(detail.input)
    return _parse_numbered_lines(to_result_text(detail.result), limited=limited)


def parse_shown_file(result: Any, *, truncated: bool = False) -> ShownLines | None:
    """Parse the part of a file that is in a structured result from Read or in the content of an attachment."""
    file = result.get("file") if isinstance(result, dict) and result.get("type") == "text" else None
    if not isinstance(file, dict) or not isinstance(text := file.get("content"), str):
        return None
    first, count, total = (_to_number(file.get(name)) for name in ("startLine", "numLines", "totalLines"))
    cut = truncated or bool(file.get("truncatedByTokenCap"))
    # Some versions count the empty line after a final line end, others don't.
    whole = first in (0, 1) and count is not None and total is not None and count >= total and not cut
    return ShownLines(text, first or 1, total, whole)


def _to_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _parse_numbered_lines(text: str, *, limited: bool) -> ShownLines | None:
    """Parse numbered lines as shown to the model, without anything that the client added after them."""
    lines: list[str] = []
    first = 1
    for line in text.split("\n"):
        found = _NUMBERED_LINE.fullmatch(line)
        if found is None or (lines and int(found[1]) != first + len(lines)):
            break
        first = first if lines else int(found[1])
        lines.append(found[2])
    if not lines:
        return None
    cut = limited or len(lines) >= _MAX_READ_LINES or any(len(line) >= _MAX_LINE_CHARS for line in lines)
    return ShownLines("\n".join(lines), first, None, first == 1 and not cut)
