"""What is said at and below each row of a graph: enough to decide whether a conversation continues there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnlog.entries.entry import Entry


class _NoVoice:
    """Stands for no message."""


_NO_VOICE = _NoVoice()
_Voice = str | _NoVoice | None
"""The id of an answer, or None for a prompt."""


class Voices:
    """For each row, up to two of the messages that are said at and below it: two are enough to find another one."""

    def __init__(self, size: int) -> None:
        self._first: list[_Voice] = [_NO_VOICE] * size
        self._second: list[_Voice] = [_NO_VOICE] * size

    def add(self, index: int, message: _Voice) -> None:
        """Add a message that is said at or below a row."""
        if message is _NO_VOICE or self._first[index] == message:
            return
        (self._first if self._first[index] is _NO_VOICE else self._second)[index] = message

    def add_all(self, index: int, below: int) -> None:
        """Add what is said at and below another row."""
        self.add(index, self._first[below])
        self.add(index, self._second[below])

    def has_other(self, index: int, message: str | None) -> bool:
        """Return whether a prompt or an answer other than `message` is said there; any, if `message` is None."""
        first, second = self._first[index], self._second[index]
        return first is not _NO_VOICE and (message is None or first != message or second is not _NO_VOICE)


def list_bottom_up(rows: Iterable[Entry]) -> list[int]:
    """List the indexes of rows, each after its children, leaving out rows that are their own ancestors."""
    children: dict[int, int] = {}
    parents: dict[int, int] = {}
    for row in rows:
        parents[row.index] = row.parent
        children[row.parent] = children.get(row.parent, 0) + 1
    found = [index for index in parents if index not in children]
    for index in found:  # grows while it is read
        parent = parents[index]
        children[parent] -= 1
        if not children[parent] and parent in parents:
            found.append(parent)
    return found


def join_ring_voices(voices: Voices, ring: Sequence[Entry]) -> None:
    """Give each row of a ring what is said at and below all of them."""
    for row in ring[1:]:
        voices.add_all(ring[0].index, row.index)
    for row in ring[1:]:
        voices.add_all(row.index, ring[0].index)
