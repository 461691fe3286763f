"""What is looked for: the rules of every redaction, and those on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnlog.errors import UsageError
from turnlog.redact.addresses import Headers, Urls
from turnlog.redact.assignments import Assignments
from turnlog.redact.commands import Commands
from turnlog.redact.encoded import Encoded
from turnlog.redact.finding import Finding, Rule
from turnlog.redact.keyblocks import KeyBlocks
from turnlog.redact.patterns import Pattern
from turnlog.redact.people import Emails, Homes
from turnlog.redact.tokens import Tokens
from turnlog.redact.view import View

DEPTH = 2
"""How often what was found in base64 is decoded again."""


class Rules:
    """A choice of rules."""

    def __init__(
        self,
        *,
        emails: bool = False,
        homes: bool = False,
        patterns: Iterable[Pattern] = (),
        without: Iterable[str] = (),
    ) -> None:
        own = list(patterns)
        self._rules: list[Rule] = [KeyBlocks(), *own, Tokens(), Urls(), Headers(), Assignments(), Commands()]
        if emails:
            self._rules.append(Emails())
        if homes:
            self._rules.append(Homes())
        self.names = tuple(dict.fromkeys(name for rule in self._rules for name in rule.names))
        self._without = frozenset(without)
        if unknown := sorted(self._without.difference(self.names)):
            raise UsageError(f"no rule is called {unknown[0]!r}; there are {', '.join(self.names)}")

    def find(self, view: View, depth: int = DEPTH) -> Iterator[Finding]:
        """Find all that the rules know in a text, and in what it holds as base64."""
        rules: list[Rule] = [*self._rules]
        if depth:
            rules.append(Encoded(lambda text: self.find(View(text), depth - 1)))
        for rule in rules:
            for finding in rule.find(view):
                if finding.rule not in self._without:
                    yield finding
