"""Read: returns the text of a file with line numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.tools import notebook_text
from turnlog.agent.tools.call_result import CallResult, Object, RejectedCall, ToolError
from turnlog.agent.tools.described_tool import DescribedTool
from turnlog.agent.tools.seen_files import MissingFile, describe_missing_file, hold_file, word_system_errors
from turnlog.agent.tools.text_file import (
    decode_text_file,
    describe_flaw,
    is_utf_16_file,
    load_text_file,
    stat_regular_file,
)
from turnlog.agent.tools.tool import CallContext
from turnlog.entries.pinned_file import PinnedFile

MAX_UNLIMITED_BYTES = 256 * 1024
"""The largest file to read without a limit on lines."""
MAX_READ_TOKENS = 25_000
_CHARS_PER_TOKEN = 4
"""An approximation."""
_PAGE_CHARS = MAX_READ_TOKENS * _CHARS_PER_TOKEN * 85 // 100
_MAX_LINE_BYTES = 1 << 20
_PARTIAL_READ_ADVICE = (
    "Use offset and limit parameters to read specific portions of the file,"
    " or search for specific content instead of reading the whole file."
)
_EMPTY_FILE_WARNING = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
_MEDIA_SUFFIXES = frozenset("bmp gif ico jpeg jpg pdf png tif tiff webp".split())
_BINARY_SUFFIXES = frozenset(
    """7z a aac aiff apk app avi bin bz2 class com dat db deb dll dmg doc docx dylib eot exe flac flv gz ico idx iso
    jar lib m4a m4v mkv mov mp3 mp4 mpeg mpg msi node o obj ods odp odt ogg otf pack pkg ppt pptx psd pyc pyo rar rlib
    rpm so sqlite sqlite3 swf tar tgz tif tiff ttf war wasm wav webm wma wmv woff woff2 xls xlsx xz z zip zst""".split()
)


class FilePart(NamedTuple):
    """Some lines of a file."""

    text: str
    start: int
    total: int
    """The number of lines in the whole file."""
    flaw: str | None


class Read(DescribedTool):
    only_reads = True

    def run(self, arguments: Object, context: CallContext) -> CallResult:
        file = hold_file(arguments["file_path"], context.place, "open")
        path = file.path
        _check_is_text(path)
        try:
            if path.suffix.lower() == ".ipynb":
                return _read_notebook(file, arguments["file_path"], context)
            offset, limit = max(1, int(arguments.get("offset", 1))), max(0, int(arguments.get("limit", 0)))
            return _build_result(
                _read_part(file, offset, limit, context), arguments["file_path"], is_page=offset == 1 and not limit
            )
        except MissingFile:
            raise ToolError(describe_missing_file(path, context.place)) from None


def _check_is_text(path: Path) -> None:
    ending = path.suffix.lower().removeprefix(".")
    if ending in _MEDIA_SUFFIXES:
        raise RejectedCall(
            f"This client can't show .{ending} files to you yet. Ask the user what is in it,"
            " or use a shell command that can read the format."
        )
    if ending in _BINARY_SUFFIXES:
        raise RejectedCall(
            f"This tool cannot read binary files. The file appears to be a binary .{ending} file. Use a skill for this"
            " file type if one is available, or a shell command or script that can read the format."
        )


def _read_part(held: PinnedFile, offset: int, limit: int, context: CallContext) -> FilePart:
    status, path = stat_regular_file(held), held.path
    if status.st_size > MAX_UNLIMITED_BYTES and not limit:
        size = f"{status.st_size / 1024:.1f}".removesuffix(".0")
        raise ToolError(f"File content ({size}KB) exceeds maximum allowed size (256KB). {_PARTIAL_READ_ADVICE}")
    if status.st_size > MAX_UNLIMITED_BYTES and not is_utf_16_file(held):
        part = _read_large_file(held, status, offset, limit)
        context.files.note_seen(path, status, None)
        return part
    file = load_text_file(held)
    lines = file.shown_text.split("\n")
    last = offset - 1 + limit if limit else len(lines)
    whole = offset == 1 and last >= len(lines) and len(file.shown_text) <= MAX_READ_TOKENS * _CHARS_PER_TOKEN
    context.files.note_seen(path, file.status, file.text if whole else None)
    return FilePart("\n".join(lines[offset - 1 : last]), offset, len(lines), file.flaw)


def _read_large_file(held: PinnedFile, status: os.stat_result, offset: int, limit: int) -> FilePart:
    """Read some lines of a large file without loading the rest."""
    data, line = bytearray(), 1
    with word_system_errors("read", held.path), os.fdopen(held.open(), "rb") as file:
        while piece := file.readline(_MAX_LINE_BYTES):
            if offset <= line < offset + limit and len(data) < 4 * _MAX_LINE_BYTES:
                data += piece
            line += piece.endswith(b"\n")
    part = decode_text_file(held.real, status, bytes(data))
    text = part.shown_text if offset + limit > line else part.shown_text.removesuffix("\n")
    return FilePart(text, offset, line, part.flaw)


def _build_result(part: FilePart, display_path: str, *, is_page: bool) -> CallResult:
    count = part.text.count("\n") + 1 if part.start <= part.total else 0
    file = {"filePath": display_path, "content": part.text, "numLines": count}
    file |= {"startLine": part.start, "totalLines": part.total}
    if part.total == 1 and not part.text and count:
        return CallResult(_EMPTY_FILE_WARNING, {"type": "text", "file": file})
    if not count:
        return CallResult(
            "<system-reminder>Warning: the file exists but is shorter than the provided offset"
            f" ({part.start}). The file has {part.total} lines.</system-reminder>",
            {"type": "text", "file": file},
        )
    if len(part.text) <= MAX_READ_TOKENS * _CHARS_PER_TOKEN:
        text = _number_lines(part.text, part.start) + (describe_flaw(part.flaw) if part.flaw else "")
        return CallResult(text, {"type": "text", "file": file})
    if not is_page:
        tokens = len(part.text) // _CHARS_PER_TOKEN
        raise ToolError(
            f"File content ({tokens} tokens) exceeds maximum allowed tokens ({MAX_READ_TOKENS}). {_PARTIAL_READ_ADVICE}"
        )
    return _build_page_result(part, file)


def _build_page_result(part: FilePart, file: dict[str, object]) -> CallResult:
    """Build the result for the start of a file that is too long to read at once."""
    cut = part.text.rfind("\n", 0, _PAGE_CHARS)
    text = part.text[: cut if cut > 0 else _PAGE_CHARS]
    count = text.count("\n") + 1
    file |= {"content": text, "numLines": count, "truncatedByTokenCap": True}
    message = (
        f"{_number_lines(text, part.start)}\n\n<system-reminder>The file is too long to be read at once: these "
        f"are lines"
        f" 1-{count} of {part.total}. Read on with offset and limit if you need more of it.</system-reminder>"
    )
    return CallResult(message, {"type": "text", "file": file})


def _number_lines(text: str, start: int) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), start))


def _read_notebook(held: PinnedFile, display_path: str, context: CallContext) -> CallResult:
    file, path = load_text_file(held), held.path
    cells = notebook_text.extract_cells(file.shown_text)
    context.files.note_seen(path, file.status, file.text)
    blocks = notebook_text.render_cell_blocks(cells, path)
    structured = {"type": "notebook", "file": {"filePath": display_path, "cells": cells}}
    return CallResult(blocks or "(Read completed with no output)", structured)
