r"""Finds secrets in table columns named in a header: CSV, TSV, Markdown, database output, `INSERT` and `COPY`.

A header is weaker evidence than a name beside its value, because tables about passwords are common. At least one value
in the column must therefore look like a secret without the header; in that case, the other values are also replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.assignments import find_rule_for_key
from turnlog.redact.plausibility import has_digits_or_symbols, has_joined_capitals, is_random_like
from turnlog.redact.secret_names import can_hold_secret, find_secret_words
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_HEADER_WORDS = ("pass", "pwd", "secret", "token", "api_key", "apikey", "kennwort", "contrase", "senha", "wachtwoord")
_CELL_END = re.compile(r"[a-zñ_ -]{0,16}?[\"'`*\\]{0,4}(?: ?(?:[,;\t|│\n\\]|\r)|  )")
_SEPARATORS = ("\t", "\\t", "|", "│", ";", ",", "  ")
_MAX_LINE_CHARS = 2_000
_MAX_COLUMNS = 60
_HEADER_CELL = re.compile(r"[\w .#/()-]{1,40}")
_WIDE_CELL = re.compile(r"\S+(?: \S+)*")
_RULER = re.compile(r"[\s|│+:=├┼┤─-]+")
_WRAPPING = " \t\r\"'`*\\"
_INSERT = AnchoredPattern(
    "insert", r"\s{1,9}into\s{1,9}[^\s(]{1,120}+\s{0,9}\((?P<columns>[^()]{1,2000}+)\)\s{0,9}values\s{0,9}(?=\()"
)
_COPY = AnchoredPattern(
    "copy ",
    r"[^\s(]{1,120}+\s{0,9}\((?P<columns>[^()]{1,2000}+)\)\s{1,9}from\s{1,9}stdin[^\n;\\]{0,80}+;(?:\r?\n|\\+n)",
)
_SQL_VALUE = re.compile(
    r"\s{0,40}+(?:[NnEe]?\\*'(?P<value>(?:[^'\n]|''){0,400}+)'|[^,()'\n]{0,100}+(?:\([^()\n]{0,200}+\))?)\s{0,40}+(?P<end>[,)])"
)
_STRING_END = re.compile(r"(?<!\\)\"")
_NEXT_TUPLE = re.compile(r"\s{0,9},?\s{0,40}+\(")

Span = tuple[int, int]


class _Table(NamedTuple):
    """The number of columns, and the names of those that may contain secrets, by column number."""

    names: dict[int, str]
    width: int


class ColumnRule:
    """Finds secrets in tables."""

    hints = _HEADER_WORDS
    names = ("password", "secret", "token", "key")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        early = view.early
        words = [word for word in _HEADER_WORDS if word in early]
        if not words:
            return
        yield from _find_below_headers(view, words)
        if "insert" in early:
            for match in _INSERT.finditer(view.lower):
                yield from _find_in_columns(view.text, _read_sql_table(match), _read_sql_tuples(view.text, match.end()))
        if "copy " in early:
            for match in _COPY.finditer(view.lower):
                table = _read_sql_table(match)
                yield from _find_in_columns(view.text, table, [*_find_copied_rows(view.text, match.end(), table.width)])


def _find_below_headers(view: TextView, words: list[str]) -> Iterator[SecretFinding]:
    searched_end = 0
    for at in _find_header_words(view.early, words):
        if at < searched_end:
            continue
        first, last = _find_line_start(view.text, at), _find_line_end(view.text, at)
        searched_end = last
        if in_json := view.text.startswith("\\n", last):
            first = max(first, view.text.rfind('"', first, at) + 1)
        for separator in _SEPARATORS:
            if separator in view.text[first:last] and (table := _read_header(view.text, first, last, separator)):
                rows = [*_iter_rows(view.text, _skip_line_end(view.text, last), separator, table.width, in_json)]
                if rows:
                    searched_end = rows[-1][-1][1]
                yield from _find_in_columns(view.text, table, rows)
                break


def _find_header_words(lower: str, words: list[str]) -> list[int]:
    """Find the positions, in order, of words that may end a cell of a header."""
    found = []
    for word in words:
        at = lower.find(word)
        while at >= 0:
            end = at + len(word)
            if _CELL_END.match(lower, end):
                found.append(at)
            at = lower.find(word, end)
    return sorted(found)


def _read_header(text: str, first: int, last: int, separator: str) -> _Table | None:
    """Read the table below a header line; a line below another with the same number of cells is a row, not a header."""
    cells = [text[slice(*span)] for span in _split_cells(text, first, last, separator)]
    if not 2 <= len(cells) <= _MAX_COLUMNS or not all(map(_HEADER_CELL.fullmatch, cells)):
        return None
    if any(cell[0].isdigit() for cell in cells) or (separator == "  " and any(cell[0].islower() for cell in cells)):
        return None
    if first > 1 and text[first - 1] != '"':
        before = _find_line_start(text, first - 2 if text[first - 1] == "n" else first - 1)
        end = _find_line_end(text, before)
        if len(_split_cells(text, before, end, separator)) == len(cells) and not _RULER.fullmatch(text, before, end):
            return None
    return _build_table(cells)


def _build_table(cells: list[str]) -> _Table | None:
    names = {number: cell for number, cell in enumerate(cells) if _is_secret_header(cell)}
    return _Table(names, len(cells)) if names else None


def _is_secret_header(cell: str) -> bool:
    return not any(map(str.isdigit, cell)) and bool(find_secret_words(cell)) and can_hold_secret(cell, "")


def _read_sql_table(match: re.Match[str]) -> _Table:
    cells = [cell.strip(_WRAPPING + "\n[]") for cell in match["columns"].split(",")]
    return _build_table(cells) or _Table({}, len(cells))


def _iter_rows(text: str, at: int, separator: str, width: int, in_json: bool) -> Iterator[list[Span]]:
    """Yield the cells of lines with as many cells as the header; in JSON, a line also ends where the string ends."""
    while at < len(text):
        end = _find_line_end(text, at)
        if in_json and (close := _STRING_END.search(text, at, end)):
            end = close.start()
        cells = _split_cells(text, at, end, separator)
        if len(cells) == width and not _RULER.fullmatch(text, at, end):
            yield cells
        elif not _RULER.fullmatch(text, at, end):
            return
        at = _skip_line_end(text, end)


def _find_copied_rows(text: str, at: int, width: int) -> Iterator[list[Span]]:
    in_json = text[at - 1] == "n"
    return _iter_rows(text, at, "\\t" if in_json else "\t", width, in_json)


def _split_cells(text: str, first: int, last: int, separator: str) -> list[Span]:
    """Return the spans of the cells in a line, without the surrounding quotes."""
    if separator == "  ":
        return [_strip_wrapping(text, *match.span()) for match in _WIDE_CELL.finditer(text, first, last)]
    if separator in "|│":
        first, last = _strip_wrapping(text, first, last)
        first += text.startswith(separator, first)
        last -= text.endswith(separator, first, last)
    spans, start = [], first
    while (end := _find_cell_end(text, start, last, separator)) >= 0:
        spans.append(_strip_wrapping(text, start, end))
        start = end + len(separator)
    return [*spans, _strip_wrapping(text, start, last)]


def _find_cell_end(text: str, start: int, last: int, separator: str) -> int:
    """Return the position of the next separator outside quotes."""
    if text.startswith('"', start) and (quote := text.find('"', start + 1, last)) >= 0:
        start = quote
    return text.find(separator, start, last)


def _strip_wrapping(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in _WRAPPING:
        start += 1
    while start < end and text[end - 1] in _WRAPPING:
        end -= 1
    return start, end


def _read_sql_tuples(text: str, at: int) -> list[list[Span]]:
    """Read the values of `(…), (…)`."""
    rows = []
    while opened := _NEXT_TUPLE.match(text, at):
        row, at = [], opened.end()
        while value := _SQL_VALUE.match(text, at):
            at = value.end()
            row.append(value.span("value") if value["value"] is not None else (at, at))
            if value["end"] == ")":
                break
        else:
            break
        rows.append(row)
    return rows


def _find_in_columns(text: str, table: _Table, rows: list[list[Span]]) -> Iterator[SecretFinding]:
    for number, name in table.names.items():
        spans = [row[number] for row in rows if number < len(row)]
        if any(_is_conspicuous(text[slice(*span)]) for span in spans):
            for span in spans:
                value = text[slice(*span)]
                if rule := find_rule_for_key(name, value):
                    yield SecretFinding(*span, rule, FindingRank.ASSIGNMENT, value)


def _is_conspicuous(value: str) -> bool:
    if has_joined_capitals(value):
        return True
    if (
        len(value) < 6
        or " " in value
        or "." in value[1:-1]
        or (value.isidentifier() and not is_random_like(value, least=8))
    ):
        return False
    return has_digits_or_symbols(value)


def _find_line_start(text: str, at: int) -> int:
    first = max(0, at - _MAX_LINE_CHARS)
    escaped = text.rfind("\\n", first, at)
    return max(text.rfind("\n", first, at) + 1, escaped + 2 if escaped >= 0 else 0, first)


def _find_line_end(text: str, at: int) -> int:
    last = min(len(text), at + _MAX_LINE_CHARS)
    real = text.find("\n", at, last)
    last = real if real >= 0 else last
    escaped = text.find("\\n", at, last)
    return escaped if escaped >= 0 else last


def _skip_line_end(text: str, end: int) -> int:
    return end + (2 if text.startswith("\\n", end) else 1)
