"""What a rule gives: a place in a text that holds a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple, Protocol

from turnlog.redact.text_view import TextView

SECRET_MARK = re.compile(r"\[secret:[a-z0-9-]{1,40}:[0-9]{1,7}\]")
"""What stands in place of a secret. It is never looked at again."""


class FindingRank(IntEnum):
    """Which of two findings on one place names it: the lower one."""

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
    """A secret in a text."""

    start: int
    end: int
    rule: str
    rank: FindingRank
    secret: str
    """The secret without what its place did to it; equal secrets get the same mark."""


class SecretRule(Protocol):
    """Something to look for."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that its findings bear."""

    @property
    def hints(self) -> tuple[str, ...] | None:
        """What a text without a long run holds, in small letters, if the rule finds anything; None if none is known.

        Empty if the rule looks at long runs only.
        """

    def find(self, view: TextView) -> Iterable[SecretFinding]:
        """Find it in a text."""
