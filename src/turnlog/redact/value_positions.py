"""Decides whether the place after a name holds a value and never code: a setting, a pair in a list, an argument.

`password=user.Password` may be code or a password; in an env file, a YAML mapping, a connection string, a form or an
argument of a command, it is a password. There, only placeholders and obvious references are not values.
"""

from __future__ import annotations

import re

_MAX_LINE_CHARS = 300
_LINE_LEAD = re.compile(
    r"(?:[\w./-]{1,120}:[0-9]{1,6}[:-])?[ \t]{0,80}+(?:[0-9]{1,6}(?:→|[|:\t] ?))?[ \t]{0,80}+[+-]?[ \t]{0,80}+"
    r"(?:(?:-|\*|#|//|--|;|export|set|declare -x|local|ARG|ENV) ?){0,2}[ \t]{0,80}+"
    r"(?:[A-Za-z]{2,12} ){0,2}(?:[\w-]{1,60}\.){0,8}(?:[A-Za-z]{1,20}\[)?[\"']?"
)
"""What may come before the first name of a line: indentation, a list mark, a comment sign, a line number."""
_LINE_REST = re.compile(r"[ \t]{0,40}+(?:(?:#|;|//)[^\n]*)?(?=\r?\n|\\n|$)")
_CODE_AFTER = re.compile(r"(?:\r?\n|\\n)[ \t]{0,80}+[)}\]]")
_PAIR_AFTER_AMPERSAND = re.compile(r"&(?:amp;)?[\w.%\[\]-]{1,60}=")
_PAIR_AFTER_SEMICOLON = re.compile(r";[ \t]?(?:[A-Za-z][\w .-]{0,40}=|[\"'<]|\s|$)")
_WORD_GAPS = frozenset(" \t\r\n\"'`")
_SETTING_JOINT = re.compile(r"\s*(?:[:=]|:=|\?=)(?:\*\*)?\s*(?:[&!|>]\S*\s+)?")
_PATH_BEFORE = re.compile(r"[\w.]{1,60}\.$")
_PAIR_AFTER_COMMA = re.compile(r",[\w.]{1,60}=")
_VARIABLE_BEFORE = re.compile(r"\$\{[\w.-]{0,60}$")
_NAME = re.compile(r"[A-Za-z_]+")
_NUMBERED_END = re.compile(r"[a-z][0-9]+$")


def is_value_position(text: str, start: int, joint: str, value: tuple[int, int]) -> bool:
    """Return whether only a value can be at a span, after the name at `start` and a joint."""
    before, after = text[start - 1 : start], text[value[1] : value[1] + 1]
    if joint == "=":
        if before in ("?", "&") or _PAIR_AFTER_AMPERSAND.match(text, value[1]):
            return True
        if _is_in_connection_string(text, before, value[1]):
            return True
        if _is_word_of_command(text, start, value[1]):
            return True
        if before == "," and text[start - 2 : start - 1] not in ("", " ") and after in ("", ",", *_WORD_GAPS):
            return True
    if _VARIABLE_BEFORE.search(text, max(0, start - 62), start):
        return True  # the default of a variable
    if text.startswith("-", start) and joint in ("=", ":"):
        return True
    if joint == ": " and before in ("'", '"') and after == before:
        return True  # a header in quotes
    if _SETTING_JOINT.fullmatch(joint) and _is_whole_line(text, start, value[1]):
        return not (_CODE_AFTER.match(text, value[1]) and ":" in joint) and not _NAME.fullmatch(text, *value)
    is_member = joint == ": " and after in (",", "}") and _NUMBERED_END.search(text, *value) is not None
    return is_member and text.rfind("{", max(0, start - _MAX_LINE_CHARS), start) > text.rfind(
        "\n", max(0, start - _MAX_LINE_CHARS), start
    )


def _is_in_connection_string(text: str, before: str, value_end: int) -> bool:
    if before == ";" and text[value_end : value_end + 1] in ("", '"', "'", "\n"):
        return True
    return _PAIR_AFTER_SEMICOLON.match(text, value_end) is not None and (
        before == ";" or text[value_end + 1 :][:1] != " "
    )


def _is_word_of_command(text: str, start: int, end: int) -> bool:
    """Return whether `name=value` is a word of its own, and not an argument in a call."""
    if path := _PATH_BEFORE.search(text, max(0, start - 62), start):
        start = path.start()
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if before == "-" and after in ("", *_WORD_GAPS):
        return True  # an option such as -Dname=value
    if before in _WORD_GAPS and _PAIR_AFTER_COMMA.match(text, end):
        return True
    return (
        (before == "" or before in _WORD_GAPS)
        and (after == "" or after in _WORD_GAPS)
        and not _CODE_AFTER.match(text, start)
        and text[:start].rstrip()[-1:] not in (",", "(")
    )


def _is_whole_line(text: str, start: int, value_end: int) -> bool:
    """Return whether nothing but a name and its value is in a line."""
    first = max(text.rfind("\n", max(0, start - _MAX_LINE_CHARS), start) + 1, start - _MAX_LINE_CHARS, 0)
    escaped = text.rfind("\\n", first, start)
    first = escaped + 2 if escaped >= 0 else first
    lead = _LINE_LEAD.match(text, first, start)
    return lead is not None and lead.end() == start and _LINE_REST.match(text, value_end) is not None
