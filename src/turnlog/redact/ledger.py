"""The secrets that one redaction knows, and the marks that stand for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import quote

from turnlog.redact.doubt import has_letters_and_digits
from turnlog.redact.finding import SECRET_MARK, FindingRank, SecretFinding
from turnlog.redact.keyblocks import MIN_KNOWN_KEY_LINE_CHARS, split_key_lines
from turnlog.redact.view import TextView

MIN_KNOWN_SECRET_CHARS = 8
"""Shorter secrets, and plain words, are replaced where a rule finds them and nowhere else."""
_MIN_ANYWHERE_CHARS = 12
"""Shorter ones are replaced only where they stand alone."""


class SecretLedger:
    """Numbers secrets by rule in the order of their coming, and finds them again wherever they stand."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._known: dict[str, SecretFinding] = {}
        self.size = 0

    def assign_mark(self, finding: SecretFinding) -> str:
        """Give the mark of a secret; the same one each time, whichever rule found it."""
        if (mark := self._marks.get(finding.secret)) is None:
            self._numbers[finding.rule] += 1
            mark = f"[secret:{finding.rule}:{self._numbers[finding.rule]}]"
            self._marks[finding.secret] = mark
            self._learn_secret(finding)
        return mark

    def reserve_marks(self, text: str) -> None:
        """Leave the numbers alone that marks of an earlier redaction bear."""
        if "[secret:" in text:
            for mark in SECRET_MARK.findall(text):
                _, rule, number = mark[1:-1].split(":")
                self._numbers[rule] = max(self._numbers[rule], int(number))

    def has_known_secret(self, text: str) -> bool:
        """Whether a text holds a known secret."""
        return any(form in text for form in self._known)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        """Find known secrets in a text."""
        text = view.text
        present = [form for form in self._known if form in text]
        for form in present:
            known = self._known[form]
            alone = len(form) < _MIN_ANYWHERE_CHARS
            expression = rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])" if alone else re.escape(form)
            for match in re.finditer(expression, text):
                yield known._replace(start=match.start(), end=match.end())

    def _learn_secret(self, finding: SecretFinding) -> None:
        secret = finding.secret
        if finding.rank is FindingRank.PERSON:
            return
        if finding.rank is FindingRank.KEY_BLOCK:
            forms = [line for line in split_key_lines(secret) if len(line) >= MIN_KNOWN_KEY_LINE_CHARS]
        elif len(secret) >= MIN_KNOWN_SECRET_CHARS and has_letters_and_digits(secret):
            forms = [secret, *_list_escaped_forms(secret)]
        else:
            forms = []
        for form in forms:
            self._known.setdefault(form, finding._replace(rank=FindingRank.KNOWN))
        self.size = len(self._known)


def _list_escaped_forms(secret: str) -> list[str]:
    once = json.dumps(secret)[1:-1]
    plain = json.dumps(secret, ensure_ascii=False)[1:-1]
    return [once, json.dumps(once)[1:-1], plain, quote(secret, safe="", errors="replace")]
