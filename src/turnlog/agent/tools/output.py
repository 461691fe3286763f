"""The text of what a command wrote: how much of it the model is shown, and where the rest is.

What was written is read from its file, and no more of it than is shown. Bytes that are no UTF-8 become U+FFFD.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

LIMIT = 30_000
"""More characters than this go to a file, with a preview for the model."""
PREVIEW = 2_000
ERROR_LIMIT = 10_000
"""Of an error so many characters are shown: the beginning and the end."""
_WIDEST = 4
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def trimmed(text: str) -> str:
    """A text without blank lines before it and white space after it."""
    return _BLANK_LINES.sub("", text).rstrip()


def head(path: Path, characters: int = LIMIT) -> str:
    """The first characters of a file, and one more if there are more."""
    with path.open("rb") as file:
        return file.read((characters + 1) * _WIDEST).decode("utf-8", "replace")[: characters + 1]


def tail(path: Path, characters: int) -> str:
    """The last characters of a file."""
    with path.open("rb") as file:
        begin = max(0, file.seek(0, os.SEEK_END) - characters * _WIDEST)
        file.seek(begin)
        data = file.read(characters * _WIDEST)
    return data.decode("utf-8", "replace")[-characters:]


def shown(path: Path) -> str | None:
    """All that a file holds, as the model is shown it; None if it is too large for that."""
    found = trimmed(head(path, 2 * LIMIT))
    return found if len(found) <= LIMIT and path.stat().st_size <= 2 * LIMIT * _WIDEST else None


def persisted(text: str, path: Path, total: int) -> str:
    """What the model is shown of a text that is too large: where all of it is, and how it begins."""
    begin = text[:PREVIEW]
    cut = begin.rfind("\n")
    begin = begin[:cut] if cut > PREVIEW // 2 else begin
    return (
        f"<persisted-output>\nOutput too large ({size(total)}). Full output saved to: {path}\n\n"
        f"Preview (first {size(PREVIEW)}):\n{begin}\n...\n</persisted-output>"
    )


def failed(first: str, path: Path) -> str:
    """What the model is shown of a command that failed: a first line, then the beginning and the end of the output.

    The end is that of the output itself, however long it is: there a failing build says why.
    """
    text = f"{first}\n{trimmed(head(path, 2 * LIMIT))}".rstrip()
    half = ERROR_LIMIT // 2
    total = path.stat().st_size
    if total <= 2 * LIMIT:
        left_out = len(text) - ERROR_LIMIT
        end = text[-half:]
    else:
        end = tail(path, half + 1).rstrip()[-half:]
        left_out = total - ERROR_LIMIT
    short = f"{text[:half]}\n\n... [{left_out} characters truncated] ...\n\n{end}"
    return short if len(short) < max(len(text), total) else text


def size(count: int) -> str:
    """A number of bytes for people: `38KB`, `1.5MB`."""
    if count < 1024:
        return f"{count} bytes"
    power = 1 + (count >= 1 << 20) + (count >= 1 << 30)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + ("KB", "MB", "GB")[power - 1]
