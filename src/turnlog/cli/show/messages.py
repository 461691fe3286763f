"""`turnlog messages`: print what the API would receive if a session were resumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from turnlog.cli.terminal import TerminalScreen, make_visible, to_visible_line, to_visible_lines
from turnlog.render.figures import format_count


@click.command()
@click.argument("session")
@click.option("--leaf", metavar="UUID", help="Entry to resume from (default: the entry that Claude Code would choose).")
@click.option("--as-sent", is_flag=True, help="Include what Claude Code itself would add to the request.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print JSON in the format of the Messages API (see docs/json.md)."
)
def messages(session: str, leaf: str | None, as_sent: bool, as_json: bool) -> None:
    """Print the messages that the API would receive if a session were resumed now.

    The messages are built from the session file alone, by the rules of the newest version of Claude Code. If Claude
    Code could not resume the session, the command prints the reason and exits with status 1. SESSION is a path, an id,
    an id prefix, a title, or `last` (the most recent session).

    \b
    Examples:
      turnlog messages last
      turnlog messages last --json > body.json
      turnlog messages last --leaf 8a1f0c9e-93ba-4b2d-9f0d-1c6a1e0d2f11 --json
    """
    from turnlog.api.config import load_config
    from turnlog.api.lookup import open_session
    from turnlog.api.session import collect_messages
    from turnlog.cli.output import print_json_list, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    with open_session(session, config, print_remark) as found:
        sent = collect_messages(found, leaf, as_sent=as_sent).messages
        if as_json:
            print_json_list("messages", sent)
        else:
            folders = {call.id: call.line.cwd for call in found.calls}
            print_lines(render_api_messages(sent, folders, detect_screen(config.color)))


def render_api_messages(
    messages: Iterable[dict[str, Any]], folders: Mapping[str, str | None], screen: TerminalScreen
) -> Iterator[str]:
    """Render each message's role, text and call titles; `folders` maps call ids to working folders."""
    for number, message in enumerate(messages, 1):
        if number > 1:
            yield ""
        yield screen.paint(f"── {number} · {make_visible(str(message.get('role')))}", "cyan")
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": str(content)}]
        for block in blocks:
            yield from _render_block(block, folders, screen)


def _render_block(block: dict[str, Any], folders: Mapping[str, str | None], screen: TerminalScreen) -> Iterator[str]:
    from turnlog.cli.show.call_summary import first_line
    from turnlog.render.call_titles import build_call_title
    from turnlog.session.failures import has_failed, to_result_text

    kind = block.get("type")
    if kind == "text":
        yield from to_visible_lines(str(block.get("text", "")))
    elif kind == "thinking":
        yield screen.paint(f"[thinking, {format_count(len(str(block.get('thinking', ''))), 'character')}]", "dim")
    elif kind == "tool_use":
        name = str(block.get("name"))
        title = build_call_title(name, block.get("input"), folders.get(str(block.get("id"))))
        shown = screen.fit(make_visible(title), len(name) + 3)
        yield f"{screen.paint('●', 'blue')} {screen.paint(make_visible(name), 'bold')} {shown}".rstrip()
    elif kind == "tool_result":
        text = to_result_text(block.get("content"))
        words = first_line(text) or "nothing"
        yield screen.paint(screen.fit(f"→ {words}"), "red" if has_failed(block.get("is_error"), text, None) else "dim")
    else:
        yield screen.paint(f"[{to_visible_line(str(kind))}]", "dim")
