"""A run that is killed at any moment leaves a sound archive, and loses nothing that was archived before."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.store.archive.place import Place, tree
from turnlog.store.archive.prune import PruneRules, prune_archive
from turnlog.store.archive.restore import restore_generation

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")]

WORK = (
    "import sys; from pathlib import Path; from tests.store.archive.place import Place\n"
    "from turnlog.store.archive.prune import PruneRules, prune_archive\n"
    "place = Place(Path(sys.argv[1])); print('ready', flush=True)\n"
    "while True:\n"
    "    place.run(); prune_archive(place.archive, PruneRules(keep=3)); print('done', flush=True); "
    "sys.stdin.readline()\n"
)


def ids(count: int) -> list[str]:
    return [f"{number:08d}-0000-4000-8000-000000000001" for number in range(count)]


def change(place: Place, chance: random.Random) -> None:
    """Sessions grow, are rewritten, get and lose files."""
    for name in ids(12):
        path = f"projects/-p/{name}.jsonl"
        match chance.randrange(5):
            case 0 | 1 if (place.config / path).exists():
                place.append(path, chance.randbytes(chance.choice([50, 30_000, 300_000])))
            case 2:
                place.write(path, chance.randbytes(chance.choice([100, 40_000, 400_000])))
            case 3:
                place.write(f"file-history/{name}/{chance.randrange(3)}@v1", chance.randbytes(300))
            case _:
                (place.config / f"file-history/{name}/0@v1").unlink(missing_ok=True)


def killed_run(folder: Path, after: float) -> bool:
    """Start a run, kill it after some seconds; whether it was at work."""
    with subprocess.Popen(
        [sys.executable, "-c", WORK, str(folder)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        return b"done" not in process.stdout.read()


def test_an_archive_survives_any_number_of_kills(place: Place, tmp_path: Path) -> None:
    chance, cut_off = random.Random(1), 0
    for round_number in range(16):
        change(place, chance)
        before = {(item.name, item.generation): item for item in place.archive.list_sessions()}
        cut_off += killed_run(tmp_path, chance.uniform(0, 0.06))
        assert place.is_sound(), f"round {round_number}"
        if round_number % 2:  # what the killed one had begun is finished
            place.run()
            assert place.is_sound(), f"round {round_number}, finished"
        now = {item.name for item in place.archive.list_sessions()}
        assert {name for name, _ in before} <= now
    assert cut_off >= 3, "hardly any run was killed at work"
    place.run()
    back = tmp_path / "back"
    for session in place.archive.list_sessions():
        restore_generation(place.archive, session, back, with_gone=False)
    sessions = {path.stem for path in (place.config / "projects/-p").glob("*.jsonl")}
    there = {path: file for path, file in tree(place.config).items() if any(name in path for name in sessions)}
    assert tree(back) == there
    prune_archive(place.archive, PruneRules())
    left = [path.name for path in place.archive.folder.rglob(".tmp-*")]
    assert left == []
    assert place.is_sound()


def test_a_run_may_be_killed_at_every_single_step(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.store.archive.every_step", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
