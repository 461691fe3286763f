"""What was searched for in files, folders and tools, and what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from turnlog.render.card import Fields, Hits, Plain
from turnlog.render.figures import count
from turnlog.render.tools.anything import asked as asked_anyhow
from turnlog.render.tools.anything import results, worded
from turnlog.render.tools.work import Parts, Sections, Work, settled
from turnlog.render.values import line, number, objects, scalar, strings, text

_NOTHING = re.compile(r"\ANo (?:matches|files|entries) found")
_FOUND = re.compile(r"\AFound [\d,]+ (?:files?|lines?|total|matches)\b.*", re.IGNORECASE)
_LATER = re.compile(r"\A(?:\[Showing results|\(Results are truncated|Found \d+ total occurrence)")
_MATCH = re.compile(r"((?:[A-Za-z]:(?=[\\/]))?[^:\n]+):(\d{1,9}):(.*)", re.DOTALL)
_NUMBERED = re.compile(r"(\d{1,9})([:-])(.*)", re.DOTALL)
_OPTIONS = (
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

_MANY = {"entry": "entries"}

Row = tuple[str, str, str]


class Found(NamedTuple):
    """What a search gave."""

    rows: tuple[Row, ...]
    total: int
    hits: int
    """How many of the rows are hits, and not the lines around them."""


def grep(work: Work) -> Parts:
    """Grep: lines, files or counts."""
    pattern, path = text(work.given.get("pattern")), text(work.given.get("path"))
    mode = text(work.record.get("mode"), work.given.get("output_mode")) or "files_with_matches"
    noun = "hit" if mode == "content" else "file"
    title = f"{line(pattern)} in {work.titled(path)}" if path else pattern
    return _search(work, line(title), noun, _grepped(work, mode, path))


def glob(work: Work) -> Parts:
    """Glob: files by their names."""
    pattern, path = text(work.given.get("pattern")), text(work.given.get("path"))
    names = strings(work.record.get("filenames")) if work.record else _lines(work.words)
    title = f"{line(pattern)} in {work.titled(path)}" if path else pattern
    total = number(work.record.get("totalMatches")) or number(work.record.get("numFiles")) or len(names)
    found = Found(tuple((name, "", "") for name in names), max(total, len(names)), len(names))
    return _search(work, line(title), "file", found)


def folder(work: Work) -> Parts:
    """LS: the files of a folder, which old clients wrote as an indented list."""
    found = tuple(_listed(work.words.split("\n")))
    parts = _search(work, work.titled(work.path("path")), "entry", Found(found, len(found), len(found)))
    return replace(parts, asked=())


def _search(work: Work, title: str, noun: str, found: Found) -> Parts:
    badges = []
    if work.outcome == "answered":
        cut = work.record.get("truncated") is True or number(work.record.get("appliedLimit")) is not None
        badges = [_counted_hits(noun, found), *(["cut"] if cut or found.total > len(found.rows) else [])]
    asked = _options(work)
    return Parts(title, asked, settled(work, lambda work: _hits(work, found)), badges)


def _counted_hits(noun: str, found: Found) -> str:
    many = _MANY.get(noun, f"{noun}s")
    if noun == "hit":  # of the lines that were cut off nobody knows which are hits
        more = found.total > len(found.rows)
        return f"{found.hits:,}+ hits" if more else count(found.hits, noun) if found.hits else f"no {many}"
    return count(found.total, noun, many) if found.total else f"no {many}"


def _options(work: Work) -> Sections:
    found = [(name, scalar(work.given[name])) for name in _OPTIONS if name in work.given]
    return (Fields(tuple((name, line(value)) for name, value in found if value)),) if found else ()


def _hits(work: Work, found: Found) -> Sections:
    if found.rows:
        return (Hits(found.rows, found.total),)
    if not work.words.strip() or _NOTHING.match(work.words.strip()) or work.record:
        return (Plain("Nothing was found.", "", "note"),)
    return results(work)


def _grepped(work: Work, mode: str, path: str) -> Found:
    record = work.record
    names = strings(record.get("filenames"))
    if mode == "files_with_matches" or (not record and mode not in ("content", "count")):
        names = names or ([] if record else _lines(work.words))
        total = number(record.get("totalFiles")) or number(record.get("numFiles")) or len(names)
        return Found(tuple((name, "", "") for name in names), max(total, len(names)), len(names))
    lines = _lines(text(record.get("content")) if record else work.words)
    if mode == "count":
        counted = tuple(_counted(lines))
        return Found(counted, len(counted), len(counted))
    matched = list(_matches(lines, path))
    total = number(record.get("totalLines")) or number(record.get("numLines")) or len(matched)
    hits = sum(is_hit for _, is_hit in matched)
    return Found(tuple(row for row, _ in matched), max(total, len(matched)), hits)


def _lines(words: str) -> list[str]:
    """The lines of a result without what the client says about them."""
    kept = words.strip("\n").split("\n") if words.strip("\n") else []
    if kept and (_FOUND.match(kept[0]) or _NOTHING.match(kept[0])):
        kept = kept[1:]
    return [row for row in kept if row.strip() and not _LATER.match(row)]


def _counted(lines: Iterable[str]) -> Iterator[Row]:
    for row in lines:
        name, _, times = row.rpartition(":")
        if times.strip().isdecimal():
            yield name, "", count(int(times[:12]), "match", "matches")


def _matches(lines: list[str], path: str) -> Iterator[tuple[Row, bool]]:
    """Lines of ripgrep, each with whether it is a hit: `file:3:text`, `file-4-text` around it, or without the file."""
    files = {found[1] for row in lines if (found := _MATCH.fullmatch(row))}
    for row in lines:
        if row == "--":
            continue
        if (alone := _NUMBERED.fullmatch(row)) and (not files or alone[1] not in files):
            yield (path, alone[1], alone[3]), alone[2] == ":"
        elif found := _MATCH.fullmatch(row):
            yield (found[1], found[2], found[3]), True
        elif around := _around(row, files):
            yield around, False
        else:
            name, colon, rest = row.partition(":")
            plain = colon and not path.endswith(name) and ("/" in name or "." in name) and " " not in name
            yield ((name, "", rest) if plain else (path, "", row)), True


def _around(row: str, files: set[str]) -> Row | None:
    """A line beside a hit, which has dashes where the hit has colons."""
    for place in [found.start() for found in re.finditer(r"-(?=\d{1,9}-)", row)][:8]:
        if row[:place] in files:
            number_, _, rest = row[place + 1 :].partition("-")
            return row[:place], number_, rest
    return None


def _listed(lines: Iterable[str]) -> Iterator[Row]:
    """The paths of an indented list."""
    above: list[str] = []
    for row in lines:
        name = row.lstrip(" ")
        if name.startswith("- "):
            depth = (len(row) - len(name)) // 2
            above = [*above[:depth], name[2:].strip()]
            if depth or not above[0].endswith(("/", "\\")):
                yield "".join(above), "", ""


# -- tools and code


def tools(work: Work) -> Parts:
    """ToolSearch: tools that were loaded on demand."""

    def shown(work: Work) -> Sections:
        return (Hits(tuple((name, "", "") for name in names), len(names)),) if names else results(work)

    names = strings(work.record.get("matches")) or [
        text(block.get("tool_name")) for block in objects(work.detail.result) if text(block.get("tool_name"))
    ]
    badges = [count(len(names), "tool")] if work.outcome == "answered" and names else []
    return Parts(line(text(work.given.get("query"))), (), settled(work, shown), badges)


def symbols(work: Work) -> Parts:
    """LSP: what a language server knows."""
    given = work.given
    path, row = work.path("filePath", "file_path"), scalar(given.get("line", ""))
    place = f"{path}:{row}" if row else path
    title = " ".join(part for part in (text(given.get("operation")), work.titled(place)) if part)
    hits = number(work.record.get("resultCount"))

    def shown(work: Work) -> Sections:
        told = text(work.record.get("result"), work.words)
        return (worded(told),) if told else results(work)

    badges = [count(hits, "result")] if hits is not None else []
    asked = () if title else asked_anyhow(work.detail.input)
    return Parts(line(title), asked, settled(work, shown), badges)
