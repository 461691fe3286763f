"""Values that several functions take or return; this module imports nothing that writes session files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.redact.redaction_report import RedactionReport


class ByteSink(Protocol):
    """A destination for bytes in place of a file, such as an open binary file."""

    def writelines(self, lines: Iterable[bytes], /) -> object:
        """Write the chunks in order."""


class RuleFindings(Struct, frozen=True):
    """The findings of one redaction rule."""

    rule: str
    times: int
    """The number of places where it found a secret."""
    secrets: int
    """The number of different secrets it found."""


def list_rule_findings(report: RedactionReport) -> tuple[RuleFindings, ...]:
    """List the findings of each rule, most frequent first."""
    return tuple(RuleFindings(rule, count.found, count.secrets) for rule, count in report.rules.items())


def describe_torn_end(size_in_bytes: int) -> str:
    """Explain why a copy lacks the end of its source."""
    return f"The last line of the source is incomplete and was left out ({format_count(size_in_bytes, 'byte')})."
