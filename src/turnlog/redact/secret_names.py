"""Names that reveal a secret: the words, what their values look like, and which names are not secrets.

To add a word, add one line to `SECRET_WORDS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from turnlog.redact.plausibility import (
    NO_SEED_WORDS,
    has_digits_or_symbols,
    has_joined_words,
    is_code_group,
    is_passphrase_like,
    is_password_like,
    is_placeholder,
    is_token_like,
)
from turnlog.redact.text_view import is_inside_word
from turnlog.redact.url_header_rules import is_encoded_login

SecretValueCheck = Callable[[str, bool, bool], bool]
"""Decides whether a value may be a secret, given the value, whether it is quoted, and whether it must be a value."""
KEY_OWNERS = tuple(
    "api access private auth account encryption signing master admin service shared storage subscription deploy session"
    " app client webhook bot root license secret aes hmac fernet cookie jwt application consumer crypto cipher"
    " decryption preshared pre-shared pre_shared unseal recovery kms write ingest integration functions function"
    " management security sign signature symmetric wrapping activation developer logged_in nonce wifi wi-fi wlan wpa"
    " wireless instrumentation".split()
)
"""Words before `key` that make it a secret."""
_KEY_OWNER_ENDS = frozenset(
    (word + joint)[-4:] for word in KEY_OWNERS for joint in ("", *"-_. \n", "-\n", "_\n", ".\n", " \n")
)
"""Matches text that ends with an owner of a key; `$` also matches before a trailing line ending."""
_SHORT_KEY_OWNERS = tuple(word for word in KEY_OWNERS if len(word) < 4)
_PASS_OWNERS = (
    "db database smtp mail email imap pop3 user usr root admin ftp sftp ssh redis mongo pg postgres mysql sql http"
    " proxy login auth store key ks truststore keystore api vnc wifi cert p12 pfx sudo ldap bind rabbit mq mqtt broker"
    " elastic kafka nexus registry docker git repo deploy service svc account app vault".split()
)
"""Words before `pass` that make it definitely a password."""
_OWNED_PASS_NAME = re.compile(rf"(?:^|[^A-Za-z]|(?<=[a-z]))(?:{'|'.join(_PASS_OWNERS)})[-_.]?pass$", re.IGNORECASE)
_OWNED_TOKEN_NAME = re.compile(
    r"(?:api|auth|access|refresh|bearer|session|deploy|npm|vault|bot|admin|app|service|webhook|jwt)[-_]?tokens?$",
    re.IGNORECASE,
)
_PW_OWNERS = ("bind", "root", "db", "user", "admin", "ldap", "smtp", "mysql", "ftp", "login")
_PASSE_OWNERS = ("mot de", "mot_de", "motde", "phrase de", "palavra")
_SALT_OWNERS = ("auth", "logged_in", "nonce", "secret", "session", "cookie", "signing")
CODE_OWNERS = (
    "recovery",
    "backup",
    "scratch",
    "emergency",
    "rescue",
    "wiederherstellungs",
    "sicherungs",
    "notfall",
    "herstel",
)
_CODE_ENDS = tuple(owner[-3:] + joint for owner in CODE_OWNERS for joint in ("", " ", "_", "-"))
_OTHER_PASS_PREFIXES = ("com", "by", "sur", "tres", "over", "under", "encom", "im")


def _check_password(value: str, quoted: bool, sure: bool) -> bool:
    if " " in value:
        return quoted and is_passphrase_like(value, sure=sure)
    return is_password_like(value, quoted=quoted, sure=sure)


def _check_passphrase(value: str, quoted: bool, sure: bool) -> bool:
    if " " in value:
        return (quoted or sure) and is_passphrase_like(value, sure=sure, words=3)
    return is_password_like(value, quoted=quoted, sure=sure)


def _check_short_password(value: str, quoted: bool, sure: bool) -> bool:
    """Apply a stricter check, because words such as `pass` also have other meanings."""
    is_word = not (has_digits_or_symbols(value) or (quoted and has_joined_words(value, sure=False)))
    if (is_word and not sure) or value.isdigit():
        return False
    return _check_passphrase(value, quoted, sure) and (len(value) >= 6 or sure)


def _check_network_key(value: str, quoted: bool, sure: bool) -> bool:
    if " " in value:
        return quoted and is_passphrase_like(value, sure=True)
    return (
        8 <= len(value) <= 64
        and (quoted or sure or has_digits_or_symbols(value))
        and is_password_like(value, quoted=True, sure=True)
    )


def _check_token(value: str, quoted: bool, sure: bool) -> bool:
    return is_token_like(value, quoted=quoted, sure=sure)


def _check_owned_token(value: str, quoted: bool, sure: bool) -> bool:
    """Accept joined words as well: after `API_TOKEN`, they are no name of a token in a parser."""
    is_joined = (quoted or sure) and "." in value and not is_placeholder(value) and has_joined_words(value, sure=sure)
    return is_joined or is_token_like(value, quoted=quoted, sure=sure)


def _check_login(value: str, _quoted: bool, _sure: bool) -> bool:
    return is_encoded_login(value)


def _check_mnemonic(value: str, _quoted: bool, _sure: bool) -> bool:
    """Accept twelve or more words, as wallets show them."""
    words = value.split(" ")
    return (
        len(words) >= 12
        and not NO_SEED_WORDS.intersection(words)
        and all(word.isalpha() and word.islower() and 3 <= len(word) <= 8 for word in words)
    )


def _check_recovery_code(value: str, _quoted: bool, _sure: bool) -> bool:
    """Accept a recovery code: groups of letters and digits."""
    return is_code_group(value)


class SecretWord(NamedTuple):
    """A word that reveals a secret."""

    anchor: str
    """The fixed string that the word starts with."""
    rest: str
    """A regular expression for the rest of the word, after the anchor."""
    rule: str
    check: SecretValueCheck
    why: str
    apart: bool = False
    """Whether the word counts only if no letter comes before it, because it has other meanings inside other words."""
    owners: tuple[str, ...] = ()
    """Words, one of which must come before this word."""

    @property
    def is_phrase(self) -> bool:
        """True if the word's value may be several words without quotes."""
        return self.check in (_check_passphrase, _check_mnemonic)

    @property
    def is_ambiguous(self) -> bool:
        """True if the word has other meanings in a sentence."""
        return self.check is _check_short_password and self.anchor == "pass"

    @property
    def form(self) -> str:
        """A regular expression for the whole word, in lower case."""
        before = "(?<![a-z])" if self.apart else _build_owners_pattern(self.owners) if self.owners else ""
        return before + self.anchor + self.rest


def _build_owners_pattern(words: tuple[str, ...]) -> str:
    return rf"(?:{'|'.join(map(re.escape, words))})(?:[-_. ]?access)?[-_. ]?"


SECRET_WORDS = (
    SecretWord("pass", r"w(?:or[dt]|d)", "password", _check_password, "the plain name"),
    SecretWord("pass", r"(?:phrase|code)", "password", _check_passphrase, "the value may be several words"),
    SecretWord("pass", r"(?![a-z])", "password", _check_short_password, "DB_PASS, smtpPass, storepass"),
    SecretWord("pass", r"e(?![a-z])", "password", _check_passphrase, "French and Portuguese", owners=_PASSE_OWNERS),
    SecretWord("pw", "d", "password", _check_password, "abbreviated"),
    SecretWord("pw", r"(?![a-z])", "password", _check_short_password, "abbreviated further", apart=True),
    SecretWord("psk", r"(?![a-z])", "password", _check_network_key, "the key of a wireless network"),
    SecretWord("kennwort", "", "password", _check_password, "German"),
    SecretWord("wachtwoord", "", "password", _check_password, "Dutch"),
    SecretWord("contrase", "ña", "password", _check_password, "Spanish"),
    SecretWord("密码", "", "password", _check_password, "Chinese"),
    SecretWord("パスワード", "", "password", _check_password, "Japanese"),
    SecretWord("пароль", "", "password", _check_password, "Russian"),
    SecretWord("Пароль", "", "password", _check_password, "Russian, at the start of a sentence"),
    SecretWord("senha", "", "password", _check_password, "Portuguese", apart=True),
    SecretWord("secret", "", "secret", _check_token, "the plain name"),
    SecretWord("token", "", "token", _check_token, "the plain name"),
    SecretWord("cred", "ential", "secret", _check_token, "the plain name"),
    SecretWord("auth", r"(?![a-z0-9_-])", "auth", _check_login, "base64 of a name and a password", apart=True),
    SecretWord("mnemonic", "", "secret", _check_mnemonic, "the words of a wallet"),
    SecretWord("salt", r"(?![a-z])", "secret", _check_token, "WordPress and others", owners=_SALT_OWNERS),
    SecretWord(
        "code",
        r"s?(?![a-z])",
        "recovery-code",
        _check_recovery_code,
        "what replaces a second factor",
        owners=CODE_OWNERS,
    ),
    SecretWord("phrase", "", "secret", _check_mnemonic, "the words of a wallet", owners=("seed", "recovery", "backup")),
    SecretWord("key", "", "key", _check_token, "what gives access, by its owner", owners=KEY_OWNERS),
)
RARE_ANCHORS = frozenset(
    {"kennwort", "wachtwoord", "contrase", "senha", "salt", "密码", "パスワード", "пароль", "Пароль"}
)
"""Anchors that are searched for only near the start of long text."""
SECRET_NAME = re.compile("|".join(f"(?P<w{index}>{word.form})" for index, word in enumerate(SECRET_WORDS)))
_NON_SECRET_ENDINGS = frozenset(
    "name names id ids type types count counts env var vars variable field fields file files path paths dir"
    " folder url uri endpoint host hash hashes length len size limit budget usage used expiry expires expiration"
    " ttl lifetime label placeholder prompt hint policy format prefix suffix regex pattern header headers scheme"
    " ref reference arn manager store provider class fn func param error message required enabled valid check"
    " reset strength at in by stdin index version algorithm alg method status rotation scope scopes source kind"
    " mode state form page screen view test tests per max min rate cost price total sum estimate estimated context"
    " window title text description help tooltip icon accessor duration command cmd".split()
)
_PUBLIC_KEY_OWNERS = frozenset(
    "public pub publishable primary foreign cache sort partition idempotency dedup unique composite row map dict object"
    " translation message i18n route query lookup hash index storage group cipher openpgp gpg ssh rsa known host sha"
    " md5 checksum content socket websocket ref parent trace span metric event feature tree node commit build".split()
)
"""Words before `key` that make its value public, however random it is."""
_NAME_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_WORD_END = re.compile(r"s?(?:[^a-z]|$)")


def can_be_secret_key(lower: str, key: int) -> bool:
    """Return whether the word before `key` may make it the name of a secret."""
    return lower[max(0, key - 4) : key] in _KEY_OWNER_ENDS or lower.endswith(_SHORT_KEY_OWNERS, 0, key)


def can_be_recovery_code(lower: str, code: int) -> bool:
    """Return whether the word before `code` may make it the name of a secret."""
    return lower.endswith(_CODE_ENDS, 0, code)


def find_name_start(lower: str, start: int, word: SecretWord) -> int | None:
    """Return where the name that ends in a secret word starts, or None if the word alone is not enough."""
    if word.owners:
        found = _compile_owners_before(word.owners).search(lower[max(0, start - 28) : start])
        return start - len(found[0]) if found else None
    if word.apart and lower[start - 1 : start].isalpha() and is_inside_word(lower, start):
        return start if word.anchor == "pw" and lower.endswith(_PW_OWNERS, 0, start) else None
    if word.check is _check_short_password and lower.endswith(_OTHER_PASS_PREFIXES, 0, start):
        return None
    return start


def choose_value_check(word: SecretWord, name: str) -> SecretValueCheck:
    """Return the check for a name's value; `dbPass` is less ambiguous than `pass`, and `apiToken` than `token`."""
    if word.check is _check_short_password and _OWNED_PASS_NAME.search(name):
        return _check_password
    if word.check is _check_token and (word.anchor in ("secret", "key") or _OWNED_TOKEN_NAME.search(name)):
        return _check_owned_token
    return word.check


@cache
def _compile_owners_before(owners: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_build_owners_pattern(owners) + "$")


@lru_cache(maxsize=1 << 10)
def find_secret_words(name: str) -> tuple[tuple[SecretWord, int, int], ...]:
    """Find the words in a key that may make its value a secret; cached, because a session has few distinct keys."""
    found = []
    for match in SECRET_NAME.finditer(name.lower()):
        word = SECRET_WORDS[int((match.lastgroup or "w0")[1:])]
        if word.owners or find_name_start(name.lower(), match.start(), word) is not None:
            found.append((word, *match.span()))
    return tuple(found)


def can_hold_secret(name: str, rest: str) -> bool:
    """Return whether a name may denote a secret, unlike `tokenizer`, `token_type` or `passwordHash`."""
    if rest[:1].islower() and not _WORD_END.match(rest):
        return False
    words = [word.lower() for word in _NAME_PARTS.findall(name)]
    return not words or words[-1] not in _NON_SECRET_ENDINGS


def is_public_key_name(name: str) -> bool:
    """Return whether the value of a name that ends in `key` is public."""
    words = [word.lower() for word in _NAME_PARTS.findall(name)]
    return not words[:-1] or bool(_PUBLIC_KEY_OWNERS.intersection(words[:-1]))
