"""Secrets in everyday forms, and texts that only look like one, written by somebody who had not read the rules."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
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


def build_cases(file: str) -> list[Case]:
    """Build the cases of a text in which `«…»` marks a secret.

    `¦` disappears and `⟨hex:32⟩` becomes 32 such characters, so that no scanner takes the file for a leak.
    """
    return [*_iterate_marked((_FOLDER / file).read_text("utf-8"))]


_ALPHABETS = {
    "hex": "0123456789abcdef",
    "alnum": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "b64": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
    "b64url": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_",
    "b32": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "lower": "abcdefghijklmnopqrstuvwxyz0123456789",
    "digits": "0123456789",
}


def _iterate_marked(text: str) -> Iterator[Case]:
    group = ""
    for block in re.split(r"^(?=### |=== )", text, flags=re.M):
        heading, _, body = block.partition("\n")
        if heading.startswith("### "):
            group = heading[4:]
        elif heading.startswith("=== "):
            name = heading[4:]
            marked = _fill(body.removesuffix("\n"), random.Random(name))
            secrets = tuple(re.findall(r"«(.*?)»", marked, re.S))
            yield Case(name, group, re.sub("[«»]", "", marked), secrets)


def _fill(body: str, dice: random.Random) -> str:
    def build_characters(match: re.Match[str]) -> str:
        kind, _, count = match[1].partition(":")
        if kind == "esc":
            return "\x1b"
        if kind == "uuid":
            return "-".join("".join(dice.choices(_ALPHABETS["hex"], k=size)) for size in (8, 4, 4, 4, 12))
        return "".join(dice.choices(_ALPHABETS[kind], k=int(count)))

    return re.sub(r"⟨([a-z0-9:]+)⟩", build_characters, body.replace("¦", ""))


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
NOTATIONS = build_cases("notations.txt")
NOTATIONS_HELD_OUT = build_cases("notations_held_out.txt")
NOTATIONS_HARMLESS = build_cases("notations_harmless.txt")
MIN_NOTATIONS_FOUND = 387
"""Of 400: 97 %."""
MIN_HELD_OUT_FOUND = 116
"""Of 120: 97 %."""
MAX_NOTATION_ALARMS = 1
"""Of 114."""
NOTATIONS_LATER = build_cases("notations_later.txt")
MIN_LATER_FOUND = 72
"""Of 100, written after the rules were finished: what the first run found."""
