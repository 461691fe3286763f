"""Reads and writes text files, preserving their encoding, byte-order mark and line ends."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.tools.call_result import RejectedCall, ToolError
from turnlog.agent.tools.seen_files import CHANGED_MEANWHILE_TEXT, word_system_errors
from turnlog.entries.pinned_file import PinnedFile

MAX_TEXT_FILE_BYTES = 64 * 1024 * 1024
"""Larger files are not read into memory."""
_NUL_CHECK_BYTES = 8192
_UTF_16_MARK = b"\xff\xfe"
_BYTE_ORDER_MARK = "\ufeff"
_NUL_FLAW = (
    "has NUL bytes in its first 8 KB: binary data, UTF-16/UTF-32 without a byte-order mark, or text with embedded NULs."
)
_ENCODING_FLAW = (
    "is not valid UTF-8: it uses a legacy encoding such as Windows-1252, Shift-JIS or GBK, or it is binary."
)
_WRITE_REFUSAL = (
    "These tools write UTF-8 (or UTF-16LE behind its byte-order mark) and never convert a file's encoding on their own,"
    " so nothing was written. If the file is text, make the change with a shell command that reads and writes it in its"
    " own encoding (iconv, or PowerShell Get-Content/Set-Content -Encoding), or ask the user whether to convert it to"
    " UTF-8 first. To replace the whole file with new UTF-8 text anyway, delete it first, then Write it."
)
_SYSTEM_PATH_PATTERN = re.compile(r"/dev/|/proc/(self|thread-self|\d+)(/|$)")


class TextSplice(NamedTuple):
    """A replacement for part of the text."""

    start: int
    end: int
    text: str


class TextFile(NamedTuple):
    """A file that was read completely."""

    path: Path
    """The path with links resolved."""
    status: os.stat_result
    written: str
    """The text exactly as in the file, with its byte-order mark and line ends."""
    encoding: str
    flaw: str | None
    """Why the file can't be written back without damage, if that is the case."""

    @property
    def text(self) -> str:
        """The text with plain line ends, including the byte-order mark, if any."""
        return self.written.replace("\r\n", "\n")

    @property
    def shown_text(self) -> str:
        """The text as shown to the model."""
        return self.text.removeprefix(_BYTE_ORDER_MARK)

    @property
    def newline(self) -> str:
        """The most common line end."""
        pairs = self.written.count("\r\n")
        return "\r\n" if pairs * 2 > self.written.count("\n") else "\n"

    def check_writable(self, kind: type[ToolError]) -> None:
        """Raise if the file can't be written back without damage."""
        if self.flaw:
            raise kind(f"File {self.flaw} {_WRITE_REFUSAL}")

    def replace_text(self, text: str) -> str:
        """Return the new text with the file's byte-order mark."""
        marked = self.written.startswith(_BYTE_ORDER_MARK) and not text.startswith(_BYTE_ORDER_MARK)
        return _BYTE_ORDER_MARK + text if marked else text

    def apply_splices(self, splices: Sequence[TextSplice]) -> str:
        """Return the text with some parts replaced (positions refer to `text`); other lines keep their line ends."""
        pairs = [found.start() - at for at, found in enumerate(re.finditer("\r\n", self.written))]
        parts, copied = [], 0
        for splice in splices:
            start, end = (at + bisect_left(pairs, at) for at in splice[:2])
            parts += [self.written[copied:start], splice.text.replace("\n", self.newline)]
            copied = end
        return "".join([*parts, self.written[copied:]])


def load_text_file(file: PinnedFile | Path) -> TextFile:
    """Read a file; raise MissingFile if it does not exist."""
    file = PinnedFile(file) if isinstance(file, Path) else file
    status = stat_regular_file(file)
    if status.st_size > MAX_TEXT_FILE_BYTES:
        raise ToolError(f"File is too large ({status.st_size // 2**20} MB). Use a shell command instead.")
    with word_system_errors("open", file.path):
        return decode_text_file(file.real, status, file.read())


def stat_regular_file(file: PinnedFile) -> os.stat_result:
    """Return the status of a regular file; raise ToolError for a folder, device or pipe."""
    path = file.path
    with word_system_errors("open", path):
        status = file.stat()
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"EISDIR: illegal operation on a directory, read '{path}'")
    if not stat.S_ISREG(status.st_mode) or _SYSTEM_PATH_PATTERN.match(str(file.real)):
        raise RejectedCall(
            f"Cannot read '{path}': this path names a device or process file that this tool does not read."
        )
    return status


def is_utf_16_file(file: PinnedFile) -> bool:
    """Return whether a file starts with the UTF-16 byte-order mark."""
    with word_system_errors("open", file.path), os.fdopen(file.open(), "rb") as source:
        return source.read(len(_UTF_16_MARK)) == _UTF_16_MARK


def decode_text_file(path: Path, status: os.stat_result, raw: bytes) -> TextFile:
    encoding = "utf-16-le" if raw.startswith(_UTF_16_MARK) else "utf-8"
    flaw = _NUL_FLAW if encoding == "utf-8" and b"\0" in raw[:_NUL_CHECK_BYTES] else None
    try:
        return TextFile(path, status, raw.decode(encoding), encoding, flaw)
    except UnicodeDecodeError:
        return TextFile(path, status, raw.decode(encoding, "replace"), encoding, flaw or _ENCODING_FLAW)


def describe_flaw(flaw: str) -> str:
    """Describe the problem with a file to the model."""
    hint = " Its undecodable bytes show above as U+FFFD." if flaw == _ENCODING_FLAW else ""
    return (
        f"\n\n[This file {flaw}{hint} Edit and Write will refuse it: change it with a shell command that keeps its"
        " encoding, or ask the user whether to convert it to UTF-8.]"
    )


def store_text_file(file: PinnedFile | Path, text: str, before: TextFile | None) -> os.stat_result:
    """Write a file atomically; preserve the mode."""
    file = PinnedFile(file) if isinstance(file, Path) else file
    raw = _replace_lone_surrogates(text).encode(before.encoding if before else "utf-8")
    status = before.status if before else None
    mode = stat.S_IMODE(status.st_mode) if status else 0
    with word_system_errors("write", file.path):
        return file.replace(raw, mode=mode, owner=status, check=lambda: _check_unchanged(file, before))


def _check_unchanged(file: PinnedFile, before: TextFile | None) -> None:
    """Raise if a file has changed since it was read."""
    try:
        now = file.stat()
    except FileNotFoundError:
        now = None
    then = before.status if before else None
    if (now and (now.st_mtime_ns, now.st_size, now.st_ino)) != (then and (then.st_mtime_ns, then.st_size, then.st_ino)):
        raise ToolError(CHANGED_MEANWHILE_TEXT)


def _replace_lone_surrogates(text: str) -> str:
    """Replace lone halves of surrogate pairs, which JSON can contain but a file can't."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
