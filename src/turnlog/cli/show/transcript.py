"""Messages API messages as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turnlog.cli.show.gist import first_line, summarize_call_input
from turnlog.cli.terminal import TerminalScreen, make_visible, to_visible_line, to_visible_lines
from turnlog.render.figures import format_count
from turnlog.session.failures import has_failed, to_result_text


def render_api_messages(messages: Iterable[dict[str, Any]], screen: TerminalScreen) -> Iterator[str]:
    """Role, texts, and calls in short."""
    for number, message in enumerate(messages, 1):
        if number > 1:
            yield ""
        yield screen.paint(f"── {number} · {make_visible(str(message.get('role')))}", "cyan")
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content)}]
        for block in blocks:
            yield from _render_block(block, screen)


def _render_block(block: dict[str, Any], screen: TerminalScreen) -> Iterator[str]:
    kind = block.get("type")
    if kind == "text":
        yield from to_visible_lines(str(block.get("text", "")))
    elif kind == "thinking":
        yield screen.paint(f"[thinking, {format_count(len(str(block.get('thinking', ''))), 'character')}]", "dim")
    elif kind == "tool_use":
        name = make_visible(str(block.get("name")))
        gist = screen.fit(summarize_call_input(block.get("input")), len(name) + 3)
        yield f"{screen.paint('●', 'blue')} {screen.paint(name, 'bold')} {gist}".rstrip()
    elif kind == "tool_result":
        text = to_result_text(block.get("content"))
        words = first_line(text) or "nothing"
        yield screen.paint(screen.fit(f"→ {words}"), "red" if has_failed(block.get("is_error"), text, None) else "dim")
    else:
        yield screen.paint(f"[{to_visible_line(str(kind))}]", "dim")
