"""What is looked for: the rules of every redaction, and those on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

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

_SHORT = 256
_CLEAN = 50_000
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
        rules: list[Rule] = [KeyBlocks(), *patterns, Tokens(), Urls(), Headers(), Assignments(), Commands()]
        if emails:
            rules.append(Emails())
        if homes:
            rules.append(Homes())
        self.names = tuple(dict.fromkeys(name for rule in rules for name in rule.names))
        self._without = frozenset(without)
        if unknown := sorted(self._without.difference(self.names)):
            raise UsageError(f"no rule is called {unknown[0]!r}; there are {', '.join(self.names)}")
        self.clean: set[str] = set()
        """Texts in which these rules find nothing; what a session has taught is another matter."""
        self._rules = [rules]
        """By depth: how often what they find in base64 is decoded again."""
        for _ in range(DEPTH):
            self._rules.append([*rules, Encoded(partial(self._look, len(self._rules) - 1))])

    def found(self, view: View) -> list[Finding]:
        """All that the rules know in a text; short texts without anything are remembered: many are met again."""
        if view.raw in self.clean:
            return []
        found = [*self.find(view)]
        if not found and len(view.raw) <= _SHORT and len(self.clean) < _CLEAN and "[secret:" not in view.raw:
            self.clean.add(view.raw)
        return found

    def find(self, view: View, depth: int = DEPTH) -> Iterator[Finding]:
        """Find all that the rules know in a text, and in what it holds as base64."""
        for rule in self._rules[depth]:
            for finding in rule.find(view):
                if finding.rule not in self._without:
                    yield finding

    def _look(self, depth: int, text: str) -> Iterator[Finding]:
        return self.find(View(text), depth)
