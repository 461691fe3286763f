"""Names of files and folders: given to something, never over something else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from turnlog.edit.trash.file_move import move_file
from turnlog.entries.atomic_file import flush_folder
from turnlog.errors import Changed


def give_name(source: Path, goal: Path) -> None:
    """Give something its name, never over something else."""
    check_free_path(goal)
    if source.is_dir() and not source.is_symlink():
        source.rename(goal)
    else:
        move_file(source, goal)
    flush_folder(goal.parent)


def check_free_path(path: Path) -> None:
    """See that nothing stands at a place."""
    if os.path.lexists(path):
        raise Changed(f"{path}: stands there already; nothing was changed")


def hash_folder_names(folder: Path) -> str:
    """A hash of the names in a folder, to tell later whether something came or went."""
    return hashlib.sha256(
        "\0".join(sorted(path.name for path in folder.iterdir())).encode(errors="surrogateescape")
    ).hexdigest()
