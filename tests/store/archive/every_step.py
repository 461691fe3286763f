"""Kills a run before and after each of its calls that touch the disk; a program for `test_kill`.

A child is forked for each of them, on a copy of the same place, and ends itself with SIGKILL at that call. What it
leaves must verify, hold all that was archived before, and be brought up to date by a run that is left alone.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sys
from pathlib import Path
from types import BuiltinFunctionType, FrameType

from tests.store.archive.place import ONE, TWO, Place, main, tree
from turnlog.store.archive.intake import CutSizes
from turnlog.store.archive.prune import PruneRules, prune_archive

CALLS = {"open", "write", "fsync", "close", "mkdir", "rename", "replace", "unlink", "flock", "fstat", "read"}


def prepare_place(folder: Path) -> Place:
    """Two sessions are archived; then one grows, the other is rewritten, and a third appears."""
    place = Place(folder, CutSizes(blob=400, small=50))
    place.session(b"a" * 1000)
    place.session(b"b" * 700, name=TWO)
    place.run()
    place.append(main(ONE), b"c" * 500)
    place.session(b"d" * 300, name=TWO)
    place.session(b"e" * 90, name="cccccccc-0000-4000-8000-000000000003")
    place.write(f"file-history/{ONE}/x@v1", b"f" * 30)
    return place


def work(place: Place) -> None:
    place.run()
    prune_archive(place.archive, PruneRules(keep=1))


def ends_itself(place: Place, step: int) -> bool:
    """Do the work in a child that is killed at a step; whether it came that far."""
    child = os.fork()
    if child == 0:
        passed = 0

        def count(frame: FrameType, event: str, arg: object) -> None:
            nonlocal passed
            if event in ("c_call", "c_return") and isinstance(arg, BuiltinFunctionType) and arg.__name__ in CALLS:
                passed += 1
                if passed == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        work(place)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def check(place: Place, folder: Path) -> None:
    """What is left after a kill is sound, and what comes of it is complete."""
    assert place.is_sound()
    assert {ONE, TWO} <= place.archive.list_ids()
    place.run()
    assert place.is_sound()
    for session in place.archive.list_sessions():
        place.restore(folder / "back", session.name)
    assert tree(folder / "back") == tree(place.config)


def steps(folder: Path) -> int:
    """Kill at every step; how many there are."""
    now, first = folder / "now", folder / "first"
    prepare_place(now)
    now.rename(first)  # the path of a config folder is part of a session's name: all copies have the same
    for step in itertools.count(1):
        shutil.rmtree(now, ignore_errors=True)
        shutil.copytree(first, now)
        place = Place(now, CutSizes(blob=400, small=50))
        if not ends_itself(place, step):
            return step - 1
        try:
            check(place, now)
        except BaseException:
            print(f"killed at step {step}", file=sys.stderr)
            raise
    raise AssertionError


if __name__ == "__main__":
    print(steps(Path(sys.argv[1])))
