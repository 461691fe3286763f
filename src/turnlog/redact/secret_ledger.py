"""The secrets that were found: their numbers, and the forms in which each may appear in other text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote

from turnlog.redact.key_blocks import MIN_KNOWN_KEY_LINE_CHARS, split_key_lines
from turnlog.redact.plausibility import has_letters_and_digits
from turnlog.redact.secret_rule import SECRET_MARK, FindingRank, SecretFinding, can_have_marks, format_mark, parse_mark
from turnlog.redact.settled_lines import SettledLines

MIN_KNOWN_SECRET_CHARS = 8
"""Shorter secrets, plain words and plain numbers are replaced only where a rule finds them."""
_MIN_ANYWHERE_CHARS = 12
"""Shorter known secrets, and those without a digit, are replaced only as whole words."""
_NAME_LIKE = re.compile(r"[^\W\d][\w.-]*")


class SecretLedger:
    """Numbers secrets by rule in order of appearance, and finds known secrets in other text."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._known: dict[str, SecretFinding] = {}
        self.forms: list[str] = []
        """The known forms of secrets, in the order in which they were learned; the list only grows."""
        self._findings: dict[str, SecretFinding] = {}
        self.settled_lines = SettledLines()

    @property
    def size(self) -> int:
        """The number of known forms of secrets."""
        return len(self.forms)

    def assign_mark(self, finding: SecretFinding) -> str:
        """Return the placeholder for a secret, which is always the same, whichever rule found the secret."""
        if (mark := self._marks.get(finding.secret)) is None:
            self._numbers[finding.rule] += 1
            mark = format_mark(finding.rule, self._numbers[finding.rule])
            self._marks[finding.secret] = mark
            self._findings[finding.secret] = finding
            self._learn_secret(finding)
        return mark

    def list_secrets(self) -> tuple[SecretFinding, ...]:
        """List everything that has a placeholder, in the order of their numbers."""
        return tuple(self._findings.values())

    def reserve_marks(self, text: str) -> None:
        """Skip the numbers that are used in placeholders from an earlier redaction."""
        if can_have_marks(text):
            for mark in SECRET_MARK.findall(text):
                rule, number = parse_mark(mark)
                self._numbers[rule] = max(self._numbers[rule], number)

    def has_known_secret(self, text: str, since: int = 0) -> bool:
        """Return whether a text contains a known secret; the first `since` forms are already known not to be in it."""
        forms = self.forms[since:] if since else self.forms
        return any(map(text.__contains__, forms))

    def find(self, text: str) -> list[SecretFinding]:
        """Find the known secrets in a text."""
        return [finding for form in self.forms if form in text for finding in self._find_form(form, text)]

    def _find_form(self, form: str, text: str) -> Iterator[SecretFinding]:
        known = self._known[form]
        expression = re.escape(form)
        is_wordy = not has_letters_and_digits(known.secret)
        if is_wordy and _NAME_LIKE.fullmatch(known.secret):  # a longer name may be made of the same words
            expression = rf"(?<![A-Za-z0-9_-]){expression}(?![A-Za-z0-9_-])"
        elif is_wordy or len(form) < _MIN_ANYWHERE_CHARS:
            expression = rf"(?<![A-Za-z0-9]){expression}(?![A-Za-z0-9])"
        for match in re.finditer(expression, text):
            yield known._replace(start=match.start(), end=match.end())

    def _learn_secret(self, finding: SecretFinding) -> None:
        secret = finding.secret
        if finding.rank is FindingRank.PERSON:
            return
        if finding.rank is FindingRank.KEY_BLOCK:
            forms = [line for line in split_key_lines(secret) if len(line) >= MIN_KNOWN_KEY_LINE_CHARS]
        elif is_unmistakable(secret):
            forms = [secret, *_list_escaped_forms(secret)]
        else:
            forms = []
        for form in forms:
            if form not in self._known:
                self._known[form] = finding._replace(rank=FindingRank.KNOWN)
                self.forms.append(form)


def is_unmistakable(secret: str) -> bool:
    """Return whether text that equals a secret is that secret: a word or a number may occur for other reasons."""
    return len(secret) >= MIN_KNOWN_SECRET_CHARS and not secret.isalpha() and any(map(str.isalpha, secret))


def _list_escaped_forms(secret: str) -> list[str]:
    once = json.dumps(secret)[1:-1]
    plain = json.dumps(secret, ensure_ascii=False)[1:-1]
    return [once, json.dumps(once)[1:-1], plain, quote(secret, safe="", errors="replace")]
