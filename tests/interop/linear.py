"""Is a session one chain, so that a client that only walks up from the newest row loses nothing?"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

from tests.interop.classify import Object

LINKS = ("user", "assistant", "system", "attachment", "progress")


def is_linear(path: Path) -> bool:
    """True if the main rows of a file form one chain, in file order, without forks, gaps or strange rows.

    Then every version resumes the same conversation: 2.1.29 walks up from the row with the newest time, by
    parentUuid, so forks (parallel calls), a missing parent, two rows of one uuid or times out of order cost
    it rows.
    """
    rows = main_rows(path)
    chained = all(row["parentUuid"] == before["uuid"] for before, row in pairwise(rows))
    times = [str(row.get("timestamp") or "") for row in rows]
    return (
        bool(rows)
        and rows[0].get("parentUuid") is None
        and chained
        and len({row["uuid"] for row in rows}) == len(rows)
        and all(times)
        # Of equal times old clients take the first as the leaf.
        and (len(rows) == 1 or (times == sorted(times) and times[-1] > times[-2]))
        and all(is_plain(row) for row in rows)
    )


def main_rows(path: Path) -> list[Object]:
    """The rows of the main conversation in file order; those without a link too, so that they are seen."""
    rows: list[Object] = []
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and row.get("type") in LINKS and not row.get("isSidechain"):
            rows.append({"uuid": None, "parentUuid": "absent", **row})
    return rows


def is_plain(row: Object) -> bool:
    """A row that every version since 2.1 sends, or leaves out, in the same way."""
    if row["type"] == "progress":
        return False  # not in memory of the newest client, a link of the older ones: their leaf may differ
    if row["type"] == "attachment":
        return False  # unknown to older clients: the chain ends there
    if row["type"] == "system":
        return row.get("subtype") not in ("compact_boundary", "local_command")
    message = row.get("message")
    if not isinstance(message, dict) or row.get("isApiErrorMessage") or row.get("isMeta"):
        return False
    content = message.get("content")
    return isinstance(content, list) or (isinstance(content, str) and row["type"] == "user")
