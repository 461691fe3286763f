"""Shows a plan of the model's and asks the person to approve it; the person can change it in their editor first."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from turnlog.agent.console.editor import edit_file
from turnlog.agent.console.person_questions import Ask, add_side_bar, ask_consent
from turnlog.errors import TurnlogError
from turnlog.render.streamed_markdown import StreamedMarkdown
from turnlog.render.terminal import TerminalScreen as Look
from turnlog.render.terminal import measure_width, to_visible_line

_STYLE_PATTERN = re.compile("(\x1b\\[[0-9;]*m)")
_BAR_CELLS = 5
_RESET_STYLE = "\x1b[0m"


def ask_plan_approval(
    arguments: Mapping[str, Any],
    ask: Ask,
    say: Callable[..., None],
    look: Look,
    change: Callable[[str], str] | None = None,
) -> Mapping[str, Any] | None:
    """Ask the person to approve a plan and choose how to proceed; return None if they cancel.

    `change` lets them edit the plan, and returns what they made of it."""
    given = plan = str(arguments.get("plan") or "")
    while True:
        say(look.paint("The plan:", "yellow"), *add_side_bar(render_plan(plan, look)))
        say("  y  go ahead, but ask before each change", "  a  go ahead, and change files without asking")
        if change is not None:
            say("  e  edit the plan")
        say("  n  keep planning (or type what to change)")
        consent = ask_consent(ask, "go ahead?", "yae" if change is not None else "ya")
        if consent is None:
            return None
        letter, instructions = consent
        if letter == "n":
            return {"approved": False, "words": instructions}
        if letter != "e" or change is None:
            edited = {"plan": plan} if plan != given else {}
            return {"approved": True, "mode": "acceptEdits" if letter == "a" else "default", **edited}
        try:
            plan = change(plan)
        except TurnlogError as error:
            say(look.paint(f"  {to_visible_line(str(error))}", "red"))


def render_plan(plan: str, look: Look) -> Iterator[str]:
    """Render the Markdown of a plan in rows that leave room for the bar before them."""
    room = max((look.width or 10_000) - _BAR_CELLS, _BAR_CELLS)
    markdown = StreamedMarkdown(lambda: look._replace(width=None if look.width is None else room + 1))
    for row in (*markdown.add_text(plan), *markdown.end_text()):
        yield from _split_painted_row(row, room)


def _split_painted_row(row: str, cells: int) -> Iterator[str]:
    """Split a row that is too wide, and repeat its style: the terminal would continue the row without the bar."""
    line, used, style = "", 0, ""
    for number, part in enumerate(_STYLE_PATTERN.split(row)):
        if number % 2:
            style = "" if part == _RESET_STYLE else part
            line += part
            continue
        for char in part:
            needed = measure_width(char)
            if used + needed > cells:
                yield line + (_RESET_STYLE if style else "")
                line, used = style, 0
            line, used = line + char, used + needed
    yield line


def edit_plan(plan: str, environ: Mapping[str, str]) -> str:
    """Let the person edit a plan in their editor, and return it."""
    with tempfile.TemporaryDirectory(prefix="turnlog-plan-") as folder:
        path = Path(folder) / "plan.md"
        path.write_text(plan, "utf-8", errors="replace", newline="")
        edit_file(path, environ)
        return path.read_text("utf-8", "replace")
