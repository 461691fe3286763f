"""What is done when a deleted session comes back and something was written in its place meanwhile.

joined   a client went on writing the transcript: what it wrote follows the original
aside    another file: it is set aside, and the deleted one gets its place back

What a client writes beside a transcript that can be joined (its log, its to-do list) is set aside unasked; all else
only by force. Nothing is ever overwritten.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from turnlog.edit.stub import begins_with_file, is_continuation, join_stub_lines
from turnlog.edit.trash.file_move import hash_file_content, move_file
from turnlog.entries.atomic_file import read_whole_file
from turnlog.entries.writer import replace_session_file


class Collision(NamedTuple):
    """A file that stands where a deleted one belongs."""

    home: Path
    place: Path
    """Where the deleted one lies in the trash."""
    is_joined: bool
    """Whether it goes on from the deleted one, so that both can be one file."""


def find_collision(home: Path, place: Path) -> Collision | None:
    """What stands at the home of a deleted file; None if nothing does, or the same."""
    if not os.path.lexists(home) or not os.path.lexists(place) or _are_equal(home, place):
        return None
    return Collision(home, place, is_continuation(home, place) or _is_joined_already(home, place))


def _is_joined_already(home: Path, place: Path) -> bool:
    """Whether an attempt that was stopped has joined both, and not yet cleared the trash."""
    return place.suffix == ".jsonl" and begins_with_file(home, place)


def join_collision(found: Collision, mode: int) -> None:
    """Put the original before what was written in its place since; what is written meanwhile stays behind it."""
    if not begins_with_file(found.home, found.place):
        data, checkpoint = read_whole_file(found.home)
        lines = join_stub_lines(found.place, data)
        replace_session_file(found.home, lines, root=found.home.parent, expected=checkpoint)
    found.home.chmod(mode)
    found.place.unlink()


def set_collision_aside(found: Collision, folder: Path) -> Path:
    """Move what stands in the way into a folder, where nothing else has its name; gives its new place."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    number, goal = 1, folder / found.home.name
    while os.path.lexists(goal):
        number += 1
        goal = folder / f"{number}-{found.home.name}"
    move_file(found.home, goal)
    move_file(found.place, found.home)
    return goal


def _are_equal(one: Path, other: Path) -> bool:
    if stat.S_IFMT(one.lstat().st_mode) != stat.S_IFMT(other.lstat().st_mode):
        return False
    if one.is_symlink():
        return one.readlink() == other.readlink()
    return one.is_file() and hash_file_content(one) == hash_file_content(other)
