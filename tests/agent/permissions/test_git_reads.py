"""What a repository makes git read elsewhere is asked about: git itself says which of it gets printed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import PermissionMode, Settings
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

SECRET = "OUTSIDE"
FREE = ("git status", "git log --oneline", "ls && git diff", "git blame a.txt", "git branch --all")

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git")


def git(folder: Path, *words: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    allowed = ["-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *allowed, *words], cwd=folder, env=environ, capture_output=True, timeout=60)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def make_repository(folder: Path, text: str = "a\n", message: str = "c") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for name, value in (("user.name", "n"), ("user.email", "e@x")):
        git(folder, "config", name, value)
    (folder / "a.txt").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", message)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a change, beside another one and files that are none of its business."""
    base = tmp_path.resolve()
    make_repository(base / "other", f"{SECRET}\n", f"{SECRET} message")
    git(base / "other", "config", "remote.o.url", f"https://{SECRET}@host.test/")
    (base / "outside.txt").write_text(f"{SECRET} first\n")
    (base / "a.txt").write_text(f"{SECRET}\n")
    (base / "names").write_text(f"{SECRET} <e@x>\n")
    (base / "my.cnf").write_text(f"[client]\n\tpassword = {SECRET}\n")
    found = make_repository(base / "proj")
    (found / "a.txt").write_text("changed\n")
    (found / "sub").mkdir()
    return found


def verdict(
    command: str, root: Path, *, is_trusted: bool = True, mode: PermissionMode = "default", **rules: list[str]
) -> str:
    settings = Settings(flags(root, **rules).layers, is_trusted)
    guard = SettingsGuard(settings, mode, home=root.parent / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict


def configure(name: str, value: str) -> Callable[[Path], object]:
    return lambda root: git(root, "config", name, value.format(base=root.parent))


def append_config(text: str) -> Callable[[Path], object]:
    def write(root: Path) -> None:
        with (root / ".git" / "config").open("a", newline="") as file:
            file.write(text.format(base=root.parent))

    return write


def link(name: str, target: str) -> Callable[[Path], object]:
    def make(root: Path) -> None:
        path = root / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.symlink_to(root.parent / target)

    return make


def write_file(name: str, text: str) -> Callable[[Path], object]:
    def write(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.format(base=root.parent))

    return write


def start_rebase(root: Path) -> None:
    for name, text in {"interactive": "", "onto": "x\n", "head-name": "refs/heads/x\n", "done": "x\n"}.items():
        write_file(f".git/rebase-merge/{name}", text)(root)
    link("rebase-merge/git-rebase-todo", "outside.txt")(root)


def name_other_repository(root: Path) -> None:
    shutil.rmtree(root / ".git")
    (root / ".git").write_text(f"gitdir: {root.parent}/other/.git\n")


def name_worktree_of_other_repository(root: Path) -> None:
    git(root.parent / "other", "worktree", "add", "-q", str(root.parent / "tree"))
    shutil.rmtree(root / ".git")
    shutil.copy(root.parent / "tree" / ".git", root / ".git")


PRINTING = {
    "worktree": (configure("core.worktree", "{base}"), "git diff"),
    "relative worktree": (configure("core.worktree", "../.."), "git diff"),
    "revisions": (configure("blame.ignoreRevsFile", "{base}/outside.txt"), "git blame a.txt"),
    "relative revisions": (configure("blame.ignoreRevsFile", "../outside.txt"), "git blame a.txt"),
    "quotes": (append_config('[blame] ignoreRevsFile="{base}/out""si"de.txt # x\n'), "git blame a.txt"),
    "folded": (append_config("[blame]\n\tignoreRevsFile = {base}/out\\\nside.txt\n"), "git blame a.txt"),
    "comment": (append_config("[blame]\n\tIGNOREREVSFILE = {base}/outside.txt;x\n"), "git blame a.txt"),
    "names": (configure("mailmap.file", "{base}/names"), "git log"),
    "include": (configure("include.path", "{base}/my.cnf"), "git config --get client.password"),
    "included setting": (
        lambda root: (
            write_file("settings", "[blame]\n\tignoreRevsFile = {base}/outside.txt\n")(root),
            configure("include.path", "../settings")(root),
        ),
        "git blame a.txt",
    ),
    "alternates": (write_file(".git/objects/info/alternates", "{base}/other/.git/objects\n"), "git show {hash}"),
    "git file": (name_other_repository, "git log"),
    "other worktree": (name_worktree_of_other_repository, "git log"),
    "common folder": (write_file(".git/commondir", "{base}/other/.git\n"), "git log"),
    "linked config": (link("config", "other/.git/config"), "git remote -v"),
    "linked refs": (link("packed-refs", "outside.txt"), "git log"),
    "linked shallow": (link("shallow", "outside.txt"), "git log"),
    "linked rebase": (start_rebase, "git status"),
    "order": (configure("diff.orderFile", "{base}/outside.txt"), None),
    "excluded": (configure("core.excludesFile", "{base}/outside.txt"), None),
    "attributes": (configure("core.attributesFile", "{base}/outside.txt"), None),
    "template": (configure("commit.template", "{base}/outside.txt"), None),
    "skipped": (configure("fsck.skipList", "{base}/outside.txt"), None),
    "future": (configure("next.newFile", "{base}/outside.txt"), None),
    "optional": (configure("next.newFile", ":(optional){base}/outside.txt"), None),
    "home": (configure("blame.ignoreRevsFile", "~root/x"), None),
    "prefix": (configure("blame.ignoreRevsFile", "%(prefix)/../etc/hostname"), None),
    "conditional": (configure("includeIf.gitdir:/.path", "{base}/my.cnf"), None),
    "worktree settings": (write_file(".git/config.worktree", "[core]\n\tworktree = {base}\n"), None),
    "settings of a submodule": (write_file(".git/modules/m/config", "[core]\n\tworktree = {base}\n"), None),
    "linked attributes": (link("info/attributes", "outside.txt"), None),
    "linked objects": (link("objects", "other/.git/objects"), None),
    "linked names": (lambda root: (root / ".mailmap").symlink_to(root.parent / "names"), None),
    "a link inside": (
        lambda root: (
            (root / "revs").symlink_to(root.parent / "outside.txt"),
            configure("blame.ignoreRevsFile", "revs")(root),
        ),
        "git blame a.txt",
    ),
}
"""What a repository may hold, each with a free command that prints something from elsewhere, if there is one."""


@pytest.mark.parametrize("name", PRINTING)
def test_what_a_repository_makes_git_read_elsewhere_is_asked_about(root: Path, name: str) -> None:
    prepare, command = PRINTING[name]
    found = git(root.parent / "other", "rev-parse", "HEAD").strip()
    line = (command or FREE[0]).format(hash=found)
    assert verdict(line, root) == "allow"
    prepare(root)
    if command:
        assert SECRET in git(root, *line.split()[1:])
    for is_trusted in (True, False):
        for one in (line, *FREE):
            assert verdict(one, root, is_trusted=is_trusted) == "ask", one
    assert verdict(line, root, mode="dontAsk") == "deny"
    assert verdict(line, root, allow=["Bash(git:*)"]) == "ask"
    assert verdict("ls; cat a.txt", root) == "allow"


def test_a_rule_for_reading_covers_what_a_repository_names(root: Path) -> None:
    configure("blame.ignoreRevsFile", "{base}/outside.txt")(root)
    assert verdict("git blame a.txt", root, allow=["Read(//**/outside.txt)"]) == "allow"
    assert verdict("git blame a.txt", root, allow=["Bash"]) == "allow"
    assert verdict("git blame a.txt", root, allow=["Bash"], deny=["Read(//**/outside.txt)"]) == "deny"


def test_a_file_in_the_folder_that_a_rule_forbids_to_read_is_not_read_by_its_settings(root: Path) -> None:
    (root / ".env").write_text(f"{SECRET}\n")
    configure("blame.ignoreRevsFile", ".env")(root)
    assert SECRET in git(root, "blame", "a.txt")
    assert verdict("git blame a.txt", root) == "allow"
    assert verdict("git blame a.txt", root, deny=["Read(.env)"]) == "deny"


def test_git_in_a_folder_that_an_option_names_is_judged_by_the_repository_there(root: Path) -> None:
    make_repository(root / "sub" / "inner")
    assert verdict("git -C sub log", root, allow=["Bash(git:*)"]) == "allow"
    assert verdict("git -C sub/inner log", root, allow=["Bash(git:*)"]) == "ask"


@pytest.mark.parametrize(
    "text",
    [
        '[branch "x"]\n\tremote = origin\n\tmerge = refs/heads/x\n[remote "origin"]\n\turl = {base}/other\n',
        '[core]\n\thooksPath = {base}/other\n\tpager = {base}/other\n[url "git@h:"]\n\tinsteadOf = https://h/\n',
        "[commit]\n\ttemplate = .gitmessage\n[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n",
        "[blame]\n\tignoreRevsFile = {base}/no-such-file\n[include]\n\tpath = {base}/no-such-file\n",
        '[core]\n\tworktree = ..\n[include]\n\tpath = ../a.txt\n[alias]\n\tlg = log --graph --pretty="%h /tmp"\n',
        '[submodule "m"]\n\tpath = sub\n\turl = ../other\n[user]\n\tname = "a; b" # c\n',
    ],
)
def test_ordinary_settings_lead_to_no_question(root: Path, text: str) -> None:
    for name in (".gitmessage", ".git-blame-ignore-revs"):
        (root / name).touch()
    append_config(text)(root)
    for command in FREE:
        assert verdict(command, root) == "allow", command


def test_worktrees_submodules_and_folders_of_a_repository_lead_to_no_question(root: Path) -> None:
    base = root.parent
    git(root, "config", "commit.template", ".gitmessage")
    (root / ".gitmessage").touch()
    git(root, "worktree", "add", "-q", str(base / "tree"))
    git(root, "submodule", "add", "-q", str(base / "other"), "m")
    git(root, "commit", "-qam", "m")
    git(base, "clone", "-q", "--recurse-submodules", str(root), str(base / "clone"))
    for folder in (root, root / "sub", root / "m", base / "tree", base / "clone", base / "clone" / "m"):
        for command in FREE:
            assert verdict(command, folder) == "allow", (folder, command)


def test_settings_that_cant_be_checked_are_asked_about(root: Path) -> None:
    append_config("[a]\n" + "b=" * 30_000 + "\n")(root)
    assert verdict("git status", root) == "ask"
    assert verdict("git status", root, allow=["Bash"]) == "allow"
