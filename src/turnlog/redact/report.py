"""How many secrets were found, by which rule and where; never what they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    """Where secrets of one rule stood."""

    rule: str
    times: int
    path: str
    """In the entry or value, such as `message.content[0].text`; empty for a text by itself."""
    line: int | None = None
    """The number of the entry's line, from 1."""
    entry: str | None = None
    """The uuid of the entry."""
    file: str | None = None
    """The name of a file that is no transcript."""


class Count(NamedTuple):
    """Of one rule."""

    found: int
    """How many times a secret was replaced."""
    secrets: int
    """How many different ones."""


@dataclass(frozen=True)
class Report:
    """What a redaction did."""

    rules: dict[str, Count]
    """By name of rule, the most frequent first."""
    places: tuple[Place, ...]
    thinking: tuple[Place, ...]
    """Signed thinking whose text changed: its signature is still there but fits no more: the API would refuse it."""

    @property
    def found(self) -> int:
        """How many times a secret was replaced."""
        return sum(count.found for count in self.rules.values())


@dataclass
class Tally:
    """A report in the making."""

    marks: Counter[str] = field(default_factory=Counter)
    places: Counter[Place] = field(default_factory=Counter)
    thinking: dict[Place, None] = field(default_factory=dict)

    def add(self, marks: list[str], place: Place) -> None:
        """Count marks that were set at a place."""
        self.marks.update(marks)
        for mark in marks:
            self.places[place._replace(rule=rule_of(mark))] += 1

    def report(self) -> Report:
        """What was counted so far."""
        found: Counter[str] = Counter()
        secrets: Counter[str] = Counter()
        for mark, count in self.marks.items():
            found[rule_of(mark)] += count
            secrets[rule_of(mark)] += 1
        return Report(
            rules={rule: Count(count, secrets[rule]) for rule, count in found.most_common()},
            places=tuple(place._replace(times=count) for place, count in self.places.items()),
            thinking=tuple(self.thinking),
        )


def rule_of(mark: str) -> str:
    """The rule's name in a mark."""
    return mark.split(":")[1]
