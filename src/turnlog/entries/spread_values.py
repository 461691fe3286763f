"""Joins the lines of a JSON value that stretches over several, as `jq .` and other formatters write it.

Newer clients (2.1.325 and later) read such values, also among ordinary lines; clients up to 2.1.45 do not. Readers ask
only about lines that the decoder rejected, so that ordinary files are read as fast as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from turnlog.entries.file_ends import split_lines
from turnlog.entries.line_decoder import BOM, decode_patiently

_JSON_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[\[\]{}]', re.DOTALL)
_LINE_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")|[ \t\r\n]+', re.DOTALL)
_DEPTH_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_JSON_SPACE = b" \t\r\n"
_MAX_VALUE_BYTES = 1 << 28


def join_spread_value(first: bytes, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a line that the decoder rejected, in one piece with the lines that its value goes on in.

    This takes those lines from `lines`. If the value has no end, each of its lines is yielded on its own: another value
    that begins at the start of a line shows that this one was cut off.
    """
    line: bytes | None = first
    while line is not None:
        depth = _count_open_parts(line)
        if not depth or not line.removeprefix(BOM).lstrip(_JSON_SPACE).startswith(b"{"):
            yield line
            return
        parts, size, is_indented, line = [line], len(line), False, None
        for more in lines:
            if more.startswith(b"{") and (is_indented or not _is_inner_object(more, parts[-1])):
                line = more
                break
            parts.append(more)
            size, is_indented = size + len(more), is_indented or more.startswith((b" ", b"\t"))
            step = _count_open_parts(more)
            depth = 0 if step is None else depth + step
            if depth <= 0 or size > _MAX_VALUE_BYTES:
                break
        joined = b"".join(parts) if depth == 0 else b""
        found = decode_patiently(joined.removeprefix(BOM)) if joined else None
        if found is not None and isinstance(found.value, dict):
            yield joined
        else:
            yield from parts


def _is_inner_object(line: bytes, before: bytes) -> bool:
    """Return whether an object at the start of a line may be part of another: some formatters don't indent."""
    is_bare = line.strip(_JSON_SPACE + b",") in (b"{", b"{}")
    return is_bare and before.rstrip(_JSON_SPACE).endswith((b"[", b",", b":"))


def split_values(data: bytes) -> list[bytes]:
    """Split data into lines, with those of a value that stretches over several in one piece."""
    lines = split_lines(data)
    return list(join_lines(lines)) if any(map(is_opening_line, lines)) else lines


def is_opening_line(line: bytes) -> bool:
    """Return whether a line ends with the start of an object, as an ordinary line never does."""
    return line.endswith((b"{\n", b"{\r\n"))


def join_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines, with those of a value that stretches over several in one piece."""
    rest = iter(lines)
    for line in rest:
        if line.endswith(b"}\n"):  # as nearly every line of a session
            yield line
        else:
            yield from join_spread_value(line, rest)


def _count_open_parts(line: bytes) -> int | None:
    """Return how many more objects and arrays begin than end in a line; None if a string has no end."""
    depth = 0
    for token in _JSON_TOKEN.finditer(line):
        step = _DEPTH_STEPS.get(token[0])
        if step is None and not token[1]:
            return None
        depth += step or 0
    return depth


def join_to_line(raw: bytes) -> bytes:
    """Return a JSON value without the white space between its parts, on one line."""
    return _LINE_TOKEN.sub(lambda token: token[1] or b"", raw) + b"\n"
