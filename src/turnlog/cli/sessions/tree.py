"""`turnlog tree`: projects, sessions, and what was forked or copied from what."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from turnlog.api.config import data_dir
from turnlog.api.lookup import shorten_ids
from turnlog.cli import time_format
from turnlog.cli.sessions.catalogue import is_in_project
from turnlog.cli.terminal import TerminalScreen, cut_to_cells, measure_width, to_visible_line
from turnlog.render.figures import format_count
from turnlog.session.clock import parse_timestamp
from turnlog.store.filter_values import require_projects
from turnlog.store.insight.family import (
    FamilyNode,
    FamilyRow,
    ProjectTree,
    build_project_trees,
    iter_shared_messages,
    list_family_rows,
)
from turnlog.store.insight.worktrees import find_worktrees

if TYPE_CHECKING:
    import apsw


@click.command()
@click.option("-p", "--project", metavar="P", help="Only sessions of this folder and those below it, or of that name.")
@click.option("-a", "--all", "everything", is_flag=True, help="Also files that hold no conversation.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def tree(project: str | None, everything: bool, as_json: bool) -> None:
    """Show projects, their sessions, and below each session what came from it.

    Git worktrees of one repository stand together. Forks and copies hang below what they came from: by what the
    files say, and by messages they have in common. Sessions that were deleted stay in the tree as long as the index
    knows them.

    \b
    Examples:
      turnlog tree
      turnlog tree --project webshop
      turnlog tree --json | jq '.projects[].sessions[] | select(.children != [])'
    """
    from turnlog.api.config import load_config
    from turnlog.cli.fresh_index import open_fresh_index
    from turnlog.cli.output import mention_others, print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen
    from turnlog.store.index.file_changes import read_other_file_count

    config = load_config()
    with open_fresh_index(config) as index:
        found = build_project_forest(index.db, project, everything)
        others = read_other_file_count(index.db)
    if as_json:
        print_json(to_forest_document(found))
        return
    print_lines(render_forest(found, detect_screen(config.color)))
    if found.hidden:
        print_remark(f"{found.hidden} without a conversation not shown; --all shows them.")
    mention_others(others)


_MAX_TITLE_CHARS = 300
_MIN_TITLE_CELLS = 12
"""A title has at least so many cells of a line."""
_DEFINITION = (
    "Newest first. Prompts: entries that hold what a person typed. Below a session stands what came from it: a fork"
    " says so itself, a copy has its first entry or messages in common with an older file; shared: assistant messages"
    " that both have. Sub-agents: those with a file of their own. Deleted: the file is gone."
)


class ProjectForest(NamedTuple):
    """All projects that are to be shown."""

    projects: list[ProjectTree]
    hidden: int
    """How many files without a conversation were left out."""


def build_project_forest(db: apsw.Connection, project: str | None = None, everything: bool = False) -> ProjectForest:
    """Projects with their sessions, out of the index; `UsageError` if no session has such a project."""
    found = [row for row in list_family_rows(db) if project is None or _is_row_in_project(row, project)]
    if project is not None and not found:
        require_projects(db, project)
    kept = [row for row in found if row.talks or everything]
    homes = find_worktrees(row.cwd for row in kept if row.cwd)
    return ProjectForest(
        build_project_trees(kept, iter_shared_messages(db), homes, _list_archived_ids()), len(found) - len(kept)
    )


def _is_row_in_project(row: FamilyRow, project: str) -> bool:
    return is_in_project(row.cwd, project) or (row.cwd is None and project.casefold() in row.folder.casefold())


def _list_archived_ids() -> set[str]:
    """The sessions that the archive holds."""
    from turnlog.store.archive.archive import Archive

    return Archive(data_dir()).list_ids()


def render_forest(found: ProjectForest, screen: TerminalScreen) -> Iterator[str]:
    """The tree as lines; on a terminal, cut to its width."""
    now = datetime.now(UTC)
    ids = shorten_ids([node.row.session_id for project in found.projects for node, _ in _walk_sessions(project)])
    for project in found.projects:
        head = screen.fit(to_visible_line(project.path), 16)
        yield screen.paint(head, "bold") + screen.paint(f"  {_describe_amount(project)}", "dim")
        for node, branch in _walk_sessions(project):
            yield _render_node(node, branch, ids, screen, now)
        yield ""
    if found.projects:
        yield from screen.wrap_prose(_DEFINITION, "dim")


def _describe_amount(project: ProjectTree) -> str:
    trees = {node.worktree for node, _ in _walk_sessions(project) if node.worktree}
    return format_count(project.total, "session") + (f", {format_count(len(trees), 'worktree')}" if trees else "")


def _walk_sessions(project: ProjectTree) -> Iterator[tuple[FamilyNode, str]]:
    """Each session of a project with the branches that lead to it."""
    stack = [(node, "", number == 1) for number, node in enumerate(reversed(project.sessions), 1)]
    while stack:
        node, above, is_last = stack.pop()
        yield node, above + ("└─ " if is_last else "├─ ")
        deeper = above + ("   " if is_last else "│  ")
        stack += [(child, deeper, number == 1) for number, child in enumerate(reversed(node.children), 1)]


def _render_node(node: FamilyNode, branch: str, ids: dict[str, str], screen: TerminalScreen, now: datetime) -> str:
    short = ids[node.row.session_id]
    facts = (
        f"  {_format_time(node.row, screen, now)}  {time_format.format_size(node.row.size)}, "
        f"{format_count(node.row.prompts, 'prompt')}  "
    )
    notes = "".join(f"  [{note}]" for note in _list_notes(node, ids))
    title = to_visible_line((node.row.title or "")[:_MAX_TITLE_CHARS]) or "(no title)"
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
    """The branches that lead to a session; of a deep one the last."""
    return branch if measure_width(branch) <= cells else "…" + branch[measure_width(branch) - cells + 1 :]


def _format_time(row: FamilyRow, screen: TerminalScreen, now: datetime) -> str:
    found = parse_timestamp(row.time)
    if found is None:
        return "unknown time"
    return (
        time_format.format_time_ago(found.timestamp(), now)
        if screen.width
        else time_format.format_client_time(row.time)
    )


def _list_notes(node: FamilyNode, ids: dict[str, str]) -> Iterator[str]:
    row = node.row
    if node.origin is not None:
        origin = to_visible_line(node.origin.session_id[:_MAX_TITLE_CHARS])
        common = f", {node.origin.shared} shared" if node.origin.shared else ""
        yield f"{node.origin.relation} of {ids.get(origin, origin[:8])}{common}"
    if node.worktree:
        yield f"worktree {to_visible_line(node.worktree[:_MAX_TITLE_CHARS])}"
    if row.tag:
        yield f"#{to_visible_line(row.tag[:_MAX_TITLE_CHARS])}"
    if row.agents:
        yield format_count(row.agents, "sub-agent")
    if row.is_gone:
        yield "deleted, archived" if node.is_archived else "deleted"
    elif node.is_archived:
        yield "archived"


def to_forest_document(found: ProjectForest) -> dict[str, Any]:
    """The tree as a JSON document."""
    return {
        "projects": [
            {
                "path": project.path,
                "folders": project.folders,
                "total": project.total,
                "ended": project.ended,
                "sessions": [_to_node_document(node) for node in project.sessions],
            }
            for project in found.projects
        ],
        "hidden": found.hidden,
    }


def _to_node_document(node: FamilyNode) -> dict[str, Any]:
    row, origin = node.row, node.origin
    return {
        "session_id": row.session_id,
        "path": row.path,
        "title": row.title,
        "tag": row.tag,
        "cwd": row.cwd,
        "worktree": node.worktree,
        "started": row.started,
        "ended": row.ended,
        "size": row.size,
        "prompts": row.prompts,
        "agents": row.agents,
        "gone": row.is_gone,
        "archived": node.is_archived,
        "origin": None
        if origin is None
        else {
            "relation": origin.relation,
            "session_id": origin.session_id,
            "known": origin.file is not None,
            "shared": origin.shared,
        },
        "children": [_to_node_document(child) for child in node.children],
    }
