"""Chooses the rules that may find something in a short text, by the hints that the rules give."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from turnlog.redact.secret_rule import SecretRule
from turnlog.redact.text_view import TextView

MAX_SHORT_TEXT_CHARS = 256
"""Longer text is searched by all rules, because it nearly always contains some hint."""
_FOREIGN_START = re.compile("[密パпП]")
"""Starts of the words for a password in scripts in which hints can't be written."""


class RuleChoice:
    """The rules in their order, and which of them to ask about a short text.

    The rules share one search for their hints, which replaces about thirty. A rule in `apart` has a search of its own:
    most entries name a home folder, and that is no reason to search them with all the other rules.
    """

    def __init__(self, rules: Sequence[SecretRule], apart: Sequence[SecretRule] = ()) -> None:
        self._rules = [*rules]
        self._gates = [[rule for rule in rules if rule.hints is not None and rule not in apart]]
        self._gates += [[rule] for rule in rules if rule.hints is not None and rule in apart]
        self._searches = [_compile_hints(gate) for gate in self._gates]
        self._always = [rule for rule in rules if rule.hints is None]
        """Rules without hints, which search everything."""
        self._of_runs = [rule for rule in rules if rule.hints == ()]
        self._chosen: dict[tuple[bool, ...], list[SecretRule]] = {}

    def has_hint(self, lower: str) -> bool:
        """Return whether any rule must search a text without long runs, given in lower case."""
        return bool(self._always) or any(search.search(lower) for search in self._searches)

    def choose(self, view: TextView) -> list[SecretRule]:
        """Return the rules that may find something in a text."""
        if len(view.text) > MAX_SHORT_TEXT_CHARS or (not view.text.isascii() and _FOREIGN_START.search(view.text)):
            return self._rules
        lower = view.lower
        key = (bool(view.random_runs), *(search.search(lower) is not None for search in self._searches))
        if (chosen := self._chosen.get(key)) is None:
            chosen = self._chosen[key] = self._list_chosen(*key)
        return chosen

    def _list_chosen(self, has_runs: bool, *hinted: bool) -> list[SecretRule]:
        wanted = [*self._always, *(self._of_runs if has_runs else ())]
        for gate, has_hint in zip(self._gates, hinted, strict=True):
            wanted += gate if has_hint else ()
        return [rule for rule in self._rules if rule in wanted]


def _compile_hints(rules: Iterable[SecretRule]) -> re.Pattern[str]:
    """Return a pattern that matches any hint of the rules."""
    return _compile_alternatives(frozenset(hint for rule in rules for hint in rule.hints or ()))


@cache
def _compile_alternatives(words: frozenset[str]) -> re.Pattern[str]:
    tree: dict[str, list[str]] = {}
    for word in sorted(words):
        tree.setdefault(word[0], []).append(re.escape(word[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in tree.items()) or "(?!)")
