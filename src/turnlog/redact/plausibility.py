"""Decides whether a value is a secret or only resembles one, like a placeholder, a word, code, a path or a number."""

from __future__ import annotations

import re
from itertools import pairwise

_PLACEHOLDER_SYNTAX = re.compile(
    r"[<{\[%][^\n]*[>}\]%]$|\$[a-z_]\w*$|\$\{|\$\(|\{\{|%\(|#\{|%[sd]\b|\*{3}|\.{3}|…|•{3}"
    r"|process\.env|os\.environ|getenv|import\.meta|secrets\.|vault:|arn:aws:|ref\+|op://|enc\[",
)
_PLACEHOLDER_WORD = re.compile(
    r"(?:^|[^a-z0-9]|(?<=[0-9]))(?:your|example|sample|placeholder|change[-_]?me|change[-_]?this|redacted|masked|hidden"
    r"|dummy|fake|mock|todo|insert|replace|here|some|invalid|wrong|test|demo|foobar|value|goes)(?:[^a-z0-9]|$)"
    r"|^(?:my|foo|bar|the)[-_]"
)
_REPEATED_CHARACTER = re.compile(r"(.)\1{5}")
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?:[_\-.:/ ][A-Za-z]+)*+$")
_PLAIN_PATH = re.compile(
    r"(?:\.{0,2}|~)/(?:run|etc|home|usr|var|tmp|opt|users|mnt|secrets?|path|app|data|src|bin|dev|api|v\d)\b|\.{1,2}/|~/"
)
_NUMBERS_OR_DATE = re.compile(r"v?[0-9]+(?:[.\-:/,][0-9]+)*+[a-z%]{0,3}$|\d{4}-\d\d-\d\d")
_DOTTED_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\?|!)?\.[A-Za-z_$][\w$]*)+$")
_PLAIN_PART = re.compile(r"[A-Za-z][a-z]+")
_NUMBERED_NAME = re.compile(r"[A-Za-z_]+[0-9]{1,3}$")
_FILE_PATH = re.compile(r"[\w@.+-]+(?:[/\\][\w@.+-]+)+\.[A-Za-z]\w{0,5}(?::\d+)*$")
_CONSTANT_NAME = re.compile(r"_{0,2}[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|%?[A-Z]+[0-9]*_[A-Z_]+$")
_CODE_OPERATORS = re.compile(r"\?\?|\|\||&&|[=+?:!*]")
_CODE_EXPRESSION = re.compile(r"\?\.|\?\?|=>|\|\||&&|\]\.|\)\.|[\w$]\($|^[!@]?[A-Za-z_$][\w$]*\(")
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_SLUG_PATTERN = re.compile(r"[a-z]+[0-9]{0,2}(?:[-_/.:](?:[a-z]+[0-9]{0,2}|[0-9]{1,4}))+$")
_PINNED_VERSION = re.compile(r"v?[0-9][\w.-]*@[0-9a-f]{7,64}$")
_NON_TOKEN_CHARACTER = re.compile(r"[\s(){}<>;,`|]")
_INNER_SYMBOL = re.compile(r"[A-Za-z0-9][!@#$%^&*+?~][A-Za-z0-9!]|[A-Za-z0-9]!+$")
_PREFIX = re.compile(r"^[a-z]{3,12}-insecure-")
_EXPRESSION = re.compile(
    r"a-z|A-Z|0-9|\(\?[:P=!<]|\\|://|(?:^|\s)[A-Za-z][a-z]{3,}(?=[\s;:,.])|[a-z]{3}\(\)|[)\w ] ?=> "
)
_SIGN = re.compile(r"[^A-Za-z0-9\s]")
_LONG_WORD = re.compile(r"[a-z]{12}|[A-Z]{12}")
_CONSONANT_RUN = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)
_PLACEHOLDER_PARTS = frozenset("your example sample placeholder changeme dummy redacted replace insert".split())
_SECRET_KIND_WORDS = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "privatekey",
    "publickey",
)
COMMON_NON_SECRETS = frozenset(
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
_CODE_OWNERS = frozenset(
    "self this cls super that it req request res resp response ctx context config configuration cfg conf settings"
    " setting process os env environ args arg options opts opt params props prop state store user users account event"
    " evt data body form fields var vars local locals module modules each values input inputs target app application"
    " client server session db database auth system com org net java javax io util utils std string math console window"
    " document http https www model models type types schema schemas entity item row record result results output"
    " payload message node element obj object instance parent child root base core common api service services"
    " provider manager factory builder helper helpers constants consts const enum errors error exception test tests"
    " mock fixture fixtures value field key keys name secrets vault data each page view component theme styles css"
    " random faker crypto json yaml proto flask django express react vue angular kotlin swift android foundation ui"
    " local remote header headers cookie cookies query route router form control controls microsoft google amazon aws"
    " azure newtonsoft spring apache guard guards validators validator forms serializers collections typing ast node"
    " syntax lexer parser scanner grammar kind".split()
)
"""The first parts of dotted names in code, which are not the first words of passwords."""
_CODE_ENDS = frozenset(
    "none null true false string str int bool number object any type name value key id default empty text data get"
    " required optional hidden marker parse read write load".split()
)
_JOINED_WORDS = re.compile(r"(?=\w+\.)[A-Za-z][a-z]{2,}(?:\.[A-Z][a-z]{2,}[0-9]{0,4}){0,2}(?:\.[0-9]{1,4})?")
_INSTRUCTION_WORDS = frozenset(
    "password passphrase passwords token secret key pin your enter please must required invalid repeat confirm type"
    " incorrect wrong forgot reset new field missing empty cannot can't".split()
)
_PROSE_WORDS = _INSTRUCTION_WORDS | frozenset(
    "the a an of is are was be been for to if when not or and with in by it this that least use used using should will"
    " have has no from as on at user name value set string optional default via per"
    " für und der die das den dem ist nicht le la les des du et est pour el los del es y para il di e het een en voor"
    " não".split()
)

_SEED_SIZES = frozenset({12, 15, 18, 21, 24})
"""The possible numbers of words in a wallet's seed phrase."""
NO_SEED_WORDS = frozenset("the and for from your are was were not has its but".split())
"""Words that are in most sentences but not in seed phrases."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is only a placeholder for a secret: `<token>`, `${TOKEN}`, `your-api-key`, `xxxxxx`."""
    lower = value.lower()
    return bool(
        lower.rstrip("?!:.") in COMMON_NON_SECRETS
        or _PLACEHOLDER_SYNTAX.search(lower)
        or _PLACEHOLDER_WORD.search(lower)
        or _REPEATED_CHARACTER.search(lower)
        or lower.endswith(("example", "examplekey"))
        or value.startswith("EXAMPLE")
        or _is_sequence(lower)
        or (len(value) < 64 and any(hump.lower() in _PLACEHOLDER_PARTS for hump in _NAME_PARTS.findall(value)))
    )


def has_varied_characters(value: str, least: int = 7) -> bool:
    """Return whether a value has enough different characters to be random."""
    return len(set(value)) >= least


def has_letters_and_digits(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def has_digits_or_symbols(value: str) -> bool:
    """Return whether a value mixes digits or symbols with its letters, unlike words or names in code."""
    return (has_letters_and_digits(value) and not _NUMBERED_NAME.match(value)) or bool(_INNER_SYMBOL.search(value))


def is_password_like(value: str, *, quoted: bool, sure: bool) -> bool:
    """Return whether a value called a password may be one; `sure` means that only a value can be there."""
    if (
        len(value) < 4
        or len(value) > 256
        or is_placeholder(value)
        or _is_path_or_reference(value, quoted, sure)
        or is_code_expression(value, quoted, sure)
    ):
        return False
    if not (quoted or sure) and value.isidentifier() and not has_letters_and_digits(value) and _is_secret_name(value):
        return False
    if _PLAIN_WORDS.match(value):
        one_word = value.isalpha() and len(value) >= 6 and (value.islower() or (sure and not value.isupper()))
        return (
            (quoted or sure) and ((one_word and not _is_secret_name(value)) or has_joined_words(value, sure=sure))
        ) or is_random_letters(value)
    return len(value) >= 6 or quoted or sure


def is_token_like(value: str, *, quoted: bool, sure: bool) -> bool:
    """Return whether a value called a secret, token or key may be one."""
    if (quoted or sure) and is_dense(value):
        return True
    if len(value) < (8 if quoted or sure else 12) or is_placeholder(value):
        return False
    if (
        _is_path_or_reference(value, quoted, sure)
        or is_code_expression(value, quoted, sure)
        or (_CONSTANT_NAME.match(value) and not sure)
        or _NON_TOKEN_CHARACTER.search(value)
    ):
        return False
    if _PINNED_VERSION.match(value) or (_SLUG_PATTERN.match(value) and not sure):
        return False
    if not quoted and value.isidentifier() and _is_secret_name(value):
        return False
    if _PLAIN_WORDS.match(value):
        return is_random_letters(value, least=16 if sure else 20) and not _is_secret_name(value)
    return (
        has_letters_and_digits(value)
        and has_varied_characters(value, 5)
        and not _NUMBERS_OR_DATE.match(value)
        and not _NUMBERED_NAME.match(value)
    )


def is_dense(value: str) -> bool:
    """Return whether letters, digits and all kinds of symbols are mixed, as in keys generated by frameworks."""
    value = _PREFIX.sub("", value)
    if value.startswith(("$(", "${", "{{", "%{", "#{")) or (value[:1] in "<[{(" and value[-1:] in ">]})"):
        return False
    if not 24 <= len(value) <= 256 or value.count(" ") * 8 > len(value) or _EXPRESSION.search(value):
        return False
    signs = _SIGN.findall(value)
    if (
        len(set(signs)) < 4
        or len(signs) * 10 < len(value)
        or not has_letters_and_digits(value)
        or not has_varied_characters(value, 14)
    ):
        return False
    lower = value.lower()
    return not (
        _LONG_WORD.search(value) or _PLACEHOLDER_WORD.search(lower) or _REPEATED_CHARACTER.search(lower)
    ) and _count_kind_changes(value) * 3 > len(value)


def _count_kind_changes(value: str) -> int:
    """Count how often the kind of character changes between upper case, lower case, digit and symbol."""
    kinds = [0 if letter.isdigit() else 1 if letter.isupper() else 2 if letter.isalpha() else 3 for letter in value]
    return sum(a != b for a, b in pairwise(kinds))


def is_random_like(value: str, least: int = 20) -> bool:
    """Return whether a value looks random: hex, or letters and digits without a pattern."""
    if len(value) < least or not has_varied_characters(value, min(8, least - 2)) or is_placeholder(value):
        return False
    parts = [part for part in re.split(r"[-_.:/]", value) if part]
    longest = max(parts, key=len, default="")
    if len(longest) < min(12, least) or (len(parts) > 3 and len(longest) < 20):
        return False
    return has_letters_and_digits(longest) and count_character_changes(longest) >= 4


def is_passphrase_like(value: str, *, sure: bool, words: int = 4) -> bool:
    """Return whether words are a passphrase and not a sentence, which has a capital letter only at the start."""
    parts = value.split(" ")
    if not 8 <= len(value) <= 300 or len(parts) < 2 or not all(parts) or "\n" in value or is_placeholder(value):
        return False
    lower = {part.strip(".,:;!?()").lower() for part in parts}
    if lower & (_INSTRUCTION_WORDS if sure else _PROSE_WORDS) or value.endswith((":", "?", "...", "…")):
        return False
    is_sentence = value[0].isupper() and not all(part[0].isupper() for part in parts)
    return sure or (len(parts) >= words and not is_sentence and all(part.replace("-", "").isalnum() for part in parts))


def is_code_group(value: str) -> bool:
    """Return whether a value is a code for a person to type: digits, or letters and digits, possibly in groups."""
    plain = value.replace("-", "").replace(" ", "")
    if (
        not 6 <= len(plain) <= 64
        or not plain.isalnum()
        or not plain.isascii()
        or _is_sequence(plain)
        or is_placeholder(value)
    ):
        return False
    return (plain.isdigit() and has_varied_characters(plain, 3)) or (
        has_letters_and_digits(plain) and has_varied_characters(plain, 4) and not _NUMBERED_NAME.match(value)
    )


def is_seed_phrase(words: list[str]) -> bool:
    """Return whether words are a wallet's seed phrase, not a sentence or a sorted list."""
    return (
        len(words) in _SEED_SIZES
        and not NO_SEED_WORDS.intersection(words)
        and len(set(words)) * 4 >= len(words) * 3
        and sum(map(len, words)) >= 4 * len(words)
        and words != sorted(words)
    )


def is_strong_secret(value: str) -> bool:
    """Return whether a value is clearly a secret, even where the text may continue with an ordinary word instead."""
    return 8 <= len(value) <= 512 and has_letters_and_digits(value) and is_token_like(value, quoted=True, sure=False)


def has_joined_words(value: str, *, sure: bool) -> bool:
    """Return whether words are joined as people do for a password: `maple.Willow`, `copper-saddle-winter`."""
    if _is_secret_name(value):
        return False
    if "." in value:
        return bool(_JOINED_WORDS.fullmatch(value) or _DOTTED_NAME.match(value)) and not is_dotted_reference(value)
    parts = value.split("-")
    return len(parts) >= 3 and value.islower() and min(map(len, parts)) >= 3 and (sure or len(parts) > 3)


def has_joined_capitals(value: str) -> bool:
    """Return whether a dotted value is a password even in a list of other values: no name, file, host or version."""
    return bool(_JOINED_WORDS.fullmatch(value)) and has_joined_words(value, sure=True)


def is_dotted_reference(value: str) -> bool:
    """Return whether a dotted value is a name in code even where a value is expected: `config.Token`, `user.name`."""
    first, *_, last = parts = value.split(".")
    if len(last) >= 16 and not _is_secret_name(value) and is_random_like(last, least=16):
        return False
    return (
        _is_secret_name(value)
        or first.lower() in _CODE_OWNERS
        or min(len(part) for part in parts if not part.isdigit()) < 3
        or len(parts) > 3
        or "_" in value
        or any(part.isupper() for part in parts)
        or last.lower() in _CODE_ENDS
        or not (any(map(str.isdigit, value)) or (last[0].isupper() and all(map(_PLAIN_PART.fullmatch, parts))))
    )


def is_code_expression(value: str, quoted: bool, sure: bool = False) -> bool:
    """Return whether a value is an expression: `q.options.limit`, `a?.b??0`, `x=y.z`, `client_token2()`."""
    if not quoted and _CODE_EXPRESSION.search(value):
        return True
    if quoted and not ("=" in value and "." in value):
        return False
    if sure and _DOTTED_NAME.match(value):
        return is_dotted_reference(value)
    parts = [part for part in _CODE_OPERATORS.split(value) if part]
    return any(map(_DOTTED_NAME.match, parts)) and all(
        _DOTTED_NAME.match(part) or part.isidentifier() or part.isdigit() for part in parts
    )


def is_random_letters(value: str, least: int = 20) -> bool:
    """Return whether letters alone look random: a long run that mixes upper and lower case without a pattern."""
    if len(value) < least or not value.isalpha() or not has_varied_characters(value, 9):
        return False
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(value))
    if changes:
        return changes * 4 > len(value) and (changes * 5 > len(value) * 2 or _is_jumble(value))
    return _is_jumble(value)


def _is_jumble(value: str) -> bool:
    """Return whether letters don't form words: too many consonants in a row, or few vowels."""
    vowels = sum(map("aeiouyAEIOUY".__contains__, value))
    return len(_CONSONANT_RUN.findall(value)) * 16 >= len(value) or vowels * 5 < len(value)


def count_character_changes(value: str) -> int:
    """Count the changes between letters and digits, or between upper and lower case."""
    kinds = ["0" if letter.isdigit() else "A" if letter.isupper() else "a" for letter in value]
    return sum(a != b for a, b in pairwise(kinds))


def _is_path_or_reference(value: str, quoted: bool, sure: bool) -> bool:
    lower = value.lower()
    if _PLAIN_PATH.match(lower) or "://" in lower or _FILE_PATH.match(value):
        return True
    if quoted or not _DOTTED_NAME.match(value):
        return False
    return (
        is_dotted_reference(value)
        if sure
        else (len(value) < 40 or not has_letters_and_digits(value.rpartition(".")[2]))
    )


def _is_secret_name(value: str) -> bool:
    """Return whether words are the name of a secret: `acquireTokenByCode`, `_PasswordType`."""
    lower = value.lower()
    return any(word in lower for word in _SECRET_KIND_WORDS)


def _is_sequence(value: str) -> bool:
    """Return whether a value is a sequence of digits or of the alphabet: `1234567890abcdef`."""
    steps = sum(ord(b) - ord(a) == 1 for a, b in pairwise(value))
    return steps * 2 > len(value)
