"""Git in a repository that somebody planted: git itself says which layouts make it run what their settings name."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

GIT = shutil.which("git")
MODES = ("default", "plan", "dontAsk", "acceptEdits")
COMMANDS = ("git status", "git log", "timeout 5 git diff", "ls && git status", "command git status")

pytestmark = pytest.mark.skipif(GIT is None or os.name != "posix", reason="needs git")


def git(folder: Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    allowed = ["-c", "protocol.file.allow=always", "-c", "user.name=n", "-c", "user.email=e"]
    done = subprocess.run(["git", *allowed, *words], cwd=folder, env=environ, capture_output=True, text=True)
    return done.stdout


def settings(more: str = "") -> str:
    """Settings by which git runs a command."""
    core = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
    return f'{core}\tfsmonitor = "touch \\"$TURNLOG_RAN\\"; false"\n{more}'


def lay_out(folder: Path, text: str) -> None:
    for name in ("objects", "refs/heads"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/x\n")
    (folder / "config").write_text(text)


def bare(root: Path) -> Path:
    lay_out(root / "b", settings("\tworktree = .\n"))
    return root / "b"


def dangling_head(root: Path) -> Path:
    found = bare(root)
    (found / "HEAD").unlink()
    (found / "HEAD").symlink_to("refs/heads/x")
    return found


def common_folder(root: Path) -> Path:
    lay_out(root / "common", settings("[extensions]\n\tworktreeConfig = true\n"))
    (root / "b").mkdir()
    (root / "b" / "HEAD").write_text("ref: refs/heads/x\n")
    (root / "b" / "commondir").write_text("../common\n")
    (root / "b" / "config.worktree").write_text("[core]\n\tworktree = .\n")
    return root / "b"


def linked_parts(root: Path) -> Path:
    lay_out(root / "parts", settings("\tworktree = .\n"))
    (root / "b").mkdir()
    (root / "b" / "HEAD").write_text("ref: refs/heads/x\n")
    for name in ("objects", "refs", "config"):
        (root / "b" / name).symlink_to(root / "parts" / name)
    return root / "b"


def make_nested(root: Path) -> Path:
    lay_out(root / "b" / ".git", settings())
    return root / "b"


def nested_and_deeper(root: Path) -> Path:
    (make_nested(root) / "deep" / "er").mkdir(parents=True)
    return root / "b" / "deep" / "er"


def git_file(root: Path) -> Path:
    lay_out(root / "parts", settings())
    (root / "b").mkdir()
    (root / "b" / ".git").write_text("gitdir: ../parts\n")
    return root / "b"


def git_file_past_the_trusted_one(root: Path) -> Path:
    lay_out(root / "parts", settings())
    (root / "b").mkdir()
    (root / "b" / ".git").write_text("gitdir: ../.git/modules/../../parts\n")
    return root / "b"


def git_file_with_a_blank_behind_the_name(root: Path) -> Path:
    lay_out(root / "b" / "x ", settings())
    (root / "b" / "x").symlink_to("../.git")
    (root / "b" / ".git").write_text("gitdir: x \n")
    return root / "b"


def git_file_with_a_blank_before_the_name(root: Path) -> Path:
    lay_out(root / "b" / " x", settings())
    (root / "b" / "x").symlink_to("../.git")
    (root / "b" / ".git").write_text("gitdir:  x\n")
    return root / "b"


def git_link(root: Path) -> Path:
    lay_out(root / "parts", settings())
    (root / "b").mkdir()
    (root / "b" / ".git").symlink_to(root / "parts")
    return root / "b"


def below_a_bare_one(root: Path) -> Path:
    (bare(root) / "deep").mkdir()
    return root / "b" / "deep"


def reached_by_a_link(root: Path) -> Path:
    (root / "link").symlink_to(nested_and_deeper(root))
    return root / "link"


LAYOUTS = [
    *(bare, dangling_head, common_folder, linked_parts, make_nested, nested_and_deeper, git_file, git_link),
    *(git_file_past_the_trusted_one, below_a_bare_one, reached_by_a_link),
    *(git_file_with_a_blank_behind_the_name, git_file_with_a_blank_before_the_name),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder that is trusted, with a repository."""
    found = tmp_path / "proj"
    found.mkdir()
    git(found, "init", "-q")
    (found / ".git" / "modules").mkdir()
    (found / "a.txt").write_text("a\n")
    git(found, "add", ".")
    git(found, "commit", "-qm", "c")
    return found


def verdict(root: Path, cwd: Path, command: str, mode: Any = "default", **rules: Any) -> str:
    guard = SettingsGuard(flags(root, **rules), mode, home=root.parent / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, cwd)).verdict


@pytest.mark.parametrize("plant", LAYOUTS)
def test_git_is_not_run_unasked_in_a_planted_repository(plant: Callable[[Path], Path], root: Path) -> None:
    cwd = plant(root)
    found = [(mode, one) for mode in MODES for one in COMMANDS if verdict(root, cwd, one, mode) == "allow"]
    assert found == []
    assert verdict(root, cwd, "git status", allow=["Bash(git status:*)", "Bash(git:*)"]) == "ask"


@pytest.mark.parametrize("plant", LAYOUTS)
def test_git_would_run_what_a_planted_repository_names(
    plant: Callable[[Path], Path], root: Path, tmp_path: Path
) -> None:
    cwd, ran = plant(root), tmp_path / "ran"
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TURNLOG_RAN": str(ran)}
    subprocess.run(["git", "status"], cwd=cwd, env=environ, capture_output=True)
    assert ran.exists()


@pytest.mark.parametrize("target", ["link/..", "./link/../.", "link/deep/../.."])
def test_git_is_not_run_unasked_where_a_link_only_seems_to_lead_back(root: Path, tmp_path: Path, target: str) -> None:
    (root / "sub" / "deep").mkdir(parents=True)
    (bare(root) / "link").symlink_to("../sub")
    command, ran = f"cd b/{target} && git status", tmp_path / "ran"
    assert [mode for mode in MODES if verdict(root, root, command, mode) == "allow"] == []

    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TURNLOG_RAN": str(ran)}
    subprocess.run(["bash", "-c", command], cwd=root, env=environ, capture_output=True)
    assert ran.exists()


def test_git_runs_unasked_after_a_move_to_where_the_line_begins(root: Path) -> None:
    (root / "sub").mkdir()
    for target in (".", "./", "sub/..", str(root)):
        assert verdict(root, root, f"cd {target} && git status") == "allow", target


def test_git_runs_unasked_in_the_repository_of_the_trusted_folder(root: Path) -> None:
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "objects").mkdir()
    for cwd in (root, root / "sub" / "deep"):
        assert {verdict(root, cwd, command) for command in COMMANDS} == {"allow"}
    assert {verdict(root / "sub", root / "sub", command) for command in COMMANDS} == {"allow"}


def test_git_runs_unasked_in_a_submodule_and_a_worktree_of_the_trusted_repository(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-qm", "c", "--allow-empty")
    git(root, "submodule", "--quiet", "add", str(other), "module")
    git(root, "worktree", "add", "-q", "tree")
    for name in ("module", "tree"):
        assert (root / name / ".git").is_file()
        assert {verdict(root, root / name, command) for command in COMMANDS} == {"allow"}, name


def test_git_runs_unasked_in_a_worktree_that_is_itself_trusted(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert verdict(tmp_path / "tree", tmp_path / "tree", "git status") == "allow"


def test_git_runs_unasked_where_there_is_no_repository(tmp_path: Path) -> None:
    assert verdict(tmp_path, tmp_path, "git status") == "allow"


def test_a_trusted_folder_that_is_laid_out_like_a_repository_is_asked_about(tmp_path: Path) -> None:
    lay_out(tmp_path / "b", settings())
    assert verdict(tmp_path / "b", tmp_path / "b", "git status") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "cp a.txt commondir && git status",
        "touch x/packed-refs; git log",
        "mkdir x/worktrees && git status",
        "mkdir hooks && command git status",
        "cp a.txt config && bash -c 'git status'",
    ],
)
def test_what_makes_a_repository_is_not_followed_by_git_unasked(command: str, root: Path) -> None:
    rules = [f"Bash({name}:*)" for name in ("cp", "touch", "mkdir", "git", "bash", "command")]
    assert verdict(root, root, command, "acceptEdits", allow=rules) == "ask"


@pytest.mark.parametrize("name", ["HEAD", "b/HEAD", "b/head", "b/commondir", "b/.git", "b/.git/config", "deep/er/HEAD"])
def test_no_write_makes_a_folder_a_repository_unasked(name: str, root: Path) -> None:
    for rules in ({}, {"allow": ["Edit", "Edit(**)", "Write"]}):
        guard = SettingsGuard(flags(root, **rules), "acceptEdits", home=root.parent / "home")
        for tool in ("Write", "Edit"):
            assert guard.decide(tool, {"file_path": str(root / name)}, Workspace(root, root)).verdict == "ask"
    for command in (f"touch {name}", f"cp a.txt {name}", f"mv a.txt {name}", f"echo x > {name}", f"mkdir {name}"):
        assert verdict(root, root, command, "acceptEdits") == "ask", command


@pytest.mark.parametrize(
    "name", ["config", "refs/x", "objects/x", "hooks/pre-commit", "config.worktree", "info/exclude"]
)
def test_what_git_reads_is_changed_unasked_only_where_there_is_no_head_beside_it(name: str, root: Path) -> None:
    (root / "b").mkdir()
    guard = SettingsGuard(flags(root), "acceptEdits", home=root.parent / "home")
    given = {"file_path": str(root / "b" / name)}
    assert guard.decide("Write", given, Workspace(root, root)).verdict == "allow"
    (root / "b" / "HEAD").symlink_to("refs/heads/x")
    assert guard.decide("Write", given, Workspace(root, root)).verdict == "ask"
    assert guard.decide("Write", {"file_path": str(root / "b" / "x.py")}, Workspace(root, root)).verdict == "allow"
    assert verdict(root, root, f"touch b/{name}", "acceptEdits") == "ask"
