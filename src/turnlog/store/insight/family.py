"""The sessions on a machine as a tree: projects, their sessions, and each session's forks and copies.

`build_project_trees` is a pure function of index rows; `list_family_rows` and `iter_shared_messages` read them. The
origin of a session is taken, in this order, from

    clone, fork, repair   a record that turnlog itself wrote into the file it created
    fork                  the session that its entries name as their origin (`forkedFrom`)
    copy                  messages, or the first entry, shared with an older file; see `docs/glossary.md`

The file with the earlier first timestamp is older; if these are equal, the file with the earlier last timestamp is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import apsw

from turnlog.store.project_folders import choose_project_path

MAX_TREE_DEPTH = 50
"""Deeper sessions become siblings of their parent: people could not follow them, and some JSON readers would fail."""

_ROW_QUERY = """
    SELECT file.id, session.uuid, file.path, name.text, file.gone IS NOT NULL, file.size, file.prompts,
        (SELECT count(*) FROM file AS agent WHERE agent.session = file.session AND agent.kind = 'agent'),
        file.is_session,
        file.started, file.ended, file.cwd, file.root, file.forked_from,
        file.title, file.tag, file.made_by
    FROM file JOIN session ON session.id = file.session JOIN name ON name.id = session.project
    WHERE file.kind = 'session'
"""
_NEWEST_CLAUSE = """
    AND file.id IN (
        SELECT id FROM file WHERE kind = 'session' AND (is_session OR offset = 0)
        ORDER BY ended IS NULL, ended DESC, id LIMIT ?
    )
"""
"""Of files that were not read yet, the newest were noted first (`store.index.file_changes`)."""
_SHARED_QUERY = """
    SELECT answer.key, answer.file FROM answer JOIN file ON file.id = answer.file AND file.kind = 'session'
    WHERE answer.key IN (SELECT key FROM answer GROUP BY key HAVING count(*) > 1)
    ORDER BY answer.key
"""


class FamilyRow(NamedTuple):
    """A session file as the index describes it."""

    file: int
    session_id: str
    path: str
    folder: str
    """The folder of its project below `projects`."""
    is_gone: bool
    size: int
    prompts: int
    """How many entries a person typed."""
    agents: int
    """How many sub-agents have their own file."""
    talks: bool
    """Whether it contains a conversation."""
    started: str | None
    ended: str | None
    cwd: str | None
    root: str | None
    forked_from: str | None
    title: str | None
    tag: str | None
    made_by: str | None = None
    """How turnlog made it from the session that it names: clone, fork or repair."""

    @property
    def time(self) -> str:
        """The time of the last message."""
        return self.ended or self.started or ""

    @property
    def age(self) -> tuple[str, str, str, str]:
        """A sort key, from the oldest file to the newest."""
        return self.started or "~", self.ended or "~", self.session_id, self.path


class FamilyOrigin(NamedTuple):
    """The session from which another one was created, and how."""

    relation: str
    """clone, fork, repair or copy."""
    session_id: str
    file: int | None
    """None if that session is not in the index."""
    shared: int
    """How many assistant messages both sessions have; 0 if not counted."""


@dataclass(slots=True)
class FamilyNode:
    """A session in the tree."""

    row: FamilyRow
    origin: FamilyOrigin | None
    worktree: str | None = None
    """The name of the git worktree that it started in; None for the repository itself."""
    is_archived: bool = False
    children: list[FamilyNode] = field(default_factory=list)


class ProjectTree(NamedTuple):
    """The sessions of one working folder, or of one repository with its worktrees."""

    path: str
    folders: list[str]
    """All folders that its sessions started in."""
    sessions: list[FamilyNode]
    """Newest first; sessions that were created from another session in the project are below that session."""
    total: int
    """How many sessions it has, at all depths."""
    ended: str | None
    """When the last message in any of its sessions was written."""


class Worktree(NamedTuple):
    """A git worktree: its repository and its name."""

    repository: str
    name: str


def list_family_rows(db: apsw.Connection, newest: int | None = None) -> list[FamilyRow]:
    """List the session files in the index, or only the `newest`."""
    rows = db.execute(_ROW_QUERY) if newest is None else db.execute(_ROW_QUERY + _NEWEST_CLAUSE, (newest,))
    return [
        FamilyRow(file, uuid, path, folder, bool(gone), size, prompts, agents, bool(talks), *rest)
        for file, uuid, path, folder, gone, size, prompts, agents, talks, *rest in rows
    ]


def iter_shared_messages(db: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Yield each assistant message that appears in several files, once for each of these files, in message order."""
    yield from db.execute(_SHARED_QUERY)


def build_project_trees(
    rows: Sequence[FamilyRow],
    copies: Iterable[tuple[str, int]] = (),
    worktrees: Mapping[str, Worktree] | None = None,
    archived: Collection[str] = (),
) -> list[ProjectTree]:
    """Build the projects with their sessions, newest first."""
    homes = worktrees or {}
    origins = _find_origins(rows, copies)
    nodes = {row.file: _build_node(row, origins.get(row.file), homes, archived) for row in rows}
    groups: defaultdict[str, list[FamilyNode]] = defaultdict(list)
    paths = _find_project_paths(rows)
    for node in nodes.values():
        groups[_find_project_path(node.row, homes, paths)].append(node)
    projects = [_grow_project_tree(path, members, nodes) for path, members in groups.items()]
    return sorted(projects, key=lambda project: (project.ended or "", project.path), reverse=True)


def _build_node(
    row: FamilyRow, origin: FamilyOrigin | None, homes: Mapping[str, Worktree], archived: Collection[str]
) -> FamilyNode:
    home = homes.get(row.cwd or "")
    return FamilyNode(row, origin, home.name if home else None, row.session_id in archived)


def _find_project_paths(rows: Sequence[FamilyRow]) -> dict[str, str]:
    """Find the working folders of the projects of sessions that name none."""
    cwds: dict[str, set[str]] = {row.folder: set() for row in rows if row.cwd is None}
    for row in rows:
        if row.cwd is not None and row.folder in cwds:
            cwds[row.folder].add(row.cwd)
    return {folder: choose_project_path(folder, known) for folder, known in cwds.items()}


def _find_project_path(row: FamilyRow, homes: Mapping[str, Worktree], paths: Mapping[str, str]) -> str:
    cwd = paths[row.folder] if row.cwd is None else row.cwd
    home = homes.get(cwd)
    return home.repository if home else cwd


def _grow_project_tree(path: str, members: list[FamilyNode], nodes: Mapping[int, FamilyNode]) -> ProjectTree:
    """Place each session below the session from which it was created, if both are in the project."""
    here = {node.row.file for node in members}
    depths: dict[int, int] = {}
    parents: dict[int, int] = {}
    tops: list[FamilyNode] = []
    for node in _sort_parents_first(members, here):
        above = node.origin.file if node.origin else None
        if above is None or above not in here:
            depths[node.row.file] = 0
            tops.append(node)
            continue
        if depths[above] >= MAX_TREE_DEPTH:
            above = parents[above]
        nodes[above].children.append(node)
        parents[node.row.file], depths[node.row.file] = above, depths[above] + 1
    for siblings in [tops, *(node.children for node in members)]:
        siblings.sort(key=lambda node: (node.row.time, node.row.session_id), reverse=True)
    folders = sorted({node.row.cwd for node in members if node.row.cwd})
    return ProjectTree(path, folders, tops, len(members), max(node.row.time for node in members) or None)


def _sort_parents_first(members: list[FamilyNode], here: set[int]) -> Iterator[FamilyNode]:
    """Yield each session after the one from which it was created; there are no cycles."""
    by_file = {node.row.file: node for node in members}
    done: set[int] = set()
    for member in members:
        line: list[FamilyNode] = []
        node: FamilyNode | None = member
        while node is not None and node.row.file not in done:
            done.add(node.row.file)
            line.append(node)
            above = node.origin.file if node.origin else None
            node = by_file[above] if above is not None and above in here else None
        yield from reversed(line)


def _find_origins(rows: Sequence[FamilyRow], copies: Iterable[tuple[str, int]]) -> dict[int, FamilyOrigin]:
    """Find the origin of each file; where links form a cycle, the newer links are dropped."""
    ordered = sorted(rows, key=lambda row: row.age)
    by_id: defaultdict[str, list[FamilyRow]] = defaultdict(list)
    for row in ordered:
        by_id[row.session_id].append(row)
    by_file = {row.file: row for row in ordered}
    common = _count_common_messages(ordered, copies)
    origins: dict[int, FamilyOrigin] = {}
    for row in ordered:
        origin = _find_named_origin(row, by_id, common) or _find_copied_origin(common.get(row.file), by_file)
        if origin and not _leads_to(row.file, origin.file, origins):
            origins[row.file] = origin
    return origins


def _leads_to(file: int, above: int | None, origins: Mapping[int, FamilyOrigin]) -> bool:
    while above is not None and above != file:
        above = origins[above].file if above in origins else None
    return above == file


def _find_named_origin(
    row: FamilyRow, by_id: Mapping[str, list[FamilyRow]], common: Mapping[int, Counter[int]]
) -> FamilyOrigin | None:
    """Return the origin stated in the file, in its entries or in turnlog's own record."""
    relation, session_id = row.made_by or "fork", row.forked_from
    if not session_id or session_id == row.session_id:
        return None
    best = min(by_id.get(session_id, []), key=lambda other: (other.folder != row.folder, other.age), default=None)
    if best is None:
        return FamilyOrigin(relation, session_id, None, 0)
    return FamilyOrigin(relation, session_id, best.file, common.get(row.file, Counter())[best.file])


def _find_copied_origin(counts: Counter[int] | None, by_file: Mapping[int, FamilyRow]) -> FamilyOrigin | None:
    """Return the older file that shares the most messages; if several do, the oldest one."""
    if not counts:
        return None
    best = min(counts, key=lambda file: (-counts[file], by_file[file].age))
    return FamilyOrigin("copy", by_file[best].session_id, best, counts[best])


def _count_common_messages(ordered: Sequence[FamilyRow], copies: Iterable[tuple[str, int]]) -> dict[int, Counter[int]]:
    """Count, for each file, the messages that it shares with older files; files with the same first entry are included.

    Each file that contains a message is compared with the previous one and the oldest one, not with all of them.
    """
    place = {row.file: number for number, row in enumerate(ordered)}
    roots: defaultdict[str, list[int]] = defaultdict(list)
    messages: defaultdict[str, list[int]] = defaultdict(list)
    for row in ordered:
        if row.root:
            roots[row.root].append(row.file)
    for key, file in copies:
        if file in place:
            messages[key].append(file)
    common: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for groups, weight in ((roots, 0), (messages, 1)):
        for files in groups.values():
            files.sort(key=place.__getitem__)
            for number, file in enumerate(files[1:], 1):
                for older in {files[0], files[number - 1]}:
                    common[file][older] += weight
    return dict(common)
