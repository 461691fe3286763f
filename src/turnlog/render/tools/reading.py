"""Files that were read: texts with their line numbers, images, PDFs, notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from turnlog.render.card import Code, Plain, Section, Terminal, Text
from turnlog.render.figures import count, size
from turnlog.render.tools.anything import results
from turnlog.render.tools.work import Parts, Sections, Work, settled
from turnlog.render.values import Json, fields, line, number, objects, strings, text
from turnlog.session.files.shown import Shown, shown_by_read

_SAVED = "Its pages were saved as images"


def read(work: Work) -> Parts:
    """Read and NotebookRead."""
    path = work.path("file_path", "notebook_path", "path")
    found = shown_by_read(work.detail) if work.outcome == "answered" else None
    file = fields(work.record.get("file"))
    answered = settled(work, lambda work: _shown(work, found, file, path))
    return Parts(work.titled(path), (), answered, list(_badges(work, found, file)))


def _shown(work: Work, found: Shown | None, file: Json, path: str) -> Sections:
    name = path or text(file.get("filePath"))
    if found is not None:
        return (Code(found.text, name, "", found.first),) if found.text else (Plain("The file is empty.", "", "note"),)
    if work.record.get("type") == "notebook":
        return list(_cells(objects(file.get("cells")))) or results(work)
    if work.pictures:
        return [replace(picture, name=picture.name or name) for picture in work.pictures]
    if work.record.get("type") == "parts":
        return (Plain(f"{_SAVED} in {text(file.get('outputDir'))}", "", "note"),)
    if work.record or not isinstance(work.detail.result, str) or not work.words:
        return results(work)
    return (Code(work.words, name),)


def _badges(work: Work, found: Shown | None, file: Json) -> Iterator[str]:
    if found is not None and found.text:
        lines = found.text.removesuffix("\n").count("\n") + 1
        partly = found.total is not None and not found.is_whole and lines < found.total
        yield (
            f"lines {found.first:,}–{found.first + lines - 1:,} of {found.total:,}" if partly else count(lines, "line")
        )
    if work.record.get("type") == "notebook":
        yield count(len(objects(file.get("cells"))), "cell")
    if octets := number(file.get("originalSize")):
        yield size(octets)
    if pages := text(work.given.get("pages")):
        yield line(f"pages {pages}", 40)


def _cells(cells: list[Json]) -> Iterator[Section]:
    """The cells of a notebook with what they printed."""
    for place, cell in enumerate(cells):
        source = joined(cell.get("source"))
        name = line(text(cell.get("cell_id"), cell.get("id")) or f"cell {place + 1}", 60)
        if text(cell.get("cellType"), cell.get("cell_type")) == "markdown":
            yield Text(source, name)
        else:
            yield Code(source, line(text(cell.get("language")) or "python", 40), name)
        for output in objects(cell.get("outputs")):
            if words := joined(output.get("text")):
                yield Terminal(words, "error" if output.get("output_type") == "error" else "output")


def joined(source: Any) -> str:
    """The text of a cell, which may stand there as a list of lines."""
    return "".join(strings(source)) if isinstance(source, list) else text(source)
