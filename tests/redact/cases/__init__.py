"""Secrets in everyday forms, and texts that only look like one, written by somebody who had not read the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).resolve().parent


class Case(NamedTuple):
    """A text, and the secrets in it."""

    name: str
    group: str
    text: str
    secrets: tuple[str, ...] = ()

    def is_safe(self, output: str) -> bool:
        """Whether an output holds none of the secrets."""
        return not any(secret in output for secret in self.secrets)


def read_cases(file: str) -> list[Case]:
    """The cases of one file."""
    rows = map(json.loads, (_FOLDER / file).read_text("utf-8").splitlines())
    return [Case(row["name"], row["class"], row["text"], tuple(row.get("secrets", ()))) for row in rows]


EVERYDAY = read_cases("everyday.jsonl")
HARMLESS = read_cases("harmless.jsonl")
MIN_FOUND = 147
"""Of 150: 98 %."""
MAX_ALARMS = 1
"""Of 120."""
FURTHER = read_cases("further.jsonl")
FURTHER_HARMLESS = read_cases("further_harmless.jsonl")
MIN_FURTHER_FOUND = 59
"""Of 60: 98 %."""
MAX_FURTHER_ALARMS = 1
"""Of 40."""
