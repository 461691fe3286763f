"""Remembers the lines in which a first pass found nothing, so that a second pass searches them only for what is new.

A rule finds the same in a text every time. If nothing in a line changed when the ledger knew some forms of secrets, the
line can change later only if it contains one of the forms learned since.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

_MAX_LINES = 1_000_000


class SettledLines:
    """Lines that are exactly their decoded value, encoded again; so a form in a text is also in the line, encoded."""

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        """The number of known forms when a line was searched, by the digest of the line."""
        self._encoded: list[bytes] = []

    def add(self, raw: bytes, form_count: int) -> None:
        """Remember that no text in a line contains a secret, given what is known now."""
        if len(self._counts) < _MAX_LINES:
            self._counts[_digest_line(raw)] = form_count

    def is_settled(self, raw: bytes, forms: Sequence[str]) -> bool:
        """Return whether a line still contains no secret; `forms` are all known forms, the oldest first."""
        if not self._counts or (count := self._counts.get(_digest_line(raw))) is None:
            return False
        if len(self._encoded) < len(forms):
            self._encoded += map(_encode_form, forms[len(self._encoded) :])
        return not any(map(raw.__contains__, self._encoded[count:]))


def _encode_form(form: str) -> bytes:
    """Encode a form as it stands in a line; half of a surrogate pair has no encoding, and no such line contains one."""
    return msgspec.json.encode(form.encode("utf-8", "replace").decode())[1:-1]


def _digest_line(raw: bytes) -> bytes:
    return blake2b(raw, digest_size=16).digest()
