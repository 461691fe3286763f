"""Optional rules for email addresses and for people's names in the paths of their home folders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_EMAIL_HOST = re.compile(r"@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])")
_EMAIL_LOCAL_PART = re.compile(r"[A-Za-z0-9._%+-]{1,64}$")
_ESCAPE_LETTERS = re.compile(r"[nrtbf]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}")
_IMPERSONAL_ADDRESSES = ("noreply@anthropic.com", "git@github.com", "git@gitlab.com", "git@bitbucket.org")
_HOME_WORDS = ("home", "Users")
_DRIVE = re.compile(r"[A-Za-z]:(?:\\{1,8}|/)\Z")
_MAX_DRIVE_CHARS = 10
_HOME_FOLDER = re.compile(
    r"(?:/home/|/Users/|[A-Za-z]:(?:\\{1,8}|/)Users(?:\\{1,8}|/)|(?<![A-Za-z0-9])-(?:home|Users)-)"
    r"(?P<name>[A-Za-z0-9_][\w.@-]{0,63})"
)
_IMPERSONAL_NAMES = frozenset(
    "user username you name me shared public default runner someone yourname your-name example".split()
)


class EmailRule:
    hints = ("@",)
    names = ("email",)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        if "@" not in view.text:
            return
        for host in _EMAIL_HOST.finditer(view.text):
            local = _EMAIL_LOCAL_PART.search(view.text[max(0, host.start() - 64) : host.start()])
            if not local:
                continue
            start = (
                host.start() - len(local[0]) + _count_escape_chars(view.text, host.start() - len(local[0]), local[0])
            )
            address = view.text[start : host.end()]
            if address.lower() not in _IMPERSONAL_ADDRESSES and "@" in address[1:]:
                yield SecretFinding(start, host.end(), "email", FindingRank.PERSON, address.lower())


class HomeFolderRule:
    """Finds user names in the paths of home folders."""

    hints = ("/home/", "users/", "users\\", "-home-", "-users-")
    names = ("user",)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        for match in _iter_home_folders(view.text):
            name = match["name"]
            if match[0].startswith("-"):
                # A project folder: dashes replace all separators.
                name = name.partition("-")[0]
            name = name.rstrip(".")
            if name and name.lower() not in _IMPERSONAL_NAMES:
                yield SecretFinding(
                    match.start("name"), match.start("name") + len(name), "user", FindingRank.PERSON, name
                )


def _iter_home_folders(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of `_HOME_FOLDER.finditer`, which is slow because they start with different characters."""
    end = 0
    for start in sorted(start for word in _HOME_WORDS for start in _iter_home_starts(text, word)):
        if start >= end and (match := _HOME_FOLDER.match(text, start)):
            end = match.end()
            yield match


def _iter_home_starts(text: str, word: str) -> Iterator[int]:
    """Yield where the path of a home folder can start, given the word that it contains."""
    at = text.find(word)
    while at >= 0:
        before = text[at - 1 : at]
        if before in ("/", "-"):
            yield at - 1
        if before in ("/", "\\") and (drive := _DRIVE.search(text[max(0, at - _MAX_DRIVE_CHARS) : at])):
            yield at - len(drive[0])
        at = text.find(word, at + len(word))


def _count_escape_chars(text: str, start: int, local: str) -> int:
    r"""Count the characters at the start of the local part that belong to an escape before it: `\nme@example.org`."""
    escape = _ESCAPE_LETTERS.match(local) if start > 0 and text[start - 1] == "\\" else None
    return escape.end() if escape else 0
