"""Finds whole copies of sessions that are no longer on disk: in the trash, and in the archive.

It reads the trash's lists itself, because every command that is given a session's name comes here, and most of them
must not be able to change sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from turnlog.edit.trash.entry import TRASH_MANIFEST_NAME, decode_trash_manifest
from turnlog.errors import TurnlogError, Unreadable
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.manifest import SessionManifest
from turnlog.store.archive.prune import is_session_gone

_RESTORE_COMMANDS = {"trash": "turnlog undelete", "archive": "turnlog archive restore"}


class WholeCopy(NamedTuple):
    """A copy of a session with its transcript."""

    session_id: str
    """In lower case."""
    title: str | None
    place: Literal["trash", "archive"]
    name: str
    """The name by which the copy is restored: the id, if only one copy has it."""

    @property
    def command(self) -> str:
        """The command that restores the session."""
        return f"{_RESTORE_COMMANDS[self.place]} {self.name}"

    def describe(self) -> str:
        """Return the end of a sentence that begins with “it is”."""
        return f"in the {self.place}: `{self.command}` restores all of it"


class WholeCopies:
    """The copies in turnlog's data folder; those in the trash come first, because they are the latest."""

    def __init__(self, data_dir: Path) -> None:
        self._archive = Archive(data_dir)
        self._trash_folder = data_dir / "trash"

    def find_by_id(self, session_id: str) -> WholeCopy | None:
        """Return the copy of the session with an id, or None."""
        identity = session_id.lower()
        return next(chain(self._copies_in_trash.get(identity, ()), self._read_archived(identity)), None)

    def list_by_name(self, name: str) -> list[WholeCopy]:
        """List the copies with an id that starts with this name, or else with this title; one for each session."""
        ids = list(dict.fromkeys((*self._copies_in_trash, *self._archived_names)))
        found = [self.find_by_id(identity) for identity in ids if name and identity.startswith(name.lower())]
        if not any(found) and (title := _fold_title(name)):
            copies = (self.find_by_id(identity) for identity in ids)
            found = [copy for copy in copies if copy is not None and _fold_title(copy.title or "") == title]
        return [copy for copy in found if copy is not None]

    def find_larger_generation(self, path: Path) -> str | None:
        """Return the command that restores the newest archived state of a file in which there was more than now."""
        place, size = os.path.realpath(path), path.stat().st_size
        names = self._archived_names.get(path.stem.lower(), {})
        for name, number in ((name, number) for name, numbers in names.items() for number in reversed(numbers)):
            with suppress(Unreadable):
                manifest = self._archive.manifests.read(name, number)
                main = manifest.find_file(manifest.main)
                if main is not None and main.size > size and manifest.to_absolute_path(main) == place:
                    word = manifest.session_id if len(names) == 1 else name
                    return f"{_RESTORE_COMMANDS['archive']} {word} --at {number} --force"
        return None

    @cached_property
    def _copies_in_trash(self) -> dict[str, list[WholeCopy]]:
        """The copies in the trash by id, newest first."""
        copies: dict[str, list[WholeCopy]] = {}
        for path in sorted(self._trash_folder.glob(f"[0-9]*/{TRASH_MANIFEST_NAME}"), reverse=True):
            with suppress(OSError, TurnlogError):  # this entry can't be read, but others can
                manifest = decode_trash_manifest(path.read_bytes(), path)
                copy = WholeCopy(manifest.session_id.lower(), manifest.title, "trash", path.parent.name)
                copies.setdefault(copy.session_id, []).append(copy)
        return {
            identity: found if len(found) > 1 else [found[0]._replace(name=identity)]
            for identity, found in copies.items()
        }

    @cached_property
    def _archived_names(self) -> dict[str, dict[str, list[int]]]:
        """The generations of the archived sessions, by id and by the name in the archive."""
        names: dict[str, dict[str, list[int]]] = {}
        with suppress(Unreadable):
            for name, numbers in self._archive.manifests.list_generations().items():
                names.setdefault(name[:36].lower(), {})[name] = numbers
        return names

    def _read_archived(self, identity: str) -> Iterator[WholeCopy]:
        """Yield the archived copies of a session that is no longer on disk."""
        names = self._archived_names.get(identity, {})
        for name, numbers in names.items():
            manifest = self._archive.read_newest(name, numbers)
            if manifest is not None and _has_transcript(manifest) and is_session_gone(manifest):
                word = manifest.session_id if len(names) == 1 else name
                yield WholeCopy(identity, manifest.title, "archive", word)


def _has_transcript(manifest: SessionManifest) -> bool:
    """Return whether the archive has the session's own file and not only files that belong to it."""
    return manifest.find_file(manifest.main) is not None


def _fold_title(title: str) -> str:
    return " ".join(title.split()).casefold()
