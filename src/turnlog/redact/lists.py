r"""Finds secrets in a list below a heading: the seed words of a wallet or the recovery codes of an account."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.plausibility import is_code_group, is_seed_phrase
from turnlog.redact.secret_names import CODE_OWNERS, can_be_recovery_code
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_BETWEEN = r"(?:\\+[nrt]|[\s,|│\"'`*•\\\[\]-]|[0-9]{1,2}(?:[.):]|\s)){1,40}+"
_SEED = re.compile(rf"[a-z]{{3,8}}+(?![A-Za-z])(?:{_BETWEEN}[a-z]{{3,8}}+(?![A-Za-z]))" + r"{11,23}+")
_WORD = re.compile(r"[a-z]{3,8}")
_MAX_GAP_CHARS = 120
_BEGINS = re.compile(r"(?:[:=\n(]|\\+n|[ \t](?:is|are|ist|lautet|est|es|è|é)(?=[ \t:]))")
_LEAD = re.compile(r"(?:\\+[nrt]|[\s:=\"'`*•\\\[(>|-]|[0-9]{1,2}(?:[.):]|\s)){0,40}+")
_SEED_HEADINGS = (
    AnchoredPattern("mnemonic", ""),
    AnchoredPattern("seed", r"[ _-]?(?:phrase|words?|frase|backup)|(?=\\*[\"'`]?\s?[:=]\s)"),
    AnchoredPattern(
        "phrase", r"(?<=recovery phrase)|(?<=backup phrase)|(?<=secret phrase)|(?<=wallet phrase)| de r[ée]cup"
    ),
    AnchoredPattern("frase", r" (?:semilla|de recupera|di recupero|segreta|secreta|de seguran)"),
)
_COMMON_ANCHORS = ("mnemonic", "phrase")
"""Words that other rules also search for."""
_OF_SECOND_FACTOR = (
    r"(?:secours|r[ée]cup|recupera|recupero|respaldo|backup|reserva|emergenc|seguridad|seguran|sauvegarde)"
)
_CODE_HEADINGS = (
    AnchoredPattern(
        "code",
        "(?:" + "|".join(rf"(?<={owner}{joint}code)" for owner in CODE_OWNERS for joint in ("", "[ _-]")) + ")s?",
        can_be_recovery_code,
    ),
    AnchoredPattern("codes d", rf"(?:e |['’]){_OF_SECOND_FACTOR}"),
    AnchoredPattern("digos d", rf"e {_OF_SECOND_FACTOR}"),
    AnchoredPattern("codici d", rf"i {_OF_SECOND_FACTOR}"),
)
_CODE = re.compile(r"(?:[0-9]{3,5}(?: [0-9]{3,5}){1,3}+|[A-Za-z0-9]{3,16}(?:-[A-Za-z0-9]{3,12}){0,5}+)(?![A-Za-z0-9])")
_CODE_GAP = re.compile(r"[^\n\\:\[=]{0,80}+(?:[:\[=\n]|\\+n)|[ \t](?=[A-Za-z0-9]{3,12}-)")
_MAX_CODES = 100


class ListRule:
    hints = ("mnemonic", "seed", "phrase", "frase", "codes d", "digos d", "codici d", *CODE_OWNERS)
    names = ("secret", "recovery-code")

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        early = view.early
        for heading in _SEED_HEADINGS:
            if view.has_word(heading.anchor) if heading.anchor in _COMMON_ANCHORS else heading.anchor in early:
                for match in heading.finditer(view.lower):
                    yield from _find_seed_phrase(view.text, match.end())
        for heading in _CODE_HEADINGS:
            if heading.anchor in early:
                for match in heading.finditer(early):
                    yield from _find_codes(view.text, match.end())


def _find_seed_phrase(text: str, at: int) -> Iterator[SecretFinding]:
    """Yield the wallet seed phrase that starts shortly after a heading, if there is one."""
    for begin in _BEGINS.finditer(text, at, at + _MAX_GAP_CHARS):
        lead = _LEAD.match(text, begin.end())
        found = _SEED.match(text, lead.end()) if lead else None
        words = _WORD.findall(found[0]) if found else []
        if found and is_seed_phrase(words):
            yield SecretFinding(*found.span(), "secret", FindingRank.ASSIGNMENT, " ".join(words))
            return


def _find_codes(text: str, at: int) -> Iterator[SecretFinding]:
    """Yield the codes in the list after a heading."""
    gap = _CODE_GAP.match(text, at)
    at = gap.end() if gap else len(text)
    for number in range(_MAX_CODES):
        lead = _LEAD.match(text, at) if number == 0 else _CODE_JOINT.match(text, at)
        code = _CODE.match(text, lead.end()) if lead else None
        if not code or not any(map(str.isdigit, code[0])):
            return
        if is_code_group(code[0]):
            yield SecretFinding(*code.span(), "recovery-code", FindingRank.ASSIGNMENT, code[0])
        at = code.end()


_CODE_JOINT = re.compile(r"(?:\\+[nrt]|[\s,;|│\"'`*•\\>-]|[0-9]{1,2}(?:[.):]\s)){1,40}+")
