"""Finds secrets that their place reveals, by the table in `protocol_places`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from turnlog.redact.protocol_places import SECRET_PLACES, SecretPlaceForm
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import EARLY_CHARS, TextView

_EARLY_END_CHARS = EARLY_CHARS + 400
_SHARED_WORDS = ("pass", "auth", "login", "pin", "pwd", "con", "{", "<", "alue", "se", "")
"""Parts of gates: only if one is there, the gates with it are searched for. The empty one is everywhere."""
_PLACES_BY_WORD = {
    word: [form for form in SECRET_PLACES if word == next(word for word in _SHARED_WORDS if word in form.gate)]
    for word in _SHARED_WORDS
}


class ProtocolRule:
    """Finds secrets at places that have no name."""

    hints = tuple(dict.fromkeys(form.gate for form in SECRET_PLACES))
    names = ("password", "key", "secret")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        early = view.early
        chosen: dict[str, SecretPlaceForm] = {}
        """By expression, because several rows may differ only in what the text must contain."""
        for word, forms in _PLACES_BY_WORD.items():
            if word in early:
                chosen.update((form.expression, form) for form in forms if form.gate in early)
        for form in chosen.values():
            yield from _find_at_places(view.text, form)


def _find_at_places(text: str, form: SecretPlaceForm) -> Iterator[SecretFinding]:
    for match in _compile_place(form.expression).finditer(text, 0, _EARLY_END_CHARS):
        group = "quoted" if match["value"] is None else "value"
        if form.check(match[group].rstrip(".,") or match[group]):
            yield SecretFinding(*match.span(group), form.rule, FindingRank.ASSIGNMENT, match[group])


@cache
def _compile_place(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
