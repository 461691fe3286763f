"""Repairs of the lines themselves: what can be made readable is, what is no entry goes.

What goes was no entry for any client; the source, or `turnlog undo`, still has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.edit.draft import Draft
from turnlog.edit.repairs.case import RepairAttempt, RepairCase
from turnlog.entries.entry import EntryOrScrap, Scrap
from turnlog.entries.line_decoder import BOM, decode_patiently
from turnlog.entries.reader import Transcript

_JSON_SPACE = b" \t\r\n"
_STRING_PATTERN = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_CONTROL_PATTERN = re.compile(rb"[\x00-\x1f]")
_SHORT_ESCAPES = {b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_MAX_JOINED_LINES = 50
"""So many lines in a row are tried as one that line ends inside of it have broken."""


class _LinePiece(NamedTuple):
    item: EntryOrScrap
    raw: bytes
    is_ill: bool


class _MendedLine(NamedTuple):
    line: bytes
    used: int
    """Of how many pieces it was made."""


def drop_torn_line(case: RepairCase) -> RepairAttempt:
    """Without a last line that is cut off."""
    gone = [piece for piece in _list_pieces(case) if piece.is_ill]
    size = sum(len(piece.raw) for piece in gone)
    draft = _read_draft(piece.raw for piece in _list_pieces(case) if not piece.is_ill)
    return RepairAttempt(draft, len(gone), f"the cut-off last line, {size:,} bytes, went; the source has it")


def split_glued_lines(case: RepairCase) -> RepairAttempt:
    """Each entry on a line of its own."""
    pieces = list(_list_pieces(case))
    lines = [_end_piece(piece) for piece in pieces[:-1]] + [piece.raw for piece in pieces[-1:]]
    return RepairAttempt(_read_draft(lines), len(case.spots), "each entry stands on a line of its own")


def mend_broken_lines(case: RepairCase) -> RepairAttempt:
    """Lines that are no JSON: readable where only control bytes or line ends have broken them, else left out."""
    lines: list[bytes] = []
    whole = gone = at = 0
    pieces = list(_list_pieces(case))
    while at < len(pieces):
        made = _join_pieces(pieces[at : at + _MAX_JOINED_LINES]) if pieces[at].is_ill else None
        if made is not None:
            lines.append(b"\n" + made.line if lines and not lines[-1].endswith(b"\n") else made.line)
            whole += made.used
        elif pieces[at].is_ill:
            is_end = pieces[at].raw.endswith(b"\n") and bool(lines) and not lines[-1].endswith(b"\n")
            lines.append(b"\n" if is_end else b"")
            gone += 1
        else:
            lines.append(pieces[at].raw)
        at += made.used if made is not None else 1
    told = [f"{whole:,} made readable again"] if whole else []
    told += [f"{gone:,} left out: only the source has what they held"] if gone else []
    return RepairAttempt(_read_draft(lines), whole + gone, ", ".join(told))


def _join_pieces(pieces: list[_LinePiece]) -> _MendedLine | None:
    """The entry that some pieces make, as few of them as possible; None if they make none."""
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
    """Bytes without NUL, control characters in strings as escapes, on one line."""
    text = raw.replace(b"\0", b"").strip(_JSON_SPACE).removeprefix(BOM)
    return _CONTROL_PATTERN.sub(
        b" ", _STRING_PATTERN.sub(lambda found: _CONTROL_PATTERN.sub(_escape_character, found[0]), text)
    )


def _escape_character(found: re.Match[bytes]) -> bytes:
    return _SHORT_ESCAPES.get(found[0], b"\\u%04x" % found[0][0])


def _list_pieces(case: RepairCase) -> Iterator[_LinePiece]:
    ill = case.scraps
    for item in case.session.file.items:
        yield _LinePiece(item, case.session.file.read_raw(item), isinstance(item, Scrap) and item in ill)


def _end_piece(piece: _LinePiece) -> bytes:
    """A piece on a line of its own; a byte order mark belongs to the line behind it."""
    is_mark = isinstance(piece.item, Scrap) and piece.item.kind == "bom"
    return piece.raw if is_mark or piece.raw.endswith(b"\n") else piece.raw + b"\n"


def _read_draft(lines: Iterable[bytes]) -> Draft:
    return Draft.from_transcript(Transcript.from_bytes(b"".join(lines)))
