"""Emphasis, code and links in a line of Markdown that may still be growing."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_OPEN_CHARS = 300
"""How much text may follow a mark that is not closed yet before the mark counts as plain text."""
_PLAIN_PATTERN = re.compile(r"[^\\`!*_~\[<]+")
_TOKEN_PATTERN = re.compile(
    r"\\(?P<escape>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`{1,9})(?!`)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
    r"|!?\[(?P<label>[^\[\]]{0,300})\]\((?P<target>[^()\s]{0,300}(?:\([^()\s]{0,300}\)[^()\s]{0,300})?)"
    r"(?:\s+\"[^\"]{0,300}\")?\)"
    r"|<(?P<address>https?://[^\s<>]{1,300})>"
    r"|~~(?=\S)(?P<struck>.{1,300}?)(?<=\S)~~"
    r"|(?<!\w)(?P<mark>(?P<char>[*_])(?P=char){0,2})(?!(?P=char))(?=\S)(?P<emphasis>.{1,300}?)"
    r"(?<=\S)(?<!(?P=char))(?<!\\)(?P=mark)(?!\w|(?P=char))"
)
_LITERAL_PATTERN = re.compile(
    r"[*_]+(?=\s)|(?<=\w)[*_]+(?=[^*_])|<(?!h|$)|!(?!\[|$)|\[[^\[\]]*\](?!\(|$)|~(?!~|$)|\\(?![!-/:-@\[-`{-~]|$)"
)
"""Marks that can't begin anything, whatever follows."""
_EMPHASIS_STYLES = {1: ("italic",), 2: ("bold",), 3: ("bold", "italic")}


class TextSpan(NamedTuple):
    """A piece of text in one style."""

    text: str
    styles: tuple[str, ...] = ()


class Scan(NamedTuple):
    spans: list[TextSpan]
    end: int
    """Where the text begins whose meaning depends on what follows."""


def scan_spans(line: str, start: int = 0, styles: tuple[str, ...] = (), *, is_complete: bool = True) -> Scan:
    """Split a line into spans, as far as they are certain."""
    spans: list[TextSpan] = []
    at = start
    while at < len(line):
        if plain := _PLAIN_PATTERN.match(line, at) or _LITERAL_PATTERN.match(line, at):
            spans.append(TextSpan(plain[0], styles))
            at = plain.end()
            continue
        token = _TOKEN_PATTERN.match(line, at)
        if token is not None and token.end() - at > MAX_OPEN_CHARS:
            token = None
        if token is not None and (is_complete or token.end() < len(line)):
            spans += _render_token(token, styles)
            at = token.end()
        elif is_complete or len(line) - at > MAX_OPEN_CHARS:
            end = at + 1
            while end < len(line) and line[end] == line[at]:
                end += 1
            spans.append(TextSpan(line[at:end], styles))
            at = end
        else:
            break
    return Scan(spans, at)


def _render_token(token: re.Match[str], styles: tuple[str, ...]) -> list[TextSpan]:
    if (escape := token["escape"]) is not None:
        return [TextSpan(escape, styles)]
    if (code := token["code"]) is not None:
        is_padded = code[0] == code[-1] == " " and code.strip() != ""
        return [TextSpan(code[1:-1] if is_padded else code, (*styles, "cyan"))]
    if (address := token["address"]) is not None:
        return [TextSpan(address, (*styles, "underline"))]
    if (struck := token["struck"]) is not None:
        return scan_spans(struck, styles=(*styles, "strike")).spans
    if (emphasis := token["emphasis"]) is not None:
        return scan_spans(emphasis, styles=(*styles, *_EMPHASIS_STYLES[len(token["mark"])])).spans
    label, target = token["label"], token["target"]
    spans = scan_spans(label or target, styles=(*styles, "underline")).spans
    # The address is always shown, since a label may claim to be a different one.
    return spans if label in ("", target) else [*spans, TextSpan(f" ({target})", (*styles, "dim"))]
