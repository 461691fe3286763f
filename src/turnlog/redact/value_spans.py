"""Finds where the value after a name starts and ends: in quotes, in markup, or up to a space."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnlog.redact.literal_joints import LITERAL_JOINT
from turnlog.redact.name_joints import SHELL_NAME, NameValueJoint
from turnlog.redact.plausibility import is_dense
from turnlog.redact.secret_names import SecretWord

_BARE_VALUE = re.compile(r"[^\s\"'`<>,;(){}\[\]\\|&]{1,1024}+")
_MARKUP_VALUE = re.compile(
    r"(?!\$?\{\{?[A-Za-z.$])(?:[^\s\"'`<>,;()\\|&\]]|\](?!\]>)){1,1024}+(?:&(?!lt;)[a-z#0-9]{1,8};[^\s\"'`<>,;()\\|&]{0,200}+){0,8}"
)
_MARKUP_AFTER = re.compile(r"(?:\s|\\[rn]){0,40}(?:</|&lt;/|\]\]>)")
_ENCODED_VALUE = re.compile(r"(?:[^\s\"'`<>&%+\\]|%(?!(?:25)?(?:26|22|2[Cc]|7[Dd]|0[AaDd]))[0-9A-Fa-f]{2}){3,1024}+")
_ENCLOSED_VALUE = re.compile(r"[^\s\"'`<>\\]{3,200}+")
_NUMBER_PATTERN = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?")
"""A JSON number, which must be kept: a placeholder in its place would make the JSON invalid."""
_CODE_START_SIGNS = ("-", "=", "$", "@", "*", "#", "/", "&", ".")
_TYPOGRAPHIC = re.compile(r"[^„“”«»「」『』\n]{3,200}?(?=\s?[“”»」』])")
_BRACKETED = re.compile(r"[^\[\]\n]{4,200}(?=\]\])")
_BLOCK = re.compile(
    r"(?:\s|\\[nr]){0,40}(?P<value>[^\s\"'\\]{4,1024}+)(?=(?:\s|\\[nr]){0,40}(?:\"{3}|'{3}|\\\"\\\"\\\"))"
)
_PUNCTUATED = re.compile(r"[^\s\"'`\\]{24,200}+(?=\s|$)")
"""A value in an env file, which may contain any symbol."""
_PHRASE_LINE = re.compile(r"[A-Za-z]{2,16}(?: [A-Za-z]{2,16}){3,30}(?=\s*(?:\n|$))")


def iterate_value_spans(text: str, word: SecretWord, joint: NameValueJoint) -> Iterator[tuple[int, int]]:
    """Yield where the value may be: in quotes, up to the next space or, for a phrase, up to the end of the line."""
    joined = joint.match
    if joined["open"]:
        if span := _find_quoted_span(text, joined):
            yield span
        return
    if joined["encoded"]:
        if value := _ENCODED_VALUE.match(text, joined.end()):
            yield value.span()
        return
    if joined["markup"]:
        value = _MARKUP_VALUE.match(text, joined.end())
        if value and _MARKUP_AFTER.match(text, value.end()):
            yield value.span()
        return
    if joined["sign"] and word.is_phrase and (line := _PHRASE_LINE.match(text, joined.end())):
        yield line.span()
    if joined["sign"] == "=" and (line := _PUNCTUATED.match(text, joined.end())) and is_dense(line[0]):
        yield line.span()
    if joined["sign"] == "=" and (span := _find_enclosed_span(text, joint)):
        yield span
    if span := _find_bare_span(text, joined):
        yield span


def _find_enclosed_span(text: str, joint: NameValueJoint) -> tuple[int, int] | None:
    """Return the value of `"NAME=value"`, in which the quotes allow any sign."""
    quote = text[joint.start - 1 : joint.start]
    if quote not in ('"', "'") or not SHELL_NAME.match(joint.name):
        return None
    match = _ENCLOSED_VALUE.match(text, joint.match.end())
    return match.span() if match and text.startswith(quote, match.end()) else None


def _find_quoted_span(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a quoted value with all literals joined to it, or None if it is empty or has line breaks."""
    mark = joined["open"]
    if mark[0] in "„“«「『[":
        match = (_BRACKETED if mark[0] == "[" else _TYPOGRAPHIC).match(text, joined.end())
        return match.span() if match else None
    depth = len(mark) - len(mark.lstrip("\\"))
    quote = mark[depth:]
    if len(quote) == 3 and (block := _BLOCK.match(text, joined.end())):
        return block.span("value")
    if not quote or len(quote) == 2:
        return None
    start = at = joined.end()
    while (end := _find_literal_end(text, at, quote, depth)) is not None:
        joint = LITERAL_JOINT.match(text, end)
        if not joint or joint["close"] != mark or joint["open"] != mark:
            return start, end
        at = joint.end()
    return None


def _find_literal_end(text: str, start: int, quote: str, depth: int) -> int | None:
    """Return where a literal ends, given the depth of its opening quote."""
    for match in re.finditer(rf"(\\*)({re.escape(quote)})|[\n\t]", text[start : start + 1200]):
        if match[2] is None:
            return None
        if len(match[1]) % (2 * depth + 2) == depth:
            return start + match.end() - depth - len(quote)
    return None


def _find_bare_span(text: str, joined: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a value without quotes, or None if it is code."""
    match = _BARE_VALUE.match(text, joined.end())
    if not match:
        return None
    follows = text[match.end() : match.end() + 1]
    if joined["close"] and _NUMBER_PATTERN.fullmatch(match[0]):
        return None
    value = match[0].rstrip(".:!?=" if "==" not in match[0][-3:] else ".:!?")
    is_code = follows in ("(", "[", "{", "<") or (len(value) < 20 and value.startswith(_CODE_START_SIGNS))
    return None if is_code or not value else (match.start(), match.start() + len(value))
