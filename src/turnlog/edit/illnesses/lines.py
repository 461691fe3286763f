"""Illnesses of the lines themselves: cut off, broken, glued together, or full of control bytes.

A repair makes lines readable where it can, and removes what is no entry. No client read what it removes; the source,
or `turnlog undo`, still has it.
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
"""Control bytes that no line break or tab explains."""
_SHORT_ESCAPES = {b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t"}
_MAX_JOINED_LINES = 50
"""How many lines in a row are tried as one entry that line breaks inside of it have split."""


class _LinePiece(NamedTuple):
    item: EntryOrScrap
    raw: bytes
    is_ill: bool


class _MendedLine(NamedTuple):
    line: bytes
    used: int
    """How many pieces it was made of."""


def detect_damaged_lines(view: ResumeView, found: Symptoms) -> None:
    """Lines that are no entry, and entries that share a line."""
    file = view.session.file
    for scrap in file.scraps:
        if scrap.kind == "torn":
            found.add_items("torn-line", "warning", "the last line is cut off", [scrap])
        elif scrap.kind == "broken":
            _detect_broken_line(file, scrap, found)
        elif scrap.kind == "padding":
            found.add_items("control-bytes", "warning", "NUL bytes stand in the file", [scrap])
        elif scrap.kind == "value":
            found.add_items("broken-line", "warning", "a line holds JSON that is no entry", [scrap])
    behind = [entry for entry in file.entries if entry.flaw == "behind"]
    found.add_items(
        "glued-line", "error", "an entry stands behind something else on its line, where no client reads it", behind
    )


def _detect_broken_line(file: Transcript, scrap: Scrap, found: Symptoms) -> None:
    if _UNUSUAL_CONTROL_PATTERN.search(file.read_raw(scrap)):
        found.add_items("control-bytes", "error", "control bytes make a line unreadable", [scrap])
    else:
        found.add_items("broken-line", "error", "a line is no JSON; no client reads it", [scrap])


def drop_torn_line(case: RepairCase) -> RepairAttempt:
    """Remove a last line that is cut off."""
    gone = [piece for piece in _list_pieces(case) if piece.is_ill]
    size = sum(len(piece.raw) for piece in gone)
    draft = _read_draft(piece.raw for piece in _list_pieces(case) if not piece.is_ill)
    return RepairAttempt(draft, len(gone), f"the cut-off last line, {size:,} bytes, went; the source has it")


def split_glued_lines(case: RepairCase) -> RepairAttempt:
    """Put each entry on a line of its own."""
    pieces = list(_list_pieces(case))
    lines = [_end_piece(piece) for piece in pieces[:-1]] + [piece.raw for piece in pieces[-1:]]
    return RepairAttempt(_read_draft(lines), len(case.spots), "each entry stands on a line of its own")


def mend_broken_lines(case: RepairCase) -> RepairAttempt:
    """Make lines readable that only control bytes or line breaks have broken, and remove the others."""
    lines: list[bytes] = []
    whole = gone = at = 0
    pieces = list(_list_pieces(case))
    while at < len(pieces):
        mended = _join_pieces(pieces[at : at + _MAX_JOINED_LINES]) if pieces[at].is_ill else None
        if mended is not None:
            lines.append(b"\n" + mended.line if lines and not lines[-1].endswith(b"\n") else mended.line)
            whole += mended.used
        elif pieces[at].is_ill:
            is_end = pieces[at].raw.endswith(b"\n") and bool(lines) and not lines[-1].endswith(b"\n")
            lines.append(b"\n" if is_end else b"")
            gone += 1
        else:
            lines.append(pieces[at].raw)
        at += mended.used if mended is not None else 1
    words = [f"{whole:,} made readable again"] if whole else []
    words += [f"{gone:,} left out: only the source has what they held"] if gone else []
    return RepairAttempt(_read_draft(lines), whole + gone, ", ".join(words))


def _join_pieces(pieces: list[_LinePiece]) -> _MendedLine | None:
    """The entry that the first pieces make, as few of them as possible; None if they make none."""
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
    """Remove NUL bytes, escape control characters in strings, and put everything on one line."""
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


TORN_LINE = Illness(
    "torn-line",
    "The last thing that was said is missing, and an old client may swallow the next one too.",
    "the client or the machine stopped in the middle of a line; clients up to 2.1.45 write behind it",
    drop_torn_line,
)
BROKEN_LINE = Illness(
    "broken-line",
    "A part of the conversation is missing without a word.",
    "a line was cut, overwritten or edited by hand; clients pass over what is no JSON",
    mend_broken_lines,
)
GLUED_LINE = Illness(
    "glued-line",
    "A prompt or answer is missing, and what followed from it hangs in the air.",
    "two entries share a line, because the line before was torn or two processes wrote at once (#52387)",
    split_glued_lines,
)
CONTROL_BYTES = Illness(
    "control-bytes",
    "A part of the conversation is missing, or editors call the file binary.",
    "a crash of the machine left NUL bytes, or control characters were written unescaped",
    mend_broken_lines,
)
