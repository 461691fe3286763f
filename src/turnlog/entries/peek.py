"""Describes a session from the two ends of its file, which are enough for a list of thousands of sessions.

The first lines show who ran the session, where it ran, and its first prompt; the last lines show when it ended and its
titles, which the client repeats at the end. Few lines are decoded: conversation entries start with their parent, and
entries that describe the session start with their type, so the first bytes are enough to tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.entries.file_ends import read_ends
from turnlog.entries.junk import name_junk_kind, name_junk_kind_of_file
from turnlog.entries.line_decoder import complete_body, decode_first_object
from turnlog.entries.spread_values import split_values
from turnlog.entries.titles import TITLE_FIELDS, SessionTitles, read_titles, to_title
from turnlog.entries.typed_text import read_typed_command, read_typed_text
from turnlog.entries.worker_processes import count_cores, spread_work

_PEEKED_FIELDS = ("cwd", "sessionId", "version", "timestamp", "gitBranch", "entrypoint")
_MAX_DECODED_ENTRIES = 12
"""How many entries at one end are decoded in search of fields that may not exist."""
_TITLE_KINDS = {kind.encode(): kind for kind in TITLE_FIELDS}
_PARENT_FIRST = b'{"parentUuid":'
_TYPE_FIRST = b'{"type":"'
_NO_FIELDS_FIRST = b'{"type":"file-history-snapshot"'
_CUT_FIELD = re.compile(rb'"(%s)":"((?:[^"\\]|\\.){0,4096})"' % "|".join(_PEEKED_FIELDS).encode())
_CUT_TEXT = re.compile(rb'"(?:content|text)":"((?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4}){1,1000})')


class Peek(NamedTuple):
    """What the two ends of a session file contain; anything that they do not contain is None."""

    session_id: str | None = None
    """The id in the entries; in a copied file, it may differ from the name."""
    cwd: str | None = None
    last_cwd: str | None = None
    version: str | None = None
    last_version: str | None = None
    started: str | None = None
    """The first timestamp, as written."""
    ended: str | None = None
    """The last timestamp, as written."""
    git_branch: str | None = None
    """The branch that was checked out at the end."""
    entrypoint: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    """The title that clients up to 2.1.22 wrote; a title before the first prompt may be another session's."""
    last_prompt: str | None = None
    first_prompt: str | None = None
    first_command: str | None = None
    """The first slash or `!` command, if it came before the first prompt."""
    is_sidechain: bool = False
    """Whether the first user or assistant entry is a sub-agent's."""
    junk: str | None = None
    """The kind of junk; see `entries.junk`."""
    titles: SessionTitles | None = None
    """All names of the session if the ends suffice to choose the displayed name; otherwise, the file must be read."""


class _FileStart(NamedTuple):
    fields: dict[str, str]
    prompt: str | None
    command: str | None
    is_sidechain: bool | None
    has_main: bool


def peek_file(path: str | Path) -> Peek:
    """Read the two ends of a session file; raises only `OSError`."""
    head, tail, _ = read_ends(path)
    back = split_values(tail)[1:] if tail else split_values(head)
    start = _read_start(split_values(head) if tail else back, is_cut=bool(tail))
    end = _read_end(back) or _read_cut_end(tail)
    titles = _find_titles(back)
    is_certain = not tail or titles.custom is not None
    if tail and titles.custom is None and titles.ai is None:
        titles = _merge_titles(titles, _find_titles(split_values(head)))
    _add_prompts(titles, start, back, is_whole=not tail)
    first, last = {**end, **start.fields}, {**start.fields, **end}
    return Peek(
        session_id=first.get("sessionId"),
        cwd=first.get("cwd"),
        last_cwd=last.get("cwd"),
        version=first.get("version"),
        last_version=last.get("version"),
        started=first.get("timestamp"),
        ended=last.get("timestamp"),
        git_branch=last.get("gitBranch"),
        entrypoint=first.get("entrypoint"),
        custom_title=titles.custom,
        ai_title=titles.ai,
        summary=titles.summary,
        last_prompt=titles.last_prompt,
        first_prompt=start.prompt,
        first_command=start.command,
        is_sidechain=start.is_sidechain is True,
        junk=None if start.has_main else name_junk_kind_of_file(path) if tail else name_junk_kind(head),
        titles=titles if is_certain else None,
    )


def _add_prompts(titles: SessionTitles, start: _FileStart, lines: Sequence[bytes], *, is_whole: bool) -> None:
    """Add what the user typed; if a file has no prompt of its own, search again for prompts of sub-agents."""
    if start.prompt is not None and not start.is_sidechain:
        titles.first_prompt, titles.first_command = start.prompt, start.command
    elif is_whole:
        for line in lines:
            titles.add_line(line)


def _read_start(lines: Iterable[bytes], is_cut: bool) -> _FileStart:
    """Read forward to the first prompt."""
    fields: dict[str, str] = {}
    first_command: str | None = None
    is_sidechain: bool | None = None
    has_main = False
    patience = _MAX_DECODED_ENTRIES
    line = b""
    for line in lines:
        is_searching = is_sidechain is None or (patience > 0 and _lacks_fields(fields))
        if line.startswith(_NO_FIELDS_FIRST) or not (is_searching or b'"user"' in line):
            continue
        row = decode_first_object(line)
        if row is None:
            continue
        row = complete_body(row) or row
        patience -= 1
        _fill_fields(fields, row)
        kind = row.get("type")
        if kind != "user" and kind != "assistant":
            continue
        is_aside = row.get("isSidechain") is True
        has_main = has_main or not is_aside
        if is_sidechain is None:
            is_sidechain = is_aside
        if kind == "assistant" or is_aside is not is_sidechain:
            continue
        if prompt := read_typed_text(row):
            return _FileStart(fields, to_title(prompt), first_command, is_sidechain, has_main)
        first_command = first_command or to_title(read_typed_command(row))
    start = _FileStart(fields, None, first_command, is_sidechain, has_main)
    return _read_cut_start(start, line) if is_cut and is_sidechain is None else start


def _read_cut_start(start: _FileStart, cut: bytes) -> _FileStart:
    """Extract as much as possible from a first entry that exceeds the window, such as a prompt with an image."""
    for name, value in _CUT_FIELD.findall(cut):
        start.fields.setdefault(name.decode(), _decode_string(value))
    text = _CUT_TEXT.search(cut)
    row = {"message": {"content": _decode_string(text[1])}} if text and b'"type":"user"' in cut else {}
    return start._replace(prompt=to_title(read_typed_text(row)), is_sidechain=b'"isSidechain":true' in cut)


def _read_end(lines: Sequence[bytes]) -> dict[str, str]:
    """Read backward until the last entry's fields are known."""
    fields: dict[str, str] = {}
    patience = _MAX_DECODED_ENTRIES
    for line in reversed(lines):
        if b'"timestamp"' in line and (row := decode_first_object(line)):
            patience -= 1
            _fill_fields(fields, complete_body(row) or row)
            if patience == 0 or not _lacks_fields(fields):
                break
    return fields


def _read_cut_end(tail: bytes) -> dict[str, str]:
    """Extract as much as possible from a last entry that exceeds the window."""
    return {name.decode(): _decode_string(value) for name, value in _CUT_FIELD.findall(tail)}


def _lacks_fields(fields: dict[str, str]) -> bool:
    return not ("cwd" in fields and "timestamp" in fields and "version" in fields)


def _fill_fields(fields: dict[str, str], row: dict[str, Any]) -> None:
    for name in _PEEKED_FIELDS:
        if name in row and name not in fields and (value := to_title(row[name])):
            fields[name] = value


def _find_titles(lines: Sequence[bytes]) -> SessionTitles:
    """Find the last non-empty entry for each kind of title."""
    lines_by_kind: dict[str, list[bytes]] = {}
    for line in lines:
        if line.startswith(_PARENT_FIRST):
            continue
        kind = line[9 : line.find(b'"', 9)] if line.startswith(_TYPE_FIRST) else _read_title_kind(line)
        if name := _TITLE_KINDS.get(kind):
            lines_by_kind.setdefault(name, []).append(line)
    titles = SessionTitles()
    for title_kind, title_lines in lines_by_kind.items():
        field, name = TITLE_FIELDS[title_kind]
        values = (to_title((decode_first_object(line) or {}).get(field)) for line in reversed(title_lines))
        setattr(titles, name, next(filter(None, values), None))
    return titles


def _merge_titles(titles: SessionTitles, others: SessionTitles) -> SessionTitles:
    """Fill in titles that are missing at the end with those from the start."""
    pairs = ((name, getattr(titles, name) or getattr(others, name)) for _, name in TITLE_FIELDS.values())
    return SessionTitles(**dict(pairs))


def _read_title_kind(line: bytes) -> bytes:
    """Return the type of an entry that a different program wrote, if it may be a title."""
    if b'-title"' in line or b'"last-prompt"' in line or b'"summary"' in line:
        kind = (decode_first_object(line) or {}).get("type")
        return kind.encode("utf-8", "replace") if isinstance(kind, str) else b""
    return b""


def _decode_string(text: bytes) -> str:
    value = (decode_first_object(b'{"_":"' + text + b'"}') or {}).get("_")
    return to_title(value) or ""


MIN_FILES_PER_PROCESS = 400
"""The minimum number of files that justifies another process."""
MIN_WHOLE_FILES_PER_PROCESS = 40
"""The minimum number of files that justifies another process if whole files are read."""


def peek_safely(path: str) -> Peek:
    """Read the two ends of a file; return an empty result if the file is unreadable."""
    try:
        return peek_file(path)
    except OSError:
        return Peek(junk="unreadable")


def peek_files(paths: Sequence[str], processes: int | None = None) -> list[Peek]:
    """Read the two ends of each file; return the results in the order of `paths`."""
    count = processes or max(1, min(count_cores(), len(paths) // MIN_FILES_PER_PROCESS))
    peeks = [Peek()] * len(paths)
    shares = [paths[number::count] for number in range(count)]
    for number, share in enumerate(spread_work(_peek_share, list[Peek], shares)):
        peeks[number::count] = share
    return peeks


def _peek_share(paths: Sequence[str]) -> list[Peek]:
    return [peek_safely(path) for path in paths]


def complete_titles(path: str, ends: Peek) -> SessionTitles:
    """Return all names of a session, from the two ends of its file if they suffice, otherwise from the whole file."""
    if ends.titles is not None:
        return ends.titles
    try:
        return read_titles(path)
    except OSError:
        return SessionTitles()


def read_best_title(path: Path) -> str | None:
    """Return the name to display for the session in a file."""
    return complete_titles(str(path), peek_safely(str(path))).best


def complete_all_titles(paths: Sequence[str], processes: int | None = None) -> list[SessionTitles]:
    """Read all names of each session from its whole file; return them in the order of `paths`."""
    count = processes or max(1, min(count_cores(), len(paths) // MIN_WHOLE_FILES_PER_PROCESS))
    titles = [SessionTitles()] * len(paths)
    shares = [paths[number::count] for number in range(count)]
    for number, share in enumerate(spread_work(_complete_share, list[SessionTitles], shares)):
        titles[number::count] = share
    return titles


def _complete_share(paths: Sequence[str]) -> list[SessionTitles]:
    return [complete_titles(path, Peek()) for path in paths]
