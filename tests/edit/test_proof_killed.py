"""Whoever kills turnlog while it makes or mends a session has lost nothing, and nobody sees half a session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="processes are killed with SIGKILL")]

SWEEP = """
import importlib, os, shutil, sys
from pathlib import Path
from tests.edit import furnished_session
from tests.edit.furnished_session import LONG_AGO, furnish, picture
from tests.edit.kill_steps import is_killed_at
from tests.session.build import Build
from turnlog.cli.program import run_program
from turnlog.edit.id_renewal import create_uuid
from turnlog.entries.layout import is_session_id
from turnlog.session.session import Session

def sick():
    build = Build()
    for number in range(3):
        build.prompt("my token is gh" + "p_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8", f"u{number}")
        build.call(f"c{number}")
        build.result(f"c{number}", "x" * 3000)
        build.answer("answer")
    build["u1"]["parentUuid"] = "gone"
    return build.data()

def quiet():
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

def work(words):
    quiet()
    assert run_program(words) == 0

base, stride, words = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
(base / "model").mkdir(parents=True)
# Other tests may run at the same time, and one starts a process that has the usual id.
furnished_session.MINE = create_uuid()
session = furnish(base / "model" / "claude")
session.write_bytes(sick())
os.utime(session, (LONG_AGO, LONG_AGO))
for name in ("edit.clone", "edit.fork", "edit.redact", "health.repair", "edit.strip"):
    importlib.import_module(f"turnlog.cli.{name}")  # once, and not in each process
for step in range(1, 10_000, stride):
    home = base / f"{step}"
    shutil.copytree(base / "model" / "claude", home / "claude", symlinks=True)
    os.environ.update(CLAUDE_CONFIG_DIR=str(home / "claude"), TURNLOG_HOME=str(home / "data"))
    path = home / "claude" / session.relative_to(base / "model" / "claude")
    before = picture(home / "claude")
    died = is_killed_at(lambda: work([words[0], str(path), *words[1:]]), step)
    if "--in-place" in words:
        if path.read_bytes() != sick():
            with Session.open(path) as found:
                assert len(found.turns) == 3
            assert is_killed_at(lambda: work(["undo"]), 0) is False
        elif died:  # whatever was begun is in nobody's way
            assert is_killed_at(lambda: work([words[0], str(path), *words[1:]]), 0) is False
            assert is_killed_at(lambda: work(["undo"]), 0) is False
    after = picture(home / "claude")
    assert {name: after.get(name) for name in before} == before, (step, before.items() - after.items())
    made = [file for file in path.parent.glob("*.jsonl") if file.relative_to(home / "claude").as_posix() not in before]
    assert len(made) <= 1, (step, made)
    assert made or died or "--in-place" in words, step
    for file in made:
        assert is_session_id(file.stem), file
        with Session.open(file) as found:
            assert not found.file.scraps, (step, found.file.scraps)
            assert found.title.startswith(("Clone of", "Fork of", "Repair of")), (step, found.title)
    shutil.rmtree(home)
    if not died:
        break
print(step)
"""


@pytest.mark.parametrize(
    ("stride", "words"),
    [
        (1, "clone"),
        (5, "redact --clone"),
        (7, "fork --at 2"),
        (6, "clone --preset heavy"),
        (8, "repair"),
        (1, "repair --in-place"),
    ],
)
def test_killed_before_any_step_nothing_is_lost_and_nothing_half_is_seen(
    tmp_path: Path, stride: int, words: str
) -> None:
    program = [sys.executable, "-c", SWEEP, str(tmp_path / "s"), str(stride), *words.split()]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 8
