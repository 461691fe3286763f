"""A name in a line may be a link that an earlier command of the same line brings: bash itself is the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

OUTSIDE = "OUTSIDE"
ALLOWED = [
    f"Bash({name}:*)"
    for name in "git tar unzip npm yarn pip uv patch rsync cp mv ln xargs sh gh hg make echo tee rm 7z wget".split()
]
LEAKING = [
    "git checkout -q evil && cat src/a.txt",
    "git checkout -q evil; cat src/*",
    "git checkout -q evil && cat < src/a.txt",
    "git checkout -q evil && cd src && cat a.txt",
    "git -c a.b=c checkout -q evil && cat src/a.txt",
    "git swap && cat src/a.txt",
    "git switch -q evil && cat src/a.txt",
    "git checkout -q -b new evil && cat src/a.txt",
    "git checkout -q evil -- src && cat src/a.txt",
    "git restore --source evil . && cat src/a.txt",
    "git reset -q --hard evil; head -n 3 src/a.txt",
    "git merge -q evil && cat src/a.txt",
    "git cherry-pick evil >/dev/null && cat src/a.txt",
    "git rebase -q evil && cat src/a.txt",
    "git stash pop -q && cat src/a.txt",
    "git clone -q -b evil . copy && cat copy/src/a.txt",
    "git worktree add -q copy evil && cat copy/src/a.txt",
    "git read-tree --reset -u evil && cat src/a.txt",
    "tar xf evil.tar && cat src/a.txt",
    "tar -C sub -xf evil.tar && cat sub/src/a.txt",
    "cat evil.tar | tar x; cat src/a.txt",
    "ls | xargs -n1 true; git checkout -q evil | cat; cat src/a.txt",
    "sh -c 'git checkout -q evil' && cat src/a.txt",
    "timeout 9 git checkout -q evil && cat src/a.txt",
    "for i in 1 2; do cat src/a.txt; git checkout -q evil; done",
    "cp -a sub/l src/l2 && cat src/l2",
    "if git checkout -q evil; then grep . src/a.txt; fi",
]
"""Lines that print what lies outside, with rules that allow their first commands."""
ASKED = [
    *("git pull && cat a.txt", "git pull && echo x > a.txt", "git pull; ls src", "git submodule update && cat a.txt"),
    *("git stash && cat a.txt", "git am < a.txt && cat a.txt", "git apply a.txt && cat a.txt", "git mv sub b; cat b/x"),
    *("git --no-pager checkout evil; cat a.txt", "git bisect good && cat a.txt", "git rebase --abort; cat a.txt"),
    *("unzip x.zip; cat a.txt", "7z x a.7z; cat a.txt", "patch -p1 < a.txt; cat a.txt", "rsync -a x:y . ; cat a.txt"),
    *("npm ci && cat a.txt", "npm --prefix web install && cat a.txt", "yarn && cat a.txt", "uv sync && cat a.txt"),
    *("pip install x && cat a.txt", "gh pr checkout 5 && cat a.txt", "hg update x && cat a.txt", "ln a b && cat b"),
    *("echo evil | xargs git checkout -q; cat a.txt", "git pull && tee a.txt", "git pull && rm -r src/x"),
    *("cat a.txt sub/b.txt | tar x", "cat a.txt | git apply; cat a.txt", "mv -t sub src/l; cat sub/l"),
    *("wget -r http://x.test; cat a.txt", "git pull | tee a.txt", "git checkout x && head -n 5 5"),
]
QUIET = [
    *("git checkout -b new && cat a.txt", "git checkout -q -b new; cat a.txt", "git switch -c new && cat a.txt"),
    *(
        "git stash list && cat a.txt",
        "git stash show && cat a.txt",
        "git stash drop; cat a.txt",
        "git fetch; cat a.txt",
    ),
    *("git merge --abort; cat a.txt", "git merge --abort && cat a.txt sub/b.txt", "git push && cat a.txt"),
    *(
        "git add a.txt && git commit -m x && cat a.txt",
        "git reset --soft HEAD~1 && cat a.txt",
        "git reset a.txt; ls sub",
    ),
    *("git restore --staged a.txt && cat a.txt", "git worktree list && cat a.txt", "git submodule status && cat a.txt"),
    *("cat a.txt && git pull", "git pull && git log --oneline -5", "git pull && git diff HEAD~1 -- a.txt"),
    *(
        "git pull && ls",
        "git pull && ls -la",
        "git pull && grep -rn foo .",
        "git pull && rg foo",
        "git pull | tail -n 20",
    ),
    *("npm ci 2>&1 | tail -20", "npm ci | grep -A 3 warn", "npm ci && npm test", "npm run build && cat a.txt"),
    *(
        "npm run a && cd sub && ls",
        "tar tf x.tar | head -n 3",
        "tar tf x.tar && cat a.txt",
        "tar czf x.tar src; cat a.txt",
    ),
    *("unzip -l x.zip; cat a.txt", "git pull && find . -name '*.py'", "git pull && echo ok > /dev/null"),
    *("git fetch origin && git log origin/main | head -n 5", "git pull && sort -u | head", "make && cat a.txt"),
]

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git")


def run(command: str, root: Path) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose branch, stash and archive hold a link in the place of a file."""
    root = tmp_path_factory.mktemp("brought").resolve() / "proj"
    for folder in ("src", "sub"):
        (root / folder).mkdir(parents=True)
    (root.parent / "outside.txt").write_text(f"{OUTSIDE}\n")
    (root / "src" / "outside.txt").write_text("inside\n")
    for name in ("a.txt", "src/a.txt", "sub/b.txt"):
        (root / name).write_text("a\n")
    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / "keep").touch()
    (root / "sub" / "l").symlink_to("../outside.txt")
    (root / "outside.txt").write_text("inside\n")
    evil = f"rm src/a.txt; ln -s {root.parent}/outside.txt src/a.txt"
    for line in (
        "git init -q; git config user.name n; git config user.email e; git add .; git commit -qm c",
        f"git config alias.swap 'checkout -q evil'; git checkout -qb evil; {evil}; git commit -qam e",
        f"tar cf evil.tar src; git checkout -q -; {evil}; git stash -q",
    ):
        run(line, root)
    return root


def verdict(command: str, root: Path, **rules: list[str]) -> str:
    guard = SettingsGuard(flags(root, **rules), home=root.parent / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict


@pytest.mark.parametrize("command", LEAKING)
def test_a_line_that_brings_a_link_and_reads_it_is_asked_about(command: str, origin: Path, tmp_path: Path) -> None:
    base = tmp_path.resolve() / "base"
    shutil.copytree(origin.parent, base, symlinks=True)
    if not command.startswith("cp "):  # there, the link leads outside from another folder only
        assert OUTSIDE in run(command, base / "proj")
    assert verdict(command, origin, allow=ALLOWED) == "ask"


@pytest.mark.parametrize("command", ASKED)
def test_names_are_not_judged_before_a_command_that_may_bring_links(command: str, origin: Path) -> None:
    assert verdict(command, origin, allow=ALLOWED) == "ask"


@pytest.mark.parametrize("command", QUIET)
def test_commands_that_bring_no_links_lead_to_no_new_question(command: str, origin: Path) -> None:
    assert verdict(command, origin, allow=ALLOWED) == "allow"


def test_a_rule_for_every_command_covers_links_that_a_line_brings_unless_files_are_denied(origin: Path) -> None:
    line = "git checkout -q evil && cat src/a.txt"
    assert verdict(line, origin, allow=["Bash"]) == "allow"
    assert verdict(line, origin, allow=["Bash"], deny=["Read(//**/outside.txt)"]) == "ask"
    assert verdict("git checkout -q evil; echo x > src/a.txt", origin, allow=["Bash"], deny=["Edit(b.txt)"]) == "ask"
    assert verdict(line, origin, allow=[f"Bash({line})"]) == "allow"
