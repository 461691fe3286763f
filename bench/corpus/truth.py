"""The facts that a correct reader finds in a generated collection."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

NEEDLES = (("zqneedlerare", 1e-5), ("zqneedleseldom", 1e-4), ("zqneedlecommon", 1e-2))
"""Words to search for, and the share of passages that contain each."""
_FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Truth:
    """Facts that are collected while the sessions are generated."""

    def __init__(self) -> None:
        self.usage: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0] * 5))
        self.types: Counter[str] = Counter()
        self.needles: Counter[str] = Counter()
        self.facts: Counter[str] = Counter()

    def count_answer(self, day: str, model: str, usage: dict[str, Any]) -> None:
        row = self.usage[day][model]
        for place, field in enumerate(_FIELDS):
            row[place] += usage[field]
        row[4] += 1

    def count_line(self, kind: str, raw: bytes) -> None:
        self.types[kind] += 1
        if b"zqneedle" in raw:
            for word, _ in NEEDLES:
                self.needles[word] += word.encode() in raw

    def to_json(self) -> bytes:
        facts = {
            "usage_columns": ["input", "output", "cache_creation", "cache_read", "answers"],
            "usage_by_day_and_model": self.usage,
            "lines_by_type": self.types,
            "needle_lines": self.needles,
            "facts": self.facts,
        }
        return json.dumps(facts, indent=2, sort_keys=True, ensure_ascii=False).encode()
