"""The sessions on a machine as a tree: projects, their sessions, and each session's forks and copies."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.index import Progress, open_index
from turnlog.api.lookup import Notify
from turnlog.api.sessions import is_in_project
from turnlog.store.archive.archive import Archive
from turnlog.store.filter_values import require_projects
from turnlog.store.index.file_changes import read_other_file_count
from turnlog.store.insight.family import (
    FamilyNode,
    FamilyRow,
    ProjectTree,
    build_project_trees,
    iter_shared_messages,
    list_family_rows,
)
from turnlog.store.insight.worktrees import find_worktrees


class TreeOrigin(Struct, frozen=True):
    """The session from which another one was created."""

    relation: str
    """clone, fork, repair or copy."""
    session_id: str
    known: bool
    """Whether that session is in the index."""
    shared: int
    """The number of assistant messages in both."""


class TreeSession(Struct, frozen=True):
    """A session in the tree, with its forks and copies."""

    session_id: str
    path: str
    title: str | None
    tag: str | None
    cwd: str | None
    worktree: str | None
    started: str | None
    ended: str | None
    size: int
    prompts: int
    agents: int
    gone: bool
    archived: bool
    origin: TreeOrigin | None
    children: list[TreeSession]


class TreeProject(Struct, frozen=True):
    """A working folder, or a repository with its worktrees."""

    path: str
    folders: list[str]
    total: int
    ended: str | None
    sessions: list[TreeSession]


class SessionTree(Struct, frozen=True):
    """The projects on a machine with their sessions, newest first."""

    projects: list[TreeProject]
    hidden: int
    """The number of hidden files without a conversation."""
    others: int
    """The number of `.jsonl` files whose names are not session ids."""


def build_session_tree(
    project: str | None = None,
    *,
    include_junk: bool = False,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> SessionTree:
    """Build the tree of projects, their sessions, and each session's forks and copies.

    The tree comes from the index, so it includes sessions whose files were deleted.
    """
    with open_index(config or load_config(), is_whole=False, notify=notify, progress=progress) as (index, _):
        found = [row for row in list_family_rows(index.db) if project is None or _is_row_in_project(row, project)]
        if project is not None and not found:
            require_projects(index.db, project)
        kept = [row for row in found if row.talks or include_junk]
        homes = find_worktrees(row.cwd for row in kept if row.cwd)
        archived = Archive(data_dir()).list_ids()
        trees = build_project_trees(kept, iter_shared_messages(index.db), homes, archived)
        return SessionTree(_to_tree_projects(trees), len(found) - len(kept), read_other_file_count(index.db))


def _is_row_in_project(row: FamilyRow, project: str) -> bool:
    return is_in_project(row.cwd, project) or (row.cwd is None and project.casefold() in row.folder.casefold())


def _to_tree_projects(trees: Sequence[ProjectTree]) -> list[TreeProject]:
    return [
        TreeProject(tree.path, tree.folders, tree.total, tree.ended, [_to_tree_session(node) for node in tree.sessions])
        for tree in trees
    ]


def _to_tree_session(node: FamilyNode) -> TreeSession:
    row, origin = node.row, node.origin
    return TreeSession(
        row.session_id,
        row.path,
        row.title,
        row.tag,
        row.cwd,
        node.worktree,
        row.started,
        row.ended,
        row.size,
        row.prompts,
        row.agents,
        row.is_gone,
        node.is_archived,
        origin and TreeOrigin(origin.relation, origin.session_id, origin.file is not None, origin.shared),
        [_to_tree_session(child) for child in node.children],
    )
