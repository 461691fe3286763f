"""Finds password hashes, which are also secrets: an attacker can test lists of passwords against them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

PASSWORD_HASH_RULE = "password-hash"
_CRYPT_CHARACTER = r"[./A-Za-z0-9]"
_BASE64_CHARACTER = r"[A-Za-z0-9+/._=-]"
_HEX_32_CHARS = r"[0-9a-fA-F]{32}"


class HashForm(NamedTuple):
    anchor: str
    """A string that every hash of this kind contains, in lower case."""
    form: str
    whose: str


HASH_FORMS = (
    HashForm("$2", rf"\$2[abxy]?\$[0-9]{{2}}\${_CRYPT_CHARACTER}{{53}}", "bcrypt"),
    HashForm("$1$", rf"\$1\$[^\s$:]{{1,8}}\${_CRYPT_CHARACTER}{{22}}", "md5crypt"),
    HashForm("$apr1$", rf"\$apr1\$[^\s$:]{{1,8}}\${_CRYPT_CHARACTER}{{22}}", "Apache"),
    HashForm("$5$", rf"\$5\$(?:rounds=[0-9]{{1,9}}\$)?[^\s$:]{{1,16}}\${_CRYPT_CHARACTER}{{43}}", "sha256crypt"),
    HashForm("$6$", rf"\$6\$(?:rounds=[0-9]{{1,9}}\$)?[^\s$:]{{1,16}}\${_CRYPT_CHARACTER}{{86}}", "sha512crypt"),
    HashForm(
        "$y$", rf"\$y\${_CRYPT_CHARACTER}{{1,16}}\${_CRYPT_CHARACTER}{{1,86}}\${_CRYPT_CHARACTER}{{43}}", "yescrypt"
    ),
    HashForm("$p$", rf"\$[PH]\${_CRYPT_CHARACTER}{{31}}", "phpass"),
    HashForm("$s$", rf"\$S\${_CRYPT_CHARACTER}{{52}}", "Drupal"),
    HashForm(
        "$argon2",
        rf"\$argon2(?:id|i|d)\$(?:[a-z0-9=,]{{1,40}}\$){{1,2}}{_BASE64_CHARACTER}{{8,90}}\${_BASE64_CHARACTER}{{16,180}}",
        "Argon2",
    ),
    HashForm(
        "$scrypt$",
        rf"\$scrypt\$[a-z0-9=,]{{1,40}}\${_BASE64_CHARACTER}{{8,90}}\${_BASE64_CHARACTER}{{16,180}}",
        "scrypt",
    ),
    HashForm(
        "$pbkdf2",
        rf"\$pbkdf2(?:-sha[0-9]{{1,3}})?\$[0-9]{{1,9}}\${_BASE64_CHARACTER}{{4,90}}\${_BASE64_CHARACTER}{{16,180}}",
        "passlib",
    ),
    HashForm(
        "pbkdf2_sha", rf"pbkdf2_sha[0-9]{{1,3}}\$[0-9]{{1,9}}\$[^\s$]{{1,64}}\${_BASE64_CHARACTER}{{16,180}}", "Django"
    ),
    HashForm("pbkdf2:sha", r"pbkdf2:sha[0-9]{1,3}(?::[0-9]{1,9})?\$[^\s$]{1,64}\$[0-9a-f]{32,128}", "Werkzeug"),
    HashForm("scrypt:", r"scrypt:[0-9]{1,9}:[0-9]{1,3}:[0-9]{1,3}\$[^\s$]{1,64}\$[0-9a-f]{32,128}", "Werkzeug"),
    HashForm("sha1$", r"sha1\$[^\s$]{1,32}\$[0-9a-f]{40}", "Django"),
    HashForm(
        "scram-sha-",
        rf"SCRAM-SHA-[0-9]{{1,3}}\$[0-9]{{1,9}}:{_BASE64_CHARACTER}{{8,90}}\${_BASE64_CHARACTER}{{20,90}}:{_BASE64_CHARACTER}{{20,90}}",
        "PostgreSQL",
    ),
)
_HASH_START = re.compile(
    r"\$(?:2[abxy]?\$|1\$|5\$|6\$|y\$|[PHS]\$|apr1|argon2|scrypt|pbkdf2|[0-9]{4,9}[$:]|[^\s$]{1,64}\$[0-9a-f]{32})"
)
"""Matches in any text that contains one of these hashes, except LDAP hashes."""
_LDAP_HASH = re.compile(r"\{S?SHA[0-9]{0,3}\}[A-Za-z0-9+/]{24,160}={0,2}")
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")
_compiled_forms: dict[str, re.Pattern[str]] = {}


class HashRule:
    hints = ()
    names = (PASSWORD_HASH_RULE,)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        """Find the password hashes in text; each contains a run of letters and digits."""
        if view.random_runs:
            for start, end in self._iter_hash_spans(view):
                yield SecretFinding(start, end, PASSWORD_HASH_RULE, FindingRank.TOKEN, view.text[start:end])

    def _iter_hash_spans(self, view: TextView) -> Iterator[tuple[int, int]]:
        text = view.text
        if "$" in text and _HASH_START.search(text):
            for form in HASH_FORMS:
                if form.anchor in view.lower:
                    yield from (match.span() for match in _compile_form(form).finditer(text))
        if "{S" in text:
            yield from (match.span() for match in _LDAP_HASH.finditer(text))
        for start, end in view.random_runs:
            if span := _find_bare_hash(text, start, end):
                yield span


def _find_bare_hash(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of a hex hash that its surroundings reveal, as in PostgreSQL, MySQL and Windows."""
    size = end - start
    if size == 35 and text.startswith("md5", start) and _HEX_DIGITS.fullmatch(text, start + 3, end):
        return start, end
    if size == 40 and text.startswith("*", start - 1) and text[start:end].upper() == text[start:end]:
        return (start - 1, end) if start and _HEX_DIGITS.fullmatch(text, start, end) else None
    if (
        size == 32
        and text.startswith(":", end)
        and start
        and text[start - 1] == ":"
        and _HEX_DIGITS.fullmatch(text, start, end)
    ):
        # name:number:LM:NT::: in a dump, name::domain:challenge:answer:blob in a capture
        around = text[start - 33 : start - 1], text[end + 1 : end + 3]
        return (start, end) if around[1] == "::" or _HEX_DIGITS.fullmatch(around[0][-16:]) else None
    return None


def _compile_form(form: HashForm) -> re.Pattern[str]:
    if (expression := _compiled_forms.get(form.form)) is None:
        expression = _compiled_forms[form.form] = re.compile(form.form)
    return expression
