"""What the session shows of a file: the results of Read, and files that the client attached."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from turnlog.session.calls import CallDetail
from turnlog.session.failures import to_result_text

_NUMBERED_LINE = re.compile(r" *(\d{1,9})(?:→|\t)(.*)", re.DOTALL)
_MAX_LINE_CHARS = 2000
_MAX_READ_LINES = 2000
"""Without a limit the tool shows so many lines, and so much of each."""


class ShownLines(NamedTuple):
    """Lines of a file."""

    text: str
    first: int
    """The number of the first line, from 1."""
    total: int | None
    """How many lines the file has; a line end at its end begins one more."""
    is_whole: bool

    @property
    def last(self) -> int:
        """The number of the last line."""
        return self.first + self.text.count("\n")


def parse_read_call(detail: CallDetail) -> ShownLines | None:
    """What a call of Read showed; None if that was no text."""
    if isinstance(detail.structured, dict):
        return parse_shown_file(detail.structured)
    limited = isinstance(detail.input, dict) and not {"offset", "limit"}.isdisjoint(detail.input)
    return _parse_numbered_lines(to_result_text(detail.result), limited=limited)


def parse_shown_file(result: Any, *, truncated: bool = False) -> ShownLines | None:
    """What a structured result of Read, or an attachment's content, holds of a file."""
    file = result.get("file") if isinstance(result, dict) and result.get("type") == "text" else None
    if not isinstance(file, dict) or not isinstance(text := file.get("content"), str):
        return None
    first, count, total = (_to_number(file.get(name)) for name in ("startLine", "numLines", "totalLines"))
    cut = truncated or bool(file.get("truncatedByTokenCap"))
    # Some versions count a line that ends the file, others don't.
    whole = first in (0, 1) and count is not None and total is not None and count >= total and not cut
    return ShownLines(text, first or 1, total, whole)


def _to_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _parse_numbered_lines(text: str, *, limited: bool) -> ShownLines | None:
    """Lines with their numbers in front, as the model sees them; what stands behind them is the client's."""
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
