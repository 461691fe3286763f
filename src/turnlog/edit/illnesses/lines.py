"""Illnesses of the lines themselves: truncated, broken, run together, or full of control bytes.

Repairs make lines readable where possible, keep the text of lines that were cut off, and remove what else is not an
entry. Clients ignore the removed parts, which are
still available in the source session or through `turnlog undo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from turnlog.edit.closing_entries import build_leaf_entry
from turnlog.edit.draft import Draft
from turnlog.edit.illnesses.cut_lines import keep_cut_line
from turnlog.edit.illnesses.illness import Illness, RepairAttempt, RepairCase, Symptoms
from turnlog.edit.illnesses.resume_view import ResumeView
from turnlog.entries.entry import Entry, EntryOrScrap, Scrap
from turnlog.entries.line_decoder import BOM, decode_patiently
from turnlog.entries.patch import encode_json_line
from turnlog.entries.reader import Transcript
from turnlog.entries.spread_values import join_to_line

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
    spread = [entry for entry in file.entries if entry.flaw == "spread"]
    symptoms.add_items("spread-lines", "warning", "the JSON of an entry stretches over several lines", spread)
    behind = [entry for entry in file.entries if entry.flaw == "behind"]
    symptoms.add_items(
        "glued-line", "error", "an entry follows something else on its line, where no client reads it", behind
    )


def _detect_broken_line(file: Transcript, scrap: Scrap, symptoms: Symptoms) -> None:
    if _UNUSUAL_CONTROL_PATTERN.search(file.read_raw(scrap)):
        symptoms.add_items("control-bytes", "error", "control bytes make a line unreadable", [scrap])
    else:
        symptoms.add_items("broken-line", "error", "a line is not JSON; no client reads it", [scrap])


def replace_torn_line(case: RepairCase) -> RepairAttempt:
    """Remove the cut-off last line, and keep what was said in it as text."""
    pieces = list(_list_pieces(case))
    lines = [piece.raw for piece in pieces if not piece.is_ill]
    removed = [piece.raw for piece in pieces if piece.is_ill]
    words = f"removed the cut-off last line, {sum(map(len, removed)):,} bytes; the source has it"
    entries = [entry for entry in case.session.file.entries if entry.uuid and not entry.is_sidechain]
    kept = keep_cut_line(case.session, removed[0], entries[-1] if entries else None)
    if kept is not None:
        lines = [line if line.endswith(b"\n") else line + b"\n" for line in lines]
        lines.append(encode_json_line(kept.body) + b"\n")
        if any(entry.type == "last-prompt" for entry in case.session.file.entries):
            leaf = build_leaf_entry(kept.body["uuid"], None, case.session.session_id or "")
            lines.append(encode_json_line(leaf) + b"\n")
        words = f"replaced the cut-off last line with its text, {kept.chars:,} characters; the source has the line"
    return RepairAttempt(_read_draft(lines), len(removed), words)


def split_glued_lines(case: RepairCase) -> RepairAttempt:
    """Put each entry on a line of its own."""
    pieces = list(_list_pieces(case))
    lines = [_end_piece(piece) for piece in pieces[:-1]] + [piece.raw for piece in pieces[-1:]]
    return RepairAttempt(_read_draft(lines), len(case.spots), "put each entry on a line of its own")


def mend_broken_lines(case: RepairCase) -> RepairAttempt:
    """Restore lines that were broken only by control bytes or line breaks; of the others, keep what can be read."""
    lines: list[bytes] = []
    restored = removed = saved = at = 0
    pieces = list(_list_pieces(case))
    while at < len(pieces):
        mended = _join_pieces(pieces[at : at + _MAX_JOINED_LINES]) if pieces[at].is_ill else None
        if mended is not None:
            lines.append(b"\n" + mended.line if lines and not lines[-1].endswith(b"\n") else mended.line)
            restored += mended.used
        elif pieces[at].is_ill and (kept := _keep_piece(case, pieces, at)) is not None:
            lines.append(b"\n" + kept if lines and not lines[-1].endswith(b"\n") else kept)
            saved += 1
        elif pieces[at].is_ill:
            is_end = pieces[at].raw.endswith(b"\n") and bool(lines) and not lines[-1].endswith(b"\n")
            lines.append(b"\n" if is_end else b"")
            removed += 1
        else:
            lines.append(pieces[at].raw)
        at += mended.used if mended is not None else 1
    words = [f"made {restored:,} readable again"] if restored else []
    words += [f"kept the text of {saved:,}: only the source has the rest"] if saved else []
    words += [f"left out {removed:,}: only the source has what they contained"] if removed else []
    return RepairAttempt(_read_draft(lines), restored + saved + removed, ", ".join(words))


def _keep_piece(case: RepairCase, pieces: list[_LinePiece], at: int) -> bytes | None:
    """Return a line with the text of a cut line, if the entry below it names a parent that nothing else can be."""
    above = (piece.item for piece in reversed(pieces[:at]) if isinstance(piece.item, Entry))
    below = (piece.item for piece in pieces[at + 1 :] if isinstance(piece.item, Entry))
    before, after = next(filter(_is_main, above), None), next(filter(_is_main, below), None)
    if after is None or after.parent_uuid is None or after.parent_uuid in case.session.file.by_uuid:
        return None
    kept = keep_cut_line(case.session, pieces[at].raw, before, after.parent_uuid)
    return None if kept is None else encode_json_line(kept.body) + b"\n"


def _is_main(entry: Entry) -> bool:
    return entry.uuid is not None and not entry.is_sidechain


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


def join_spread_lines(case: RepairCase) -> RepairAttempt:
    """Write each entry on one line; nothing but white space changes."""
    spread = {entry.index for entry in case.entries}
    lines = [
        join_to_line(piece.raw) if isinstance(piece.item, Entry) and piece.item.index in spread else piece.raw
        for piece in _list_pieces(case)
    ]
    return RepairAttempt(_read_draft(lines), len(spread), "wrote each entry on one line")


SPREAD_LINES = Illness(
    "spread-lines",
    "Clients up to 2.1.45 do not find the session, or show only a part of it; newer ones show all.",
    "`jq .` or another formatter rewrote the file",
    join_spread_lines,
)
TORN_LINE = Illness(
    "torn-line",
    "The end of the conversation is missing; clients up to 2.1.45 may lose the next message too.",
    "the client or the machine stopped in the middle of a line; clients up to 2.1.45 append to it",
    replace_torn_line,
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
