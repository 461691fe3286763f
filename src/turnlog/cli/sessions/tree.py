"""`turnlog tree`: show projects with their sessions, forks and copies."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.terminal import TerminalScreen, cut_to_cells, measure_width, to_visible_line
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.session_tree import SessionTree, TreeProject, TreeSession


@click.command()
@click.option(
    "-p",
    "--project",
    metavar="P",
    help="Include only sessions in folder P and its subfolders, or in folders whose names contain P.",
)
@click.option("-a", "--all", "everything", is_flag=True, help="Include files without a conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def tree(project: str | None, everything: bool, as_json: bool) -> None:
    """Show a tree of projects, their sessions, and the forks, clones and copies of each session.

    Git worktrees of the same repository are grouped together. turnlog reads a session's origin from its file or infers
    it from messages that two sessions share. Deleted sessions are shown for as long as the index contains them.

    \b
    Examples:
      turnlog tree
      turnlog tree --project webshop
      turnlog tree --json | jq '.projects[].sessions[] | select(.children != [])'
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.session_tree import build_session_tree
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.cli.output import describe_hidden_files, mention_others, print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen

    config = load_config()
    with show_index_bar() as bar:
        found = build_session_tree(
            project, include_junk=everything, config=config, notify=bar.notify, progress=bar.show
        )
    if as_json:
        print_json(to_document(found))
        return
    print_lines(render_session_tree(found, detect_screen(config.color)))
    if found.hidden:
        print_remark(describe_hidden_files(found.hidden))
    mention_others(found.others)


_MAX_TITLE_CHARS = 300
_MIN_TITLE_CELLS = 12
"""Minimum width of a title, in terminal cells."""
_DEFINITION = (
    "Newest first. Prompts: entries that a person typed. Below a session are its forks and copies: a fork records its"
    " origin, and a copy shares its first entry or some messages with an older file. Shared: assistant messages in"
    " both. Sub-agents: those with their own file. Deleted: the file is gone."
)


def render_session_tree(found: SessionTree, screen: TerminalScreen) -> Iterator[str]:
    """Render the tree as lines; on a terminal, they are cut to its width."""
    from turnlog.api.lookup import shorten_ids

    now = datetime.now(UTC)
    ids = shorten_ids([node.session_id for project in found.projects for node, _ in _walk_sessions(project)])
    for project in found.projects:
        head = screen.fit(to_visible_line(project.path), 16)
        yield screen.paint(head, "bold") + screen.paint(f"  {_describe_amount(project)}", "dim")
        for node, branch in _walk_sessions(project):
            yield _render_node(node, branch, ids, screen, now)
        yield ""
    if found.projects:
        yield from screen.wrap_prose(_DEFINITION, "dim")


def _describe_amount(project: TreeProject) -> str:
    trees = {node.worktree for node, _ in _walk_sessions(project) if node.worktree}
    return format_count(project.total, "session") + (f", {format_count(len(trees), 'worktree')}" if trees else "")


def _walk_sessions(project: TreeProject) -> Iterator[tuple[TreeSession, str]]:
    """Yield each session of a project with the tree branches that lead to it."""
    stack = [(node, "", number == 1) for number, node in enumerate(reversed(project.sessions), 1)]
    while stack:
        node, above, is_last = stack.pop()
        yield node, above + ("└─ " if is_last else "├─ ")
        deeper = above + ("   " if is_last else "│  ")
        stack += [(child, deeper, number == 1) for number, child in enumerate(reversed(node.children), 1)]


def _render_node(node: TreeSession, branch: str, ids: dict[str, str], screen: TerminalScreen, now: datetime) -> str:
    short = ids[node.session_id]
    facts = (
        f"  {_format_time(node, screen, now)}  {time_format.format_size(node.size)}, "
        f"{format_count(node.prompts, 'prompt')}  "
    )
    notes = "".join(f"  [{note}]" for note in _list_notes(node, ids))
    title = to_visible_line((node.title or "")[:_MAX_TITLE_CHARS]) or "(no title)"
    if screen.width is not None:
        branch = _shorten_branch(branch, screen.width // 3)
        facts = cut_to_cells(facts, max(screen.width - measure_width(branch + short) - _MIN_TITLE_CELLS, 0))
        notes = cut_to_cells(notes, max(screen.width - measure_width(branch + short + facts) - _MIN_TITLE_CELLS, 0))
    taken = measure_width(branch + short + facts + notes)
    return (
        screen.paint(branch, "dim")
        + screen.paint(short, "yellow")
        + screen.paint(facts, "dim")
        + screen.fit(title, taken)
        + screen.paint(notes, "cyan")
    )


def _shorten_branch(branch: str, cells: int) -> str:
    """If the tree branches that lead to a session are too wide, keep only the last ones."""
    return branch if measure_width(branch) <= cells else "…" + branch[measure_width(branch) - cells + 1 :]


def _format_time(node: TreeSession, screen: TerminalScreen, now: datetime) -> str:
    time = node.ended or node.started
    return time_format.format_client_time_ago(time, now) if screen.width else time_format.format_client_time(time)


def _list_notes(node: TreeSession, ids: dict[str, str]) -> Iterator[str]:
    if node.origin is not None:
        origin = to_visible_line(node.origin.session_id[:_MAX_TITLE_CHARS])
        common = f", {node.origin.shared} shared" if node.origin.shared else ""
        yield f"{node.origin.relation} of {ids.get(origin, origin[:8])}{common}"
    if node.worktree:
        yield f"worktree {to_visible_line(node.worktree[:_MAX_TITLE_CHARS])}"
    if node.tag:
        yield f"#{to_visible_line(node.tag[:_MAX_TITLE_CHARS])}"
    if node.agents:
        yield format_count(node.agents, "sub-agent")
    if node.gone:
        yield "deleted, archived" if node.archived else "deleted"
    elif node.archived:
        yield "archived"
