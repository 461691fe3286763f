"""Cards for searches in files, folders and tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from turnlog.render.card import FieldsSection, HitsSection, PlainSection
from turnlog.render.figures import format_count
from turnlog.render.tools.card_parts import CardParts, CardSource, SectionList, show_outcome
from turnlog.render.tools.generic_tools import guess_text_section, show_input, show_result
from turnlog.render.values import format_scalar, pick_text, to_count, to_dict_list, to_short_line, to_string_list

_NO_HITS_LINE = re.compile(r"\ANo (?:matches|files|entries) found")
_HIT_COUNT_LINE = re.compile(r"\AFound [\d,]+ (?:files?|lines?|total|matches)\b.*", re.IGNORECASE)
_CLOSING_LINE = re.compile(r"\A(?:\[Showing results|\(Results are truncated|Found \d+ total occurrence)")
_MATCH_LINE = re.compile(r"((?:[A-Za-z]:(?=[\\/]))?[^:\n]+):(\d{1,9}):(.*)", re.DOTALL)
_NUMBERED_LINE = re.compile(r"(\d{1,9})([:-])(.*)", re.DOTALL)
_SEARCH_OPTIONS = (
    "path",
    "glob",
    "type",
    "-i",
    "-A",
    "-B",
    "-C",
    "context",
    "multiline",
    "head_limit",
    "output_mode",
    "offset",
)

_PLURALS = {"entry": "entries"}

HitRow = tuple[str, str, str]


class SearchHits(NamedTuple):
    rows: tuple[HitRow, ...]
    total: int
    hits: int
    """How many of the rows are matches, as opposed to context lines."""


def build_grep_parts(work: CardSource) -> CardParts:
    """Build the card parts for Grep: lines, files or counts."""
    path = pick_text(work.input_fields.get("path"))
    mode = pick_text(work.record.get("mode"), work.input_fields.get("output_mode")) or "files_with_matches"
    noun = "hit" if mode == "content" else "file"
    return _build_search_parts(work, noun, _read_grep_hits(work, mode, path))


def build_glob_parts(work: CardSource) -> CardParts:
    """Build the card parts for Glob: files by name."""
    names = to_string_list(work.record.get("filenames")) if work.record else _split_lines(work.words)
    total = to_count(work.record.get("totalMatches")) or to_count(work.record.get("numFiles")) or len(names)
    hits = SearchHits(tuple((name, "", "") for name in names), max(total, len(names)), len(names))
    return _build_search_parts(work, "file", hits)


def build_folder_parts(work: CardSource) -> CardParts:
    """Build the card parts for LS: the files in a folder, which old versions wrote as an indented list."""
    rows = tuple(_iter_listed_paths(work.words.split("\n")))
    parts = _build_search_parts(work, "entry", SearchHits(rows, len(rows), len(rows)))
    return replace(parts, asked=())


def _build_search_parts(work: CardSource, noun: str, hits: SearchHits) -> CardParts:
    badges = []
    if work.outcome == "answered":
        cut = work.record.get("truncated") is True or to_count(work.record.get("appliedLimit")) is not None
        badges = [_format_hit_count(noun, hits), *(["cut"] if cut or hits.total > len(hits.rows) else [])]
    asked = _show_options(work)
    return CardParts(asked, show_outcome(work, lambda work: _show_hits(work, hits)), badges)


def _format_hit_count(noun: str, hits: SearchHits) -> str:
    many = _PLURALS.get(noun, f"{noun}s")
    if noun == "hit":  # it is unknown which of the omitted lines are hits
        more = hits.total > len(hits.rows)
        return f"{hits.hits:,}+ hits" if more else format_count(hits.hits, noun) if hits.hits else f"no {many}"
    return format_count(hits.total, noun, many) if hits.total else f"no {many}"


def _show_options(work: CardSource) -> SectionList:
    options = [(name, format_scalar(work.input_fields[name])) for name in _SEARCH_OPTIONS if name in work.input_fields]
    return (FieldsSection(tuple((name, to_short_line(value)) for name, value in options if value)),) if options else ()


def _show_hits(work: CardSource, hits: SearchHits) -> SectionList:
    if hits.rows:
        return (HitsSection(hits.rows, hits.total),)
    if not work.words.strip() or _NO_HITS_LINE.match(work.words.strip()) or work.record:
        return (PlainSection("Nothing was found.", "", "note"),)
    return show_result(work)


def _read_grep_hits(work: CardSource, mode: str, path: str) -> SearchHits:
    record = work.record
    names = to_string_list(record.get("filenames"))
    if mode == "files_with_matches" or (not record and mode not in ("content", "count")):
        names = names or ([] if record else _split_lines(work.words))
        total = to_count(record.get("totalFiles")) or to_count(record.get("numFiles")) or len(names)
        return SearchHits(tuple((name, "", "") for name in names), max(total, len(names)), len(names))
    lines = _split_lines(pick_text(record.get("content")) if record else work.words)
    if mode == "count":
        counted = tuple(_iter_file_counts(lines))
        return SearchHits(counted, len(counted), len(counted))
    matched = list(_iter_matches(lines, path))
    total = to_count(record.get("totalLines")) or to_count(record.get("numLines")) or len(matched)
    hits = sum(is_hit for _, is_hit in matched)
    return SearchHits(tuple(row for row, _ in matched), max(total, len(matched)), hits)


def _split_lines(text: str) -> list[str]:
    """Split a result into lines, without Claude Code's remarks about them."""
    lines = text.strip("\n").split("\n") if text.strip("\n") else []
    if lines and (_HIT_COUNT_LINE.match(lines[0]) or _NO_HITS_LINE.match(lines[0])):
        lines = lines[1:]
    return [row for row in lines if row.strip() and not _CLOSING_LINE.match(row)]


def _iter_file_counts(lines: Iterable[str]) -> Iterator[HitRow]:
    for row in lines:
        name, _, times = row.rpartition(":")
        if times.strip().isdecimal():
            yield name, "", format_count(int(times[:12]), "match", "matches")


def _iter_matches(lines: list[str], path: str) -> Iterator[tuple[HitRow, bool]]:
    """Parse ripgrep lines as hits (`file:3:text`) or lines next to hits (`file-4-text`), with or without the file."""
    files = {found[1] for row in lines if (found := _MATCH_LINE.fullmatch(row))}
    for row in lines:
        if row == "--":
            continue
        if (alone := _NUMBERED_LINE.fullmatch(row)) and (not files or alone[1] not in files):
            yield (path, alone[1], alone[3]), alone[2] == ":"
        elif found := _MATCH_LINE.fullmatch(row):
            yield (found[1], found[2], found[3]), True
        elif around := _parse_context_line(row, files):
            yield around, False
        else:
            name, colon, rest = row.partition(":")
            plain = colon and not path.endswith(name) and ("/" in name or "." in name) and " " not in name
            yield ((name, "", rest) if plain else (path, "", row)), True


def _parse_context_line(row: str, files: set[str]) -> HitRow | None:
    """Parse a line next to a hit, which has dashes where the hit has colons."""
    for place in [found.start() for found in re.finditer(r"-(?=\d{1,9}-)", row)][:8]:
        if row[:place] in files:
            number_, _, rest = row[place + 1 :].partition("-")
            return row[:place], number_, rest
    return None


def _iter_listed_paths(lines: Iterable[str]) -> Iterator[HitRow]:
    """Yield the paths in an indented list."""
    above: list[str] = []
    for row in lines:
        name = row.lstrip(" ")
        if name.startswith("- "):
            depth = (len(row) - len(name)) // 2
            above = [*above[:depth], name[2:].strip()]
            if depth or not above[0].endswith(("/", "\\")):
                yield "".join(above), "", ""


# -- tools and code


def build_tool_search_parts(work: CardSource) -> CardParts:
    """Build the card parts for ToolSearch: tools that were loaded on demand."""

    def show_sections(work: CardSource) -> SectionList:
        return (HitsSection(tuple((name, "", "") for name in names), len(names)),) if names else show_result(work)

    names = to_string_list(work.record.get("matches")) or [
        pick_text(block.get("tool_name"))
        for block in to_dict_list(work.detail.result)
        if pick_text(block.get("tool_name"))
    ]
    badges = [format_count(len(names), "tool")] if work.outcome == "answered" and names else []
    return CardParts((), show_outcome(work, show_sections), badges)


def build_symbol_parts(work: CardSource) -> CardParts:
    """Build the card parts for LSP: answers from a language server."""
    is_named = pick_text(*(work.input_fields.get(name) for name in ("operation", "filePath", "file_path")))
    hits = to_count(work.record.get("resultCount"))

    def show_sections(work: CardSource) -> SectionList:
        text = pick_text(work.record.get("result"), work.words)
        return (guess_text_section(text),) if text else show_result(work)

    badges = [format_count(hits, "result")] if hits is not None else []
    asked = () if is_named else show_input(work.detail.input)
    return CardParts(asked, show_outcome(work, show_sections), badges)
