"""Reports how many secrets were found, by which rule and where, but never their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from turnlog.redact.secret_rule import parse_mark


class SecretPlace(NamedTuple):
    """A place where secrets were found by one rule."""

    rule: str
    times: int
    path: str
    """The path in the entry or value, such as `message.content[0].text`; empty for text that is not part of one."""
    line: int | None = None
    """The entry's line number, from 1."""
    entry: str | None = None
    """The entry's uuid."""
    file: str | None = None
    """The name of a file that is not a transcript."""


class RuleCount(NamedTuple):
    found: int
    """The number of replacements."""
    secrets: int
    """The number of different secrets."""


@dataclass(frozen=True)
class RedactionReport:
    rules: dict[str, RuleCount]
    """By rule name, most frequent first."""
    places: tuple[SecretPlace, ...]
    thinking: tuple[SecretPlace, ...]
    """Signed thinking whose text changed; its signature no longer matches, so the API would refuse it."""

    @property
    def replacement_count(self) -> int:
        return sum(count.found for count in self.rules.values())


@dataclass
class RedactionTally:
    """Counts the placeholders for a report."""

    marks: Counter[str] = field(default_factory=Counter)
    places: Counter[SecretPlace] = field(default_factory=Counter)
    thinking: dict[SecretPlace, None] = field(default_factory=dict)

    def add(self, marks: Sequence[str], place: SecretPlace) -> None:
        """Count placeholders at a place."""
        self.marks.update(marks)
        for mark in marks:
            self.places[place._replace(rule=parse_mark(mark)[0])] += 1

    def build_report(self) -> RedactionReport:
        """Summarise the counts so far."""
        found: Counter[str] = Counter()
        secrets: Counter[str] = Counter()
        for mark, count in self.marks.items():
            rule, _ = parse_mark(mark)
            found[rule] += count
            secrets[rule] += 1
        return RedactionReport(
            rules={rule: RuleCount(count, secrets[rule]) for rule, count in found.most_common()},
            places=tuple(place._replace(times=count) for place, count in self.places.items()),
            thinking=tuple(self.thinking),
        )
