"""Names of files and folders: given to something, never over something else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from turnlog.edit.trash.moving import move
from turnlog.entries.writer import sync_folder
from turnlog.errors import Changed


def appear(source: Path, goal: Path) -> None:
    """Give something its name, never over something else."""
    must_be_free(goal)
    if source.is_dir() and not source.is_symlink():
        source.rename(goal)
    else:
        move(source, goal)
    sync_folder(goal.parent)


def must_be_free(path: Path) -> None:
    """See that nothing stands at a place."""
    if os.path.lexists(path):
        raise Changed(f"{path}: stands there already; nothing was changed")


def names_in(folder: Path) -> str:
    """A hash of the names in a folder, to tell later whether something came or went."""
    return hashlib.sha256(
        "\0".join(sorted(path.name for path in folder.iterdir())).encode(errors="surrogateescape")
    ).hexdigest()
