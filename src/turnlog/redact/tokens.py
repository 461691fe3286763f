"""Finds tokens that show by their form whose they are; the forms are in `forms`."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error
from collections.abc import Iterable, Iterator
from functools import cache

from turnlog.redact.doubt import changes, made_up, mixed, varied
from turnlog.redact.finding import Finding, Rank
from turnlog.redact.forms import FORMS, Form
from turnlog.redact.view import View

_BEFORE = 32
"""So far before a run a token may begin: `SG.`, `hooks.slack.com/services/`."""
# Where a token may begin: not inside of a word, but after an escape that ends in a letter.
_APART = r"(?<![A-Za-z0-9])"
_FREE = rf"(?:{_APART}|(?<=\\[nrtbf])|(?<=%[0-9A-F]{{2}})|(?<=\\x[0-9a-f]{{2}})|(?<=\\u[0-9a-fA-F]{{4}}))"
_ESCAPE = 6
"""An escape has at most so many characters."""
_BLIND = re.compile(r"~|%[0-9A-F]{2}|\\[nrtbfxu]")
"""What a token may begin after, or with, that the quick look does not know: escapes, and the start with `~`."""
FIRST, SECOND = "0-9a-lnoprstv-zACEFGHILMNOPS", "0-9a-wyz/ABCDFGIKLMOPQRSTZ"
"""With which characters all starts begin but those with `~`: a look at two characters passes over most words."""


class Tokens:
    """The rule for all of them: every token has a run, so each run is looked at."""

    hints = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the providers."""
        return tuple(dict.fromkeys(form.name for form in FORMS))

    def find(self, view: View) -> Iterator[Finding]:
        """Find the tokens of a text."""
        text, done = view.text, 0
        for start, end in _suspects(text, view.random_runs):
            at = max(done, start - _BEFORE)
            for finding in self._in_run(_start(_escapes(text, at, end)), text, at, end):
                yield finding
                done = finding.end
                if finding.rule == "aws":
                    yield from _beside(text, finding)

    def _in_run(self, start: re.Pattern[str], text: str, at: int, end: int) -> Iterator[Finding]:
        while begun := start.search(text, at, end):
            at = begun.start() + 1
            for form, expression in _whole(text[begun.start()]):
                whole = expression.match(text, begun.start())
                if whole and _plausible(form, whole["start"], whole["rest"]):
                    at = whole.end()
                    first = whole.start("rest") if form.address else begun.start()
                    yield Finding(first, at, form.name, Rank.TOKEN, text[first:at])
                    break


def _suspects(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The runs with the start of a token in or before them, and those of which no quick look can tell."""
    if not runs:
        return []
    seen = _looked_at(text, runs)
    begins = _quick().search
    is_there = begins(seen) is not None
    is_blind = any(map(seen.__contains__, "~%\\")) and _BLIND.search(seen) is not None
    if not is_there and not is_blind:
        return []
    return [
        (start, end)
        for start, end in runs
        # The quick look wants a character before the token.
        if (is_there and (begins(text, start - _BEFORE - 1, end) if start > _BEFORE else begins(" " + text[:end])))
        or (is_blind and _BLIND.search(text, max(0, start - _BEFORE - _ESCAPE), end))
    ]


def _looked_at(text: str, runs: list[tuple[int, int]]) -> str:
    """The runs and what stands before each as one text: one look at all of them, for most texts have no token."""
    parts, first, last = [""], 0, 0
    for start, end in runs:
        if start - _BEFORE - _ESCAPE > last:
            parts.append(text[first:last])
            first = start - _BEFORE - _ESCAPE
        last = end
    parts.append(text[first:last])
    return "\n".join(parts)


def _escapes(text: str, start: int, end: int) -> bool:
    return text.find("\\", start, end) >= 0 or text.find("%", start, end) >= 0


@cache
def _start(escapes: bool) -> re.Pattern[str]:
    """What finds the start of any token."""
    return re.compile((_FREE if escapes else _APART) + _tree(FORMS))


@cache
def _quick() -> re.Pattern[str]:
    """What finds the start of any token and the character before it, except one with `~`, which may begin with any."""
    forms = [form for form in FORMS if not form.start.endswith("~")]
    return re.compile(rf"[^A-Za-z0-9](?=[{FIRST}][{SECOND}])" + _tree(forms))


def _tree(forms: Iterable[Form]) -> str:
    """The starts by their first letters, which is three times as quick as a list."""
    tree: dict[str, list[str]] = {}
    for form in forms:
        letter = form.start[0] if form.start[0].isalnum() else ""
        tree.setdefault(letter, []).append(form.start[len(letter) :])
    return "(?:" + "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in tree.items()) + ")"


@cache
def _whole(first: str) -> list[tuple[Form, re.Pattern[str]]]:
    """The expressions for the forms that may begin with a character."""
    forms = [form for form in FORMS if form.start[0] == first or not form.start[0].isalnum()]
    return [(form, re.compile(f"(?P<start>{form.start})(?P<rest>{form.rest}){form.end}")) for form in forms]


_SECRET_KEY = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_NEAR = 400


def _plausible(form: Form, start: str, rest: str) -> bool:
    drawn = rest if len(rest) > 8 else start + rest
    if made_up(drawn) or not varied(drawn) or not (mixed(drawn) or changes(drawn) * 6 > len(drawn)):
        return False
    if form.name == "jwt":
        return _is_header(start + rest.partition(".")[0])
    if form.name == "discord" and not form.address:
        return _decoded(start + rest.partition(".")[0]).isdigit()
    if form.dashed:
        return mixed(rest) and max(map(len, re.split("[-_/.]", rest))) >= 10
    return True


def _is_header(part: str) -> bool:
    return b'"alg"' in _decoded(part) or b'"enc"' in _decoded(part)


def _decoded(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part[: len(part) // 4 * 4] if len(part) % 4 == 1 else part + "=" * (-len(part) % 4))
    except (Error, ValueError):
        return b""


def _beside(text: str, key_id: Finding) -> Iterator[Finding]:
    """Find the secret half of an AWS key, which has no form of its own, near the half that has one."""
    start, end = max(0, key_id.start - _NEAR), min(len(text), key_id.end + _NEAR)
    for match in _SECRET_KEY.finditer(text, start, end):
        value = match[0]
        if mixed(value) and varied(value, 16) and not value.islower() and not value.isupper() and not made_up(value):
            yield Finding(*match.span(), "aws", Rank.TOKEN, value)
