"""What the newest client goes on from when it resumes a session: the leaf, and the rows that lead to it.

Follows Claude Code 2.1.325 (docs/format.md, "How a session is resumed") and is judged by recordings of the real client
(docs/interop.md). The rest of the package has views of its own, which show more than the client would resume.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.errors import NotFound, Refused
from turnlog.session.clock import milliseconds
from turnlog.session.resume.rows import Key, Rows, is_boundary, message_id
from turnlog.session.resume.weave import woven

NO_CONVERSATION = "the client finds no conversation in it: "


class Thread(NamedTuple):
    """What a resumed session consists of."""

    leaf: Entry
    rows: list[Entry]


def thread(file: Transcript, leaf: str | None = None) -> Thread:
    """The rows that the client would resume, from the first to the leaf, with what belongs beside the chain."""
    rows = Rows(file)
    end = current_leaf(rows) if leaf is None else _given(rows, leaf)
    chain = woven(rows, rows.chain(end.uuid))
    if not any(map(_says_something, chain)):
        raise Refused(NO_CONVERSATION + "no entry of it has a message")
    return Thread(end, chain)


def _says_something(row: Entry) -> bool:
    if row.type in ("user", "assistant"):
        content = row.message.content if row.message else None
        return content is not None and (row.type == "user" or content != "")
    return True


def _given(rows: Rows, uuid: str) -> Entry:
    if uuid not in rows.up:
        raise NotFound(f"no entry {uuid} that a conversation could end with")
    return rows.rows[uuid]


def current_leaf(rows: Rows) -> Entry:
    """The row that the client goes on from; raises Refused where it finds none [4]."""
    leaf = _named_leaf(rows) or _last_leaf(rows)
    if leaf is None or leaf.is_sidechain:
        raise Refused(NO_CONVERSATION + "no entry outside side chains to go on from")
    if milliseconds(next(_spoken(rows, leaf), leaf).timestamp) is None:
        raise Refused(NO_CONVERSATION + "its last prompt or answer has no valid timestamp")
    return leaf


def _spoken(rows: Rows, leaf: Entry) -> Iterator[Entry]:
    """The prompts and answers that lead to a leaf, the last first; an answer that is an empty text is none."""
    for row in reversed(rows.chain(leaf.uuid)):
        if row.type in ("user", "assistant") and _says_something(row):
            yield row


def _named_leaf(rows: Rows) -> Entry | None:
    """The row that the last prompt's entry since a compaction names, or the last later row below it [11]."""
    since = max((row.index for row in rows.rows.values() if is_boundary(row)), default=-1)
    later = rows.file.entries[since + 1 :]
    prompts = (entry for entry in reversed(later) if entry.type == "last-prompt" and not entry.lost)
    uuid = next((named for entry in prompts if (named := rows.file.body(entry).get("leafUuid"))), None)
    if not isinstance(uuid, str) or uuid not in rows.up:
        return None
    start = rows.rows[uuid]
    below = rows.below([uuid, *_same_message(rows, start)])
    behind = max(rows.place[uuid], rows.boundary)
    behind_it = [rows.rows[key] for key in below if rows.place[key] > behind and not rows.rows[key].is_sidechain]
    leaf = max(behind_it, key=lambda row: rows.place[row.uuid], default=start)
    return leaf if any(row.type in ("user", "assistant") for row in rows.chain(leaf.uuid)) else None


def _same_message(rows: Rows, row: Entry) -> list[Key]:
    identity = message_id(row)
    return [key for key, other in rows.rows.items() if message_id(other) == identity] if identity else []


def _last_leaf(rows: Rows) -> Entry | None:
    """The last row at or below a conversation; if it has children, the newest row without any [12]."""
    main = [rows.rows[key] for key in rows.up if not rows.rows[key].is_sidechain]
    talk = rows.below(row.uuid for row in main if row.type in ("user", "assistant"))
    last = next((row for row in reversed(main) if row.uuid in talk), main[-1] if main else None)
    parents = {rows.up[row.uuid] for row in main}
    if last is None or last.uuid not in parents:
        return last
    ends = [row for row in main if row.uuid not in parents]
    return max(ends, key=lambda row: rows.time(row) or 0, default=last)
