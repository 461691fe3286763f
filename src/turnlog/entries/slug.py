"""Derives the name of a project's folder from the working directory, as the client does.

The rule operates on UTF-16 code units: everything except ASCII letters and digits becomes a dash, so an emoji becomes
two dashes. A name longer than 200 units is shortened and gets a hash of the whole path. The rule can't be reversed: the
path of a project is the `cwd` of its entries.
"""

from __future__ import annotations

import re

MAX_SLUG_CHARS = 200
"""Longer names are shortened; clients before 2.1 did not shorten them, and wrote no file if they exceeded 255."""

_NOT_ALPHANUMERIC = re.compile(r"[^A-Za-z0-9]")
_BASE36_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def make_slug(cwd: str) -> str:
    """Return the name of the folder below `projects` that contains the sessions of a working directory."""
    name = _NOT_ALPHANUMERIC.sub(_to_dashes, cwd)
    return name if len(name) <= MAX_SLUG_CHARS else f"{name[:MAX_SLUG_CHARS]}-{_to_base36(abs(_hash_text(cwd)))}"


def _to_dashes(other: re.Match[str]) -> str:
    return "-" if other[0] <= "\uffff" else "--"


def _hash_text(text: str) -> int:
    """Hash the code units as the client does, in signed 32-bit numbers."""
    data = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for low, high in zip(data[::2], data[1::2], strict=True):
        value = (value * 31 + low + (high << 8)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _to_base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36_DIGITS[digit] + digits
    return digits or "0"
