"""Encodes file names as text: any name that a disk allows can be restored, and none can lead outside its folder.

The file lists in archives and packages consist of such names.
"""

from __future__ import annotations

import os
import re

_ESCAPE_PATTERN = re.compile("%(25|[89A-F][0-9A-F])")
_NOT_ON_WINDOWS = re.compile(r'[\\:*?"<>|\x00-\x1f]|[. ](?:/|$)')


def escape_path(path: str) -> str:
    """Encode a path as text; bytes that are not UTF-8 become `%XX`."""
    if path.isascii() and "%" not in path:
        return path
    return "".join(_escape_char(char) for char in path)


def _escape_char(char: str) -> str:
    if "\udc80" <= char <= "\udcff":  # how Python represents a byte that is not UTF-8
        return f"%{ord(char) - 0xDC00:02X}"
    return "%25" if char == "%" else char.encode("utf-8", "replace").decode()


def unescape_path(name: str) -> str:
    return _ESCAPE_PATTERN.sub(lambda found: "%" if found[1] == "25" else chr(0xDC00 + int(found[1], 16)), name)


def is_safe_path(name: str) -> bool:
    """Return whether a path can't lead outside the folder in which it is placed."""
    plain = unescape_path(name)
    if "\0" in plain or any(part in ("", ".", "..") for part in plain.split("/")):
        return False
    return os.name != "nt" or not _NOT_ON_WINDOWS.search(plain)
