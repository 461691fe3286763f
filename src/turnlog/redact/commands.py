"""Passwords on command lines whose option does not say so: `mysql -p…`, `sshpass -p …`, `curl -u name:…`."""

from __future__ import annotations

from collections.abc import Iterator

from turnlog.redact.anchored import Anchored
from turnlog.redact.doubt import password_like
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_VALUE = r"(?:\\*[\"'])?(?P<value>[^\s\"'`\\|;&<>]{3,200}+)"
_GAP = r"[^\n|;&]{0,200}?\s"
_OF = r"(?:(?<=docker login)|(?<=podman login)|(?<=registry login)|(?<=az login)|(?<=oc login))"
_FORMS = (
    ("-p", Anchored("sshpass", r"\s+-p\s?" + _VALUE)),
    ("-p", Anchored("mysql", r"(?:dump|admin)?\b" + _GAP + "-p" + _VALUE)),
    ("-p", Anchored("mariadb", r"(?:-dump|-admin)?\b" + _GAP + "-p" + _VALUE)),
    ("-p", Anchored("login", _OF + _GAP + r"-p[ =]" + _VALUE)),
    ("", Anchored("redis-cli", r"\b" + _GAP + "-a " + _VALUE)),
    ("", Anchored("curl", r"\b" + _GAP + r"(?:-u|--user|--proxy-user)[ =]?\\*[\"']?[^\s:\"'`\\]{1,100}:" + _VALUE)),
    ("-p", Anchored("wget", r"\b" + _GAP + "--(?:http-|ftp-)?password[ =]" + _VALUE)),
    ("-p", Anchored("-pass", r"(?:in|out)?\s+pass:" + _VALUE)),
    ("", Anchored("identified", r"\s+by\s+" + _VALUE)),
    ("pass", Anchored("machine", r"\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+" + _VALUE)),
)
"""Commands, in small letters, each after a part of its expression that most texts lack: one look for `-p` saves six."""
_FOR = {
    (option, password): tuple(
        command for needed, command in _FORMS if not needed or (option if needed == "-p" else password)
    )
    for option in (True, False)
    for password in (True, False)
}
"""The commands to look for, by whether `-p` and `pass` stand in a text."""


class Commands:
    """The rule for them."""

    names = ("password",)

    def find(self, view: View) -> Iterator[Finding]:
        """Find passwords of command lines in a text."""
        lower = view.lower
        for command in _FOR[view.says("-p"), view.says("pass")]:
            if command.anchor not in lower:
                continue
            for match in command.finditer(lower):
                value = view.text[slice(*match.span("value"))]
                if password_like(value, quoted=True, sure=True) and not value.startswith(("$", "-")):
                    yield Finding(*match.span("value"), "password", Rank.ASSIGNMENT, value)
