r"""Finds string literals that code joins into one: `"abc" + "def"`."""

from __future__ import annotations

import re

_JOINT_OPERATOR = r"[ \t]{0,8}+(?:[+.&][ \t]{0,8}+(?:\\?\r?\n[ \t]{0,80}+)?|\\?\r?\n[ \t]{1,80}+(?:[+.&][ \t]{0,8}+)?)"
LITERAL_JOINT = re.compile(rf"(?P<close>\\*+[\"'`]){_JOINT_OPERATOR}(?P<open>\\*+[\"'`])")
_JOINT_AT_END = re.compile(rf"(?P<close>\\*+[\"'`]){_JOINT_OPERATOR}(?P<open>\\*+[\"'`])$")
_MAX_JOINT_DISTANCE_CHARS = 120
_SECRET_PIECE = re.compile(r"[A-Za-z0-9+/=_.-]{4}")


def find_literal_joints(raw: str, runs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans between literals that code joins into one string; one of the pieces must be a run."""
    spans: dict[tuple[int, int], None] = {}
    for start, end in runs:
        if (
            raw[end : end + 1] in ("\\", '"', "'", "`")
            and (match := LITERAL_JOINT.match(raw, end))
            and _is_literal_joint(raw, match)
        ):
            spans[match.span()] = None
        if start > 3 and raw[start - 1] in "\"'`" and _has_join_before(raw, start):
            first = max(0, start - _MAX_JOINT_DISTANCE_CHARS)
            if (match := _JOINT_AT_END.search(raw, first, start)) and _is_literal_joint(raw, match):
                spans[match.span()] = None
    return list(spans)


def _has_join_before(raw: str, at: int) -> bool:
    """Return whether there is an operator or a line ending before the quote at which a run starts."""
    before = raw[max(0, at - _MAX_JOINT_DISTANCE_CHARS) : at].rstrip("\"'`\\").rstrip(" \t")
    return before[-1:] in ("+", ".", "&", "\n")


def _is_literal_joint(raw: str, match: re.Match[str]) -> bool:
    """Return whether both quotes have the same kind and depth, and possible parts of a secret are on both sides."""
    start, end = match.span()
    return (
        match["close"] == match["open"]
        and start >= 4
        and _SECRET_PIECE.match(raw, start - 4) is not None
        and _SECRET_PIECE.match(raw, end) is not None
    )
