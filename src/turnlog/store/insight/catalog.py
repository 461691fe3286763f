"""All sessions in an index as rows of a list: the topic, length, cost and origin of each.

The list is built from a handful of index queries, without reading session files: 5,000 sessions take about 100 ms.
`read_catalog_state` offers a cheap way to check whether an earlier list is still valid.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw
from msgspec import Struct

from turnlog.session.clock import parse_timestamp, to_epoch_seconds
from turnlog.store.insight.family import (
    FamilyNode,
    FamilyOrigin,
    ProjectTree,
    build_project_trees,
    iter_shared_messages,
    list_family_rows,
)
from turnlog.store.insight.worktrees import find_worktrees
from turnlog.store.usage.usage_sums import COST_SUM, PICO_PER_DOLLAR, add_usage_sums, sum_sharing_sessions

_FILE_QUERY = """
    SELECT id, session, first_prompt, git_branch, version, mtime_ns, compactions
    FROM file WHERE kind = 'session' AND {session}
"""
_SPENT_QUERY = f"SELECT session, {COST_SUM}, sum(unpriced), sum(messages) FROM spend WHERE {{session}} GROUP BY session"
_MODEL_QUERY = """
    SELECT session, name.text FROM spend JOIN name ON name.id = model WHERE {session} GROUP BY session, model
    ORDER BY session, sum(messages) DESC
"""
_CALL_QUERY = """
    SELECT session, sum(calls)
    FROM (SELECT file, count(*) AS calls FROM (SELECT file FROM call WHERE {file}) GROUP BY file)
    JOIN file ON id = file GROUP BY session
"""
_CHOSEN_SESSIONS = "session IN (SELECT value FROM json_each(?))"
_TOOL_QUERY = """
    SELECT session, name.text, count(DISTINCT call.id), count(DISTINCT iif(failed, call.id, NULL))
    FROM (
        SELECT * FROM call
        WHERE file IN (SELECT id FROM file WHERE session IN (SELECT value FROM json_each(?)))
    ) AS call JOIN file ON file.id = call.file JOIN name ON name.id = call.tool
    GROUP BY session, call.tool ORDER BY session, 3 DESC, 2
"""


class CatalogSession(Struct, frozen=True):
    """A session as shown in a list."""

    number: int
    """The id in the index."""
    uuid: str
    file: int
    path: str
    title: str | None
    first_prompt: str | None
    tag: str | None
    project: str
    """The folder the session started in, or its repository; the folder of its project if no entry names one."""
    cwd: str | None
    worktree: str | None
    git_branch: str | None
    version: str | None
    started: str | None
    ended: str | None
    last: float
    """When the last message was written, in seconds since 1970; if unknown, when the file was last written."""
    seconds: float | None
    """The time from the first to the last entry."""
    size: int
    mtime_ns: int
    prompts: int
    compactions: int
    agents: int
    messages: int
    calls: int
    """The number of calls, including those made by sub-agents."""
    cost_usd: float
    """The cost of all its messages, including those it shares with other sessions."""
    own_cost_usd: float
    """The cost of the messages that no older session has, so that a sum over all sessions counts each message once."""
    unpriced: int
    models: tuple[str, ...]
    origin: FamilyOrigin | None
    depth: int
    """How many sessions are above it in its family."""
    root: int
    """The id of the session at the top of its family."""
    is_gone: bool
    is_archived: bool
    talks: bool
    """Whether it contains a conversation."""


class UsedTool(NamedTuple):
    """A tool and how often it was called."""

    tool: str
    calls: int
    failed: int


def read_catalog_state(db: apsw.Connection) -> tuple[Any, ...]:
    """Return a value that changes whenever the list does."""
    files = db.execute(
        "SELECT count(*), max(id), total(offset), total(mtime_ns / 1000000), count(gone), total(generation),"
        " total(filled) FROM file"
    ).fetchone()
    spent = db.execute("SELECT count(*), total(cost), total(messages) FROM spend").fetchone()
    return (*(files or ()), *(spent or ()))


def list_catalog(
    db: apsw.Connection, archived: Collection[str] = (), *, newest: int | None = None
) -> list[CatalogSession]:
    """List all sessions, or only the `newest`, grouped by family, newest family first.

    If only some are listed, the messages that they share with older sessions are neither counted nor do they tell where
    a session comes from.
    """
    rows = list_family_rows(db, newest)
    homes = find_worktrees(row.cwd for row in rows if row.cwd)
    facts = _CatalogFacts(db, None if newest is None else [row.file for row in rows])
    projects = build_project_trees(rows, iter_shared_messages(db) if newest is None else (), homes, archived)
    families = [list(_iter_family(project, top, facts)) for project in projects for top in project.sessions]
    families.sort(key=lambda family: max(item.last for item in family), reverse=True)
    return [item for family in families for item in family]


def _iter_family(project: ProjectTree, top: FamilyNode, facts: _CatalogFacts) -> Iterator[CatalogSession]:
    root = facts.files[top.row.file][0]
    stack = [(top, 0)]
    while stack:
        node, depth = stack.pop()
        yield facts.build_listed_session(project.path, node, depth, root)
        stack += [(child, depth + 1) for child in reversed(node.children)]


class _CatalogFacts:
    """Details from the index that the tree doesn't contain, by file and by session."""

    def __init__(self, db: apsw.Connection, files: Sequence[int] | None) -> None:
        chosen = None if files is None else str(_find_session_numbers(db, files))

        def select(query: str) -> Any:
            if chosen is None:
                return db.execute(query.format(session=1, file=1))
            files = f"file IN (SELECT id FROM file WHERE {_CHOSEN_SESSIONS})"
            return db.execute(query.format(session=_CHOSEN_SESSIONS, file=files), (chosen,))

        self.files: dict[int, tuple[Any, ...]] = {row[0]: row[1:] for row in select(_FILE_QUERY)}
        self.spent: dict[int, tuple[Any, ...]] = {row[0]: row[1:] for row in select(_SPENT_QUERY)}
        self.calls: dict[int, int] = dict(select(_CALL_QUERY))
        self.models: dict[int, list[str]] = {}
        for session, model in select(_MODEL_QUERY):
            self.models.setdefault(session, []).append(model)
        self.own_cost = {session: cost for session, (cost, *_) in self.spent.items()}
        if chosen is None:
            self._add_shared(db)

    def _add_shared(self, db: apsw.Connection) -> None:
        """Count all messages in each session, including those that appeared first in a different session."""
        names: dict[int | None, str] = dict(db.execute("SELECT id, text FROM name WHERE kind = 'model'"))
        for session, models in sum_sharing_sessions(db).items():
            whole = add_usage_sums(models.values())
            self.spent[session] = whole.cost, whole.unpriced, whole.messages
            by_use = sorted(models, key=lambda model: -models[model].messages)
            self.models[session] = [names[model] for model in by_use if model in names]

    def build_listed_session(self, project: str, node: FamilyNode, depth: int, root: int) -> CatalogSession:
        row = node.row
        number, first_prompt, git_branch, version, mtime_ns, compactions = self.files[row.file]
        # If a file was written just before it was indexed, the index stores no time, because it may be written again.
        mtime_ns = mtime_ns or _read_mtime_ns(row.path)
        cost, unpriced, messages = self.spent.get(number, (0, 0, 0))
        started, ended = _parse_seconds(row.started), _parse_seconds(row.ended)
        return CatalogSession(
            number=number,
            uuid=row.session_id,
            file=row.file,
            path=row.path,
            title=row.title,
            first_prompt=first_prompt,
            tag=row.tag,
            project=project,
            cwd=row.cwd,
            worktree=node.worktree,
            git_branch=git_branch,
            version=version,
            started=row.started,
            ended=row.ended,
            last=mtime_ns / 1e9 if ended is None else ended,
            seconds=None if started is None or ended is None or ended < started else round(ended - started, 3),
            size=row.size,
            mtime_ns=mtime_ns,
            prompts=row.prompts,
            compactions=compactions,
            agents=row.agents,
            messages=messages,
            calls=self.calls.get(number, 0),
            cost_usd=cost / PICO_PER_DOLLAR,
            own_cost_usd=self.own_cost.get(number, 0) / PICO_PER_DOLLAR,
            unpriced=unpriced,
            models=tuple(self.models.get(number, ())),
            origin=node.origin,
            depth=depth,
            root=root,
            is_gone=row.is_gone,
            is_archived=node.is_archived,
            talks=row.talks,
        )


def _find_session_numbers(db: apsw.Connection, files: Sequence[int]) -> list[int]:
    query = "SELECT DISTINCT session FROM file WHERE id IN (SELECT value FROM json_each(?))"
    return [session for (session,) in db.execute(query, (str(list(files)),))]


def _parse_seconds(text: str | None) -> float | None:
    """Parse a timestamp as seconds since 1970; quickly if it is written as the client does."""
    is_usual = text is not None and len(text) == 24 and text[19] == "." and text[20:23].isdecimal()
    if text is not None and is_usual and (seconds := to_epoch_seconds(text)):
        return seconds + int(text[20:23]) / 1000
    time = parse_timestamp(text)
    return None if time is None else time.timestamp()


def _read_mtime_ns(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - perhaps for every file
    except OSError:
        return 0


def list_used_tools(db: apsw.Connection, sessions: Iterable[int]) -> Mapping[int, list[UsedTool]]:
    """List the tools that the given sessions and their sub-agents called, most used first."""
    tools: dict[int, list[UsedTool]] = {}
    for session, *used in db.execute(_TOOL_QUERY, (str(list(sessions)),)):
        tools.setdefault(session, []).append(UsedTool(*used))
    return tools
