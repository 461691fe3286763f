"""Files that a command reaches by another way than their names say here: links into `/proc`, names of bytes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import PermissionMode
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

MODES: tuple[PermissionMode, ...] = ("default", "plan", "dontAsk", "acceptEdits")
SECRET = "OUTSIDE"

pytestmark = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs /proc")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with links; the client works in it."""
    found = tmp_path.resolve() / "proj"
    (found / "sub").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text(f"{SECRET}\n")
    (found / "names").mkdir()
    (found / "x").write_text("plain\n")
    for name in ("sub/x", "names/é"):
        (found / name).symlink_to(tmp_path / "outside.txt")
    links = {"ln": "/proc/self/cwd", "far": "sub/../ln", "fd": "/dev/fd", "root": "/proc/self/root", "within": "sub"}
    for name, target in links.items():
        (found / name).symlink_to(target)
    monkeypatch.chdir(found)
    return found


def verdicts(command: str, root: Path, cwd: Path, **rules: list[str]) -> set[str]:
    guards = [SettingsGuard(flags(root, **rules), mode, home=root.parent / "home") for mode in MODES]
    return {guard.decide("Bash", {"command": command}, Workspace(root, cwd)).verdict for guard in guards}


def run(command: str, cwd: Path) -> str:
    environ = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    done = subprocess.run(["bash", "-c", command], cwd=cwd, env=environ, capture_output=True, stdin=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("command", ["cat ../ln/x", "head ../far/x", "cat ../l?/x", "cat < ../ln/x", "grep . ../ln/x"])
def test_a_link_to_the_folder_of_a_process_is_asked_about(root: Path, command: str) -> None:
    assert SECRET in run(command, root / "sub")
    assert "allow" not in verdicts(command, root, root / "sub")


@pytest.mark.parametrize("name", ["fd/0", "root/etc/hostname", "ln/x", "far"])
def test_no_name_behind_such_a_link_counts_as_one_of_the_working_folder(root: Path, name: str) -> None:
    assert "allow" not in verdicts(f"cat {name}", root, root)


def test_such_a_link_shows_no_file_that_a_rule_forbids_to_read(root: Path) -> None:
    rules = {"allow": ["Bash"], "deny": ["Read(./secret.txt)"]}
    (root / "secret.txt").write_text("s\n")
    (root / "y").touch()
    (root / "sub" / "y").symlink_to("../secret.txt")
    assert run("cat ../ln/y", root / "sub") == "s\n"
    assert "allow" not in verdicts("cat ../ln/y", root, root / "sub", **rules)


def test_other_links_within_the_folder_are_followed(root: Path) -> None:
    (root / "sub" / "b.txt").touch()
    for name in ("within/b.txt", "sub/../within/b.txt", "within/../x"):
        assert verdicts(f"cat {name}", root, root) == {"allow"}, name


@pytest.mark.parametrize("command", ["cat names/??", "cat name?/??", "cat < names/??"])
def test_a_question_mark_may_stand_for_a_byte(root: Path, command: str) -> None:
    assert SECRET in run(command, root)
    assert "allow" not in verdicts(command, root, root)
