"""Any JSON value as something to unfold: never raw, however deep, however large.

What is written is bounded: very deep parts are written as text, and of very many members the first ones with a count.
The raw entry has everything.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from turnlog.render.figures import count
from turnlog.render.folding import folded
from turnlog.render.visible import spelled

DEEPEST = 24
"""Below this, a value is written as text; browsers give up at some hundreds."""
MEMBERS = 200
"""So many members of one list or object are written."""
LARGEST = 4_000
"""So many members of one tree are written."""
_OPEN = 2
_SMALL = 12
_LONGEST = 2_000
_LONGEST_TEXT = 200_000


def tree(value: Any) -> Markup:
    """A JSON value as HTML."""
    out: list[str] = ['<div class="tree">']
    left = LARGEST
    # What is still to be written, last first: pieces of HTML, or a member with its name and depth.
    waiting: list[str | tuple[str | None, Any, int]] = ["</div>", (None, value, 0)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        name, member, depth = item
        left -= 1
        if not _is_container(member):
            out.append(_row(name, _scalar(member)))
        elif depth >= DEEPEST or left < 0:
            out.append(_row(name, f'<pre class="json">{spelled(compact(member, _LONGEST))}</pre>'))
        else:
            opening, members, closing = _container(name, member, depth)
            out.append(opening)
            waiting.append(closing)
            waiting.extend(reversed(members))
    return Markup("".join(out))


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list | tuple) and len(value) > 0


def _container(name: str | None, value: Any, depth: int) -> tuple[str, list[str | tuple[str | None, Any, int]], str]:
    """How a list or an object begins, its members, and how it ends."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    members: list[str | tuple[str | None, Any, int]] = [(str(key), part, depth + 1) for key, part in items[:MEMBERS]]
    if len(items) > MEMBERS:
        members.append(f'<div class="row more">{count(len(items) - MEMBERS, "more member")}, in the raw entry</div>')
    if name is None:
        return '<div class="members">', members, "</div>"
    is_open = " open" if depth <= _OPEN and len(items) <= _SMALL else ""
    word = count(len(items), "field" if isinstance(value, dict) else "item")
    opening = (
        f'<details{is_open}><summary>{_name(name)}<span class="count">{word}</span></summary><div class="members">'
    )
    return opening, members, "</div></details>"


def _row(name: str | None, html: str) -> str:
    return f'<div class="row">{_name(name)}{html}</div>'


def _name(name: str | None) -> str:
    return "" if name is None else f'<span class="name">{spelled(name)}</span> '


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool) or value is None:
        return f'<span class="tok-keyword">{ {True: "true", False: "false", None: "null"}[value] }</span>'
    if isinstance(value, int | float):
        return f'<span class="tok-number">{spelled(_number(value))}</span>'
    return f'<span class="tok-comment">{spelled(compact(value, _LONGEST))}</span>'


def _number(value: float) -> str:
    # Python refuses to write integers of thousands of digits.
    return hex(value) if isinstance(value, int) and value.bit_length() > 10_000 else repr(value)


def _string(value: str) -> str:
    if "\n" not in value and len(value) <= 200:
        return f'<span class="tok-string">{spelled(value) if value else "“”"}</span>'
    head, rest, label = folded(value[:_LONGEST_TEXT], 20, 2_000)
    html = f'<pre class="string">{spelled(head)}</pre>'
    if rest:
        html += f'<details class="fold"><summary>{label}</summary><pre class="string">{spelled(rest)}</pre></details>'
    if len(value) > _LONGEST_TEXT:
        html += f'<div class="more">{count(len(value) - _LONGEST_TEXT, "more character")}, in the raw entry</div>'
    return html


def compact(value: Any, longest: int) -> str:
    """A JSON value as text on one line, as much of it as wanted; depth is no matter."""
    out: list[str] = []
    size = 0
    waiting: list[Any] = [value]
    while waiting and size <= longest:
        part = waiting.pop()
        text = _opened(part, waiting)
        out.append(text)
        size += len(text)
    text = "".join(out)
    return text if len(text) <= longest and not waiting else text[:longest] + "…"


class _Token(str):
    """A part of the text itself, not a string of the value."""

    __slots__ = ()


def _opened(part: Any, waiting: list[Any]) -> str:
    """How a value is written or begins; the rest of it is put on the heap."""
    from msgspec import json

    if isinstance(part, _Token):
        return part
    if isinstance(part, str):
        return json.encode(part.encode("utf-8", "replace").decode()[:10_000]).decode()
    if isinstance(part, dict):
        members = [step for key, value in part.items() for step in (_Token(", "), str(key), _Token(": "), value)][1:]
        waiting.extend([_Token("}"), *reversed(members)])
        return "{"
    if isinstance(part, list | tuple):
        members = [step for value in part for step in (_Token(", "), value)][1:]
        waiting.extend([_Token("]"), *reversed(members)])
        return "["
    if isinstance(part, bool) or part is None:
        return {True: "true", False: "false", None: "null"}[part]
    return _number(part) if isinstance(part, int | float) else str(part)
