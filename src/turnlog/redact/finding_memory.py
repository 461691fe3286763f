"""Remembers what the rules find in a text, which depends on nothing but the text."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from turnlog.redact.secret_rule import SecretFinding
from turnlog.redact.text_view import TextView

_MAX_WHOLE_KEY_CHARS = 256
"""Longer texts are remembered by their digests."""
_MAX_CLEAN_TEXTS = 100_000
_MAX_TEXTS_WITH_FINDINGS = 20_000
_MAX_REMEMBERED_FINDINGS = 100
"""Texts with more findings are searched again."""


class RememberedText(NamedTuple):
    """What the rules find in a text."""

    findings: tuple[SecretFinding, ...]
    """Their places are those in the view of the text, which leaves out what may split a secret."""
    is_cut: bool
    """Whether the view leaves out part of the text."""


_CLEAN_TEXT = RememberedText((), False)
_CLEAN_CUT_TEXT = RememberedText((), True)


class FindingMemory:
    """The findings in the texts that were searched so far, up to a limit."""

    def __init__(self) -> None:
        self._texts: dict[str | bytes, RememberedText] = {}
        self._with_findings = 0

    def recall(self, key: str | bytes) -> RememberedText | None:
        """Return what was found in a text, or None if it was not searched yet."""
        return self._texts.get(key)

    def remember(self, key: str | bytes, view: TextView, findings: list[SecretFinding]) -> RememberedText:
        """Keep the findings in a text, unless there are too many already."""
        if not findings:
            known = _CLEAN_CUT_TEXT if view.is_cut else _CLEAN_TEXT
            if len(self._texts) - self._with_findings < _MAX_CLEAN_TEXTS:
                self._texts[key] = known
            return known
        known = RememberedText(tuple(findings), view.is_cut)
        if self._with_findings < _MAX_TEXTS_WITH_FINDINGS and len(findings) <= _MAX_REMEMBERED_FINDINGS:
            self._texts[key] = known
            self._with_findings += 1
        return known


def make_memory_key(text: str) -> str | bytes:
    """Return the text itself if it is short, otherwise its digest."""
    if len(text) <= _MAX_WHOLE_KEY_CHARS:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
