"""What is free changes nothing and shows nothing that lies elsewhere: bash itself is the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

BASH = shutil.which("bash")
PROGRAMS = (
    "cat head tail ls wc sort diff md5sum hexdump du file tree base64 stat cut grep egrep rg find jq sed git test [[ "
    "printf echo date uniq readlink strings man xargs"
).split()
FILES = (
    "a.txt secret.txt sub lure link inner lure/away inner/../sub lure/* * ./* s* ../outside.txt ~/h.txt . .. - list x "
    "/proc/self/cwd/link"
).split()
FILES += ['"$PWD/a.txt"', '"$PWD/link"', '"$PWD/../outside.txt"', '"$PWD"/*', '"$(cat link)"', "@list", "split"]
VALUES = [
    *"1 a 1p s/a/b/ -name -exec -delete -fprint -newer {} %s %n log diff show cat-file blame HEAD:secret.txt".split(),
    *":0:secret.txt -eq -v ]] -- -e -f -r -o -n1 -5ex -Cf../outside.txt -olist --output=out --files0-from=list".split(),
    *"--pre=./x --rege=a --file=../outside.txt --to-file=lure --recursive --dereference .".split(),
    *["'z[$(touch q)]'", "'w q'", "'1e touch q'"],
]
BEGINNINGS = [
    *["", "", "", "cd lure && ", "command cd lure; ", "cat a.txt | ", "for i in 'z[$(touch q)]'; do "],
    *["find sub | xargs ", "find . | xargs ", "find . -type f | xargs ", "find . -type f -print0 | xargs -0 "],
    *["find lure -name '*.txt' | xargs ", "rg -l a | xargs ", "grep -rl a sub | xargs ", "cat list | xargs "],
    *["find split | xargs ", "find sub | sort | head -3 | xargs ", "export P''WD=..; ", "cd sub && "],
    *["for i in 'z[$(touch q)]'; do RANDOM=i ", "for i in 'z[$(touch q)]'; do OPTIND=i; ", "COLUMNS=i ", "CI=1 "],
]

pytestmark = pytest.mark.skipif(BASH is None or os.name != "posix", reason="needs bash")


def commands() -> st.SearchStrategy[str]:
    words = st.lists(st.sampled_from([*FILES, *VALUES]), max_size=5).map(" ".join)
    lines = st.builds("{}{} {}".format, st.sampled_from(BEGINNINGS), st.sampled_from(PROGRAMS), words)
    closed = lines.map(lambda line: f"{line}; done" if line.startswith("for ") else line)
    return closed | closed.map('echo "is $({})"'.format) | closed.map("printf '%s' \"$({})\"".format)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("free").resolve()
    root = base / "proj"
    for folder in ("sub", "lure/deep", "../home"):
        (root / folder).mkdir(parents=True)
    for name, text in {
        "a.txt": "a\n",
        "secret.txt": "SECRET\n",
        "sub/b.txt": "b\n",
        "list": "../outside.txt\n",
    }.items():
        (root / name).write_text(text)
    for name in ("outside.txt", "home/h.txt"):
        (base / name).write_text("a OUTSIDE 1\n")
    (root / "x").write_text("#!/bin/sh\ntouch q\n")
    (root / "x").chmod(0o755)
    for name in ("-v", "z[$(touch q)]"):
        (root / name).touch()
    for name, target in {"link": "outside.txt", "lure/away": "outside.txt", "lure/a.txt": "outside.txt"}.items():
        (root / name).symlink_to(base / target)
    (root / "inner").symlink_to(root / "lure" / "deep")
    (root / "split" / "x ..").mkdir(parents=True)
    (root / "split" / "x .." / "outside.txt").touch()
    return root


def state(root: Path) -> list[tuple[str, int]]:
    """All files around a project, and when they were changed."""
    return sorted((str(path), path.lstat().st_mtime_ns) for path in root.parent.rglob("*") if not path.is_dir())


def run(command: str, root: Path) -> str:
    assert BASH
    environ = {"PATH": os.environ["PATH"], "HOME": str(root.parent / "home")}
    try:
        done = subprocess.run(
            [BASH, "--norc", "-c", command],
            cwd=root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )
    except subprocess.TimeoutExpired:  # `tail -f`
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=commands())
@example(command="rg -e -- --pre=./x a a.txt")
@example(command="grep -5ea ../outside.txt")
@example(command="grep -- -v ../outside.txt")
@example(command="for i in 'z[$(touch q)]'; do [[ i -eq 1 ]]; done")
@example(command="diff lure sub")
@example(command="find lure | xargs cat")
@example(command="find split -type f | xargs cat")
@example(command="cat list | xargs cat")
@example(command="find sub -type f | xargs -0 cat")
@example(command='echo "$(cat link)"')
@example(command='echo "$(touch q)"')
@example(command='cat "$PWD/link"')
@example(command="strings @list")
@example(command="command cd lure; cat away")
@example(command="test *")
@example(command="x['$(touch q)']=1")
@example(command="x=([y]=1 ['z[$(touch q)]']=2)")
@example(command="RANDOM='z[$(touch q)]'")
@example(command="file -p a.txt")
@example(command="for i in 'z[$(touch q)]'; do RANDOM=i; done")
@example(command="for i in 'z[$(touch q)]'; do HISTCMD=i; done")
@example(command="for OPTIND in 'z[$(touch q)]'; do ls; done")
@example(command="printf %d 'z[$(touch q)]'")
@example(command="test 'z[$(touch q)]' -eq 1")
def test_what_is_free_changes_nothing_and_shows_nothing_from_elsewhere(command: str, project: Path) -> None:
    home, place = project.parent / "home", Workspace(project, project)
    free, strict = (
        SettingsGuard(flags(project, deny=deny), home=home).decide("Bash", {"command": command}, place).verdict
        for deny in ([], ["Read(secret.txt)"])
    )
    if free != "allow":
        return
    before = state(project)
    told = run(command, project)
    assert state(project) == before
    assert "OUTSIDE" not in told
    assert strict != "allow" or "SECRET" not in told
