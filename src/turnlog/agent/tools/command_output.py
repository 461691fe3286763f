"""The text of what a command wrote: how much of it the model is shown, and where the rest is.

What was written is read from its file, and no more of it than is shown. Bytes that are no UTF-8 become U+FFFD.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MAX_INLINE_CHARS = 30_000
"""More characters than this go to a file, with a preview for the model."""
PREVIEW_CHARS = 2_000
MAX_ERROR_CHARS = 10_000
"""Of an error so many characters are shown: the beginning and the end."""
_MAX_BYTES_PER_CHAR = 4
_LEADING_BLANK_LINES_PATTERN = re.compile(r"\A(?:[^\S\n]*\n)+")


def trim_output(text: str) -> str:
    """A text without blank lines before it and white space after it."""
    return _LEADING_BLANK_LINES_PATTERN.sub("", text).rstrip()


def read_output_head(path: Path, characters: int = MAX_INLINE_CHARS) -> str:
    """The first characters of a file, and one more if there are more."""
    with path.open("rb") as file:
        return file.read((characters + 1) * _MAX_BYTES_PER_CHAR).decode("utf-8", "replace")[: characters + 1]


def read_output_tail(path: Path, characters: int) -> str:
    """The last characters of a file."""
    with path.open("rb") as file:
        begin = max(0, file.seek(0, os.SEEK_END) - characters * _MAX_BYTES_PER_CHAR)
        file.seek(begin)
        data = file.read(characters * _MAX_BYTES_PER_CHAR)
    return data.decode("utf-8", "replace")[-characters:]


def read_shown_output(path: Path) -> str | None:
    """All that a file holds, as the model is shown it; None if it is too large for that."""
    found = trim_output(read_output_head(path, 2 * MAX_INLINE_CHARS))
    return (
        found
        if len(found) <= MAX_INLINE_CHARS and path.stat().st_size <= 2 * MAX_INLINE_CHARS * _MAX_BYTES_PER_CHAR
        else None
    )


def describe_persisted_output(text: str, path: Path, total: int) -> str:
    """What the model is shown of a text that is too large: where all of it is, and how it begins."""
    begin = text[:PREVIEW_CHARS]
    cut = begin.rfind("\n")
    begin = begin[:cut] if cut > PREVIEW_CHARS // 2 else begin
    return (
        f"<persisted-output>\nOutput too large ({format_byte_size(total)}). Full output saved to: {path}\n\n"
        f"Preview (first {format_byte_size(PREVIEW_CHARS)}):\n{begin}\n...\n</persisted-output>"
    )


def describe_failed_output(first: str, path: Path) -> str:
    """What the model is shown of a command that failed: a first line, then the beginning and the end of the output.

    The end is that of the output itself, however long it is: there a failing build says why.
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
    """A number of bytes for people: `38KB`, `1.5MB`."""
    if count < 1024:
        return f"{count} bytes"
    power = 1 + (count >= 1 << 20) + (count >= 1 << 30)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + ("KB", "MB", "GB")[power - 1]
