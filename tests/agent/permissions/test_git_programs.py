"""Programs that the settings of git name in a working folder are not changed unasked: git runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.desk import Desk, call, reply, script
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import Settings
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git")


def git(folder: Path, *words: str) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder.parent / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", *who, *words], cwd=folder, env=environ, capture_output=True, check=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A working folder with a repository and a hook that everybody gets with it."""
    found = tmp_path.resolve() / "proj"
    for folder in (found / "tools" / "hooks", found / "sub", found.parent / "home"):
        folder.mkdir(parents=True)
    git(found, "init", "-q")
    hook = found / "tools" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    (found / "tools" / "show.sh").write_text("cat\n")
    (found / "a.txt").write_text("a\n")
    git(found, "add", ".")
    git(found, "commit", "-qm", "c")
    return found


def verdict(root: Path, tool: str, given: str, cwd: Path | None = None, *, is_trusted: bool = True) -> str:
    settings = Settings(flags(root).layers, is_trusted)
    guard = SettingsGuard(settings, "acceptEdits", home=root.parent / "home")
    key = "command" if tool == "Bash" else "file_path"
    return guard.decide(tool, {key: given}, Workspace(root, cwd or root)).verdict


@pytest.mark.parametrize(
    ("name", "value", "file"),
    [
        ("core.hooksPath", "tools/hooks", "tools/hooks/post-index-change"),
        ("core.hooksPath", "./tools/hooks/", "tools/hooks/pre-commit"),
        ("core.hooksPath", "{root}/tools", "tools/hooks/pre-commit"),
        ("core.fsmonitor", "tools/show.sh", "tools/show.sh"),
        ("diff.x.textconv", "sh ./tools/show.sh", "tools/show.sh"),
        ("diff.external", "'tools/show.sh' --fast", "tools/show.sh"),
        ("filter.x.clean", "FAST=1 tools/show.sh %f", "tools/show.sh"),
        ("include.path", "../tools/settings", "tools/settings"),
    ],
)
@pytest.mark.parametrize("scope", ["--local", "--global"])
def test_what_the_settings_name_is_asked_about(root: Path, name: str, value: str, file: str, scope: str) -> None:
    assert verdict(root, "Write", file) == "allow"
    if (name, scope) == ("include.path", "--global"):
        value = value.replace("..", str(root))
    git(root, "config", scope, name, value.format(root=root))
    assert verdict(root, "Write", file) == "ask"
    assert verdict(root, "Edit", f"sub/../{file}") == "ask"
    assert verdict(root, "Bash", f"cp a.txt {file}") == "ask"
    assert verdict(root, "Bash", f"echo x > {file}") == "ask"


def test_git_status_would_run_a_hook_that_the_model_writes(root: Path) -> None:
    git(root, "config", "core.hooksPath", "tools/hooks")
    hook = root / "tools" / "hooks" / "post-index-change"
    shutil.copy(hook.with_name("pre-commit"), hook)
    hook.write_text(f"#!/bin/sh\ntouch {root.parent}/ran\n")
    os.utime(root / "a.txt", (0, 0))
    git(root, "status")
    assert (root.parent / "ran").exists()
    assert verdict(root, "Bash", "cp tools/hooks/pre-commit tools/hooks/post-index-change") == "ask"
    assert verdict(root, "Bash", "mv sub tools/hooks") == "ask"


def test_other_files_are_changed_as_before(root: Path) -> None:
    git(root, "config", "core.hooksPath", "tools/hooks")
    git(root, "config", "core.pager", "cat .")
    git(root, "config", "core.fsmonitor", "true")
    git(root, "config", "remote.origin.url", "./sub")
    for file in ("a.txt", "sub/b.txt", "tools/show.sh", "tools/hooks2/x"):
        assert verdict(root, "Write", file) == "allow", file


def test_the_settings_of_a_linked_worktree_lie_in_its_repository(root: Path) -> None:
    git(root, "config", "core.hooksPath", "tools/hooks")
    git(root, "worktree", "add", "-q", "../tree")
    assert verdict(root.parent / "tree", "Write", "tools/hooks/pre-commit") == "ask"
    assert verdict(root.parent / "tree", "Write", "tools/show.sh") == "allow"


# -- in a folder that nobody trusts


HOSTILE = [
    "[core]\n\tfsmonitor = tools/show.sh\n",
    "[core] fsmonitor = x\n",
    '[diff "a]b"] textconv = x\n',
    '[diff "x=y"] textconv = x\n',
    "[core][diff] external = x\n",
    "[core]\r fsmonitor = x\n",
    '[diff]\n\tEXTERNAL = "x"\n',
    "[core]\n\tfsmonitor = \\\n x\n",
    '[filter "x"]\n\tclean = git-lfs clean; x\n',
    '[filter "x"]\n\tprocess = x\n',
    "[gpg]\n\tprogram = x\n",
    "[include]\n\tpath = ../tools/settings\n",
    '[include]\n\tpath = .""./tools/settings\n',
    '[includeIf "gitdir:/"]\n\tpath = ~/x\n',
    '[remote "x"]\n\tpromisor = yes, please\n[extensions]\n\tpartialclone = x\n',
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("command", ["git status", "git log", "ls && git diff"])
def test_git_is_not_run_unasked_by_settings_that_nobody_trusts(root: Path, text: str, command: str) -> None:
    assert verdict(root, "Bash", command, is_trusted=False) == "allow"
    with (root / ".git" / "config").open("a", newline="") as file:
        file.write(text)
    assert verdict(root, "Bash", command, is_trusted=False) == "ask"
    assert verdict(root, "Bash", command) == "allow"


@pytest.mark.parametrize("folder", [".git/hooks", "tools/hooks"])
def test_nor_where_there_is_a_hook_that_such_commands_run(root: Path, folder: str) -> None:
    git(root, "config", "core.hooksPath", folder)
    assert verdict(root, "Bash", "git status", is_trusted=False) == "allow"
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / "post-index-change").touch()
    assert verdict(root, "Bash", "git status", is_trusted=False) == "ask"


def test_nor_where_there_is_a_submodule_with_settings_of_its_own(root: Path) -> None:
    git(root / "sub", "init", "-q")
    git(root / "sub", "commit", "-qm", "c", "--allow-empty")
    git(root, "add", "sub")
    assert verdict(root, "Bash", "git status", is_trusted=False) == "ask"


def test_nor_where_the_settings_are_too_long_to_be_read(root: Path) -> None:
    with (root / ".git" / "config").open("a") as file:
        file.write("#" * (2 << 20))
    assert verdict(root, "Bash", "git status", is_trusted=False) == "ask"


def test_git_runs_unasked_by_settings_that_name_no_program(root: Path, tmp_path: Path) -> None:
    clone = tmp_path.resolve() / "clone"
    git(root, "clone", "-q", str(root), str(clone))
    git(clone, "config", "filter.lfs.process", "git-lfs filter-process")
    git(clone, "config", "filter.lfs.clean", "git-lfs clean -- %f")
    git(clone, "config", "core.fsmonitor", "true")
    git(clone, "config", "core.hooksPath", ".husky/_")
    git(clone, "config", "includeIf.gitdir:x.path", "/tmp/turnlog-no-such-file")
    for command in ("git status", "git log --oneline", "git diff"):
        assert verdict(clone, "Bash", command, is_trusted=False) == "allow", command


@pytest.mark.parametrize("is_trusted", [True, False])
def test_print_mode_runs_what_a_repository_names_only_in_a_folder_that_is_trusted(
    desk: Callable[[dict[str, Any]], Desk], is_trusted: bool
) -> None:
    here = desk(script(reply(call("Bash", command="git status")), "Done."))
    git(here.cwd, "init", "-q")
    git(here.cwd, "config", "core.fsmonitor", f"touch {here.base}/ran; false")
    if is_trusted:
        here.trust()
    here.turnlog("-p", "go")
    assert (here.base / "ran").exists() is is_trusted
