"""Text as part of a Markdown document: escaped, quoted, fenced, and without active HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable

from turnlog.render.html_escape import replace_unencodable

_MAX_CLEANING_ROUNDS = 4
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_SPECIAL_ESCAPES = str.maketrans({char: f"\\{char}" for char in "\\`*[]<>|#~&"})
_UNDERSCORE = re.compile(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_FOLD_TAGS = re.compile(rb"(?:> )*(?:</?details>|<summary>[^<]*</summary>)\s*")


def escape_markdown(text: str) -> str:
    """Escape everything that Markdown would interpret, and put the text on one line."""
    return _UNDERSCORE.sub(r"\\_", " ".join(text.split()).translate(_SPECIAL_ESCAPES))


def emphasise_text(text: str) -> str:
    return f"*{escape_markdown(text)}*" if text.strip() else ""


def to_inline_code(text: str) -> str:
    line = " ".join(text.split())
    ticks = "`" * (1 + max(map(len, _TICKS.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


def fence_text(text: str, language: str = "") -> str:
    """Put text between fences that are longer than any fence in it."""
    ticks = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks}{language}\n{_normalise_line_ends(text).rstrip()}\n{ticks}"


def quote_text(text: str) -> str:
    return "\n".join(f"> {line}".rstrip(" ") if not line.strip() else f"> {line}" for line in text.split("\n"))


def close_open_fence(text: str) -> str:
    """Close an open fence in Markdown, so that later text is not part of the code block."""
    text = _normalise_line_ends(text).strip("\n")
    fence = _find_open_fence(text.split("\n"))
    return f"{text}\n{fence}" if fence else text


def keep_line_breaks(text: str) -> str:
    """Turn line breaks into Markdown hard breaks, because line breaks in prompts are intentional."""
    lines = text.split("\n")
    inside = _find_fenced_lines(lines)
    ends = [*lines[1:], ""]
    return "\n".join(
        f"{line.rstrip()}  " if line.strip() and end.strip() and not code else line
        for line, end, code in zip(lines, ends, inside, strict=True)
    )


def _find_open_fence(lines: Iterable[str]) -> str:
    fence = ""
    for line in lines:
        fence = _track_fence(line, fence)
    return fence


def _find_fenced_lines(lines: list[str]) -> list[bool]:
    """Return, for each line, whether it is in a fenced block, including the fences themselves."""
    fence, found = "", []
    for line in lines:
        before, fence = fence, _track_fence(line, fence)
        found.append(bool(before or fence))
    return found


def _track_fence(line: str, fence: str) -> str:
    """Return the fence that is open after a line."""
    found = _FENCE.match(line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) and not found[2].strip() else fence


def _normalise_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def escape_html_tags(text: str, *, folds: bool = False) -> str:
    """Escape the HTML in Markdown; with `folds`, keep the tags of folds."""
    data = replace_unencodable(text).encode()
    for _ in range(_MAX_CLEANING_ROUNDS):
        places = _find_html(data, folds) if b"<" in data else []
        if not places:
            return data.decode()
        pieces, position = [], 0
        for start, end in places:
            pieces += [data[position:start], data[start:end].replace(b"<", b"&lt;")]
            position = end
        data = b"".join([*pieces, data[position:]])
    return data.replace(b"<", b"&lt;").decode()


def _find_html(data: bytes, folds: bool) -> list[tuple[int, int]]:
    """Find the ranges of HTML in Markdown."""
    import pyromark

    found = []
    for event, place in pyromark.events_with_range(data.decode()):
        if isinstance(event, dict) and ("Html" in event or "InlineHtml" in event):
            start, end = place["start"], place["end"]
            if b"<" in data[start:end] and not (folds and _FOLD_TAGS.fullmatch(data[start:end])):
                found.append((start, end))
    return found
