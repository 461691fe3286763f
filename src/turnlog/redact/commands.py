"""Passwords on command lines whose option does not say so: `mysql -p…`, `sshpass -p …`, `curl -u name:…`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.doubt import password_like
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_VALUE = r"(?:\\*[\"'])?(?P<value>[^\s\"'`\\|;&<>]{3,200}+)"
_GAP = r"[^\n|;&]{0,200}?\s"
_LOGIN = r"login(?:(?<=docker login)|(?<=podman login)|(?<=registry login)|(?<=az login)|(?<=oc login))"
# Each begins with a fixed text, in small letters: that makes the search for it quick.
_FORMS = (
    ("sshpass", r"sshpass\s+-p\s?" + _VALUE),
    ("mysql", r"mysql(?:dump|admin)?\b" + _GAP + "-p" + _VALUE),
    ("mariadb", r"mariadb(?:-dump|-admin)?\b" + _GAP + "-p" + _VALUE),
    ("login", _LOGIN + _GAP + r"-p[ =]" + _VALUE),
    ("redis-cli", r"redis-cli\b" + _GAP + "-a " + _VALUE),
    ("curl", r"curl\b" + _GAP + r"(?:-u|--user|--proxy-user)[ =]?\\*[\"']?[^\s:\"'`\\]{1,100}:" + _VALUE),
    ("wget", r"wget\b" + _GAP + "--(?:http-|ftp-)?password[ =]" + _VALUE),
    ("-pass", r"-pass(?:in|out)?\s+pass:" + _VALUE),
    ("identified", r"identified\s+by\s+" + _VALUE),
    ("machine", r"machine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+" + _VALUE),
)


class Commands:
    """The rule for them."""

    names = ("password",)

    def find(self, view: View) -> Iterator[Finding]:
        """Find passwords of command lines in a text."""
        lower = view.lower
        for expression in [expression for word, expression in _FORMS if word in lower]:
            for match in re.finditer(expression, lower):
                value = view.text[slice(*match.span("value"))]
                if password_like(value, quoted=True, sure=True) and not value.startswith(("$", "-")):
                    yield Finding(*match.span("value"), "password", Rank.ASSIGNMENT, value)
