"""Escaping: all transcript text passes through here before it becomes HTML.

Besides HTML's special characters, hostile text may contain invisible characters that reverse text, hide words from
people but not from models, or break the page. These characters become small visible marks.
"""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

_UNSEEN_CHARS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]+"
    # This many combining marks on one letter would overlap the lines above and below.
    "|[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}"
)
_HIDDEN_RUN = re.compile(_UNSEEN_CHARS)
_SPECIAL_RUN = re.compile(_UNSEEN_CHARS.replace("[", "[&<>\"'", 1))
_UNSEEN_ASCII = bytes([*range(0x09), *range(0x0B, 0x20), 0x7F])
"""Those of `_UNSEEN_CHARS` that are ASCII; bytes are searched several times as fast as text."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_TAG_CHARS = re.compile("[\U000e0020-\U000e007e]+")
_MAX_NAMED_CHARS = 4
"""Maximum number of characters to name in a run; the rest are counted."""
_CONTROL_NAMES = (
    "NULL,START OF HEADING,START OF TEXT,END OF TEXT,END OF TRANSMISSION,ENQUIRY,ACKNOWLEDGE,BELL,BACKSPACE,TAB,"
    "LINE FEED,LINE TABULATION,FORM FEED,CARRIAGE RETURN,SHIFT OUT,SHIFT IN,DATA LINK ESCAPE,DEVICE CONTROL ONE,"
    "DEVICE CONTROL TWO,DEVICE CONTROL THREE,DEVICE CONTROL FOUR,NEGATIVE ACKNOWLEDGE,SYNCHRONOUS IDLE,"
    "END OF TRANSMISSION BLOCK,CANCEL,END OF MEDIUM,SUBSTITUTE,ESCAPE,INFORMATION SEPARATOR FOUR,"
    "INFORMATION SEPARATOR THREE,INFORMATION SEPARATOR TWO,INFORMATION SEPARATOR ONE"
).split(",")


def escape_to_markup(text: str) -> Markup:
    """Escape text as HTML, with a mark for each invisible character."""
    return Markup(escape_text(text))


def escape_text(text: str) -> str:
    """Escape text to a plain string, for callers that join many small pieces."""
    if text.isascii():
        if not _has_hidden_chars(text):
            return str(escape(text))
    elif not _SPECIAL_RUN.search(text):
        return text
    text = normalise_line_ends(text)
    if not _has_hidden_chars(text):
        return str(escape(text))
    parts, position = [], 0
    for run in _HIDDEN_RUN.finditer(text):
        if _is_legitimate(text, run.start(), run.end()):
            continue
        parts += [str(escape(text[position : run.start()])), _render_mark(run[0])]
        position = run.end()
    parts.append(str(escape(text[position:])))
    return "".join(parts)


def _has_hidden_chars(text: str) -> bool:
    if text.isascii():
        return len(text.encode("ascii").translate(None, _UNSEEN_ASCII)) != len(text)
    return _HIDDEN_RUN.search(text) is not None


def name_hidden_chars(text: str) -> str:
    """Spell out invisible characters in brackets, for attributes, which can't contain marks; escape nothing."""
    text = normalise_line_ends(text)
    if not _has_hidden_chars(text):
        return text
    return _HIDDEN_RUN.sub(
        lambda run: run[0] if _is_legitimate(text, *run.span()) else f"[{_shorten_run(run[0])}]", text
    )


def replace_unencodable(text: str) -> str:
    """Replace lone surrogates, which can't be encoded, and NULs, which break parsers."""
    return _SURROGATES.sub("\ufffd", text).replace("\0", "\u2400")


def normalise_line_ends(text: str) -> str:
    """Replace CRLF line endings with line feeds."""
    return text.replace("\r\n", "\n") if "\r" in text else text


def _render_mark(run: str) -> str:
    names = [f"U+{ord(char):04X} {_name_char(char)}" for char in run[:_MAX_NAMED_CHARS]]
    if len(run) > _MAX_NAMED_CHARS:
        names.append(f"and {len(run) - _MAX_NAMED_CHARS:,} more")
    hidden_text = "".join(chr(ord(char) - 0xE0000) for tags in _TAG_CHARS.findall(run) for char in tags)
    if hidden_text:
        names.insert(0, f"hidden text: {hidden_text[:200]}")
    title = escape(", ".join(names))
    return f'<span class="hidden-char" title="{title}">{_shorten_run(run)}</span>'


def _shorten_run(run: str) -> str:
    first = f"U+{ord(run[0]):04X}"
    return first if len(run) == 1 else f"{first} ×{len(run)}"


def _name_char(char: str) -> str:
    if "\ud800" <= char <= "\udfff":
        return "lone surrogate"
    code = ord(char)
    return _CONTROL_NAMES[code] if code < len(_CONTROL_NAMES) else unicodedata.name(char, "control character")


def _is_legitimate(text: str, start: int, end: int) -> bool:
    """Return whether an invisible character belongs where it is: in an emoji, or between letters that it joins."""
    if end - start > 2:
        return False
    before, after = text[start - 1 : start], text[end : end + 1]
    run = text[start:end]
    if run == "\ufe0f":
        return _is_symbol(before) or after == "\u20e3"
    if run in ("\u200d", "\ufe0f\u200d"):
        return (_is_symbol(before) and _is_symbol(after)) or (run == "\u200d" and _are_joinable(before, after))
    return run == "\u200c" and _are_joinable(before, after)


def _is_symbol(char: str) -> bool:
    return bool(char) and char >= "\u2000" and unicodedata.category(char)[0] == "S"


def _are_joinable(before: str, after: str) -> bool:
    """Return whether two characters are letters of Arabic or Indic scripts, whose spelling needs joiners."""
    return "\u0600" <= before <= "\u0dff" and "\u0600" <= after <= "\u0dff"
