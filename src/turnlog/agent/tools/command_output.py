"""Formats a command's output for the model: how much to show and where to find the rest.

Only as much of the output as is needed is read from its file. Bytes that are not UTF-8 become U+FFFD.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MAX_INLINE_CHARS = 30_000
"""Longer output is written to a file, with a preview for the model."""
PREVIEW_CHARS = 2_000
MAX_ERROR_CHARS = 10_000
"""The maximum number of characters to show of an error, half from its start and half from its end."""
_MAX_BYTES_PER_CHAR = 4
_LEADING_BLANK_LINES_PATTERN = re.compile(r"\A(?:[^\S\n]*\n)+")


def trim_output(text: str) -> str:
    """Strip blank lines before the text and white space after it."""
    return _LEADING_BLANK_LINES_PATTERN.sub("", text).rstrip()


def read_output_head(path: Path, characters: int = MAX_INLINE_CHARS) -> str:
    """Return the first characters of a file, plus one more if the file is longer."""
    with path.open("rb") as file:
        return file.read((characters + 1) * _MAX_BYTES_PER_CHAR).decode("utf-8", "replace")[: characters + 1]


def read_output_tail(path: Path, characters: int) -> str:
    with path.open("rb") as file:
        begin = max(0, file.seek(0, os.SEEK_END) - characters * _MAX_BYTES_PER_CHAR)
        file.seek(begin)
        data = file.read(characters * _MAX_BYTES_PER_CHAR)
    return data.decode("utf-8", "replace")[-characters:]


def read_inline_output(path: Path) -> str | None:
    """Return the complete output for the model, or None if it is too large."""
    text = trim_output(read_output_head(path, 2 * MAX_INLINE_CHARS))
    return (
        text
        if len(text) <= MAX_INLINE_CHARS and path.stat().st_size <= 2 * MAX_INLINE_CHARS * _MAX_BYTES_PER_CHAR
        else None
    )


def describe_persisted_output(text: str, path: Path, total: int) -> str:
    """Describe output that is too large: where it is saved, and a preview."""
    preview = text[:PREVIEW_CHARS]
    cut = preview.rfind("\n")
    preview = preview[:cut] if cut > PREVIEW_CHARS // 2 else preview
    return (
        f"<persisted-output>\nOutput too large ({format_byte_size(total)}). Full output saved to: {path}\n\n"
        f"Preview (first {format_byte_size(PREVIEW_CHARS)}):\n{preview}\n...\n</persisted-output>"
    )


def describe_failed_output(first: str, path: Path) -> str:
    """Describe the output of a failed command: a first line, then the start and end of the output.

    The end is always included, however long the output is, because a failing build states the reason there.
    """
    text = f"{first}\n{trim_output(read_output_head(path, 2 * MAX_INLINE_CHARS))}".rstrip()
    half = MAX_ERROR_CHARS // 2
    total = path.stat().st_size
    if total <= 2 * MAX_INLINE_CHARS:
        left_out = len(text) - MAX_ERROR_CHARS
        end = text[-half:]
    else:
        end = read_output_tail(path, half + 1).rstrip()[-half:]
        left_out = total - MAX_ERROR_CHARS
    short = f"{text[:half]}\n\n... [{left_out} characters truncated] ...\n\n{end}"
    return short if len(short) < max(len(text), total) else text


def format_byte_size(count: int) -> str:
    """Format a number of bytes: `38KB`, `1.5MB`."""
    if count < 1024:
        return f"{count} bytes"
    power = 1 + (count >= 1 << 20) + (count >= 1 << 30)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + ("KB", "MB", "GB")[power - 1]
