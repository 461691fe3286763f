"""Is it a secret or does it only look like one? Placeholders, words, code, paths, numbers."""

from __future__ import annotations

import re
from itertools import pairwise

_STANDS_FOR = re.compile(
    r"[<{\[%][^\n]*[>}\]%]$|\$[a-z_]\w*$|\$\{|\$\(|\{\{|%\(|#\{|%[sd]\b|\*{3}|\.{3}|…|•{3}"
    r"|process\.env|os\.environ|getenv|import\.meta|secrets\.|vault:|arn:aws:|ref\+|op://|enc\[",
)
_WORD = re.compile(
    r"(?:^|[^a-z0-9]|(?<=[0-9]))(?:your|example|sample|placeholder|change[-_]?me|change[-_]?this|redacted|masked|hidden"
    r"|dummy|fake|mock|todo|insert|replace|here|some|invalid|wrong|test|demo|foobar|value|goes)(?:[^a-z0-9]|$)"
    r"|^(?:my|foo|bar|the)[-_]"
)
_RUN = re.compile(r"(.)\1{5}")
_WORDS = re.compile(r"[A-Za-z]+(?:[_\-.:/ ][A-Za-z]+)*+$")
_PLAIN_PATH = re.compile(
    r"(?:\.{0,2}|~)/(?:run|etc|home|usr|var|tmp|opt|users|mnt|secrets?|path|app|data|src|bin|dev|api|v\d)\b|\.{1,2}/|~/"
)
_NUMBERS = re.compile(r"v?[0-9]+(?:[.\-:/,][0-9]+)*+[a-z%]{0,3}$|\d{4}-\d\d-\d\d")
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\?|!)?\.[A-Za-z_$][\w$]*)+$")
_COUNTED = re.compile(r"[A-Za-z_]+[0-9]{1,3}$")
COMMON = frozenset(
    "string str text bytes password passwd passphrase passcode pwd secret secrets token tokens key apikey none null nil"
    " undefined true false yes no on off required optional hidden masked redacted invalid incorrect wrong missing empty"
    " changeme example test testing tests dummy fake placeholder value default unknown bearer basic oauth prompt admin"
    " root postgres mysql user username guest credentials credential auth login reset forgot confirm int number boolean"
    " object any self this env file field input output error errors valid type name email prod production dev local"
    " localhost docker bitnami pass secretstr varchar char const let var function return with without from and or the"
    " is not for are was must should can will has have expired strong weak new old current".split()
)


def made_up(value: str) -> bool:
    """Whether a value stands for a secret instead of being one: `<token>`, `${TOKEN}`, `your-api-key`, `xxxxxx`."""
    lower = value.lower()
    return bool(
        lower in COMMON
        or _STANDS_FOR.search(lower)
        or _WORD.search(lower)
        or _RUN.search(lower)
        or lower.endswith(("example", "examplekey"))
        or _counts_up(lower)
    )


def varied(value: str, least: int = 7) -> bool:
    """Whether enough different characters are in it to be drawn at random."""
    return len(set(value)) >= least


def mixed(value: str) -> bool:
    """Whether letters and digits are in it."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def password_like(value: str, *, quoted: bool, sure: bool) -> bool:
    """Whether a value that is named a password may be one; `sure` where nothing but a value can stand."""
    if len(value) < 4 or len(value) > 256 or made_up(value) or _elsewhere(value, quoted):
        return False
    if _WORDS.match(value):
        one_word = value.isalpha() and value.islower() and len(value) >= 6
        return (one_word and (quoted or sure)) or _jumbled(value)
    return len(value) >= 6 or quoted or sure


def token_like(value: str, *, quoted: bool, sure: bool) -> bool:
    """Whether a value that is named a secret, token or key may be one."""
    if len(value) < (8 if quoted or sure else 12) or made_up(value) or _elsewhere(value, quoted):
        return False
    if _WORDS.match(value):
        return _jumbled(value)
    return mixed(value) and varied(value, 5) and not _NUMBERS.match(value) and not _COUNTED.match(value)


def strong(value: str) -> bool:
    """Whether a value is a secret even where a sentence might stand."""
    return 8 <= len(value) <= 512 and mixed(value) and token_like(value, quoted=True, sure=False)


def _elsewhere(value: str, quoted: bool) -> bool:
    lower = value.lower()
    if _PLAIN_PATH.match(lower) or "://" in lower:
        return True
    return not quoted and bool(_DOTTED.match(value)) and len(value) < 40


def _jumbled(value: str) -> bool:
    """Whether letters alone look drawn at random: long, without parts, large and small ones in no order."""
    if len(value) < 20 or not value.isalpha() or not varied(value, 12):
        return False
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(value))
    return turns * 4 > len(value)


def _counts_up(value: str) -> bool:
    """Whether it counts or spells the alphabet: `1234567890abcdef`."""
    steps = sum(ord(b) - ord(a) == 1 for a, b in pairwise(value))
    return steps * 2 > len(value)
