"""Compactions, where a summary replaced older messages. The older messages are still in the file."""

from __future__ import annotations

import math
from typing import NamedTuple

from turnlog.entries.entry import Entry
from turnlog.entries.reader import Transcript
from turnlog.session.graph import Graph, is_boundary


class Compaction(NamedTuple):
    boundary: Entry
    summary: Entry | None
    """The user entry with the summary."""
    trigger: str | None
    """manual or auto."""
    pre_tokens: int | None
    post_tokens: int | None
    preserved: tuple[str, ...]
    """The uuids of messages that were kept verbatim."""
    summarised: tuple[Entry, ...]
    """The rows that the summary replaces, oldest first."""


def list_compactions(file: Transcript, graph: Graph) -> list[Compaction]:
    """List the compactions in a session in file order."""
    return [_build_compaction(file, graph, boundary) for boundary in graph.compactions]


def _build_compaction(file: Transcript, graph: Graph, boundary: Entry) -> Compaction:
    body = file.read_body(boundary)
    metadata = body.get("compactMetadata")
    facts = metadata if isinstance(metadata, dict) else {}
    preserved = facts.get("preservedMessages")
    uuids = preserved.get("uuids") if isinstance(preserved, dict) else None
    trigger = facts.get("trigger")
    before = body.get("logicalParentUuid")
    return Compaction(
        boundary,
        _find_summary(file, graph, boundary),
        trigger if isinstance(trigger, str) else None,
        _to_number(facts.get("preTokens")),
        _to_number(facts.get("postTokens")),
        tuple(str(uuid) for uuid in uuids) if isinstance(uuids, list) else (),
        _list_rows_before(graph, before) if isinstance(before, str) else (),
    )


def _find_summary(file: Transcript, graph: Graph, boundary: Entry) -> Entry | None:
    """Find the first summary below a boundary; the newest clients put attachments between the two."""
    todo = [boundary.index]
    for index in todo:
        row = file.entries[index]
        if row.is_compact_summary:
            return row
        if row is boundary or row.type == "attachment":
            todo += [child for child in graph.list_children(index) if child not in todo]
    return None


def _list_rows_before(graph: Graph, uuid: str) -> tuple[Entry, ...]:
    """List the rows from the previous compaction up to a given row."""
    rows = []
    for row in graph.walk_up(uuid):
        if is_boundary(row):
            break
        rows.append(row)
    return tuple(rows[::-1])


def _to_number(value: object) -> int | None:
    return round(value) if isinstance(value, int | float) and math.isfinite(value) else None
