"""On request: e-mail addresses, and the names of people in the paths of their home folders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.finding import Finding, Rank
from turnlog.redact.view import View

_HOST = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])")
_LOCAL = re.compile(r"[A-Za-z0-9._%+-]{1,64}$")
_ESCAPE = re.compile(r"[nrtbf]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}")
_NOBODY = ("noreply@anthropic.com", "git@github.com", "git@gitlab.com", "git@bitbucket.org")
_HOME = re.compile(
    r"(?:/home/|/Users/|[A-Za-z]:(?:\\{1,8}|/)Users(?:\\{1,8}|/)|/[a-z]/Users/|(?<![A-Za-z0-9])-(?:home|Users)-)"
    r"(?P<name>[A-Za-z0-9_][\w.@-]{0,63})"
)
_ANYBODY = frozenset(
    "user username you name me shared public default runner someone yourname your-name example".split()
)


class Emails:
    """The rule for e-mail addresses."""

    hints = ("@",)
    names = ("email",)

    def find(self, view: View) -> Iterator[Finding]:
        """Find the addresses of a text."""
        if "@" not in view.text:
            return
        for host in _HOST.finditer(view.text):
            local = _LOCAL.search(view.text[max(0, host.start() - 64) : host.start()])
            if not local:
                continue
            start = host.start() - len(local[0]) + _escape(view.text, host.start() - len(local[0]), local[0])
            address = view.text[start : host.end()]
            if address.lower() not in _NOBODY and "@" in address[1:]:
                yield Finding(start, host.end(), "email", Rank.PERSON, address.lower())


class Homes:
    """The rule for names in home folders."""

    hints = None
    names = ("user",)

    def find(self, view: View) -> Iterator[Finding]:
        """Find the names of a text."""
        for match in _HOME.finditer(view.text):
            name = match["name"]
            if match[0].startswith("-"):
                # The folder of a project: dashes stand for all that separates.
                name = name.partition("-")[0]
            name = name.rstrip(".")
            if name and name.lower() not in _ANYBODY:
                yield Finding(match.start("name"), match.start("name") + len(name), "user", Rank.PERSON, name)


def _escape(text: str, start: int, local: str) -> int:
    r"""How many characters of the local part belong to an escape before it: `\nme@example.org`."""
    escape = _ESCAPE.match(local) if start > 0 and text[start - 1] == "\\" else None
    return escape.end() if escape else 0
