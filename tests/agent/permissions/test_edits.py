"""What is allowed with edits accepted changes nothing elsewhere, and no protected file: bash itself is the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.agent.waits import HANG
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

BASH = shutil.which("bash")
PROGRAMS = "cp mv rm mkdir touch rmdir cat echo sed tee sort diff cd".split()
WORDS = [
    *"a.txt sub sub/b.txt sub/rel lure lure/away lure/a.txt lure/b.txt folder folder/f inner inner/..".split(),
    *"new x/../.git/y ../../outside.txt ~ ~/proj/a.txt ~/proj/lure/* ~/.bashrc lure/* * ./* s* '*' '~'".split(),
    *".git .git/config .GIT/x . .. -f -r -- -t -n -p -i -T -l -a --backup --parents s/a/b/".split(),
    *["1p", "-e", "$HOME", "{a,b}", "?.txt", "of=x", "'s/a/b/w ../q'"],
]
REDIRECTS = [
    *["", "", "", "> new", "> lure/away", ">> sub/x", "> ~/x", "> '~'", "> folder/q", "> .git/x", "< lure/away"],
    *["> *", "> inner/../../q", "&> new", "> sub/rel"],
]

pytestmark = pytest.mark.skipif(BASH is None or os.name != "posix", reason="needs bash")


def lines() -> st.SearchStrategy[str]:
    words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
    command = st.builds("{} {} {}".format, st.sampled_from(PROGRAMS), words, st.sampled_from(REDIRECTS))
    return st.lists(command, min_size=1, max_size=2).map(" && ".join)


def furnish(base: Path) -> Path:
    """A project below a home, with links that lead out of it and to what is protected."""
    root = base / "home" / "proj"
    for folder in (root / "sub", root / "lure" / "deep", root / ".git", base / "elsewhere"):
        folder.mkdir(parents=True)
    for path in (base / "outside.txt", base / "elsewhere" / "f", root / ".git" / "config", base / "home" / ".bashrc"):
        path.write_text("OUTSIDE a\n")
    for name in ("a.txt", "sub/b.txt", "-f", "~"):
        (root / name).write_text("a\n")
    links = {
        "lure/away": "outside.txt",
        "lure/a.txt": "outside.txt",
        "folder": "elsewhere",
        "inner": "home/proj/lure/deep",
    }
    for name, target in {**links, "lure/b.txt": "home/proj/.git/config"}.items():
        (root / name).symlink_to(base / target)
    (root / "sub" / "rel").symlink_to("../../../outside.txt")
    return root


def around(base: Path) -> dict[str, int]:
    """All that lies around a project, or is protected in it, and when it was changed."""
    root = base / "home" / "proj"
    found = [path for path in base.rglob("*") if not path.is_relative_to(root) or path.is_relative_to(root / ".git")]
    return {str(path): path.lstat().st_mtime_ns for path in found if not path.is_dir() or path.is_symlink()}


@settings(max_examples=150, deadline=None)
@given(command=lines())
@example(command="cat ~/proj/lure/*")
@example(command="diff ~/proj/lure ~/proj")
@example(command="cp a.txt of=x lure")
@example(command="mv sub/rel . && cat rel")
def test_what_is_allowed_with_edits_changes_and_shows_nothing_elsewhere(command: str) -> None:
    with TemporaryDirectory(prefix="turnlog-edits-") as name:
        base = Path(name).resolve()
        root = furnish(base)
        guard = SettingsGuard(flags(root), "acceptEdits", home=base / "home")
        if guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict != "allow":
            return
        before = around(base)
        environ = {"PATH": os.environ["PATH"], "HOME": str(base / "home")}
        assert BASH
        done = subprocess.run(
            [BASH, "--norc", "-c", command],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HANG,
        )
        assert around(base) == before
        assert b"OUTSIDE" not in done.stdout
