"""Escapes the characters in JSON that end a line for some readers, so that a document or an event stays on one line.

JSON allows U+0085, U+2028 and U+2029 in strings as they are, but `str.splitlines` in Python and `readline` in Node
break lines there, and a program that reads line by line would lose what follows. Session files keep their bytes.
"""

from __future__ import annotations

import re

_LINE_BREAK = re.compile(b"\xc2\x85|\xe2\x80[\xa8\xa9]")
_ESCAPES = {b"\xc2\x85": b"\\u0085", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}


def escape_line_breaks(document: bytes) -> bytes:
    """Escape line breaks beyond ASCII in JSON; they can only occur inside its strings."""
    return _LINE_BREAK.sub(lambda found: _ESCAPES[found[0]], document)
