"""Where a fork goes on that was asked for at an item of the timeline."""

from __future__ import annotations

from turnlog.entries.entry import Entry
from turnlog.errors import UsageError
from turnlog.web.place import IndexedSession, Machine


def find_fork_point(place: Machine, known: IndexedSession, key: object) -> str:
    """The uuid of the last line of an item: a message is kept whole."""
    if not isinstance(key, str) or len(key) > 100:
        raise UsageError("item: must be the key of an item")
    kept = place.timelines.get_timeline(known.path)
    for branch in kept.head.branches:
        at = kept.find_position(branch.leaf, key)
        if at is None:
            continue
        (item,) = kept.read_items(branch.leaf, at, 1)
        excerpt = kept.read_excerpt([item])
        entries = [excerpt.find_item_at(line.offset) for line in item.lines]
        uuids = [entry.uuid for entry in entries if isinstance(entry, Entry)]
        if found := next((uuid for uuid in reversed(uuids) if uuid), None):
            return found
    raise UsageError("item: no conversation can go on from there")
