"""`turnlog prompts`: list everything that you typed, across all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.terminal import TerminalScreen, to_visible_line, to_visible_lines
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.prompts import ListedPrompt, PromptList

_MAX_LINES = 6
_OUTCOME_COLOURS = {"finished": "green", "interrupted": "yellow", "error": "red", "waiting": "yellow", "open": "dim"}


@click.command()
@click.argument("words", metavar="[WORD...]", nargs=-1)
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="Include only sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option("--since", metavar="DAY", help="First day to include, such as 2026-11-03, yesterday or 30d.")
@click.option("--until", metavar="DAY", help="Last day to include.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=30,
    metavar="N",
    help="Number of prompts on a page (default: 30).",
)
@click.option("--page", type=click.IntRange(1), default=1, metavar="N", help="Show this page (default: 1).")
@click.option("--full", is_flag=True, help="Show long prompts in full.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def prompts(
    words: tuple[str, ...],
    project: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    page: int,
    full: bool,
    as_json: bool,
) -> None:
    """List the prompts and commands that you typed in all sessions, newest first, with what came of each.

    Every WORD must occur in the prompt, the session's title or its project. Secrets are replaced with placeholders such
    as [secret:github:1]. Each prompt is shown with its session, the outcome and the cost of its turn, and whether it
    began a session, began a new round, or resumed the session after a pause.

    \b
    Examples:
      turnlog prompts
      turnlog prompts cent rounding --project webshop
      turnlog prompts --since 7d --json
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.prompts import list_prompts
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    with show_index_bar() as bar:
        found = list_prompts(
            " ".join(words),
            limit=limit,
            page=page,
            project=project,
            since=since,
            until=until,
            config=config,
            notify=bar.notify,
            progress=bar.show,
        )
    if as_json:
        print_json(to_document(found))
    else:
        print_lines(render_prompt_list(found, detect_screen(config.color), full=full))


def render_prompt_list(found: PromptList, screen: TerminalScreen, *, full: bool = False) -> Iterator[str]:
    """Render prompts: a line of facts, then the text."""
    if not found.prompts:
        pages = "is 1 page" if found.pages == 1 else f"are {found.pages} pages"
        yield f"Page {found.page} is empty; there {pages}." if found.total else "No prompts."
        return
    for prompt in found.prompts:
        yield screen.paint(screen.fit(_describe_prompt(prompt)), "cyan")
        lines = to_visible_lines(prompt.text)
        shown = lines if full else lines[:_MAX_LINES]
        yield from (line if full else screen.fit(line) for line in shown)
        if len(lines) > len(shown):
            yield screen.paint(f"… {format_count(len(lines) - len(shown), 'more line')} (--full)", "dim")
        yield screen.paint(_describe_outcome(prompt), _OUTCOME_COLOURS.get(prompt.outcome or "", "dim"))
        yield ""
    yield screen.paint(f"page {found.page} of {found.pages}, {format_count(found.total, 'prompt')}", "dim")


def _describe_prompt(prompt: ListedPrompt) -> str:
    parts = [
        time_format.format_client_time(prompt.time),
        to_visible_line(prompt.project),
        to_visible_line(prompt.title or "(no title)"),
    ]
    return " · ".join([*parts, prompt.session_id[:8] + (" (deleted)" if prompt.gone else "")])


def _describe_outcome(prompt: ListedPrompt) -> str:
    parts = [prompt.outcome or "typed during a turn"]
    if prompt.round:
        parts.append(prompt.round.replace("_", " "))
    if prompt.calls:
        parts.append(format_count(prompt.calls, "call"))
    if prompt.cost_usd:
        parts.append(time_format.format_money(prompt.cost_usd))
    return "  " + " · ".join(parts)
