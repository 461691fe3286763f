"""The rules used for a redaction: built-in, optional, and from plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from hashlib import blake2b

from turnlog.errors import UsageError
from turnlog.redact.assignments import AssignmentRule
from turnlog.redact.base64_text import Base64Rule
from turnlog.redact.columns import ColumnRule
from turnlog.redact.command_lines import CommandRule
from turnlog.redact.cookies import CookieRule
from turnlog.redact.key_blocks import KeyBlockRule
from turnlog.redact.lists import ListRule
from turnlog.redact.logins import LoginRule
from turnlog.redact.password_hashes import HashRule
from turnlog.redact.personal_data import EmailRule, HomeFolderRule
from turnlog.redact.plausibility import count_character_changes, has_letters_and_digits
from turnlog.redact.plugin_rules import load_plugin_rules
from turnlog.redact.random_runs import RandomRunRule
from turnlog.redact.secret_rule import SecretFinding, SecretRule
from turnlog.redact.text_view import MIN_RUN_CHARS, TextView, has_random_run
from turnlog.redact.tokens import TokenRule
from turnlog.redact.url_header_rules import HeaderRule, UrlRule
from turnlog.redact.user_patterns import UserPattern

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


_MAX_SHORT_TEXT_CHARS = 256
_MAX_CLEAN_TEXTS = 100_000
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
        CommandRule(),
        ColumnRule(),
        ListRule(),
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
        if emails:
            rules.append(EmailRule())
        if homes:
            rules.append(HomeFolderRule())
        self.names = _list_names(rules)
        self._without = frozenset(without)
        if unknown := sorted(self._without.difference(self.names)):
            raise UsageError(f"unknown rule {unknown[0]!r}; choose from {', '.join(self.names)}")
        # A plugin that is left out is not called at all, because it may have been left out for failing.
        rules = [rule for rule in rules if rule not in plugins or not self._without.issuperset(rule.names)]
        self.clean: set[str | bytes] = set()
        """Short strings, and digests of longer ones, in which these rules find nothing; independent of the ledger."""
        self._rules = [rules]
        """The rules by depth, which is how many more times base64 is decoded."""
        for _ in range(MAX_BASE64_DEPTH):
            self._rules.append([*rules, Base64Rule(partial(self._find_in_decoded, len(self._rules) - 1))])
        self._of_runs = [[rule for rule in rules_at_depth if rule.hints == ()] for rules_at_depth in self._rules]
        self._hint = _compile_hints(rules)

    def is_plain(self, text: str) -> bool:
        """Return whether short text contains none of the rules' hints, which is true of most text in a session."""
        return (
            self._hint is not None
            and len(text) <= _MAX_SHORT_TEXT_CHARS
            and text.isascii()
            and "\\" not in text
            and "\x1b" not in text
            and (len(text) < MIN_RUN_CHARS or _UUID_PATTERN.fullmatch(text) is not None or not has_random_run(text))
            and not self._hint.search(text.lower())
        )

    def is_clean(self, text: str) -> bool:
        """Return whether the rules are known to find nothing in the text.

        Most text is checked more than once: a result appears twice in its entry, and most sessions are read twice.
        """
        return _make_clean_key(text) in self.clean

    def find_and_remember(self, view: TextView) -> list[SecretFinding]:
        """Find everything that the rules recognise in the text, and cache the text if they find nothing."""
        findings = self.find(view)
        if not findings and len(self.clean) < _MAX_CLEAN_TEXTS and "[secret:" not in view.raw:
            self.clean.add(_make_clean_key(view.raw))
        return findings

    def find(self, view: TextView, depth: int = MAX_BASE64_DEPTH) -> list[SecretFinding]:
        """Find everything that the rules recognise in the text and in base64 inside it."""
        findings: list[SecretFinding] = []
        for rule in self._choose_rules(view, depth):
            findings += rule.find(view)
        if self._without:
            findings = [finding for finding in findings if finding.rule not in self._without]
        return join_wrapped_lines(view.text, findings) if findings else []

    def _choose_rules(self, view: TextView, depth: int) -> list[SecretRule]:
        """Return the rules that may find something; for short text, one search replaces about thirty."""
        if self._hint is None or len(view.text) > _MAX_SHORT_TEXT_CHARS or self._hint.search(view.lower):
            return self._rules[depth]
        return self._of_runs[depth] if view.random_runs else []

    def _find_in_decoded(self, depth: int, text: str) -> list[SecretFinding]:
        return self.find(TextView(text), depth)


def _make_clean_key(text: str) -> str | bytes:
    return (
        text
        if len(text) <= _MAX_SHORT_TEXT_CHARS
        else blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    )


def _compile_hints(rules: Iterable[SecretRule]) -> re.Pattern[str] | None:
    """Return a pattern that matches any hint of the rules, or None if any rule has no hints."""
    hints: set[str] = set()
    for rule in rules:
        if rule.hints is None:
            return None
        hints.update(rule.hints)
    return _compile_alternatives(frozenset(hints))


@cache
def _compile_alternatives(words: frozenset[str]) -> re.Pattern[str]:
    tree: dict[str, list[str]] = {}
    for word in sorted(words):
        tree.setdefault(word[0], []).append(re.escape(word[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in tree.items()))
