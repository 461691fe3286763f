"""Remembers how short texts are redacted, since most strings in a session recur, and nearly all keys of objects do.

A result holds only for the secrets that are known when it is remembered. What the rules find in a text never changes,
so a clean text has to be searched only for what was learned since; a redacted text is redacted again.
"""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from turnlog.redact.secret_ledger import SecretLedger
from turnlog.redact.secret_rule import can_have_marks

_MAX_TEXT_CHARS = 256
_MAX_TEXTS = 50_000


class RedactedText(NamedTuple):
    text: str
    marks: tuple[str, ...]
    """The placeholders in the order of their replacement."""


class TextMemory:
    """The results for short texts, given what a ledger knows."""

    def __init__(self, ledger: SecretLedger) -> None:
        self._ledger = ledger
        self._clean: set[str] = set()
        self._redacted: dict[str, RedactedText] = {}
        self._form_count = 0
        """How many forms the ledger knew when these texts were searched."""
        self._form_counts: dict[str, int] = {}
        """The same for each text in which no rule finds anything."""

    def get_clean_texts(self) -> Container[str]:
        """Return the texts that are known to be clean. It is always the same object, and its content is up to date."""
        self.forget_stale_texts()
        return self._clean

    def is_clean(self, text: str) -> bool:
        """Return whether a text is known not to contain secrets."""
        self.forget_stale_texts()
        if text in self._clean:
            return True
        count = self._form_counts.get(text)
        if count is None or self._ledger.has_known_secret(text, count):
            return False
        self._form_counts[text] = self._form_count
        self._clean.add(text)
        return True

    def recall(self, text: str) -> RedactedText | None:
        """Return the result for a text with secrets, or None if it is unknown."""
        return self._redacted.get(text)

    def remember_clean_text(self, text: str) -> None:
        """Keep a text in which neither the rules nor the ledger find anything."""
        if len(text) <= _MAX_TEXT_CHARS and len(self._form_counts) < _MAX_TEXTS and not can_have_marks(text):
            self._form_counts[text] = self._form_count
            self._clean.add(text)

    def remember_redacted_text(self, text: str, result: RedactedText) -> None:
        """Keep the result for a text with secrets."""
        if len(text) <= _MAX_TEXT_CHARS and len(self._redacted) < _MAX_TEXTS and not can_have_marks(text):
            self._redacted[text] = result

    def forget_stale_texts(self) -> None:
        """Forget the results if the ledger has learned a secret since."""
        if self._form_count != len(self._ledger.forms):
            self._form_count = len(self._ledger.forms)
            self._clean.clear()
            self._redacted.clear()
