"""Entries that a file has twice: the client writes earlier history again at some compactions, with the same uuids.

A replay has the uuid, the parent and the content of an earlier entry; only what the client knew when it wrote the line
(its version, the folder, the branch, the session) may differ. Two different entries with one uuid are not replays.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from turnlog.entries.entry import Entry
from turnlog.entries.line_decoder import DECODE_ERRORS, decode_body, salvage_line

_WRITER_FIELDS = ("cwd", "entrypoint", "gitBranch", "sessionId", "slug", "userType", "version")


def is_replay(line: bytes, earlier: bytes) -> bool:
    """Return whether two lines with the same uuid hold the same entry."""
    if line.rstrip() == earlier.rstrip():
        return True
    body, other = decode_body(line), decode_body(earlier)
    for name in _WRITER_FIELDS:
        body.pop(name, None)
        other.pop(name, None)
    return body == other and bool(body)


class LineReplays:
    """Recognises replays among the lines of one file that are read in order, maybe in several runs."""

    def __init__(self, path: str, start: int = 0, newest: str | None = None) -> None:
        """Expect lines from the offset `start` on; `newest` is the latest time of the lines before it."""
        self._path = path
        self._unread = start
        self._newest = newest
        self._places: dict[str, tuple[int, int]] = {}

    def is_replay(self, uuid: object, time: str | None, offset: int, line: bytes) -> bool:
        """Return whether the next line repeats an earlier one.

        The lines of earlier runs are read again only if a line is not newer than all of them, as a replay never is.
        """
        if not isinstance(uuid, str):
            return False
        if self._unread and not self._is_newer(time):
            self._read_earlier_lines()
        place = self._places.setdefault(uuid, (offset, len(line)))
        return place[0] < offset and is_replay(line, self._read_line(*place))

    def _is_newer(self, time: str | None) -> bool:
        return time is not None and self._newest is not None and time[4:5] == "-" and time > self._newest

    def _read_line(self, offset: int, size: int) -> bytes:
        with open(self._path, "rb") as file:  # noqa: PTH123 - once for each replay
            file.seek(offset)
            return file.read(size)

    def _read_earlier_lines(self) -> None:
        end, self._unread = self._unread, 0
        offset = 0
        with open(self._path, "rb") as file:  # noqa: PTH123
            for line in file:
                if offset >= end:
                    return
                for uuid, start, size in _list_uuids(line, offset):
                    self._places.setdefault(uuid, (start, size))
                offset += len(line)


class _LineUuid(Struct):
    uuid: Any = None


def _list_uuids(line: bytes, offset: int) -> list[tuple[str, int, int]]:
    """List the uuids of the entries on a line, each with the place of its entry."""
    try:
        uuid = _decode_uuid(line).uuid
    except DECODE_ERRORS:
        items = (item for item in salvage_line(line, offset) if isinstance(item, Entry))
        return [(item.uuid, item.offset, item.size) for item in items if item.uuid is not None]
    return [(uuid, offset, len(line))] if isinstance(uuid, str) else []


_decode_uuid = Decoder(_LineUuid).decode
