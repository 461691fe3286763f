"""Messages API messages as lines for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from turnlog.cli.show.gist import asked, first_line
from turnlog.cli.terminal import Screen, line, lines, visible
from turnlog.render.figures import count
from turnlog.session.failures import has_failed, plain


def transcript(messages: Iterable[dict[str, Any]], screen: Screen) -> Iterator[str]:
    """Role, texts, and calls in short."""
    for number, message in enumerate(messages, 1):
        if number > 1:
            yield ""
        yield screen.paint(f"── {number} · {visible(str(message.get('role')))}", "cyan")
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content)}]
        for block in blocks:
            yield from _block(block, screen)


def _block(block: dict[str, Any], screen: Screen) -> Iterator[str]:
    kind = block.get("type")
    if kind == "text":
        yield from lines(str(block.get("text", "")))
    elif kind == "thinking":
        yield screen.paint(f"[thinking, {count(len(str(block.get('thinking', ''))), 'character')}]", "dim")
    elif kind == "tool_use":
        name = visible(str(block.get("name")))
        gist = screen.fit(asked(block.get("input")), len(name) + 3)
        yield f"{screen.paint('●', 'blue')} {screen.paint(name, 'bold')} {gist}".rstrip()
    elif kind == "tool_result":
        text = plain(block.get("content"))
        words = first_line(text) or "nothing"
        yield screen.paint(screen.fit(f"→ {words}"), "red" if has_failed(block.get("is_error"), text, None) else "dim")
    else:
        yield screen.paint(f"[{line(str(kind))}]", "dim")
