"""Finds tokens whose format reveals their service; the formats are in `token_forms`."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from binascii import Error
from collections.abc import Iterable, Iterator
from functools import cache

from turnlog.redact.plausibility import (
    count_character_changes,
    has_letters_and_digits,
    has_varied_characters,
    is_placeholder,
)
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView
from turnlog.redact.token_forms import TOKEN_FORMS, TokenForm

_MAX_CHARS_BEFORE_RUN = 32
"""How many characters before a run a token may start: `SG.`, `hooks.slack.com/services/`."""
# A token does not start inside a word, but it may follow an escape that ends in a letter.
_NOT_IN_WORD = r"(?<![A-Za-z0-9])"
_TOKEN_BOUNDARY = (
    rf"(?:{_NOT_IN_WORD}|(?<=\\[nrtbf])|(?<=%[0-9A-F]{{2}})|(?<=\\x[0-9a-f]{{2}})|(?<=\\u[0-9a-fA-F]{{4}}))"
)
_MAX_ESCAPE_CHARS = 6
"""The maximum length of an escape."""
_UNCHECKED_START = re.compile(r"~|%[0-9A-F]{2}|\\[nrtbfxu]")
"""Starts that the quick check does not cover: after an escape, and the form with `~`."""
FIRST_TOKEN_CHARACTERS, SECOND_TOKEN_CHARACTERS = "0-9a-lnoprstv-zACEFGHILMNOPS", "0-9a-wyz/ABCDFGIKLMOPQRSTZ"
"""The first characters of all forms except the one with `~`: checking two characters skips most words."""


class TokenRule:
    """Finds tokens for all services by examining each run, because every token contains one."""

    hints = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the services."""
        return tuple(dict.fromkeys(form.name for form in TOKEN_FORMS))

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        text, searched_end = view.text, 0
        for start, end in _select_suspect_runs(text, view.random_runs):
            at = max(searched_end, start - _MAX_CHARS_BEFORE_RUN)
            for finding in self._find_in_run(_compile_token_start(_has_escapes(text, at, end)), text, at, end):
                yield finding
                searched_end = finding.end
                if finding.rule == "aws":
                    yield from _find_aws_secret(text, finding)

    def _find_in_run(self, start: re.Pattern[str], text: str, at: int, end: int) -> Iterator[SecretFinding]:
        while match := start.search(text, at, end):
            at = match.start() + 1
            for form, expression in _compile_whole_forms(text[match.start()]):
                whole = expression.match(text, match.start())
                if whole and _is_plausible_token(form, whole["start"], whole["rest"]):
                    at = whole.end()
                    first = whole.start("rest") if form.address else match.start()
                    yield SecretFinding(first, at, form.name, FindingRank.TOKEN, text[first:at])
                    break


def _select_suspect_runs(text: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the runs with the start of a token in or before them, and those that the quick check can't rule out."""
    if not runs:
        return []
    joined = _join_run_texts(text, runs)
    begins = _compile_quick_start().search
    is_there = begins(joined) is not None
    is_blind = any(map(joined.__contains__, "~%\\")) and _UNCHECKED_START.search(joined) is not None
    if not is_there and not is_blind:
        return []
    return [
        (start, end)
        for start, end in runs
        # The quick check needs a character before the token.
        if (
            is_there
            and (
                begins(text, start - _MAX_CHARS_BEFORE_RUN - 1, end)
                if start > _MAX_CHARS_BEFORE_RUN
                else begins(" " + text[:end])
            )
        )
        or (is_blind and _UNCHECKED_START.search(text, max(0, start - _MAX_CHARS_BEFORE_RUN - _MAX_ESCAPE_CHARS), end))
    ]


def _join_run_texts(text: str, runs: list[tuple[int, int]]) -> str:
    """Join the runs, each with the text before it, to search them all at once, because most text has no token."""
    parts, first, last = [""], 0, 0
    for start, end in runs:
        if start - _MAX_CHARS_BEFORE_RUN - _MAX_ESCAPE_CHARS > last:
            parts.append(text[first:last])
            first = start - _MAX_CHARS_BEFORE_RUN - _MAX_ESCAPE_CHARS
        last = end
    parts.append(text[first:last])
    return "\n".join(parts)


def _has_escapes(text: str, start: int, end: int) -> bool:
    return text.find("\\", start, end) >= 0 or text.find("%", start, end) >= 0


@cache
def _compile_token_start(escapes: bool) -> re.Pattern[str]:
    """Compile a pattern for the start of any token."""
    return re.compile((_TOKEN_BOUNDARY if escapes else _NOT_IN_WORD) + _build_start_tree(TOKEN_FORMS))


@cache
def _compile_quick_start() -> re.Pattern[str]:
    """Compile a pattern for the start of a token and the character before it, except for the format with `~`."""
    forms = [form for form in TOKEN_FORMS if not form.start.endswith("~")]
    return re.compile(
        rf"[^A-Za-z0-9](?=[{FIRST_TOKEN_CHARACTERS}][{SECOND_TOKEN_CHARACTERS}])" + _build_start_tree(forms)
    )


def _build_start_tree(forms: Iterable[TokenForm]) -> str:
    """Group the starts by their first letters; the resulting pattern is three times as fast as a list."""
    tree: dict[str, list[str]] = {}
    for form in forms:
        letter = form.start[0] if form.start[0].isalnum() else ""
        tree.setdefault(letter, []).append(form.start[len(letter) :])
    return "(?:" + "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in tree.items()) + ")"


@cache
def _compile_whole_forms(first: str) -> list[tuple[TokenForm, re.Pattern[str]]]:
    """Return the patterns of the formats that may start with a given character."""
    forms = [form for form in TOKEN_FORMS if form.start[0] == first or not form.start[0].isalnum()]
    return [(form, re.compile(f"(?P<start>{form.start})(?P<rest>{form.rest}){form.end}")) for form in forms]


_AWS_SECRET_KEY = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_MAX_KEY_DISTANCE_CHARS = 400


def _is_plausible_token(form: TokenForm, start: str, rest: str) -> bool:
    random_part = rest if len(rest) > 8 else start + rest
    if (
        is_placeholder(random_part)
        or not has_varied_characters(random_part)
        or not (has_letters_and_digits(random_part) or count_character_changes(random_part) * 6 > len(random_part))
    ):
        return False
    if form.name == "jwt":
        return _is_jwt_header(start + rest.partition(".")[0])
    if form.name == "discord" and not form.address:
        return _decode_base64(start + rest.partition(".")[0]).isdigit()
    if form.dashed:
        return has_letters_and_digits(rest) and max(map(len, re.split("[-_/.]", rest))) >= 10
    return True


def _is_jwt_header(part: str) -> bool:
    return b'"alg"' in _decode_base64(part) or b'"enc"' in _decode_base64(part)


def _decode_base64(part: str) -> bytes:
    try:
        return urlsafe_b64decode(part[: len(part) // 4 * 4] if len(part) % 4 == 1 else part + "=" * (-len(part) % 4))
    except (Error, ValueError):
        return b""


def _find_aws_secret(text: str, key_id: SecretFinding) -> Iterator[SecretFinding]:
    """Find the secret half of an AWS key, which has no recognisable format, near the half that has one."""
    start, end = max(0, key_id.start - _MAX_KEY_DISTANCE_CHARS), min(len(text), key_id.end + _MAX_KEY_DISTANCE_CHARS)
    for match in _AWS_SECRET_KEY.finditer(text, start, end):
        value = match[0]
        if (
            has_letters_and_digits(value)
            and has_varied_characters(value, 16)
            and not value.islower()
            and not value.isupper()
            and not is_placeholder(value)
        ):
            yield SecretFinding(*match.span(), "aws", FindingRank.TOKEN, value)
