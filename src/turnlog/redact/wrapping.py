"""Secrets that a narrow terminal broke over several lines."""

from __future__ import annotations

import re

from turnlog.redact.doubt import changes, mixed
from turnlog.redact.finding import Finding

_CONTINUED = re.compile(r"\r?\n(?P<more>[A-Za-z0-9+/_.-]{16,4096}+={0,2})(?=\r?\n|$)")
_SHORTEST = 32
_MOST_LINES = 60


def with_broken_lines(text: str, found: list[Finding]) -> list[Finding]:
    """Give findings, each with the lines after it that go on with the same secret."""
    starts = {finding.start for finding in found}
    return [
        _continued(text, finding, starts) if text.startswith(("\n", "\r\n"), finding.end) else finding
        for finding in found
    ]


def _continued(text: str, finding: Finding, starts: set[int]) -> Finding:
    if finding.end - finding.start < _SHORTEST or not re.fullmatch(r"[A-Za-z0-9+/_.=-]+", finding.secret):
        return finding
    for _ in range(_MOST_LINES):
        more = _CONTINUED.match(text, finding.end)
        if not more or more.start("more") in starts or not _goes_on(finding.secret, more["more"]):
            break
        finding = finding._replace(end=more.end(), secret=finding.secret + more["more"])
    return finding


def _goes_on(secret: str, line: str) -> bool:
    """Whether a line looks drawn from the same letters: no word, no path, no hash after what is none."""
    is_hex = re.fullmatch(r"[0-9a-f]+", line) is not None
    if is_hex:
        return re.fullmatch(r"[A-Za-z]{0,8}[-_]?[0-9a-f]+", secret) is not None
    return mixed(line) and changes(line) * 4 > len(line) and not line.startswith((".", "/", "-"))
