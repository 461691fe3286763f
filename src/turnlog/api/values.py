"""Values that several functions take or return; this module leads to no writer of session files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.redact.redaction_report import RedactionReport


class ByteSink(Protocol):
    """Takes what would otherwise be written to a file, as an open binary file does."""

    def writelines(self, lines: Iterable[bytes], /) -> object:
        """Write one chunk after the other."""


class RuleFindings(Struct, frozen=True):
    """What one rule found."""

    rule: str
    times: int
    """How many times it found a secret."""
    secrets: int
    """How many different secrets it found."""


def list_rule_findings(report: RedactionReport) -> tuple[RuleFindings, ...]:
    """List what each rule found, the most frequent first."""
    return tuple(RuleFindings(rule, count.found, count.secrets) for rule, count in report.rules.items())


def describe_torn_end(size_in_bytes: int) -> str:
    """Explain why a copy lacks the end of its source."""
    return f"The last line of the source is cut off: its {format_count(size_in_bytes, 'byte')} were left out."
