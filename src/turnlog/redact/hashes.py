"""Password hashes: what can be tried against lists of passwords, so it must not leave either."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

NAME = "password-hash"
_CRYPT = r"[./A-Za-z0-9]"
_BASE64 = r"[A-Za-z0-9+/._=-]"
_HEX32 = r"[0-9a-fA-F]{32}"


class HashForm(NamedTuple):
    """What hashes of one kind look like."""

    anchor: str
    """What a text with one holds, in small letters."""
    form: str
    whose: str


FORMS = (
    HashForm("$2", rf"\$2[abxy]?\$[0-9]{{2}}\${_CRYPT}{{53}}", "bcrypt"),
    HashForm("$1$", rf"\$1\$[^\s$:]{{1,8}}\${_CRYPT}{{22}}", "md5crypt"),
    HashForm("$apr1$", rf"\$apr1\$[^\s$:]{{1,8}}\${_CRYPT}{{22}}", "Apache"),
    HashForm("$5$", rf"\$5\$(?:rounds=[0-9]{{1,9}}\$)?[^\s$:]{{1,16}}\${_CRYPT}{{43}}", "sha256crypt"),
    HashForm("$6$", rf"\$6\$(?:rounds=[0-9]{{1,9}}\$)?[^\s$:]{{1,16}}\${_CRYPT}{{86}}", "sha512crypt"),
    HashForm("$y$", rf"\$y\${_CRYPT}{{1,16}}\${_CRYPT}{{1,86}}\${_CRYPT}{{43}}", "yescrypt"),
    HashForm("$p$", rf"\$[PH]\${_CRYPT}{{31}}", "phpass"),
    HashForm("$s$", rf"\$S\${_CRYPT}{{52}}", "Drupal"),
    HashForm(
        "$argon2",
        rf"\$argon2(?:id|i|d)\$(?:[a-z0-9=,]{{1,40}}\$){{1,2}}{_BASE64}{{8,90}}\${_BASE64}{{16,180}}",
        "Argon2",
    ),
    HashForm("$scrypt$", rf"\$scrypt\$[a-z0-9=,]{{1,40}}\${_BASE64}{{8,90}}\${_BASE64}{{16,180}}", "scrypt"),
    HashForm(
        "$pbkdf2", rf"\$pbkdf2(?:-sha[0-9]{{1,3}})?\$[0-9]{{1,9}}\${_BASE64}{{4,90}}\${_BASE64}{{16,180}}", "passlib"
    ),
    HashForm("pbkdf2_sha", rf"pbkdf2_sha[0-9]{{1,3}}\$[0-9]{{1,9}}\$[^\s$]{{1,64}}\${_BASE64}{{16,180}}", "Django"),
    HashForm("pbkdf2:sha", r"pbkdf2:sha[0-9]{1,3}(?::[0-9]{1,9})?\$[^\s$]{1,64}\$[0-9a-f]{32,128}", "Werkzeug"),
    HashForm("scrypt:", r"scrypt:[0-9]{1,9}:[0-9]{1,3}:[0-9]{1,3}\$[^\s$]{1,64}\$[0-9a-f]{32,128}", "Werkzeug"),
    HashForm("sha1$", r"sha1\$[^\s$]{1,32}\$[0-9a-f]{40}", "Django"),
    HashForm(
        "scram-sha-",
        rf"SCRAM-SHA-[0-9]{{1,3}}\$[0-9]{{1,9}}:{_BASE64}{{8,90}}\${_BASE64}{{20,90}}:{_BASE64}{{20,90}}",
        "PostgreSQL",
    ),
)
_QUICK = re.compile(
    r"\$(?:2[abxy]?\$|1\$|5\$|6\$|y\$|[PHS]\$|apr1|argon2|scrypt|pbkdf2|[0-9]{4,9}[$:]|[^\s$]{1,64}\$[0-9a-f]{32})"
)
"""What a text with one of them holds, if it is no hash of LDAP."""
_LDAP = re.compile(r"\{S?SHA[0-9]{0,3}\}[A-Za-z0-9+/]{24,160}={0,2}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_compiled: dict[str, re.Pattern[str]] = {}


class Hashes:
    """The rule for all of them."""

    hints = ()
    names = (NAME,)

    def find(self, view: View) -> Iterator[Finding]:
        """Find the password hashes of a text: each of them holds a run of letters and digits."""
        if view.random_runs:
            for start, end in self._spans(view):
                yield Finding(start, end, NAME, Rank.TOKEN, view.text[start:end])

    def _spans(self, view: View) -> Iterator[tuple[int, int]]:
        text = view.text
        if "$" in text and _QUICK.search(text):
            for form in FORMS:
                if form.anchor in view.lower:
                    yield from (match.span() for match in _expression(form).finditer(text))
        if "{S" in text:
            yield from (match.span() for match in _LDAP.finditer(text))
        for start, end in view.random_runs:
            if span := _bare(text, start, end):
                yield span


def _bare(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The place of a hash that is hex with something around it: of PostgreSQL, MySQL and Windows."""
    size = end - start
    if size == 35 and text.startswith("md5", start) and _HEX.fullmatch(text, start + 3, end):
        return start, end
    if size == 40 and text.startswith("*", start - 1) and text[start:end].upper() == text[start:end]:
        return (start - 1, end) if start and _HEX.fullmatch(text, start, end) else None
    if (
        size == 32
        and text.startswith(":", end)
        and start
        and text[start - 1] == ":"
        and _HEX.fullmatch(text, start, end)
    ):
        # name:number:LM:NT::: of a dump, name::domain:challenge:answer:blob of a capture
        around = text[start - 33 : start - 1], text[end + 1 : end + 3]
        return (start, end) if around[1] == "::" or _HEX.fullmatch(around[0][-16:]) else None
    return None


def _expression(form: HashForm) -> re.Pattern[str]:
    if (expression := _compiled.get(form.form)) is None:
        expression = _compiled[form.form] = re.compile(form.form)
    return expression
