"""What is looked for: the rules of every redaction, and those on request."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, partial
from hashlib import blake2b

from turnlog.errors import UsageError
from turnlog.redact.assignments import AssignmentRule
from turnlog.redact.base64_text import Base64Rule
from turnlog.redact.columns import Columns
from turnlog.redact.command_lines import CommandRule
from turnlog.redact.cookies import CookieRule
from turnlog.redact.key_blocks import KeyBlockRule
from turnlog.redact.lists import Lists
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


_MAX_SHORT_TEXT_CHARS = 256
_MAX_CLEAN_TEXTS = 100_000
_UUID_PATTERN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MAX_BASE64_DEPTH = 2
"""How often what was found in base64 is decoded again."""


def build_standard_rules() -> list[SecretRule]:
    """The built-in rules of every redaction."""
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
        Columns(),
        Lists(),
    ]


@cache
def list_reserved_names() -> tuple[str, ...]:
    """The names of all built-in rules, also of those on request; no plugin may have one of them."""
    return _list_names([*build_standard_rules(), EmailRule(), HomeFolderRule()])


def _list_names(rules: Iterable[SecretRule]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for rule in rules for name in rule.names))


class SecretRules:
    """A choice of rules.

    The rules of installed packages are always among them, so that no exit can forget one; a broken one raises
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
            raise UsageError(f"no rule is called {unknown[0]!r}; there are {', '.join(self.names)}")
        # A plugin that is left out is not even asked: whoever leaves it out may do so because it fails.
        rules = [rule for rule in rules if rule not in plugins or not self._without.issuperset(rule.names)]
        self.clean: set[str | bytes] = set()
        """Short texts, and digests of others, in which these rules find nothing, whatever else a session taught."""
        self._rules = [rules]
        """By depth: how often what they find in base64 is decoded again."""
        for _ in range(MAX_BASE64_DEPTH):
            self._rules.append([*rules, Base64Rule(partial(self._find_in_decoded, len(self._rules) - 1))])
        self._of_runs = [[rule for rule in chosen if rule.hints == ()] for chosen in self._rules]
        self._hint = _compile_hints(rules)

    def is_plain(self, text: str) -> bool:
        """Whether a short text holds nothing that any rule begins with; most texts of a session are such."""
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
        """Whether a text is known to hold nothing that the rules know; many texts come again.

        A result stands twice in its entry, and most sessions are read twice.
        """
        return _make_clean_key(text) in self.clean

    def find_and_remember(self, view: TextView) -> list[SecretFinding]:
        """All that the rules know in a text; one without anything is remembered."""
        found = self.find(view)
        if not found and len(self.clean) < _MAX_CLEAN_TEXTS and "[secret:" not in view.raw:
            self.clean.add(_make_clean_key(view.raw))
        return found

    def find(self, view: TextView, depth: int = MAX_BASE64_DEPTH) -> list[SecretFinding]:
        """Find all that the rules know in a text, and in what it holds as base64."""
        found: list[SecretFinding] = []
        for rule in self._choose_rules(view, depth):
            found += rule.find(view)
        if self._without:
            found = [finding for finding in found if finding.rule not in self._without]
        return join_wrapped_lines(view.text, found) if found else []

    def _choose_rules(self, view: TextView, depth: int) -> list[SecretRule]:
        """The rules that may find something: for a short text one search tells, instead of some thirty."""
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
    """What finds any hint of the rules; None if one of them has none."""
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
