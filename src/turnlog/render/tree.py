"""Any JSON value as an expandable tree, never as raw JSON, however deep or large it is.

The output is bounded: very deep parts are written as text, and if there are very many members, only the first ones are
written, with a count of the others. The raw entry contains everything.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from turnlog.render.figures import format_count
from turnlog.render.html_escape import escape_text
from turnlog.render.jinja_templates import render_pieces, shorten_name
from turnlog.render.text_folds import fold_text

MAX_TREE_DEPTH = 24
"""Deeper values are written as text; browsers fail at a few hundred levels."""
MAX_CONTAINER_MEMBERS = 200
"""The maximum number of members written per list or object."""
MAX_TREE_MEMBERS = 4_000
"""The maximum number of members written per tree."""
_MAX_OPEN_DEPTH = 2
_MAX_OPEN_MEMBERS = 12
_MAX_COMPACT_CHARS = 2_000
_MAX_STRING_CHARS = 200_000


def render_tree(value: Any) -> Markup:
    """Render a JSON value as HTML."""
    out: list[str] = ['<div class="tree">']
    left = MAX_TREE_MEMBERS
    # What is left to write, last first: pieces of HTML, or a member with its name and depth.
    waiting: list[str | tuple[str | None, Any, int]] = ["</div>", (None, value, 0)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        name, member, depth = item
        left -= 1
        if not _is_container(member):
            out.append(_render_row(name, _render_scalar(member)))
        elif depth >= MAX_TREE_DEPTH or left < 0:
            out.append(
                _render_row(name, f'<pre class="json">{escape_text(to_compact_json(member, _MAX_COMPACT_CHARS))}</pre>')
            )
        else:
            opening, members, closing = _open_container(name, member, depth)
            out.append(opening)
            waiting.append(closing)
            waiting.extend(reversed(members))
    return Markup("".join(out))


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list | tuple) and len(value) > 0


def _open_container(
    name: str | None, value: Any, depth: int
) -> tuple[str, list[str | tuple[str | None, Any, int]], str]:
    """Return the start of a list or object, its members, and its end."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    members: list[str | tuple[str | None, Any, int]] = [
        (str(key), part, depth + 1) for key, part in items[:MAX_CONTAINER_MEMBERS]
    ]
    if len(items) > MAX_CONTAINER_MEMBERS:
        members.append(
            f'<div class="row more">{format_count(len(items) - MAX_CONTAINER_MEMBERS, "more member")}, in the '
            f"raw entry</div>"
        )
    if name is None:
        return '<div class="members">', members, "</div>"
    is_open = " open" if depth <= _MAX_OPEN_DEPTH and len(items) <= _MAX_OPEN_MEMBERS else ""
    count = format_count(len(items), "field" if isinstance(value, dict) else "item")
    opening = (
        f'<details{is_open}><summary>{_render_name(name)}<span class="count">{count}</span></summary><div '
        f'class="members">'
    )
    return opening, members, "</div></details>"


def _render_row(name: str | None, html: str) -> str:
    return f'<div class="row">{_render_name(name)}{html}</div>'


def _render_name(name: str | None) -> str:
    return "" if name is None else f'<span class="name">{escape_text(shorten_name(name))}</span> '


def _render_scalar(value: object) -> str:
    if isinstance(value, str):
        return _render_string(value)
    if isinstance(value, bool) or value is None:
        return f'<span class="tok-keyword">{ {True: "true", False: "false", None: "null"}[value] }</span>'
    if isinstance(value, int | float):
        return f'<span class="tok-number">{escape_text(_format_number(value))}</span>'
    return f'<span class="tok-comment">{escape_text(to_compact_json(value, _MAX_COMPACT_CHARS))}</span>'


def _format_number(value: float) -> str:
    # Python refuses to write integers with thousands of digits.
    return hex(value) if isinstance(value, int) and value.bit_length() > 10_000 else repr(value)


def _render_string(value: str) -> str:
    if "\n" not in value and len(value) <= 200:
        return f'<span class="tok-string">{escape_text(value) if value else "“”"}</span>'
    head, rest, label = fold_text(value[:_MAX_STRING_CHARS], 20, 2_000)
    html = f'<pre class="string">{escape_text(head)}</pre>'
    if rest:
        html += (
            f'<details class="fold"><summary>{label}</summary><pre class="string">{render_pieces(rest)}</pre></details>'
        )
    if len(value) > _MAX_STRING_CHARS:
        html += (
            f'<div class="more">{format_count(len(value) - _MAX_STRING_CHARS, "more character")}, in the '
            f"raw entry</div>"
        )
    return html


def to_compact_json(value: Any, max_chars: int) -> str:
    """Write a JSON value on one line, up to a maximum length and at any nesting depth."""
    out: list[str] = []
    size = 0
    waiting: list[Any] = [value]
    while waiting and size <= max_chars:
        part = waiting.pop()
        text = _begin_value(part, waiting)
        out.append(text)
        size += len(text)
    text = "".join(out)
    return text if len(text) <= max_chars and not waiting else text[:max_chars] + "…"


class _JsonToken(str):
    """A token of the JSON text itself, as opposed to a string in the value."""

    __slots__ = ()


def _begin_value(part: Any, waiting: list[Any]) -> str:
    """Return the text of a value or, for an object or list, only its first character; add the rest to `waiting`."""
    from msgspec import json

    if isinstance(part, _JsonToken):
        return part
    if isinstance(part, str):
        return json.encode(part.encode("utf-8", "replace").decode()[:10_000]).decode()
    if isinstance(part, dict):
        members = [
            step for key, value in part.items() for step in (_JsonToken(", "), str(key), _JsonToken(": "), value)
        ][1:]
        waiting.extend([_JsonToken("}"), *reversed(members)])
        return "{"
    if isinstance(part, list | tuple):
        members = [step for value in part for step in (_JsonToken(", "), value)][1:]
        waiting.extend([_JsonToken("]"), *reversed(members)])
        return "["
    if isinstance(part, bool) or part is None:
        return {True: "true", False: "false", None: "null"}[part]
    return _format_number(part) if isinstance(part, int | float) else str(part)
