"""The tree that `turnlog tree` prints."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli import when
from turnlog.cli.config import data_dir
from turnlog.cli.named import short_ids
from turnlog.cli.sessions.catalogue import belongs
from turnlog.cli.terminal import Screen, cut, line, width
from turnlog.render.figures import count
from turnlog.session.clock import moment
from turnlog.store.insight.family import Node, Project, Row, rows, shared, tree
from turnlog.store.insight.worktrees import worktrees
from turnlog.store.scope import known_projects

if TYPE_CHECKING:
    import apsw

_LONGEST = 300
_TITLE_CELLS = 12
"""A title has at least so many cells of a line."""
_DEFINITION = (
    "Newest first. Prompts: entries that hold what a person typed. Below a session stands what came from it: a fork"
    " says so itself, a copy has its first entry or messages in common with an older file; shared: assistant messages"
    " that both have. Sub-agents: those with a file of their own. Deleted: the file is gone."
)


class Forest(NamedTuple):
    """All projects that are to be shown."""

    projects: list[Project]
    hidden: int
    """How many files without a conversation were left out."""


def forest(db: apsw.Connection, project: str | None = None, everything: bool = False) -> Forest:
    """Projects with their sessions, out of the index; `UsageError` if no session has such a project."""
    found = [row for row in rows(db) if project is None or _belongs(row, project)]
    if project is not None and not found:
        known_projects(db, project)
    kept = [row for row in found if row.talks or everything]
    homes = worktrees(row.cwd for row in kept if row.cwd)
    return Forest(tree(kept, shared(db), homes, _archived()), len(found) - len(kept))


def _belongs(row: Row, project: str) -> bool:
    return belongs(row.cwd, project) or (row.cwd is None and project.casefold() in row.folder.casefold())


def _archived() -> set[str]:
    """The sessions that the archive holds."""
    from turnlog.store.archive.archive import Archive

    return Archive(data_dir()).ids()


def lines(found: Forest, screen: Screen) -> Iterator[str]:
    """The tree as lines; on a terminal, cut to its width."""
    now = datetime.now(UTC)
    ids = short_ids([node.row.session_id for project in found.projects for node, _ in _walk(project)])
    for project in found.projects:
        head = screen.fit(line(project.path), 16)
        yield screen.paint(head, "bold") + screen.paint(f"  {_amount(project)}", "dim")
        for node, branch in _walk(project):
            yield _node(node, branch, ids, screen, now)
        yield ""
    if found.projects:
        yield from screen.prose(_DEFINITION, "dim")


def _amount(project: Project) -> str:
    trees = {node.worktree for node, _ in _walk(project) if node.worktree}
    return count(project.total, "session") + (f", {count(len(trees), 'worktree')}" if trees else "")


def _walk(project: Project) -> Iterator[tuple[Node, str]]:
    """Each session of a project with the branches that lead to it."""
    stack = [(node, "", number == 1) for number, node in enumerate(reversed(project.sessions), 1)]
    while stack:
        node, above, is_last = stack.pop()
        yield node, above + ("└─ " if is_last else "├─ ")
        deeper = above + ("   " if is_last else "│  ")
        stack += [(child, deeper, number == 1) for number, child in enumerate(reversed(node.children), 1)]


def _node(node: Node, branch: str, ids: dict[str, str], screen: Screen, now: datetime) -> str:
    short = ids[node.row.session_id]
    facts = f"  {_time(node.row, screen, now)}  {when.size(node.row.size)}, {count(node.row.prompts, 'prompt')}  "
    notes = "".join(f"  [{note}]" for note in _notes(node, ids))
    title = line((node.row.title or "")[:_LONGEST]) or "(no title)"
    if screen.width is not None:
        branch = _shallow(branch, screen.width // 3)
        facts = cut(facts, max(screen.width - width(branch + short) - _TITLE_CELLS, 0))
        notes = cut(notes, max(screen.width - width(branch + short + facts) - _TITLE_CELLS, 0))
    taken = width(branch + short + facts + notes)
    return (
        screen.paint(branch, "dim")
        + screen.paint(short, "yellow")
        + screen.paint(facts, "dim")
        + screen.fit(title, taken)
        + screen.paint(notes, "cyan")
    )


def _shallow(branch: str, cells: int) -> str:
    """The branches that lead to a session; of a deep one the last."""
    return branch if width(branch) <= cells else "…" + branch[width(branch) - cells + 1 :]


def _time(row: Row, screen: Screen, now: datetime) -> str:
    found = moment(row.time)
    if found is None:
        return "unknown time"
    return when.ago(found.timestamp(), now) if screen.width else when.local(row.time)


def _notes(node: Node, ids: dict[str, str]) -> Iterator[str]:
    row = node.row
    if node.origin is not None:
        origin = line(node.origin.session_id[:_LONGEST])
        common = f", {node.origin.shared} shared" if node.origin.shared else ""
        yield f"{node.origin.relation} of {ids.get(origin, origin[:8])}{common}"
    if node.worktree:
        yield f"worktree {line(node.worktree[:_LONGEST])}"
    if row.tag:
        yield f"#{line(row.tag[:_LONGEST])}"
    if row.agents:
        yield count(row.agents, "sub-agent")
    if row.is_gone:
        yield "deleted, archived" if node.is_archived else "deleted"
    elif node.is_archived:
        yield "archived"


def document(found: Forest) -> dict[str, Any]:
    """The tree as a JSON document."""
    return {
        "projects": [
            {
                "path": project.path,
                "folders": project.folders,
                "total": project.total,
                "ended": project.ended,
                "sessions": [_described(node) for node in project.sessions],
            }
            for project in found.projects
        ],
        "hidden": found.hidden,
    }


def _described(node: Node) -> dict[str, Any]:
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
        "children": [_described(child) for child in node.children],
    }
