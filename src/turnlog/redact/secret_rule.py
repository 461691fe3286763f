"""The interface of a rule, and its result: a span of text that contains a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, Protocol

from turnlog.redact.text_view import TextView

SECRET_MARK = re.compile(r"\[(?:secret:[a-z0-9-]{1,40}|user|email):[0-9]{1,7}\]")
"""The placeholder for a secret or for personal data, in which no rule searches."""
_PERSONAL_RULES = ("user", "email")
_MARK_STARTS = ("[secret:", *(f"[{rule}:" for rule in _PERSONAL_RULES))


def format_mark(rule: str, number: int) -> str:
    """Return a placeholder: `[secret:github:1]`, or `[user:1]` for a name in a path, which is no secret."""
    return f"[{rule}:{number}]" if rule in _PERSONAL_RULES else f"[secret:{rule}:{number}]"


def parse_mark(mark: str) -> tuple[str, int]:
    """Return the rule and the number of a placeholder."""
    *_, rule, number = mark.strip("[]").split(":")
    return rule, int(number)


def can_have_marks(text: str) -> bool:
    """Return quickly whether a text may contain placeholders."""
    return any(start in text for start in _MARK_STARTS)


class FindingRank(IntEnum):
    """The priority of a finding: if two findings overlap, the one with the lower rank determines the name."""

    KEY_BLOCK = 0
    KNOWN = 1
    PATTERN = 2
    TOKEN = 3
    ENCODED = 4
    ADDRESS = 5
    HEADER = 6
    ASSIGNMENT = 7
    PERSON = 8


class SecretFinding(NamedTuple):
    """A secret found in text."""

    start: int
    end: int
    rule: str
    rank: FindingRank
    secret: str
    """The secret without escapes or line breaks; equal secrets get the same placeholder."""


class SecretRule(Protocol):
    """A search for one or more kinds of secrets."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names that its findings may have."""

    @property
    def hints(self) -> tuple[str, ...] | None:
        """Lower-case strings, at least one of which occurs in any text that has a secret but no long runs.

        None if there are no such strings; empty if the rule examines only long runs.
        """

    def find(self, view: TextView) -> Iterable[SecretFinding]:
        """Find the secrets in the text."""
