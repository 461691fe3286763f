"""Counts all sessions of a machine again, from their first events.

A few sessions are counted in each transaction. An interrupted rebuild can be continued by running it again, and
sessions that are being written at the same time keep counting. What was earned in sessions that no longer exist stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from turnlog.entries.agents import list_folders_once
from turnlog.entries.layout import SessionFile
from turnlog.errors import Unreadable
from turnlog.live.events.event import AnyEvent
from turnlog.live.events.file_events import iter_session_events, read_first_time
from turnlog.quest.ledger import ProfileKeeper

RebuildProgress = Callable[[int, int], object]
"""Called with the number of counted bytes and the total."""


_SessionGroup = tuple[str, list[SessionFile]]
"""A session's id, and its files."""
MAX_BATCH_SESSIONS, MAX_BATCH_BYTES = 50, 4 << 20


class RebuildCounts(NamedTuple):
    """What a rebuild has read."""

    sessions: int
    events: int
    unread: tuple[str, ...]
    """The files that couldn't be read, with the reason."""


@list_folders_once()
def rebuild_profile(
    keeper: ProfileKeeper, files: Iterable[SessionFile], progress: RebuildProgress = lambda _done, _total: None
) -> RebuildCounts:
    """Count sessions again, the oldest first; of copied messages, the oldest session gets the experience."""
    by_uuid: dict[str, list[SessionFile]] = defaultdict(list)
    for file in files:
        by_uuid[file.session_id].append(file)
    order = sorted(by_uuid.items(), key=lambda pair: (_find_start(pair[1]), pair[0]))
    total = sum(file.size for _, group in order for file in group)
    done = events = 0
    unread: list[str] = []
    for batch in _split_batches(order):
        progress(done, total + 1)
        for counted in keeper.recount_sessions((uuid, _iter_events(group)) for uuid, group in batch):
            if isinstance(counted, Unreadable):
                unread.append(str(counted))
            else:
                events += counted
        done += sum(file.size for _, group in batch for file in group)
    keeper.clear_problem()
    progress(total + 1, total + 1)
    return RebuildCounts(len(order), events, tuple(unread))


def _split_batches(order: Sequence[_SessionGroup]) -> Iterator[list[_SessionGroup]]:
    """Split the sessions into batches that are counted in one transaction each, in a fraction of a second."""
    batch: list[_SessionGroup] = []
    size = 0
    for uuid, group in order:
        batch.append((uuid, group))
        size += sum(file.size for file in group)
        if len(batch) == MAX_BATCH_SESSIONS or size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _find_start(group: Sequence[SessionFile]) -> str:
    return min(read_first_time(file.path) for file in group)


def _iter_events(group: Sequence[SessionFile]) -> Iterator[AnyEvent]:
    """Yield the events of the files with one session's id, of which there may be several in different folders."""
    for file in sorted(group, key=lambda file: (read_first_time(file.path), file.file)):
        yield from iter_session_events(file.path)
