"""Secrets that a narrow terminal broke over several lines."""

from __future__ import annotations

import re

from turnlog.redact.doubt import count_character_changes, has_letters_and_digits
from turnlog.redact.finding import SecretFinding

_CONTINUATION_LINE = re.compile(r"\r?\n(?P<more>[A-Za-z0-9+/_.-]{16,4096}+={0,2})(?=\r?\n|$)")
_MIN_WRAPPED_SECRET_CHARS = 32
_MAX_WRAPPED_LINES = 60


def join_wrapped_lines(text: str, found: list[SecretFinding]) -> list[SecretFinding]:
    """Give findings, each with the lines after it that go on with the same secret."""
    starts = {finding.start for finding in found}
    return [
        _extend_over_lines(text, finding, starts) if text.startswith(("\n", "\r\n"), finding.end) else finding
        for finding in found
    ]


def _extend_over_lines(text: str, finding: SecretFinding, starts: set[int]) -> SecretFinding:
    if finding.end - finding.start < _MIN_WRAPPED_SECRET_CHARS or not re.fullmatch(
        r"[A-Za-z0-9+/_.=-]+", finding.secret
    ):
        return finding
    for _ in range(_MAX_WRAPPED_LINES):
        more = _CONTINUATION_LINE.match(text, finding.end)
        if not more or more.start("more") in starts or not _is_continuation(finding.secret, more["more"]):
            break
        finding = finding._replace(end=more.end(), secret=finding.secret + more["more"])
    return finding


def _is_continuation(secret: str, line: str) -> bool:
    """Whether a line looks drawn from the same letters: no word, no path, no hash after what is none."""
    is_hex = re.fullmatch(r"[0-9a-f]+", line) is not None
    if is_hex:
        return re.fullmatch(r"[A-Za-z]{0,8}[-_]?[0-9a-f]+", secret) is not None
    return (
        has_letters_and_digits(line)
        and count_character_changes(line) * 4 > len(line)
        and not line.startswith((".", "/", "-"))
    )
