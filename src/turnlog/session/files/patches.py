"""Differences between two versions of a text as hunks of a unified diff, recorded by the client or computed here.

Only `\\n` ends a line: text can contain form feeds and other characters at which Python would split lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

CONTEXT_LINES = 3
NO_NEWLINE_MARK = "\\ No newline at end of file"
_LINE_SIGNS = frozenset({" ", "-", "+", "\\"})
_MAX_COMPARED_PAIRS = 1_000_000
"""The maximum number of line pairs to compare; a larger change becomes a single block, which is still correct."""
_MAX_LINE_NUMBER = 1 << 40


class Hunk(NamedTuple):
    """A section in which two versions of a text differ."""

    old_start: int
    """The number of the first line, starting at 1; if the hunk has no old lines, the number of the line before it."""
    new_start: int
    lines: tuple[str, ...]
    """Each line with its sign: a space, `-`, `+`, or NO_NEWLINE_MARK."""

    @property
    def old_count(self) -> int:
        """The number of the hunk's lines in the old text."""
        return sum(line[0] in " -" for line in self.lines)

    @property
    def new_count(self) -> int:
        """The number of the hunk's lines in the new text."""
        return sum(line[0] in " +" for line in self.lines)

    @property
    def title(self) -> str:
        """The `@@` line of a unified diff."""
        old = _format_range(self.old_start, self.old_count)
        return f"@@ -{old} +{_format_range(self.new_start, self.new_count)} @@"


def _format_range(start: int, count: int) -> str:
    return f"{start}" if count == 1 else f"{start},{count}"


# -- what the client recorded


def read_recorded_hunks(patch: object) -> tuple[Hunk, ...] | None:
    """Read the hunks of a `structuredPatch`; return None if it is not a list of hunks."""
    if not isinstance(patch, list):
        return None
    hunks = [_read_recorded_hunk(item) for item in patch]
    found = tuple(hunk for hunk in hunks if hunk is not None)
    return found if len(found) == len(hunks) else None


def _read_recorded_hunk(item: Any) -> Hunk | None:
    if not isinstance(item, dict) or not isinstance(lines := item.get("lines"), list):
        return None
    if not all(isinstance(line, str) and line[:1] in _LINE_SIGNS and "\n" not in line for line in lines):
        return None  # a line end inside a line would let a transcript inject headers into a patch
    hunk = Hunk(_to_line_number(item.get("oldStart")), _to_line_number(item.get("newStart")), tuple(lines))
    # For an empty range, the client counts from 1, but a unified diff names the line before.
    old = hunk.old_start - 1 if hunk.old_count == 0 and hunk.old_start else hunk.old_start
    new = hunk.new_start - 1 if hunk.new_count == 0 and hunk.new_start else hunk.new_start
    return hunk._replace(old_start=old, new_start=new)


def _to_line_number(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < _MAX_LINE_NUMBER else 0


def apply_hunks(text: str, hunks: Iterable[Hunk]) -> str | None:
    """Apply hunks to the text; return None if they don't fit."""
    lines = split_text_lines(text)
    output: list[str] = []
    at = 0
    for hunk in hunks:
        old, new = _split_sides(hunk)
        start = hunk.old_start - 1 if old else hunk.old_start
        if start < at or lines[start : start + len(old)] != old or start > len(lines):
            return None
        output += lines[at:start]
        output += new
        at = start + len(old)
    return "".join([*output, *lines[at:]])


def _split_sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """Return the old lines and the new lines of a hunk."""
    old: list[str] = []
    new: list[str] = []
    for line, after in zip(hunk.lines, (*hunk.lines[1:], ""), strict=True):
        text = line[1:] if after.startswith("\\") else line[1:] + "\n"
        if line[0] in " -":
            old.append(text)
        if line[0] in " +":
            new.append(text)
    return old, new


# -- computed here


def split_text_lines(text: str) -> list[str]:
    """Split text into lines with their line ends; the last line may have none."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def compare_texts(before: str, after: str) -> tuple[Hunk, ...]:
    """Compute the hunks that turn one text into the other."""
    old, new = split_text_lines(before), split_text_lines(after)
    head = _count_common_lines(old, new)
    tail = _count_common_lines(old[head:][::-1], new[head:][::-1])
    return build_hunks(old, new, _find_changes(old, new, head, tail))


class ChangedLines(NamedTuple):
    """A range of old lines and the range of new lines that replaces it."""

    old: int
    old_end: int
    new: int
    new_end: int


def build_hunks(
    old: list[str], new: list[str], changes: Iterable[ChangedLines], context: int = CONTEXT_LINES
) -> tuple[Hunk, ...]:
    """Build hunks from changes, with some lines of context around them."""
    return tuple(_build_hunk(old, new, group, context) for group in _group_changes(changes, context))


def _count_common_lines(old: list[str], new: list[str]) -> int:
    """Count the lines that two lists have in common at the start."""
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _find_changes(old: list[str], new: list[str], head: int, tail: int) -> list[ChangedLines]:
    old_end, new_end = len(old) - tail, len(new) - tail
    if (old_end - head) * (new_end - head) > _MAX_COMPARED_PAIRS:
        return [ChangedLines(head, old_end, head, new_end)]
    codes = SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False).get_opcodes()
    return [ChangedLines(head + a, head + b, head + c, head + d) for tag, a, b, c, d in codes if tag != "equal"]


def _group_changes(changes: Iterable[ChangedLines], context: int) -> Iterator[list[ChangedLines]]:
    """Group changes that are close enough to share context lines."""
    group: list[ChangedLines] = []
    for change in changes:
        if group and change.old - group[-1].old_end > 2 * context:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _build_hunk(old: list[str], new: list[str], group: list[ChangedLines], context: int) -> Hunk:
    begin, end = max(group[0].old - context, 0), min(group[-1].old_end + context, len(old))
    lines: list[str] = []
    at = begin
    for change in group:
        lines += _sign_lines(" ", old[at : change.old])
        lines += _sign_lines("-", old[change.old : change.old_end])
        lines += _sign_lines("+", new[change.new : change.new_end])
        at = change.old_end
    lines += _sign_lines(" ", old[at:end])
    new_begin = begin + group[0].new - group[0].old
    hunk = Hunk(begin, new_begin, tuple(lines))
    return hunk._replace(old_start=begin + bool(hunk.old_count), new_start=new_begin + bool(hunk.new_count))


def _sign_lines(sign: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield NO_NEWLINE_MARK


# -- as a patch


def format_unified_diff(path: str, hunks: Iterable[Hunk], *, created: bool = False) -> Iterator[str]:
    """Yield the lines of a unified diff of one file, in the form that `patch` and `git apply` accept."""
    yield "--- /dev/null" if created else f"--- {_quote_path('a/' + path)}"
    yield f"+++ {_quote_path('b/' + path)}"
    for hunk in hunks:
        yield hunk.title
        yield from hunk.lines


def _quote_path(path: str) -> str:
    """Write a path as git does in a diff: quoted if it could be misread."""
    if path.isprintable() and not set(path) & {'"', "\\"}:
        return path + "\t" * (" " in path)  # without the tab, the name would end at the space
    data = path.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in (34, 92) else f"\\{c:03o}" for c in data) + '"'
