"""What is looked for: the rules of every redaction, and those on request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from hashlib import blake2b

from turnlog.errors import UsageError
from turnlog.redact.addresses import Headers, Urls
from turnlog.redact.assignments import Assignments
from turnlog.redact.columns import Columns
from turnlog.redact.commands import Commands
from turnlog.redact.cookies import Cookies
from turnlog.redact.encoded import Encoded
from turnlog.redact.finding import Finding, Rule
from turnlog.redact.hashes import Hashes
from turnlog.redact.keyblocks import KeyBlocks
from turnlog.redact.lists import Lists
from turnlog.redact.logins import Logins
from turnlog.redact.patterns import Pattern
from turnlog.redact.people import Emails, Homes
from turnlog.redact.runs import Runs
from turnlog.redact.tokens import Tokens
from turnlog.redact.view import RUN, View, has_random_run
from turnlog.redact.wrapping import with_broken_lines

_SHORT = 256
_CLEAN = 100_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
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
        rules: list[Rule] = [KeyBlocks(), *patterns, Tokens(), Hashes(), Urls(), Headers(), Runs(), Cookies()]
        rules += [Assignments(), Logins(), Commands(), Columns(), Lists()]
        if emails:
            rules.append(Emails())
        if homes:
            rules.append(Homes())
        self.names = tuple(dict.fromkeys(name for rule in rules for name in rule.names))
        self._without = frozenset(without)
        if unknown := sorted(self._without.difference(self.names)):
            raise UsageError(f"no rule is called {unknown[0]!r}; there are {', '.join(self.names)}")
        self.clean: set[str | bytes] = set()
        """Short texts, and digests of others, in which these rules find nothing, whatever else a session taught."""
        self._rules = [rules]
        """By depth: how often what they find in base64 is decoded again."""
        for _ in range(DEPTH):
            self._rules.append([*rules, Encoded(partial(self._look, len(self._rules) - 1))])
        self._of_runs = [[rule for rule in chosen if rule.hints == ()] for chosen in self._rules]
        self._hint = _hint(rules)

    def is_plain(self, text: str) -> bool:
        """Whether a short text holds nothing that any rule begins with; most texts of a session are such."""
        return (
            self._hint is not None
            and len(text) <= _SHORT
            and text.isascii()
            and "\\" not in text
            and "\x1b" not in text
            and (len(text) < RUN or _UUID.fullmatch(text) is not None or not has_random_run(text))
            and not self._hint.search(text.lower())
        )

    def is_clean(self, text: str) -> bool:
        """Whether a text is known to hold nothing that the rules know; many texts come again.

        A result stands twice in its entry, and most sessions are read twice.
        """
        return _key(text) in self.clean

    def found(self, view: View) -> list[Finding]:
        """All that the rules know in a text; one without anything is remembered."""
        found = self.find(view)
        if not found and len(self.clean) < _CLEAN and "[secret:" not in view.raw:
            self.clean.add(_key(view.raw))
        return found

    def find(self, view: View, depth: int = DEPTH) -> list[Finding]:
        """Find all that the rules know in a text, and in what it holds as base64."""
        found: list[Finding] = []
        for rule in self._worth_it(view, depth):
            found += rule.find(view)
        if self._without:
            found = [finding for finding in found if finding.rule not in self._without]
        return with_broken_lines(view.text, found) if found else []

    def _worth_it(self, view: View, depth: int) -> list[Rule]:
        """The rules that may find something: for a short text one search tells, instead of some thirty."""
        if self._hint is None or len(view.text) > _SHORT or self._hint.search(view.lower):
            return self._rules[depth]
        return self._of_runs[depth] if view.random_runs else []

    def _look(self, depth: int, text: str) -> list[Finding]:
        return self.find(View(text), depth)


def _key(text: str) -> str | bytes:
    return text if len(text) <= _SHORT else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _hint(rules: Iterable[Rule]) -> re.Pattern[str] | None:
    """What finds any hint of the rules; None if one of them has none."""
    hints: set[str] = set()
    for rule in rules:
        if rule.hints is None:
            return None
        hints.update(rule.hints)
    return _any_of(frozenset(hints))


@cache
def _any_of(words: frozenset[str]) -> re.Pattern[str]:
    tree: dict[str, list[str]] = {}
    for word in sorted(words):
        tree.setdefault(word[0], []).append(re.escape(word[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in tree.items()))
