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
_FILE = re.compile(r"[\w@.+-]+(?:[/\\][\w@.+-]+)+\.[A-Za-z]\w{0,5}(?::\d+)*$")
_CONSTANT = re.compile(r"_{0,2}[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|%?[A-Z]+[0-9]*_[A-Z_]+$")
_OPERATORS = re.compile(r"\?\?|\|\||&&|[=+?:!*]")
_IN_CODE = re.compile(r"\?\.|\?\?|=>|\|\||&&|\]\.|\)\.|[\w$]\($|^[!@]?[A-Za-z_$][\w$]*\(")
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SLUG = re.compile(r"[a-z]+[0-9]{0,2}(?:[-_/.:](?:[a-z]+[0-9]{0,2}|[0-9]{1,4}))+$")
_PINNED = re.compile(r"v?[0-9][\w.-]*@[0-9a-f]{7,64}$")
_NO_TOKEN = re.compile(r"[\s(){}<>;,`|]")
_SYMBOL = re.compile(r"[A-Za-z0-9][!@#$%^&*+?~][A-Za-z0-9!]|[A-Za-z0-9]!+$")
_PREFIX = re.compile(r"^[a-z]{3,12}-insecure-")
_EXPRESSION = re.compile(
    r"a-z|A-Z|0-9|\(\?[:P=!<]|\\|://|(?:^|\s)[A-Za-z][a-z]{3,}(?=[\s;:,.])|[a-z]{3}\(\)|[)\w ] ?=> "
)
_SIGN = re.compile(r"[^A-Za-z0-9\s]")
_LONG_WORD = re.compile(r"[a-z]{12}|[A-Z]{12}")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)
_STAND_INS = frozenset("your example sample placeholder changeme dummy redacted replace insert".split())
_TELLING = ("password", "passwd", "passphrase", "secret", "token", "credential", "apikey")
COMMON = frozenset(
    "string str text bytes password passwd passphrase passcode pwd secret secrets token tokens key apikey none null nil"
    " undefined true false yes no on off required optional hidden masked redacted invalid incorrect wrong missing empty"
    " changeme example test testing tests dummy fake placeholder value default unknown bearer basic oauth prompt admin"
    " root postgres mysql user username guest credentials credential auth login reset forgot confirm int number boolean"
    " object any self this env file field input output error errors valid type name email prod production dev local"
    " localhost docker bitnami pass secretstr varchar char const let var function return with without from and or the"
    " is not for are was must should can will has have expired strong weak new old current"
    " option options flag flags argument arguments parameter parameters setting settings instead please again"
    " authentication authorization management manager based protected plain plaintext bytearray integer binary"
    " changed removed deleted updated created generated stored encrypted hashed unset disabled enabled ignore"
    " ignored".split()
)
_INSTRUCTS = frozenset(
    "password passphrase passwords token secret key pin your enter please must required invalid repeat confirm type"
    " incorrect wrong forgot reset new field missing empty cannot can't".split()
)
_PROSE = _INSTRUCTS | frozenset(
    "the a an of is are was be been for to if when not or and with in by it this that least use used using should will"
    " have has no from as on at user name value set string optional default via per"
    " für und der die das den dem ist nicht le la les des du et est pour el los del es y para il di e het een en voor"
    " não".split()
)

_SEED_SIZES = frozenset({12, 15, 18, 21, 24})
"""So many words has the seed of a wallet."""
NO_SEED_WORDS = frozenset("the and for from your are was were not has its but".split())
"""They are in most sentences and in no wallet."""


def made_up(value: str) -> bool:
    """Whether a value stands for a secret instead of being one: `<token>`, `${TOKEN}`, `your-api-key`, `xxxxxx`."""
    lower = value.lower()
    return bool(
        lower.rstrip("?!:.") in COMMON
        or _STANDS_FOR.search(lower)
        or _WORD.search(lower)
        or _RUN.search(lower)
        or lower.endswith(("example", "examplekey"))
        or _counts_up(lower)
        or (len(value) < 64 and any(hump.lower() in _STAND_INS for hump in _HUMPS.findall(value)))
    )


def varied(value: str, least: int = 7) -> bool:
    """Whether enough different characters are in it to be drawn at random."""
    return len(set(value)) >= least


def mixed(value: str) -> bool:
    """Whether letters and digits are in it."""
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def marked(value: str) -> bool:
    """Whether digits or symbols stand among its letters, as in no word or name of code."""
    return (mixed(value) and not _COUNTED.match(value)) or bool(_SYMBOL.search(value))


def password_like(value: str, *, quoted: bool, sure: bool) -> bool:
    """Whether a value that is named a password may be one; `sure` where nothing but a value can stand."""
    if len(value) < 4 or len(value) > 256 or made_up(value) or _elsewhere(value, quoted) or is_code(value, quoted):
        return False
    if not (quoted or sure) and value.isidentifier() and not mixed(value) and _names_one(value):
        return False
    if _WORDS.match(value):
        one_word = value.isalpha() and len(value) >= 6 and (value.islower() or (sure and not value.isupper()))
        return (one_word and (quoted or sure) and not _names_one(value)) or scattered(value)
    return len(value) >= 6 or quoted or sure


def token_like(value: str, *, quoted: bool, sure: bool) -> bool:
    """Whether a value that is named a secret, token or key may be one."""
    if (quoted or sure) and dense(value):
        return True
    if len(value) < (8 if quoted or sure else 12) or made_up(value) or _elsewhere(value, quoted):
        return False
    if is_code(value, quoted) or (_CONSTANT.match(value) and not sure) or _NO_TOKEN.search(value):
        return False
    if _PINNED.match(value) or (_SLUG.match(value) and not sure):
        return False
    if not quoted and value.isidentifier() and _names_one(value):
        return False
    if _WORDS.match(value):
        return scattered(value, least=16 if sure else 20) and not _names_one(value)
    return mixed(value) and varied(value, 5) and not _NUMBERS.match(value) and not _COUNTED.match(value)


def dense(value: str) -> bool:
    """Whether letters, digits and signs of all kinds follow each other in no order, as frameworks draw their keys."""
    value = _PREFIX.sub("", value)
    if value.startswith(("$(", "${", "{{", "%{", "#{")) or (value[:1] in "<[{(" and value[-1:] in ">]})"):
        return False
    if not 24 <= len(value) <= 256 or value.count(" ") * 8 > len(value) or _EXPRESSION.search(value):
        return False
    signs = _SIGN.findall(value)
    if len(set(signs)) < 4 or len(signs) * 10 < len(value) or not mixed(value) or not varied(value, 14):
        return False
    lower = value.lower()
    return not (_LONG_WORD.search(value) or _WORD.search(lower) or _RUN.search(lower)) and _turns(value) * 3 > len(
        value
    )


def _turns(value: str) -> int:
    """How often the kind of the character changes: large, small, digit, sign."""
    kinds = [0 if letter.isdigit() else 1 if letter.isupper() else 2 if letter.isalpha() else 3 for letter in value]
    return sum(a != b for a, b in pairwise(kinds))


def random_like(value: str, least: int = 20) -> bool:
    """Whether a value looks drawn at random: hex, or letters and digits in no order."""
    if len(value) < least or not varied(value, min(8, least - 2)) or made_up(value):
        return False
    parts = [part for part in re.split(r"[-_.:/]", value) if part]
    longest = max(parts, key=len, default="")
    if len(longest) < min(12, least) or (len(parts) > 3 and len(longest) < 20):
        return False
    return mixed(longest) and changes(longest) >= 4


def phrase_like(value: str, *, sure: bool, words: int = 4) -> bool:
    """Whether several words are a passphrase and not a sentence about one, which begins with its only capital."""
    parts = value.split(" ")
    if not 8 <= len(value) <= 300 or len(parts) < 2 or not all(parts) or "\n" in value or made_up(value):
        return False
    lower = {part.strip(".,:;!?()").lower() for part in parts}
    if lower & (_INSTRUCTS if sure else _PROSE) or value.endswith((":", "?", "...", "…")):
        return False
    is_sentence = value[0].isupper() and not all(part[0].isupper() for part in parts)
    return sure or (len(parts) >= words and not is_sentence and all(part.replace("-", "").isalnum() for part in parts))


def is_code_group(value: str) -> bool:
    """Whether a value is a code for a person to type: digits, or letters and digits, perhaps in groups."""
    plain = value.replace("-", "").replace(" ", "")
    if not 6 <= len(plain) <= 64 or not plain.isalnum() or not plain.isascii() or _counts_up(plain) or made_up(value):
        return False
    return (plain.isdigit() and varied(plain, 3)) or (mixed(plain) and varied(plain, 4) and not _COUNTED.match(value))


def is_seed(words: list[str]) -> bool:
    """Whether words are those of a wallet, not of a sentence or of an ordered list."""
    return (
        len(words) in _SEED_SIZES
        and not NO_SEED_WORDS.intersection(words)
        and len(set(words)) * 4 >= len(words) * 3
        and sum(map(len, words)) >= 4 * len(words)
        and words != sorted(words)
    )


def strong(value: str) -> bool:
    """Whether a value is a secret even where a sentence might stand."""
    return 8 <= len(value) <= 512 and mixed(value) and token_like(value, quoted=True, sure=False)


def is_code(value: str, quoted: bool) -> bool:
    """Whether a value is an expression: `q.options.limit`, `a?.b??0`, `x=y.z`, `client_token2()`."""
    if not quoted and _IN_CODE.search(value):
        return True
    if quoted and not ("=" in value and "." in value):
        return False
    parts = [part for part in _OPERATORS.split(value) if part]
    return any(map(_DOTTED.match, parts)) and all(
        _DOTTED.match(part) or part.isidentifier() or part.isdigit() for part in parts
    )


def scattered(value: str, least: int = 20) -> bool:
    """Whether letters alone look drawn at random: long, without parts, large and small ones in no order."""
    if len(value) < least or not value.isalpha() or not varied(value, 9):
        return False
    turns = sum(a.isupper() != b.isupper() for a, b in pairwise(value))
    if turns:
        return turns * 4 > len(value) and (turns * 5 > len(value) * 2 or _is_jumble(value))
    return _is_jumble(value)


def _is_jumble(value: str) -> bool:
    """Whether letters are no words: too many consonants in a row, or hardly a vowel."""
    vowels = sum(map("aeiouyAEIOUY".__contains__, value))
    return len(_CONSONANTS.findall(value)) * 16 >= len(value) or vowels * 5 < len(value)


def changes(value: str) -> int:
    """How often letters and digits, or large and small ones, change."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in value]
    return sum(a != b for a, b in pairwise(kinds))


def _elsewhere(value: str, quoted: bool) -> bool:
    lower = value.lower()
    if _PLAIN_PATH.match(lower) or "://" in lower or _FILE.match(value):
        return True
    return not quoted and bool(_DOTTED.match(value)) and (len(value) < 40 or not mixed(value.rpartition(".")[2]))


def _names_one(value: str) -> bool:
    """Whether words are what a secret is called: `acquireTokenByCode`, `_PasswordType`."""
    lower = value.lower()
    return any(word in lower for word in _TELLING)


def _counts_up(value: str) -> bool:
    """Whether it counts or spells the alphabet: `1234567890abcdef`."""
    steps = sum(ord(b) - ord(a) == 1 for a, b in pairwise(value))
    return steps * 2 > len(value)
