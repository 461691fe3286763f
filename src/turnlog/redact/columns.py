r"""Secrets in a column that its header names: CSV, TSV, Markdown, what a database prints, `INSERT`, `COPY`.

A header says less than a name beside its value, because tables about passwords are common. So one value of the column
must look like a secret by itself; then its other values go, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.assignments import find_rule_for_key
from turnlog.redact.plausibility import has_digits_or_symbols, is_random_like
from turnlog.redact.secret_names import can_hold_secret, find_secret_words
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_WORDS = ("pass", "pwd", "secret", "token", "api_key", "apikey", "kennwort", "contrase", "senha", "wachtwoord")
_ENDS_CELL = re.compile(r"[a-zñ_ -]{0,16}?[\"'`*\\]{0,4}(?: ?(?:[,;\t|│\n\\]|\r)|  )")
_SEPARATORS = ("\t", "\\t", "|", "│", ";", ",", "  ")
_MAX_LINE = 2_000
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
    """The names of the columns that may hold secrets, by their number, and how many columns there are."""

    names: dict[int, str]
    width: int


class Columns:
    """The rule for them."""

    hints = _WORDS
    names = ("password", "secret", "token", "key")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        """Find the secrets in the tables of a text."""
        early = view.early
        words = [word for word in _WORDS if word in early]
        if not words:
            return
        yield from _below_headers(view, words)
        if "insert" in early:
            for match in _INSERT.finditer(view.lower):
                yield from _judge(view.text, _sql_table(match), _tuples(view.text, match.end()))
        if "copy " in early:
            for match in _COPY.finditer(view.lower):
                table = _sql_table(match)
                yield from _judge(view.text, table, [*_find_copied_rows(view.text, match.end(), table.width)])


def _below_headers(view: TextView, words: list[str]) -> Iterator[SecretFinding]:
    done = 0
    for at in _places(view.early, words):
        if at < done:
            continue
        first, last = _line_start(view.text, at), _line_end(view.text, at)
        done = last
        if in_json := view.text.startswith("\\n", last):
            first = max(first, view.text.rfind('"', first, at) + 1)
        for separator in _SEPARATORS:
            if separator in view.text[first:last] and (table := _header(view.text, first, last, separator)):
                rows = [*_rows(view.text, _after_line(view.text, last), separator, table.width, in_json)]
                if rows:
                    done = rows[-1][-1][1]
                yield from _judge(view.text, table, rows)
                break


def _places(lower: str, words: list[str]) -> list[int]:
    """Where a word stands at the end of what may be a cell, in order."""
    found = []
    for word in words:
        at = lower.find(word)
        while at >= 0:
            end = at + len(word)
            if _ENDS_CELL.match(lower, end):
                found.append(at)
            at = lower.find(word, end)
    return sorted(found)


def _header(text: str, first: int, last: int, separator: str) -> _Table | None:
    """The table that a line heads; a line below another of as many cells is a row."""
    cells = [text[slice(*span)] for span in _cells(text, first, last, separator)]
    if not 2 <= len(cells) <= _MAX_COLUMNS or not all(map(_HEADER_CELL.fullmatch, cells)):
        return None
    if any(cell[0].isdigit() for cell in cells) or (separator == "  " and any(cell[0].islower() for cell in cells)):
        return None
    if first > 1 and text[first - 1] != '"':
        before = _line_start(text, first - 2 if text[first - 1] == "n" else first - 1)
        end = _line_end(text, before)
        if len(_cells(text, before, end, separator)) == len(cells) and not _RULER.fullmatch(text, before, end):
            return None
    return _named_columns(cells)


def _named_columns(cells: list[str]) -> _Table | None:
    names = {number: cell for number, cell in enumerate(cells) if _names_secret(cell)}
    return _Table(names, len(cells)) if names else None


def _names_secret(cell: str) -> bool:
    return not any(map(str.isdigit, cell)) and bool(find_secret_words(cell)) and can_hold_secret(cell, "")


def _sql_table(match: re.Match[str]) -> _Table:
    cells = [cell.strip(_WRAPPING + "\n[]") for cell in match["columns"].split(",")]
    return _named_columns(cells) or _Table({}, len(cells))


def _rows(text: str, at: int, separator: str, width: int, in_json: bool) -> Iterator[list[Span]]:
    """Give the cells of each line that has as many as the header; in JSON the lines end with their string."""
    while at < len(text):
        end = _line_end(text, at)
        if in_json and (close := _STRING_END.search(text, at, end)):
            end = close.start()
        cells = _cells(text, at, end, separator)
        if len(cells) == width and not _RULER.fullmatch(text, at, end):
            yield cells
        elif not _RULER.fullmatch(text, at, end):
            return
        at = _after_line(text, end)


def _find_copied_rows(text: str, at: int, width: int) -> Iterator[list[Span]]:
    in_json = text[at - 1] == "n"
    return _rows(text, at, "\\t" if in_json else "\t", width, in_json)


def _cells(text: str, first: int, last: int, separator: str) -> list[Span]:
    """Where the cells of a line stand, without the quotes around them."""
    if separator == "  ":
        return [_strip_wrapping(text, *match.span()) for match in _WIDE_CELL.finditer(text, first, last)]
    if separator in "|│":
        first, last = _strip_wrapping(text, first, last)
        first += text.startswith(separator, first)
        last -= text.endswith(separator, first, last)
    spans, start = [], first
    while (end := _cell_end(text, start, last, separator)) >= 0:
        spans.append(_strip_wrapping(text, start, end))
        start = end + len(separator)
    return [*spans, _strip_wrapping(text, start, last)]


def _cell_end(text: str, start: int, last: int, separator: str) -> int:
    """Where the next separator stands that is in no quotes."""
    if text.startswith('"', start) and (quote := text.find('"', start + 1, last)) >= 0:
        start = quote
    return text.find(separator, start, last)


def _strip_wrapping(text: str, start: int, end: int) -> Span:
    while start < end and text[start] in _WRAPPING:
        start += 1
    while start < end and text[end - 1] in _WRAPPING:
        end -= 1
    return start, end


def _tuples(text: str, at: int) -> list[list[Span]]:
    """The values of `(…), (…)`."""
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


def _judge(text: str, table: _Table, rows: list[list[Span]]) -> Iterator[SecretFinding]:
    for number, name in table.names.items():
        spans = [row[number] for row in rows if number < len(row)]
        if any(_stands_out(text[slice(*span)]) for span in spans):
            for span in spans:
                value = text[slice(*span)]
                if rule := find_rule_for_key(name, value):
                    yield SecretFinding(*span, rule, FindingRank.ASSIGNMENT, value)


def _stands_out(value: str) -> bool:
    if (
        len(value) < 6
        or " " in value
        or "." in value[1:-1]
        or (value.isidentifier() and not is_random_like(value, least=8))
    ):
        return False
    return has_digits_or_symbols(value)


def _line_start(text: str, at: int) -> int:
    first = max(0, at - _MAX_LINE)
    written = text.rfind("\\n", first, at)
    return max(text.rfind("\n", first, at) + 1, written + 2 if written >= 0 else 0, first)


def _line_end(text: str, at: int) -> int:
    last = min(len(text), at + _MAX_LINE)
    real = text.find("\n", at, last)
    last = real if real >= 0 else last
    written = text.find("\\n", at, last)
    return written if written >= 0 else last


def _after_line(text: str, end: int) -> int:
    return end + (2 if text.startswith("\\n", end) else 1)
