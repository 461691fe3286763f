"""Illnesses of the lines themselves: truncated, broken, run together, or full of control bytes.

Repairs make lines readable where possible and remove what is not an entry. Clients ignore the removed parts, which are
still available in the source session or through `turnlog undo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import EntryOrScrap, Scrap
from turnlog.entries.line_decoder import BOM, decode_patiently
from turnlog.entries.reader import Transcript

_JSON_SPACE = b" \t\r\n"
_STRING_PATTERN = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_CONTROL_PATTERN = re.compile(rb"[\x00-\x1f]")
_UNUSUAL_CONTROL_PATTERN = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Control bytes other than line breaks and tabs."""
_SHORT_ESCAPES = {b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_MAX_JOINED_LINES = 50
"""The maximum number of consecutive lines to try as one entry that was split by line breaks."""


class _LinePiece(NamedTuple):
    item: EntryOrScrap
    raw: bytes
    is_ill: bool


class _MendedLine(NamedTuple):
    line: bytes
    used: int
    """The number of pieces that the entry consists of."""


def detect_damaged_lines(view: ResumeView, symptoms: Symptoms) -> None:
    """Find lines that are not entries, and entries that share a line."""
    file = view.session.file
    for scrap in file.scraps:
        if scrap.kind == "torn":
            symptoms.add_items("torn-line", "warning", "the last line is cut off", [scrap])
        elif scrap.kind == "broken":
            _detect_broken_line(file, scrap, symptoms)
        elif scrap.kind == "padding":
            symptoms.add_items("control-bytes", "warning", "the file contains NUL bytes", [scrap])
        elif scrap.kind == "value":
            symptoms.add_items("broken-line", "warning", "a line contains JSON that is not an entry", [scrap])
    behind = [entry for entry in file.entries if entry.flaw == "behind"]
    symptoms.add_items(
        "glued-line", "error", "an entry follows something else on its line, where no client reads it", behind
    )


def _detect_broken_line(file: Transcript, scrap: Scrap, symptoms: Symptoms) -> None:
    if _UNUSUAL_CONTROL_PATTERN.search(file.read_raw(scrap)):
        symptoms.add_items("control-bytes", "error", "control bytes make a line unreadable", [scrap])
    else:
        symptoms.add_items("broken-line", "error", "a line is not JSON; no client reads it", [scrap])


def drop_torn_line(case: RepairCase) -> RepairAttempt:
    removed = [piece for piece in _list_pieces(case) if piece.is_ill]
    size = sum(len(piece.raw) for piece in removed)
    draft = _read_draft(piece.raw for piece in _list_pieces(case) if not piece.is_ill)
    return RepairAttempt(draft, len(removed), f"removed the cut-off last line, {size:,} bytes; the source has it")


def split_glued_lines(case: RepairCase) -> RepairAttempt:
    """Put each entry on a line of its own."""
    pieces = list(_list_pieces(case))
    lines = [_end_piece(piece) for piece in pieces[:-1]] + [piece.raw for piece in pieces[-1:]]
    return RepairAttempt(_read_draft(lines), len(case.spots), "put each entry on a line of its own")


def mend_broken_lines(case: RepairCase) -> RepairAttempt:
    """Restore lines that were broken only by control bytes or line breaks, and remove other broken lines."""
    lines: list[bytes] = []
    restored = removed = at = 0
    pieces = list(_list_pieces(case))
    while at < len(pieces):
        mended = _join_pieces(pieces[at : at + _MAX_JOINED_LINES]) if pieces[at].is_ill else None
        if mended is not None:
            lines.append(b"\n" + mended.line if lines and not lines[-1].endswith(b"\n") else mended.line)
            restored += mended.used
        elif pieces[at].is_ill:
            is_end = pieces[at].raw.endswith(b"\n") and bool(lines) and not lines[-1].endswith(b"\n")
            lines.append(b"\n" if is_end else b"")
            removed += 1
        else:
            lines.append(pieces[at].raw)
        at += mended.used if mended is not None else 1
    words = [f"made {restored:,} readable again"] if restored else []
    words += [f"left out {removed:,}: only the source has what they contained"] if removed else []
    return RepairAttempt(_read_draft(lines), restored + removed, ", ".join(words))


def _join_pieces(pieces: list[_LinePiece]) -> _MendedLine | None:
    """Join as few leading pieces as possible into an entry; return None if they don't form one."""
    raw = b""
    for used, piece in enumerate(pieces, 1):
        if not piece.is_ill:
            break
        raw += piece.raw
        line = _escape_controls(raw)
        found = decode_patiently(line) if line.startswith(b"{") and line.endswith(b"}") else None
        if found is not None and isinstance(found.value, dict) and isinstance(found.value.get("type"), str):
            return _MendedLine(line + b"\n", used)
    return None


def _escape_controls(raw: bytes) -> bytes:
    """Remove NUL bytes, escape control characters in strings, and join everything into one line."""
    text = raw.replace(b"\0", b"").strip(_JSON_SPACE).removeprefix(BOM)
    return _CONTROL_PATTERN.sub(
        b" ", _STRING_PATTERN.sub(lambda match: _CONTROL_PATTERN.sub(_escape_character, match[0]), text)
    )


def _escape_character(match: re.Match[bytes]) -> bytes:
    return _SHORT_ESCAPES.get(match[0], b"\\u%04x" % match[0][0])


def _list_pieces(case: RepairCase) -> Iterator[_LinePiece]:
    ill = case.scraps
    for item in case.session.file.items:
        yield _LinePiece(item, case.session.file.read_raw(item), isinstance(item, Scrap) and item in ill)


def _end_piece(piece: _LinePiece) -> bytes:
    """Return a piece on a line of its own; a byte order mark belongs to the line after it."""
    is_mark = isinstance(piece.item, Scrap) and piece.item.kind == "bom"
    return piece.raw if is_mark or piece.raw.endswith(b"\n") else piece.raw + b"\n"


def _read_draft(lines: Iterable[bytes]) -> Draft:
    return Draft.from_transcript(Transcript.from_bytes(b"".join(lines)))


TORN_LINE = Illness(
    "torn-line",
    "The end of the conversation is missing, and an old client may lose the next message too.",
    "the client or the machine stopped in the middle of a line; clients up to 2.1.45 append to it",
    drop_torn_line,
)
BROKEN_LINE = Illness(
    "broken-line",
    "Part of the conversation is missing without any message.",
    "a line was cut off, overwritten or edited by hand; clients skip what is not JSON",
    mend_broken_lines,
)
GLUED_LINE = Illness(
    "glued-line",
    "A prompt or answer is missing, and what followed it has lost its parent.",
    "two entries share a line, because the line before was torn or two processes wrote at once (#52387)",
    split_glued_lines,
)
CONTROL_BYTES = Illness(
    "control-bytes",
    "Part of the conversation is missing, or editors call the file binary.",
    "a crash of the machine left NUL bytes, or a program wrote control characters unescaped",
    mend_broken_lines,
)
