r"""Finds passwords on command lines after options that don't name them: `mysql -p…`, `sshpass -p …`, `curl -u name:…`.

A line that ends in `\` continues on the next line. To add a tool, add a word to `PASSWORD_OPTIONS`, or a row to
`password_places.PASSWORD_PLACES` if its password has a fixed position instead of an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from turnlog.redact.anchored_pattern import AnchoredPattern
from turnlog.redact.password_places import (
    ARGUMENT_GAP,
    OPTIONAL_QUOTE,
    PASSWORD_PLACES,
    PASSWORD_VALUE,
    PIPED_PASSWORD,
    TO_SECURE_STRING,
)
from turnlog.redact.plausibility import is_passphrase_like, is_password_like
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

_MAX_COMMAND_DISTANCE_CHARS = 400
"""The maximum distance between the start of a command and its option."""


_MAX_UNMARKED_SHELL_CHARS, _MAX_FENCED_SHELL_CHARS = 1_000, 8_000


class OptionRow(NamedTuple):
    """Tools that take a password with the same option."""

    option: str
    tools: str
    """The names of the tools, separated by spaces."""
    form: str = "apart"
    """How the value is attached: a key of `_VALUE_FORMS`."""
    needs: str = ""
    """A word that the command must contain, such as `login`: `docker run -p` publishes a port."""


PASSWORD_OPTIONS = (
    OptionRow("-p", "mysql mysqldump mysqladmin mysqlimport mysqlshow mariadb mariadb-dump mariadb-admin", "attached"),
    OptionRow("-p", "7z 7za 7zz rar unrar", "attached"),
    OptionRow("-p", "sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh beeline", "either"),
    OptionRow("-p", "rdesktop evil-winrm hydra netexec nxc crackmapexec smbmap psexec twine couchbase-cli", "either"),
    OptionRow("-p", "security", "apart", needs="keychain"),
    OptionRow("-p", "poetry", "apart", needs="publish"),
    OptionRow("-p", "docker podman helm nerdctl oras crane az oc cf ibmcloud buildah skopeo", "either", needs="login"),
    OptionRow("-hp", "rar", "attached"),
    OptionRow("-P", "zip unzip sqlcmd bcp osql ipmitool mosquitto_pub mosquitto_sub tsql", "either"),
    OptionRow("-w", "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare ldapmodrdn", "either"),
    OptionRow("-w", "security", "apart", needs="add-"),
    OptionRow("-a", "redis-cli"),
    OptionRow("-A", "snmpwalk snmpget snmpset"),
    OptionRow("-c", "snmpwalk snmpget snmpset snmpbulkwalk snmpgetnext snmptrap"),
    OptionRow("-X", "snmpwalk snmpget snmpset"),
    OptionRow("-pass", "openssl", "pass:"),
    OptionRow("-passin", "openssl", "pass:"),
    OptionRow("-passout", "openssl", "pass:"),
    OptionRow("--ks-pass", "apksigner", "pass:"),
    OptionRow("-k", "openssl nuget"),
    OptionRow("-k", "dotnet", needs="push"),
    OptionRow("-b", "oathtool"),
    OptionRow("--totp", "oathtool"),
    OptionRow("-t", "doctl vercel"),
    OptionRow("-pw", "plink pscp psftp putty kitty"),
    OptionRow("-u", "curl etcdctl siege nikto wget", "name:"),
    OptionRow("-a", "http https xh curlie", "name:"),
    OptionRow("-A", "ab", "name:"),
    OptionRow("--user", "curl etcdctl", "name:"),
    OptionRow("--proxy-user", "curl", "name:"),
    OptionRow("--creds", "skopeo buildah podman", "name:"),
    OptionRow("--src-creds", "skopeo", "name:"),
    OptionRow("--dest-creds", "skopeo", "name:"),
    OptionRow("--proxy-auth", "ncat", "name:"),
    OptionRow("-U", "curl", "name:"),
    OptionRow("-U", "smbclient smbget rpcclient smbtree net winexe smbcacls", "name%"),
    OptionRow("-u", "lftp", "name,"),
)
_VALUE_AFTER_NAME = r"(?P<value>[^\s\"'`\\|;<>]{3,200}+)"
_VALUE_FORMS = {
    "apart": rf"{ARGUMENT_GAP}{PASSWORD_VALUE}",
    "attached": PASSWORD_VALUE,
    "either": rf"(?:{ARGUMENT_GAP}|=)?{PASSWORD_VALUE}",
    "pass:": rf"{ARGUMENT_GAP}{OPTIONAL_QUOTE}pass:"
    r"(?P<value>(?<=\"pass:)[^\"\n\\]{3,200}(?=\")|(?<='pass:)[^'\n\\]{3,200}(?=')"
    r"|[^\s\"'`\\|;&<>]{3,200}+)",
    "name:": rf"(?:{ARGUMENT_GAP}|=)?{OPTIONAL_QUOTE}[^\s:\"'`\\]{{1,100}}:{_VALUE_AFTER_NAME}",
    "name%": rf"(?:{ARGUMENT_GAP}|=)?{OPTIONAL_QUOTE}[^\s%\"'`\\]{{1,100}}%{_VALUE_AFTER_NAME}",
    "name,": rf"(?:{ARGUMENT_GAP}|=)?{OPTIONAL_QUOTE}[^\s,\"'`\\]{{1,100}},{_VALUE_AFTER_NAME}",
}
_LINE_CONTINUATION = re.compile(r"\\{1,8}+(?:\r?\n|n(?=[ \t]))")
_POWERSHELL = "securestring"
_CODE_PLACES = ("identified", _POWERSHELL)
"""Forms that are also searched for in long text that does not look like a shell session, because code contains them."""
_SHORT_NUMBER = re.compile(r"[0-9:.]{1,11}")


class CommandRule:
    hints = (" -", "echo ", "printf ", *(anchor for rows in PASSWORD_PLACES.values() for anchor, _ in rows))
    names = ("password",)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        for start, end in _iter_password_spans(view):
            value = view.text[start:end]
            if value.startswith(("$", "-")) or _SHORT_NUMBER.fullmatch(value):
                continue
            if is_password_like(value, quoted=True, sure=True) or (
                " " in value and is_passphrase_like(value, sure=True)
            ):
                yield SecretFinding(start, end, "password", FindingRank.ASSIGNMENT, value)


def _iter_password_spans(view: TextView) -> Iterator[tuple[int, int]]:
    text, lower = view.text, view.lower
    if " -" in text:
        for match in _compile_option_pattern().finditer(text):
            yield from _iter_option_values(text, match)
    places, is_shell = _compile_place_patterns(), _may_be_shell(text)
    for gate in places if is_shell else _CODE_PLACES:
        if view.has_word(gate) if gate != _POWERSHELL else gate in view.early:
            for place in places[gate]:
                if place.anchor in lower:
                    yield from map(get_value_span, place.finditer(lower))
    if _POWERSHELL in view.early:
        for match in TO_SECURE_STRING.finditer(text):
            yield match.span("value")
    if is_shell and "| " in text and (view.has_word("echo ") or view.has_word("printf ")):
        for match in PIPED_PASSWORD.finditer(text):
            yield match.span("value")


def _may_be_shell(text: str) -> bool:
    """Return whether text may contain command lines; long text must have a prompt or a fence, or be a script."""
    if len(text) <= _MAX_UNMARKED_SHELL_CHARS or text.startswith(("#!", "$ ")) or "\n$ " in text:
        return True
    return len(text) <= _MAX_FENCED_SHELL_CHARS and "```" in text


def get_value_span(match: re.Match[str]) -> tuple[int, int]:
    """Return the span of a match's value, with or without quotes."""
    return match.span("quoted" if "quoted" in match.re.groupindex and match["quoted"] else "value")


@cache
def _compile_option_pattern() -> re.Pattern[str]:
    names = sorted({row.option[1:] for row in PASSWORD_OPTIONS}, key=len, reverse=True)
    return re.compile(rf" -({'|'.join(names)})")


@cache
def _compile_option_rows(option: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]:
    """Return patterns for an option's tools and values, and the word that the command must contain."""
    return tuple(
        (
            re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, row.tools.split()))})(?:\.exe)?\s"),
            re.compile(_VALUE_FORMS[row.form]),
            row.needs,
        )
        for row in PASSWORD_OPTIONS
        if row.option == f"-{option}"
    )


@cache
def _compile_place_patterns() -> dict[str, tuple[AnchoredPattern, ...]]:
    return {
        gate: tuple(AnchoredPattern(anchor, rest) for anchor, rest in rows) for gate, rows in PASSWORD_PLACES.items()
    }


def _iter_option_values(text: str, option: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the value of an option if one of its tools appears before it in the same command."""
    at = option.start()
    before = _LINE_CONTINUATION.sub(" ", text[max(0, at - _MAX_COMMAND_DISTANCE_CHARS) : at + 1])
    command = before[max(map(before.rfind, "|;&(`\n")) + 1 :]
    for tools, form, needs in _compile_option_rows(option[1]):
        if needs in command and tools.search(command) and (match := form.match(text, option.end())):
            yield match.span("value")
