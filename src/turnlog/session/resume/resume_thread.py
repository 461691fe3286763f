"""Where the newest client continues when it resumes a session: the leaf, and the rows that lead to it.

The rules are those of Claude Code 2.1.325 (docs/format.md, "How a session is resumed") and are tested against
recordings of the real client (docs/interop.md). Other views in the package show more than the client would resume.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.errors import NotFound, Refused
from turnlog.session.clock import to_epoch_milliseconds
from turnlog.session.graph import get_message_id, is_boundary
from turnlog.session.resume.row_chain import add_side_rows
from turnlog.session.resume.rows import ResumeRows, RowKey

NO_CONVERSATION_TEXT = "the client finds no conversation in it: "


class ResumeThread(NamedTuple):
    """The rows of a resumed session and the leaf with which they end."""

    leaf: Entry
    rows: list[Entry]


def build_resume_thread(file: Transcript, leaf: str | None = None) -> ResumeThread:
    """List the rows that the client would resume, from the first to the leaf, including those outside the chain."""
    rows = ResumeRows(file)
    end = find_current_leaf(rows) if leaf is None else _find_given_leaf(rows, leaf)
    chain = add_side_rows(rows, rows.build_chain(end.uuid))
    if not any(map(_says_something, chain)):
        raise Refused(NO_CONVERSATION_TEXT + "none of its entries has a message")
    return ResumeThread(end, chain)


def _says_something(row: Entry) -> bool:
    if row.type in ("user", "assistant"):
        content = row.message.content if row.message else None
        return content is not None and (row.type == "user" or content != "")
    return True


def _find_given_leaf(rows: ResumeRows, uuid: str) -> Entry:
    if uuid not in rows.up:
        raise NotFound(f"{uuid}: no such entry, or an entry that a conversation can't end with")
    return rows.rows[uuid]


def find_current_leaf(rows: ResumeRows) -> Entry:
    """Return the row from which the client continues; raise Refused if there is none [4]."""
    leaf = _find_named_leaf(rows) or _find_last_leaf(rows)
    if leaf is None or leaf.is_sidechain:
        raise Refused(NO_CONVERSATION_TEXT + "no entry outside sidechains to continue from")
    if to_epoch_milliseconds(next(_list_spoken_rows(rows, leaf), leaf).timestamp) is None:
        raise Refused(NO_CONVERSATION_TEXT + "its last prompt or answer has no valid timestamp")
    return leaf


def _list_spoken_rows(rows: ResumeRows, leaf: Entry) -> Iterator[Entry]:
    """Yield the prompts and answers that lead to a leaf, last first, without empty answers."""
    for row in reversed(rows.build_chain(leaf.uuid)):
        if row.type in ("user", "assistant") and _says_something(row):
            yield row


def _find_named_leaf(rows: ResumeRows) -> Entry | None:
    """Find the row named by the latest `last-prompt` after a compaction, or the last row added below it [11]."""
    since = max((row.index for row in rows.rows.values() if is_boundary(row)), default=-1)
    later = rows.file.entries[since + 1 :]
    prompts = (entry for entry in reversed(later) if entry.type == "last-prompt" and not entry.is_lost)
    uuid = next((named for entry in prompts if (named := rows.file.read_body(entry).get("leafUuid"))), None)
    if not isinstance(uuid, str) or uuid not in rows.up:
        return None
    start = rows.rows[uuid]
    below = rows.find_descendants([uuid, *_list_same_message(rows, start)])
    start_place = max(rows.place[uuid], rows.boundary)
    later_rows = [rows.rows[key] for key in below if rows.place[key] > start_place and not rows.rows[key].is_sidechain]
    leaf = max(later_rows, key=lambda row: rows.place[row.uuid], default=start)
    return leaf if any(row.type in ("user", "assistant") for row in rows.build_chain(leaf.uuid)) else None


def _list_same_message(rows: ResumeRows, row: Entry) -> list[RowKey]:
    identity = get_message_id(row)
    return [key for key, other in rows.rows.items() if get_message_id(other) == identity] if identity else []


def _find_last_leaf(rows: ResumeRows) -> Entry | None:
    """Find the last row in or below the conversation; if it has children, find the newest row that has none [12]."""
    main = [rows.rows[key] for key in rows.up if not rows.rows[key].is_sidechain]
    talk = rows.find_descendants(row.uuid for row in main if row.type in ("user", "assistant"))
    last = next((row for row in reversed(main) if row.uuid in talk), main[-1] if main else None)
    parents = {rows.up[row.uuid] for row in main}
    if last is None or last.uuid not in parents:
        return last
    ends = [row for row in main if row.uuid not in parents]
    return max(ends, key=lambda row: rows.read_time_ms(row) or 0, default=last)
