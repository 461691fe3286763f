"""Determines where the files in a package are written in a config folder, and how their contents change.

A session is written to the folder of the project for which it is unpacked. In envelopes, the session's working
directory and every path inside it are rewritten for the project on this machine, and so are paths to files in the
package. Other paths, such as those in the sender's home folder, are not changed. With new ids, loose sub-agent files
from old clients are put in the new session's own folder, because their names may already be taken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.id_renewal import IdRenewer
from turnlog.edit.move.path_translation import PathTranslation
from turnlog.edit.package.pack_source import split_byte_lines
from turnlog.edit.package.package import PackedFile, PackedSession
from turnlog.entries.patch import encode_json_line
from turnlog.entries.path_escapes import unescape_path
from turnlog.entries.slug import make_slug
from turnlog.errors import UsageError


class ArrivingSession(NamedTuple):
    """A session that is about to be unpacked."""

    session: PackedSession
    session_id: str
    """The session's id on this machine."""
    project: str
    """The session's working directory on this machine."""
    translations: tuple[tuple[bytes, PathTranslation], ...]
    """The translations, each with a string that a line must contain to need it."""
    identity: IdRenewer | None

    @property
    def folder(self) -> str:
        """The name of the session's folder below `projects`."""
        return make_slug(self.project)

    @property
    def main(self) -> str:
        """The path of the session's transcript below the config folder."""
        return f"projects/{self.folder}/{self.session_id}.jsonl"

    def get_place(self, file: PackedFile) -> str:
        """Return the path of one of the session's files below the config folder."""
        top, *rest = unescape_path(file.place or "").split("/")
        old = self.session.session_id
        if top == "projects":
            rest[0] = self.folder
            if self.identity and rest[1].startswith(("agent-", "subagents")):
                rest[1:] = [old, "subagents", rest[-1]]
        at = 1 if top == "projects" else 0
        if top != "plans":
            rest[at] = rest[at].replace(old, self.session_id)
        return "/".join([top, *rest])

    def translate_content(self, file: PackedFile, pieces: Iterable[bytes]) -> Iterable[bytes]:
        """Replace the ids and paths in a file's content with those used on this machine."""
        if not self._may_name_paths_or_ids(file):
            return pieces
        if file.name.endswith(".jsonl"):
            return map(self.translate_line, split_byte_lines(pieces))
        return self._translate_whole(pieces)

    def translate_line(self, raw: bytes) -> bytes:
        """Replace the ids and paths in a line with those used on this machine."""
        if self.identity:
            raw = self.identity.renew_line(raw)
        return self._translate_paths(raw)

    def _translate_paths(self, raw: bytes) -> bytes:
        for mark, translation in self.translations:
            if mark in raw:
                raw = translation.translate_line(raw)
        return raw

    def _may_name_paths_or_ids(self, file: PackedFile) -> bool:
        place = file.place
        is_text = place is not None and not place.startswith("projects/")
        return bool(self.identity or self.translations) and not is_text and file.name.endswith((".jsonl", ".json"))

    def _translate_whole(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Translate a small file that consists of a single JSON object describing a sub-agent or workflow."""
        raw = b"".join(pieces)
        if self.identity:
            raw = self.identity.renew_text(raw)
        yield self._translate_paths(raw)


def plan_arrival(session: PackedSession, config_dir: Path, project: str, session_id: str) -> ArrivingSession:
    """Plan how to unpack a session into a config folder, for the given project and under the given id."""
    identity = IdRenewer(session.session_id, session_id) if session_id != session.session_id else None
    then, now = unescape_path(session.config_dir), str(config_dir)
    mark = encode_json_line(then)[1:-1]
    moved = [
        (mark, f"{then}/projects/{unescape_path(session.folder)}", f"{now}/projects/{make_slug(project)}"),
        (mark, f"{then}/plans", f"{now}/plans"),
        (b"", session.project or "", project),
    ]
    return ArrivingSession(session, session_id, project, tuple(_build_translations(moved)), identity)


def _build_translations(moved: list[tuple[bytes, str, str]]) -> Iterator[tuple[bytes, PathTranslation]]:
    for mark, old, new in moved:
        with contextlib.suppress(UsageError):  # a relative path can't be distinguished from other text
            if old != new:
                yield mark, PathTranslation(old, new)
