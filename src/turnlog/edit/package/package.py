"""Defines the package format: one file with everything that belongs to some sessions, to be unpacked elsewhere.

A package is a tar archive compressed with zstd, which `tar --zstd -x` can extract, in three consecutive parts:

    manifest.json                    the contents: sessions, and each file with its size, SHA-256, time and mode
    config/<place>, history/<id>     the files, in the order of the manifest; lines of `history.jsonl` by session
    trailer                          a frame that zstd skips: the lengths of the other two parts, and their SHA-256

The manifest comes first, so that a reader can check the contents before unpacking anything. A package does not record
when or where it was created, so the same sessions always produce the same bytes.

A package may come from an untrusted source. Its paths must not lead outside the config folder or to a place in it that
does not belong to a session, because the client runs any settings, hooks, skills, commands and shell environments that
it finds.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from turnlog.entries.layout import is_session_id
from turnlog.entries.path_escapes import is_safe_path
from turnlog.errors import Unreadable

PACKAGE_FORMAT = "turnlog-pack"
PACKAGE_VERSION = 1
MANIFEST_NAME = "manifest.json"
MAX_MANIFEST_BYTES = 64 << 20
"""The maximum length of a manifest, compressed or not."""
_SKIPPABLE_FRAME_MAGIC = 0x184D2A5C
"""The start of a frame that zstd skips."""
_TRAILER_STRUCT = struct.Struct("<II12sQQ32s")
TRAILER_BYTES = _TRAILER_STRUCT.size
CONFIG_NAME_PREFIX = "config/"
"""The prefix of files that have a path below the config folder."""
HISTORY_NAME_PREFIX = "history/"
"""The prefix of files with lines of `history.jsonl`."""

_AGENT_FILE_PATTERN = re.compile(r"(?:subagents/)?agent-[^/]+\.(?:jsonl|meta\.json)", re.DOTALL)
_PLAN_FILE_PATTERN = re.compile(r"[^/]+\.md", re.DOTALL)


class PackedFile(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    name: str
    """The name in the package; `%` and bytes that are not UTF-8 are written as %XX."""
    session: str
    """The id of the session that the file belongs to; for a shared plan, the first of its sessions."""
    size: int
    sha256: str
    mtime_ns: int
    mode: int
    left_out: int = 0
    """The number of bytes missing at its end, from a line that was being written during packing."""

    @property
    def place(self) -> str | None:
        """The path below a config folder, or None for lines of the history."""
        return self.name[len(CONFIG_NAME_PREFIX) :] if self.name.startswith(CONFIG_NAME_PREFIX) else None


class PackedSession(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    title: str | None
    project: str | None
    """The working directory of the session's project."""
    config_dir: str
    """The config folder that the session came from."""
    folder: str
    """The name of the session's folder below `projects`."""
    history_lines: int = 0

    @property
    def main(self) -> str:
        """The name of the session's transcript in the package."""
        return f"{CONFIG_NAME_PREFIX}projects/{self.folder}/{self.session_id}.jsonl"


class PackageManifest(msgspec.Struct, frozen=True, kw_only=True):
    format: str = PACKAGE_FORMAT
    version: int = PACKAGE_VERSION
    redacted: bool = False
    """Whether secrets were replaced by placeholders."""
    sessions: tuple[PackedSession, ...]
    files: tuple[PackedFile, ...]
    """The files, by name."""

    @property
    def size(self) -> int:
        """The total size of the session's files in bytes."""
        return sum(file.size for file in self.files)

    def group_by_session(self) -> dict[str, list[PackedFile]]:
        """Return the files of each session, by session id."""
        files_by_session: dict[str, list[PackedFile]] = {session.session_id: [] for session in self.sessions}
        for file in self.files:
            files_by_session[file.session].append(file)
        return files_by_session


class PackageTrailer(NamedTuple):
    """The information at the end of a package."""

    manifest: int
    """The length of the first part, compressed."""
    files: int
    """The length of the second part, compressed."""
    sha256: bytes
    """The hash of both parts."""


def encode_package_manifest(manifest: PackageManifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def decode_package_manifest(data: bytes) -> PackageManifest:
    """Parse a manifest; raise `Unreadable` if it is invalid or lists files that turnlog never packs."""
    try:
        head = msgspec.json.decode(data, type=_ManifestHead)
        if head.format != PACKAGE_FORMAT:
            raise Unreadable("not a turnlog package")
        if head.version != PACKAGE_VERSION:
            raise Unreadable(f"written by a different version of turnlog (format {head.version}); use that version")
        manifest = msgspec.json.decode(data, type=PackageManifest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable(f"damaged: no valid manifest ({error})") from error
    check_package_manifest(manifest)
    return manifest


class _ManifestHead(msgspec.Struct):
    format: str
    version: int


def check_package_manifest(manifest: PackageManifest) -> None:
    """Refuse a manifest with unsafe names or with incomplete sessions."""
    sessions = {session.session_id: session for session in manifest.sessions}
    if not sessions or len(sessions) < len(manifest.sessions):
        raise Unreadable("the manifest lists no sessions, or lists the same session twice")
    names = {file.name for file in manifest.files}
    for session in manifest.sessions:
        plain = is_safe_path(session.folder) and "/" not in session.folder
        if not is_session_id(session.session_id) or not plain:
            raise Unreadable(f"session {session.session_id!r} in {session.folder!r}: not a valid id or folder")
        if session.main not in names:
            raise Unreadable(f"no transcript for session {session.session_id}")
    for file in manifest.files:
        owner = sessions.get(file.session)
        if owner is None or not is_safe_path(file.name) or not _belongs_to_owner(file, owner):
            raise Unreadable(f"{file.name!r} is not the path of a session file")
        if file.size < 0 or file.left_out < 0 or not 0 <= file.mode <= 0o7777:
            raise Unreadable(f"impossible size or mode for {file.name!r}")
    if (name := find_colliding_name(file.name for file in manifest.files)) is not None:
        raise Unreadable(f"two files are named {name!r} (ignoring case)")


def _belongs_to_owner(file: PackedFile, owner: PackedSession) -> bool:
    if file.place is None:
        return file.name == f"{HISTORY_NAME_PREFIX}{owner.session_id}.jsonl"
    return is_session_place(file.place, owner.session_id, owner.folder)


def encode_trailer(trailer: PackageTrailer) -> bytes:
    return _TRAILER_STRUCT.pack(_SKIPPABLE_FRAME_MAGIC, TRAILER_BYTES - 8, PACKAGE_FORMAT.encode(), *trailer)


def read_trailer(data: bytes, size: int) -> PackageTrailer:
    """Parse the last bytes of a file of `size` bytes; raise `Unreadable` if the file is not a complete package."""
    if len(data) != TRAILER_BYTES:
        raise Unreadable("not a turnlog package, or truncated")
    magic, length, form, *rest = _TRAILER_STRUCT.unpack(data)
    trailer = PackageTrailer(*rest)
    if (magic, length, form) != (_SKIPPABLE_FRAME_MAGIC, TRAILER_BYTES - 8, PACKAGE_FORMAT.encode()):
        raise Unreadable("not a turnlog package, or truncated")
    if trailer.manifest + trailer.files + TRAILER_BYTES != size or trailer.manifest > MAX_MANIFEST_BYTES:
        raise Unreadable("damaged: the file's length differs from the length recorded at its end")
    return trailer


def is_session_place(place: str, session_id: str, folder: str) -> bool:
    """Return whether a path in a config folder belongs to a session; names are escaped as in a package."""
    top, _, rest = place.partition("/")
    if top == "projects":
        project, _, rest = rest.partition("/")
        own = rest == f"{session_id}.jsonl" or rest.startswith(f"{session_id}/")
        return project == folder and (own or _AGENT_FILE_PATTERN.fullmatch(rest) is not None)
    if top in ("file-history", "tasks"):
        return rest.startswith(f"{session_id}/")
    if top == "todos":
        return "/" not in rest and rest.startswith((f"{session_id}.json", f"{session_id}-agent-"))
    return top == "plans" and _PLAN_FILE_PATTERN.fullmatch(rest) is not None


def find_colliding_name(names: Iterable[str]) -> str | None:
    """Return a name that some file systems confuse with another or that is both a file and a folder, if any."""
    seen: set[str] = set()
    folders: set[str] = set()
    for name in names:
        folded = _fold_name(name)
        if folded in seen:
            return name
        seen.add(folded)
        parts = folded.split("/")
        folders.update("/".join(parts[:count]) for count in range(1, len(parts)))
    return next(iter(sorted(seen & folders)), None)


def _fold_name(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
