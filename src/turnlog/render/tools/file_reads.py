"""Cards for read files: text with line numbers, images, PDFs and notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from turnlog.render.card import CodeSection, PlainSection, Section, TerminalSection, TextSection
from turnlog.render.figures import format_count, format_size
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.tools.generic_tools import show_result
from turnlog.render.values import Json, pick_text, to_count, to_dict, to_dict_list, to_short_line, to_string_list
from turnlog.session.files.shown_lines import ShownLines, parse_read_call

_SAVED_PAGES_TEXT = "Its pages were saved as images"


def build_read_parts(work: CardSource) -> CardParts:
    """Build the card parts for Read and NotebookRead."""
    path = work.find_path("file_path", "notebook_path", "path")
    shown = parse_read_call(work.detail) if work.outcome == "answered" else None
    file = to_dict(work.record.get("file"))
    answered = show_outcome(work, lambda work: _show_file(work, shown, file, path))
    return CardParts((), answered, list(_iter_badges(work, shown, file)))


def _show_file(work: CardSource, shown: ShownLines | None, file: Json, path: str) -> SectionList:
    name = path or pick_text(file.get("filePath"))
    if shown is not None:
        return (
            (CodeSection(shown.text, name, "", shown.first),)
            if shown.text
            else (PlainSection("The file is empty.", "", "note"),)
        )
    if work.record.get("type") == "notebook":
        return list(_iter_cells(to_dict_list(file.get("cells")))) or show_result(work)
    if work.pictures:
        return [replace(picture, name=picture.name or name) for picture in work.pictures]
    if work.record.get("type") == "parts":
        return (PlainSection(f"{_SAVED_PAGES_TEXT} in {pick_text(file.get('outputDir'))}", "", "note"),)
    if work.record or not isinstance(work.detail.result, str) or not work.words:
        return show_result(work)
    return (CodeSection(work.words, name),)


def _iter_badges(work: CardSource, shown: ShownLines | None, file: Json) -> Iterator[str]:
    if shown is not None and shown.text:
        lines = shown.text.removesuffix("\n").count("\n") + 1
        is_part = shown.total is not None and not shown.is_whole and lines < shown.total
        yield (
            f"lines {shown.first:,}–{shown.first + lines - 1:,} of {shown.total:,}"
            if is_part
            else format_count(lines, "line")
        )
    if work.record.get("type") == "notebook":
        yield format_count(len(to_dict_list(file.get("cells"))), "cell")
    if octets := to_count(file.get("originalSize")):
        yield format_size(octets)
    if pages := pick_text(work.input_fields.get("pages")):
        yield to_short_line(f"pages {pages}", 40)


def _iter_cells(cells: list[Json]) -> Iterator[Section]:
    """Show the cells of a notebook with their output."""
    for place, cell in enumerate(cells):
        source = join_cell_source(cell.get("source"))
        name = to_short_line(pick_text(cell.get("cell_id"), cell.get("id")) or f"cell {place + 1}", 60)
        if pick_text(cell.get("cellType"), cell.get("cell_type")) == "markdown":
            yield TextSection(source, name)
        else:
            yield CodeSection(source, to_short_line(pick_text(cell.get("language")) or "python", 40), name)
        for output in to_dict_list(cell.get("outputs")):
            if text := join_cell_source(output.get("text")):
                yield TerminalSection(text, "error" if output.get("output_type") == "error" else "output")


def join_cell_source(source: Any) -> str:
    """Return the text of a cell, which may be a list of lines."""
    return "".join(to_string_list(source)) if isinstance(source, list) else pick_text(source)
