"""The rules used for a redaction: built-in, optional, and from plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial

from turnlog.errors import UsageError
from turnlog.redact.assignments import AssignmentRule
from turnlog.redact.base64_text import Base64Rule
from turnlog.redact.columns import ColumnRule
from turnlog.redact.command_lines import CommandRule
from turnlog.redact.cookies import CookieRule
from turnlog.redact.finding_memory import FindingMemory, RememberedText, make_memory_key
from turnlog.redact.key_blocks import KeyBlockRule
from turnlog.redact.lists import ListRule
from turnlog.redact.logins import LoginRule
from turnlog.redact.password_hashes import HashRule
from turnlog.redact.personal_data import EmailRule, HomeFolderRule
from turnlog.redact.plausibility import count_character_changes, has_letters_and_digits
from turnlog.redact.plugin_rules import load_plugin_rules
from turnlog.redact.protocols import ProtocolRule
from turnlog.redact.random_runs import RandomRunRule
from turnlog.redact.rule_choice import MAX_SHORT_TEXT_CHARS, RuleChoice
from turnlog.redact.secret_rule import SecretFinding, SecretRule
from turnlog.redact.text_view import MIN_RUN_CHARS, TextView, has_random_run
from turnlog.redact.tokens import TokenRule
from turnlog.redact.url_header_rules import HeaderRule, UrlRule
from turnlog.redact.user_patterns import UserPattern
from turnlog.redact.value_lists import ValueListRule

_CONTINUATION_LINE = re.compile(r"\r?\n(?P<more>[A-Za-z0-9+/_.-]{16,4096}+={0,2})(?=\r?\n|$)")
_MIN_WRAPPED_SECRET_CHARS = 32
_MAX_WRAPPED_LINES = 60


def join_wrapped_lines(text: str, findings: list[SecretFinding]) -> list[SecretFinding]:
    """Extend each finding to the following lines that continue the same secret."""
    starts = {finding.start for finding in findings}
    return [
        _extend_over_lines(text, finding, starts) if text.startswith(("\n", "\r\n"), finding.end) else finding
        for finding in findings
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
    """Return whether a line looks like more of the secret, not like a word, a path, or an unrelated hash."""
    is_hex = re.fullmatch(r"[0-9a-f]+", line) is not None
    if is_hex:
        return re.fullmatch(r"[A-Za-z]{0,8}[-_]?[0-9a-f]+", secret) is not None
    return (
        has_letters_and_digits(line)
        and count_character_changes(line) * 4 > len(line)
        and not line.startswith((".", "/", "-"))
    )


_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_BASE64_DEPTH = 2
"""How many times the result of decoding base64 is searched for more base64."""


def build_standard_rules() -> list[SecretRule]:
    """Create the built-in rules that every redaction uses."""
    return [
        KeyBlockRule(),
        TokenRule(),
        HashRule(),
        UrlRule(),
        HeaderRule(),
        RandomRunRule(),
        CookieRule(),
        AssignmentRule(),
        LoginRule(),
        ProtocolRule(),
        CommandRule(),
        ColumnRule(),
        ListRule(),
        ValueListRule(),
    ]


@cache
def list_reserved_names() -> tuple[str, ...]:
    """Return the names of all built-in rules, including optional ones; plugins can't use them."""
    return _list_names([*build_standard_rules(), EmailRule(), HomeFolderRule()])


def _list_names(rules: Iterable[SecretRule]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for rule in rules for name in rule.names))


class SecretRules:
    """A choice of rules.

    Rules from installed packages are always included, so that no export or upload omits one; a broken rule raises
    `BrokenPlugin`.
    """

    def __init__(
        self,
        *,
        emails: bool = False,
        homes: bool = False,
        patterns: Iterable[UserPattern] = (),
        without: Iterable[str] = (),
    ) -> None:
        plugins = load_plugin_rules(list_reserved_names())
        rules: list[SecretRule] = [*build_standard_rules(), *patterns, *plugins]
        personal: list[SecretRule] = [*([EmailRule()] if emails else ()), *([HomeFolderRule()] if homes else ())]
        rules += personal
        self.names = _list_names(rules)
        self._without = frozenset(without)
        if unknown := sorted(self._without.difference(self.names)):
            raise UsageError(f"unknown rule {unknown[0]!r}; choose from {', '.join(self.names)}")
        # A plugin that is left out is not called at all, because it may have been left out for failing.
        rules = [rule for rule in rules if rule not in plugins or not self._without.issuperset(rule.names)]
        self.memory = FindingMemory()
        """What these rules find in texts that may come again; independent of the ledger."""
        base64 = [Base64Rule(partial(self._find_in_decoded, depth)) for depth in range(MAX_BASE64_DEPTH)]
        self._choices = [RuleChoice(rules, personal), *(RuleChoice([*rules, rule], personal) for rule in base64)]
        """The rules by depth, which is how many more times base64 is decoded."""

    def is_plain(self, text: str) -> bool:
        """Return whether short text contains none of the rules' hints, which is true of most text in a session."""
        return (
            len(text) <= MAX_SHORT_TEXT_CHARS
            and text.isascii()
            and "\\" not in text
            and "\x1b" not in text
            and (len(text) < MIN_RUN_CHARS or _UUID_PATTERN.fullmatch(text) is not None or not has_random_run(text))
            and not self._choices[0].has_hint(text.lower())
        )

    def find_and_remember(self, text: str) -> RememberedText:
        """Find everything that the rules recognise in the text, or remember it.

        Most text is searched more than once: a result appears twice in its entry, and most sessions are read twice.
        """
        key = make_memory_key(text)
        if (known := self.memory.recall(key)) is not None:
            return known
        view = TextView(text)
        return self.memory.remember(key, view, self.find(view))

    def find(self, view: TextView, depth: int = MAX_BASE64_DEPTH) -> list[SecretFinding]:
        """Find everything that the rules recognise in the text and in base64 inside it."""
        findings: list[SecretFinding] = []
        for rule in self._choices[depth].choose(view):
            findings += rule.find(view)
        if self._without:
            findings = [finding for finding in findings if finding.rule not in self._without]
        return join_wrapped_lines(view.text, findings) if findings else []

    def _find_in_decoded(self, depth: int, text: str) -> list[SecretFinding]:
        return self.find(TextView(text), depth)
