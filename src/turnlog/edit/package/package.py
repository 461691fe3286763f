"""A package: one file with everything that belongs to some sessions, to be unpacked elsewhere.

It is a tar archive compressed with zstd, so `tar --zstd -x` opens it, in three parts behind each other:

    manifest.json                    what is in it: sessions, and each file with its size, SHA-256, time and mode
    config/<place>, history/<id>     the files, in the order of the manifest; lines of `history.jsonl` by session
    trailer                          a frame that zstd skips: the length of both parts, and the SHA-256 of all before

The manifest comes first, so that a reader knows what to expect before it unpacks a byte of it. Nothing tells when or
where a package was made: the same sessions give the same bytes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import msgspec

from turnlog.edit.package.places import CONFIG, HISTORY, colliding, is_of_session
from turnlog.entries.layout import is_session_id
from turnlog.entries.spelling import is_safe
from turnlog.errors import Unreadable

FORMAT = "turnlog-pack"
VERSION = 1
MANIFEST = "manifest.json"
LONGEST_MANIFEST = 64 << 20
"""No manifest is longer, compressed or not."""
_SKIPPED = 0x184D2A5C
"""How a frame begins that zstd passes over."""
_TRAILER = struct.Struct("<II12sQQ32s")
TRAILER_SIZE = _TRAILER.size


class PackedFile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One file of a package."""

    name: str
    """In the package; `%` and bytes that are no UTF-8 are written %XX."""
    session: str
    """The id of the session that it belongs to; of the first, if it is a plan of several."""
    size: int
    sha256: str
    mtime_ns: int
    mode: int
    left_out: int = 0
    """Bytes at its end that are not here: a line that was being written when it was packed."""

    @property
    def place(self) -> str | None:
        """Where it lies below a config folder; None for lines of the history."""
        return self.name[len(CONFIG) :] if self.name.startswith(CONFIG) else None


class PackedSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session of a package."""

    session_id: str
    title: str | None
    project: str | None
    """The working folder whose sessions it is among."""
    config_dir: str
    """The config folder that it came from."""
    folder: str
    """The name of its folder below `projects`."""
    history_lines: int = 0

    @property
    def main(self) -> str:
        """The name of its transcript."""
        return f"{CONFIG}projects/{self.folder}/{self.session_id}.jsonl"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a package."""

    format: str = FORMAT
    version: int = VERSION
    redacted: bool = False
    """Whether secrets were replaced by marks."""
    sessions: tuple[PackedSession, ...]
    files: tuple[PackedFile, ...]
    """By name."""

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(file.size for file in self.files)

    def by_session(self) -> dict[str, list[PackedFile]]:
        """The files of each session, by its id."""
        found: dict[str, list[PackedFile]] = {session.session_id: [] for session in self.sessions}
        for file in self.files:
            found[file.session].append(file)
        return found


class Trailer(NamedTuple):
    """What the end of a package tells."""

    manifest: int
    """How long the first part is, compressed."""
    files: int
    """How long the second part is, compressed."""
    sha256: bytes
    """Of both."""


def encoded(manifest: Manifest) -> bytes:
    """A manifest as JSON."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decoded(data: bytes) -> Manifest:
    """Read a manifest; `Unreadable` if it is none, or names what no package of turnlog's would hold."""
    try:
        found = msgspec.json.decode(data, type=_Head)
        if found.format != FORMAT:
            raise Unreadable("no package of turnlog's")
        if found.version != VERSION:
            raise Unreadable(f"written by another version of turnlog (format {found.version}); use that one")
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(f"damaged: no manifest ({error})") from error
    must_be_sound(manifest)
    return manifest


class _Head(msgspec.Struct):
    format: str
    version: int


def must_be_sound(manifest: Manifest) -> None:
    """Refuse a manifest with names that lead astray, or with sessions that are not whole."""
    sessions = {session.session_id: session for session in manifest.sessions}
    if not sessions or len(sessions) < len(manifest.sessions):
        raise Unreadable("its manifest names no session, or one of them twice")
    names = {file.name for file in manifest.files}
    for session in manifest.sessions:
        plain = is_safe(session.folder) and "/" not in session.folder
        if not is_session_id(session.session_id) or not plain:
            raise Unreadable(f"names the session {session.session_id!r} in {session.folder!r}, which no client would")
        if session.main not in names:
            raise Unreadable(f"holds no transcript of the session {session.session_id}")
    for file in manifest.files:
        owner = sessions.get(file.session)
        if owner is None or not is_safe(file.name) or not _is_its_own(file, owner):
            raise Unreadable(f"names {file.name!r}, which is no place of a session's")
        if file.size < 0 or file.left_out < 0 or not 0 <= file.mode <= 0o7777:
            raise Unreadable(f"tells what can't be of {file.name!r}")
    if (name := colliding(file.name for file in manifest.files)) is not None:
        raise Unreadable(f"holds {name!r} twice, or two names that differ only in capitals")


def _is_its_own(file: PackedFile, owner: PackedSession) -> bool:
    if file.place is None:
        return file.name == f"{HISTORY}{owner.session_id}.jsonl"
    return is_of_session(file.place, owner.session_id, owner.folder)


def trailer(told: Trailer) -> bytes:
    """The end of a package."""
    return _TRAILER.pack(_SKIPPED, TRAILER_SIZE - 8, FORMAT.encode(), *told)


def read_trailer(data: bytes, size: int) -> Trailer:
    """What the last bytes of a file of that size tell; `Unreadable` if it is no package, or not a whole one."""
    if len(data) != TRAILER_SIZE:
        raise Unreadable("no package of turnlog's, or cut off")
    magic, length, form, *rest = _TRAILER.unpack(data)
    told = Trailer(*rest)
    if (magic, length, form) != (_SKIPPED, TRAILER_SIZE - 8, FORMAT.encode()):
        raise Unreadable("no package of turnlog's, or cut off")
    if told.manifest + told.files + TRAILER_SIZE != size or told.manifest > LONGEST_MANIFEST:
        raise Unreadable("damaged: it is not as long as its end says")
    return told
