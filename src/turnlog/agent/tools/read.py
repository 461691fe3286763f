"""Read: the text of a file, with line numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from turnlog.agent.tools import notebook_text
from turnlog.agent.tools.files import Missing, located, missing, telling
from turnlog.agent.tools.offered import Offered
from turnlog.agent.tools.textfile import decoded, is_utf_16, load, note, regular
from turnlog.agent.tools.tool import Object, Result, Scene, ToolError, Unfit

LARGEST = 256 * 1024
"""Bytes that are read without a limit on lines."""
MOST_TOKENS = 25_000
_CHARACTERS = 4
"""Of a token, about."""
_PAGE = MOST_TOKENS * _CHARACTERS * 85 // 100
_PIECE = 1 << 20
_ADVICE = (
    "Use offset and limit parameters to read specific portions of the file,"
    " or search for specific content instead of reading the whole file."
)
_EMPTY = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
_MEDIA = frozenset("bmp gif ico jpeg jpg pdf png tif tiff webp".split())
_BINARY = frozenset(
    """7z a aac aiff apk app avi bin bz2 class com dat db deb dll dmg doc docx dylib eot exe flac flv gz ico idx iso
    jar lib m4a m4v mkv mov mp3 mp4 mpeg mpg msi node o obj ods odp odt ogg otf pack pkg ppt pptx psd pyc pyo rar rlib
    rpm so sqlite sqlite3 swf tar tgz tif tiff ttf war wasm wav webm wma wmv woff woff2 xls xlsx xz z zip zst""".split()
)


class Part(NamedTuple):
    """Lines of a file."""

    text: str
    start: int
    total: int
    """Lines of the whole file."""
    flaw: str | None


class Read(Offered):
    """The tool."""

    only_reads = True

    def run(self, given: Object, scene: Scene) -> Result:
        """Read it."""
        path = located(given["file_path"], scene.place)
        _must_be_text(path)
        try:
            if path.suffix.lower() == ".ipynb":
                return _notebook(path, given["file_path"], scene)
            offset, limit = max(1, int(given.get("offset", 1))), max(0, int(given.get("limit", 0)))
            return _result(_read(path, offset, limit, scene), given["file_path"], is_page=offset == 1 and not limit)
        except Missing:
            raise ToolError(missing(path, scene.place)) from None


def _must_be_text(path: Path) -> None:
    ending = path.suffix.lower().removeprefix(".")
    if ending in _MEDIA:
        raise Unfit(
            f"This client can't show .{ending} files to you yet. Ask the user what is in it,"
            " or use a shell command that can read the format."
        )
    if ending in _BINARY:
        raise Unfit(
            f"This tool cannot read binary files. The file appears to be a binary .{ending} file. Use a skill for this"
            " file type if one is available, or a shell command or script that can read the format."
        )


def _read(path: Path, offset: int, limit: int, scene: Scene) -> Part:
    status = regular(path)
    if status.st_size > LARGEST and not limit:
        size = f"{status.st_size / 1024:.1f}".removesuffix(".0")
        raise ToolError(f"File content ({size}KB) exceeds maximum allowed size (256KB). {_ADVICE}")
    if status.st_size > LARGEST and not is_utf_16(path):
        part = _streamed(path, status, offset, limit)
        scene.files.saw(path, status, None)
        return part
    file = load(path)
    lines = file.shown.split("\n")
    last = offset - 1 + limit if limit else len(lines)
    whole = offset == 1 and last >= len(lines) and len(file.shown) <= MOST_TOKENS * _CHARACTERS
    scene.files.saw(path, file.status, file.text if whole else None)
    return Part("\n".join(lines[offset - 1 : last]), offset, len(lines), file.flaw)


def _streamed(path: Path, status: os.stat_result, offset: int, limit: int) -> Part:
    """Read some lines of a large file; only these are held."""
    kept, line = bytearray(), 1
    with telling("read", path), path.open("rb") as file:
        while piece := file.readline(_PIECE):
            if offset <= line < offset + limit and len(kept) < 4 * _PIECE:
                kept += piece
            line += piece.endswith(b"\n")
    part = decoded(path, status, bytes(kept))
    text = part.shown if offset + limit > line else part.shown.removesuffix("\n")
    return Part(text, offset, line, part.flaw)


def _result(part: Part, shown: str, *, is_page: bool) -> Result:
    count = part.text.count("\n") + 1 if part.start <= part.total else 0
    file = {"filePath": shown, "content": part.text, "numLines": count}
    file |= {"startLine": part.start, "totalLines": part.total}
    if part.total == 1 and not part.text and count:
        return Result(_EMPTY, {"type": "text", "file": file})
    if not count:
        return Result(
            "<system-reminder>Warning: the file exists but is shorter than the provided offset"
            f" ({part.start}). The file has {part.total} lines.</system-reminder>",
            {"type": "text", "file": file},
        )
    if len(part.text) <= MOST_TOKENS * _CHARACTERS:
        told = _numbered(part.text, part.start) + (note(part.flaw) if part.flaw else "")
        return Result(told, {"type": "text", "file": file})
    if not is_page:
        tokens = len(part.text) // _CHARACTERS
        raise ToolError(f"File content ({tokens} tokens) exceeds maximum allowed tokens ({MOST_TOKENS}). {_ADVICE}")
    return _page(part, file)


def _page(part: Part, file: dict[str, object]) -> Result:
    """The beginning of a file that is too long to be read at once."""
    cut = part.text.rfind("\n", 0, _PAGE)
    text = part.text[: cut if cut > 0 else _PAGE]
    count = text.count("\n") + 1
    file |= {"content": text, "numLines": count, "truncatedByTokenCap": True}
    told = (
        f"{_numbered(text, part.start)}\n\n<system-reminder>The file is too long to be read at once: these are lines"
        f" 1-{count} of {part.total}. Read on with offset and limit if you need more of it.</system-reminder>"
    )
    return Result(told, {"type": "text", "file": file})


def _numbered(text: str, start: int) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), start))


def _notebook(path: Path, shown: str, scene: Scene) -> Result:
    file = load(path)
    cells = notebook_text.cells(file.shown)
    scene.files.saw(path, file.status, file.text)
    blocks = notebook_text.blocks(cells, path)
    structured = {"type": "notebook", "file": {"filePath": shown, "cells": cells}}
    return Result(blocks or "(Read completed with no output)", structured)
