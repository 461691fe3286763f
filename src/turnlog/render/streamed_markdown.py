"""Markdown on its way to a terminal: rows are final once they are complete, and only the last row is still open.

A table is complete when the first line after it begins, since the columns depend on all of its rows. Without colours,
the text keeps its marks, because nothing else would show the emphasis.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from turnlog.render.inline_markdown import TextSpan, scan_spans
from turnlog.render.row_wrapper import RowWrapper
from turnlog.render.terminal import TerminalScreen, cut_to_cells, make_visible
from turnlog.render.terminal_tables import is_delimiter_row, render_table

_UNDECIDED_PATTERN = re.compile(
    r"\s*(?:(?:>\s*)?(?:(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]?\]?|[-*+_]|\d{1,9}[.)]?)?|#{1,6}|(?:[-*_]\s*)+)?\s*"
)
"""The start of a line whose kind is not known yet."""
_HELD_PATTERN = re.compile(r"\s*(?:\||`{2}|~{2}|`$|~$)")
"""Lines that are shown only when they are complete: rows of tables and fences."""
_FENCE_PATTERN = re.compile(r"(\s*)(`{3,}|~{3,})\s*([^`]*)")
_RULE_PATTERN = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*")
_HEADING_PATTERN = re.compile(r"\s{0,3}(#{1,6})\s+")
_QUOTE_PATTERN = re.compile(r"\s{0,3}>\s?")
_ITEM_PATTERN = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])(\s+)(\[[ xX]\]\s+)?")
_MAX_TABLE_LINES = 500
_MAX_RULE_CELLS = 40


class StreamedMarkdown:
    """Turns streamed Markdown into the rows of a terminal."""

    def __init__(self, look: Callable[[], TerminalScreen]) -> None:
        self._look = look
        self._wrapper = RowWrapper(look)
        self.begin_text()

    def begin_text(self) -> None:
        """Begin a new text; what was not ended is dropped."""
        self._line = ""
        self._position = 0
        """Where the part of the line begins that is not scanned yet."""
        self._is_started = False
        """Whether the kind of the current line is known."""
        self._line_styles: tuple[str, ...] = ()
        self._fence = ""
        self._fence_indent = ""
        self._is_diff = False
        self._table: list[str] = []
        self._is_after_blank = True
        self._carry = ""

    def add_text(self, text: str) -> list[str]:
        """Add text, and return the rows that it completes."""
        text = (self._carry + text).replace("\r\n", "\n")
        self._carry = "\r" if text.endswith("\r") else ""
        *lines, last = text.removesuffix(self._carry).split("\n")
        rows: list[str] = []
        for line in lines:
            self._line += line
            rows += self._finish_line()
        self._line += last
        if last:
            rows += self._continue_line()
        return rows

    def end_text(self) -> list[str]:
        """End the text, and return its remaining rows."""
        self._line += self._carry
        rows = self._finish_line() if self._line else []
        rows += self._finish_table()
        self.begin_text()
        return rows

    @property
    def open_row(self) -> str:
        """What is known of the row that is not complete yet."""
        if self._is_started:
            return self._wrapper.render_open_row(self._line[self._position :])
        line = self._line or (self._table[-1] if self._table else "")
        return cut_to_cells(make_visible(line.expandtabs(4)), max((self._look().width or 80) - 1, 1))

    # -- lines

    def _continue_line(self) -> list[str]:
        """Take what is certain of a line that is not complete."""
        if self._fence or (not self._is_started and self._is_undecided()):
            return []
        rows = [] if self._is_started else self._start_line()
        return rows + self._scan_rest(is_complete=False)

    def _is_undecided(self) -> bool:
        return bool(_UNDECIDED_PATTERN.fullmatch(self._line) or _HELD_PATTERN.match(self._line))

    def _finish_line(self) -> list[str]:
        line = self._line
        if self._fence:
            rows = self._finish_code_line(line)
        elif self._is_started:
            rows = self._end_started_line()
        elif line.lstrip().startswith("|") and len(self._table) < _MAX_TABLE_LINES:
            rows = self._add_table_line(line)
        else:
            rows = self._finish_table() + self._finish_whole_line(line)
        self._line, self._position, self._is_started = "", 0, False
        return rows

    def _finish_whole_line(self, line: str) -> list[str]:
        if not line.strip():
            is_first, self._is_after_blank = not self._is_after_blank, True
            return [""] if is_first else []
        if fence := _FENCE_PATTERN.fullmatch(line):
            self._fence_indent, self._fence = fence[1], fence[2]
            self._is_diff = fence[3].strip() in ("diff", "patch")
            self._is_after_blank = False
            return self._render_fence(line)
        if self._look().color and _RULE_PATTERN.fullmatch(line):
            self._is_after_blank = False
            return [self._look().paint("─" * min(_MAX_RULE_CELLS, (self._look().width or 80) - 1), "dim")]
        return self._start_line() + self._end_started_line()

    def _end_started_line(self) -> list[str]:
        return self._scan_rest(is_complete=True) + self._wrapper.end_line()

    def _start_line(self) -> list[str]:
        """Determine what kind of line this is, and begin its first row."""
        rows = self._finish_table()
        self._is_started, self._is_after_blank = True, False
        line, self._line_styles, self._position = self._line, (), 0
        start: list[TextSpan] = []
        continuation: list[TextSpan] = []
        if self._look().color:
            if heading := _HEADING_PATTERN.match(line):
                self._line_styles = ("bold", "underline") if len(heading[1]) == 1 else ("bold",)
                self._position = heading.end()
            elif quote := _QUOTE_PATTERN.match(line):
                start, continuation = [TextSpan("│ ", ("dim",))], [TextSpan("│ ", ("dim",))]
                self._line_styles, self._position = ("italic",), quote.end()
        item = _ITEM_PATTERN.match(line, self._position)
        if item and self._line_styles[:1] != ("bold",):
            start.append(TextSpan(self._render_item_mark(item)))
            self._position = item.end()
        else:
            indent = len(line) - len(line.lstrip()) if not self._position else 0
            start.append(TextSpan(" " * indent))
            self._position += indent
        indent = sum(len(span.text) for span in start)
        rest = indent - sum(len(span.text) for span in continuation)
        self._wrapper.begin_line(start, 0, [*continuation, TextSpan(" " * rest)] if indent else ())
        return rows

    def _render_item_mark(self, item: re.Match[str]) -> str:
        if not self._look().color:
            return item[0].expandtabs(4)
        mark = item[2] if item[2][0].isdigit() else "•"
        box = "" if item[4] is None else ("☐ " if item[4][1] == " " else "☑ ")
        return f"{item[1].expandtabs(4)}{mark} {box}"

    def _scan_rest(self, *, is_complete: bool) -> list[str]:
        if not self._look().color:
            spans, self._position = [TextSpan(self._line[self._position :])], len(self._line)
        else:
            spans, self._position = scan_spans(self._line, self._position, self._line_styles, is_complete=is_complete)
        return [row for span in spans for row in self._wrapper.add_span(span)]

    # -- code and tables

    def _finish_code_line(self, line: str) -> list[str]:
        closing = line.strip()
        if closing.startswith(self._fence) and not closing.strip(self._fence[0]):
            self._fence = ""
            return self._render_fence(line)
        look = self._look()
        text = make_visible(line.removeprefix(self._fence_indent).expandtabs(4))
        style = "cyan"
        if self._is_diff and line[:1] in ("+", "-"):
            style = "green" if line[0] == "+" else "red"
        return [f"{self._fence_indent}{'  ' if look.color else ''}{look.paint(text, style)}"]

    def _render_fence(self, line: str) -> list[str]:
        """Show a fence only without colours; otherwise, indentation and colour show what is code."""
        return [] if self._look().color else [make_visible(line.expandtabs(4))]

    def _add_table_line(self, line: str) -> list[str]:
        self._table.append(line)
        is_table = len(self._table) < 2 or is_delimiter_row(self._table[1])
        return [] if is_table else self._finish_table()

    def _finish_table(self) -> list[str]:
        table, self._table = self._table, []
        if not table:
            return []
        self._is_after_blank = False
        if not self._look().color:
            return [make_visible(line.expandtabs(4)) for line in table]
        if len(table) > 1 and is_delimiter_row(table[1]):
            return list(render_table(table, self._look()))
        rows: list[str] = []
        wrapper = RowWrapper(self._look)
        for line in table:
            rows += [row for span in scan_spans(line).spans for row in wrapper.add_span(span)]
            rows += wrapper.end_line()
        return rows
