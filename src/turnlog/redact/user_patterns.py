"""The user's own patterns: a name and a regular expression, which is refused if it is invalid or could run forever.

Python's `re` can't be interrupted, so an expression with nested repetitions is refused, and all others search only
pieces of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import _constants as ops  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from turnlog.errors import UsageError
from turnlog.redact.secret_rule import FindingRank, SecretFinding
from turnlog.redact.text_view import TextView

MAX_PIECE_CHARS = 4_096
"""Lines are searched in pieces of this length, which overlap by a quarter."""
_PATTERN_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_MAX_EXPRESSION_CHARS = 500


class UserPattern:
    """Finds one of the user's patterns; the secret is the group `secret` or, without that group, the match."""

    hints = None

    def __init__(self, name: str, expression: str) -> None:
        if not _PATTERN_NAME.fullmatch(name):
            raise UsageError(f"pattern name {name!r}: use at most 40 lowercase letters, digits and dashes")
        self.names = (name,)
        self._expression = _compile_checked(name, expression)

    def find(self, view: TextView) -> Iterator[SecretFinding]:
        group = "secret" if "secret" in self._expression.groupindex else 0
        for start, end in _iter_text_pieces(view.text):
            for match in self._expression.finditer(view.text, start, end):
                first, last = match.span(group)
                if 0 <= first < last:
                    yield SecretFinding(first, last, self.names[0], FindingRank.PATTERN, match[group])


def parse_user_patterns(definitions: Iterable[str]) -> list[UserPattern]:
    """Parse patterns written as `NAME=EXPRESSION`."""
    patterns = []
    for definition in definitions:
        name, equals, expression = definition.partition("=")
        if not equals:
            raise UsageError(f"pattern {definition!r}: expected NAME=EXPRESSION, such as ticket=ACME-[0-9]+")
        patterns.append(UserPattern(name, expression))
    return patterns


def _compile_checked(name: str, expression: str) -> re.Pattern[str]:
    if len(expression) > _MAX_EXPRESSION_CHARS:
        raise UsageError(f"pattern {name}: the expression is longer than {_MAX_EXPRESSION_CHARS} characters")
    try:
        compiled = re.compile(expression)
        tree = parser.parse(expression)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"pattern {name}: not a valid regular expression: {error}") from None
    if compiled.match(""):
        raise UsageError(f"pattern {name}: the expression matches an empty string")
    if reason := _explain_costly_part(tree):
        raise UsageError(
            f"pattern {name}: the expression {reason}, which can take forever to match; simplify it, or use the"
            " possessive forms ++ and *+"
        )
    return compiled


def _explain_costly_part(tree: Any, repeated: bool = False) -> str | None:
    """Return why an expression may take exponential or high polynomial time, or None if it is safe."""
    loops = 0
    for op, argument in tree:
        if op in (ops.GROUPREF, ops.GROUPREF_EXISTS):
            return "refers back to a group"
        inner, again = _list_inner_parts(op, argument)
        many = op in (ops.MAX_REPEAT, ops.MIN_REPEAT) and argument[1] > 16
        loops += many
        if many and repeated:
            return "contains a repetition inside a repetition"
        if repeated and op is ops.BRANCH:
            return "repeats alternatives"
        for part in inner:
            if reason := _explain_costly_part(part, repeated=(repeated or many) and again):
                return reason
    return "has more than three open repetitions in a row" if loops > 3 else None


def _list_inner_parts(op: Any, argument: Any) -> tuple[list[Any], bool]:
    """Return the parts of a piece of an expression, and whether an enclosing repetition may try them again."""
    if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
        return [argument[2]], True
    if op is ops.POSSESSIVE_REPEAT:
        return [argument[2]], False
    if op is ops.ATOMIC_GROUP:
        return [argument], False
    if op is ops.SUBPATTERN:
        return [argument[3]], True
    if op is ops.BRANCH:
        return list(argument[1]), True
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [argument[1]], True
    return [], True


def _iter_text_pieces(text: str) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\n]+", text):
        at, end = line.span()
        while end - at > MAX_PIECE_CHARS:
            yield at, at + MAX_PIECE_CHARS
            at += MAX_PIECE_CHARS * 3 // 4
        yield at, end
