"""Where entries refer to other entries, and what becomes of that when rows go.

A reference to a row that goes leads to that row's own nearest ancestor that stays, never to the line before it: else
two branches would be joined.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from turnlog.entries.entry import Body
from turnlog.entries.patch import REMOVE_KEY

if TYPE_CHECKING:
    from turnlog.edit.draft import Draft, DraftRow

LINK_KEYS = (
    "parentUuid",
    "logicalParentUuid",
    "leafUuid",
    "messageId",
    "snapshotMessageId",
    "sourceToolAssistantUUID",
    "interruptedMessageId",
    "parentLastUuid",
)
"""Top-level keys that hold the uuid of another entry."""
NESTED_LINK_KEYS = ("snapshot", "summarizedTurnPromptUuids")
"""Top-level keys inside of which uuids of other entries stand. `compactMetadata` is one more, see `_preserved`."""

_LinkFollower = Callable[[str], str | None]


def relink_rows(draft: Draft, gone: frozenset[int]) -> dict[int, dict[str, Any]]:
    """New values for all references to rows that go, by the place of the row that refers."""
    parents = {uuid: draft.get_parent_uuid(draft.rows[at]) for at in gone if (uuid := draft.get_uuid(draft.rows[at]))}
    # A uuid that is written twice is still there when one of the two goes.
    stay = {uuid for at, row in enumerate(draft.rows) if at not in gone and (uuid := draft.get_uuid(row))}
    parents = {uuid: parent for uuid, parent in parents.items() if uuid not in stay}

    def follow(uuid: str) -> str | None:
        seen = set()
        found: str | None = uuid
        while found is not None and found in parents and found not in seen:
            seen.add(found)
            found = parents[found]
        return None if found in seen else found

    found = {}
    for at, row in enumerate(draft.rows):
        if at not in gone and (changes := _relink_row(draft, row, parents, follow)):
            found[at] = changes
    return found


def _relink_row(draft: Draft, row: DraftRow, parents: Container[str], follow: _LinkFollower) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    parent = draft.get_parent_uuid(row)
    if parent in parents and parent is not None:
        changes["parentUuid"] = follow(parent)
    if not _may_have_references(draft, row):
        return changes
    body = draft.get_body(row)
    for key in LINK_KEYS[1:]:
        if isinstance(uuid := body.get(key), str) and uuid in parents:
            changes[key] = follow(uuid) or (REMOVE_KEY if key != "logicalParentUuid" else None)
    for key in NESTED_LINK_KEYS:
        if key in body and (value := _relink_value(body[key], parents, follow)) != body[key]:
            changes[key] = value
    if (
        isinstance(facts := body.get("compactMetadata"), dict)
        and (fixed := _relink_preserved(draft, facts, parents, follow)) != facts
    ):
        changes["compactMetadata"] = fixed
    return changes


def _relink_preserved(draft: Draft, facts: Body, gone: Container[str], follow: _LinkFollower) -> Body:
    """What a compaction kept word for word, without the rows that go: one that is missing would lose them all."""
    messages, segment = facts.get("preservedMessages"), facts.get("preservedSegment")
    if isinstance(messages, dict):
        lists = {
            key: [one for one in value if one not in gone] for key, value in messages.items() if isinstance(value, list)
        }
        anchor = messages.get("anchorUuid")
        fixed = {**messages, **lists, "anchorUuid": follow(anchor) if isinstance(anchor, str) else anchor}
        if fixed == messages:
            return facts
        return {**{key: value for key, value in facts.items() if key != "preservedSegment"}, "preservedMessages": fixed}
    if (
        isinstance(segment, dict)
        and (uuids := _list_segment_uuids(draft, segment))
        and any(uuid in gone for uuid in uuids)
    ):
        anchor = segment.get("anchorUuid")
        kept = {
            "anchorUuid": follow(anchor) if isinstance(anchor, str) else anchor,
            "uuids": [uuid for uuid in uuids if uuid not in gone],
        }
        return {**{key: value for key, value in facts.items() if key != "preservedSegment"}, "preservedMessages": kept}
    return facts


def _list_segment_uuids(draft: Draft, segment: Body) -> list[str]:
    """The uuids from the head of a preserved segment to its tail; none if they don't hang together."""
    parents = {draft.get_uuid(row): draft.get_parent_uuid(row) for row in draft.rows}
    head, at = segment.get("headUuid"), segment.get("tailUuid")
    found: list[str] = []
    while isinstance(at, str) and at in parents and at not in found:
        found.append(at)
        if at == head:
            return found[::-1]
        at = parents[at]
    return []


def _may_have_references(draft: Draft, row: DraftRow) -> bool:
    """Whether a row has other references than to its parent; most lines need not be read for that."""
    kind = draft.get_value(row, "type")
    return kind not in ("assistant", "progress", "attachment")


def _relink_value(value: Any, parents: Container[str], follow: _LinkFollower) -> Any:
    """A value with all uuids in it followed; those that lead nowhere go from lists."""
    if isinstance(value, str):
        return follow(value) if value in parents else value
    if isinstance(value, list):
        followed = [_relink_value(item, parents, follow) for item in value]
        return list(dict.fromkeys(item for item in followed if item is not None)) if followed != value else value
    if isinstance(value, dict):
        return {key: _relink_value(item, parents, follow) for key, item in value.items()}
    return value
