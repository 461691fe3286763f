"""A rule for many uses of a program covers no use whose arguments show that it reaches further."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from turnlog.agent.permissions.command.awk_code import is_tame_awk
from turnlog.agent.permissions.command.words import split_words
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

PROGRAMS = (
    "curl date jq git tar bsdtar awk env sort rg grep xargs diff ssh scp rsync unzip 7z less uniq xxd split sed find "
    "man strings tee wget openssl shuf iconv dd wc zip cp mv ln npm pnpm bun head echo patch nohup time nice command"
).split()
RULES = [f"Bash({name}:*)" for name in PROGRAMS]
HERE = Path(__file__).parent
REACHING = (HERE / "reaching_uses.txt").read_text("utf-8").splitlines()
"""Commands that read or write elsewhere, run something else, or use names that an earlier command may change."""
ORDINARY = (HERE / "ordinary_uses.txt").read_text("utf-8").splitlines()

pytestmark = pytest.mark.skipif(shutil.which("git") is None or os.name != "posix", reason="needs git")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("coverage").resolve()
    found = base / "proj"
    for folder in ("src", "sub", "lure", "../home"):
        (found / folder).mkdir(parents=True, exist_ok=True)
    (base / "outside.txt").write_text("OUTSIDE\n")
    (found / "lure" / "away").symlink_to(base / "outside.txt")
    for name in ("a.txt", "b.txt", "src/a.py", "sub/b.txt", "package.json"):
        (found / name).write_text("a 1\n")
    (found / "list").write_bytes(b"../outside.txt\0")
    (found / "cfg").write_text(f"url = file://{base}/outside.txt\n")
    (found / "x").write_text("#!/bin/sh\ncat ../outside.txt\n")
    (found / "x").chmod(0o755)
    subprocess.run(["git", "init", "-q"], cwd=found, check=True)
    return found


def verdict(command: str, root: Path) -> str:
    guard = SettingsGuard(flags(root, allow=RULES), home=root.parent / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict


def test_a_rule_does_not_cover_a_use_that_reaches_further(root: Path) -> None:
    assert len(REACHING) >= 400
    assert [command for command in REACHING if verdict(command, root) != "ask"] == []


def test_a_rule_covers_ordinary_uses(root: Path) -> None:
    assert len(ORDINARY) >= 180
    assert [command for command in ORDINARY if verdict(command, root) != "allow"] == []


def test_a_rule_with_the_whole_command_covers_a_use_that_reaches_further(root: Path) -> None:
    for command in (
        "sort --compress-program=./x a.txt",
        "awk '{print | \"sh\"}' a.txt",
        "tar xf a.tar --to-command=./x",
    ):
        guard = SettingsGuard(flags(root, allow=[f"Bash({command})"]))
        assert guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict == "allow"


def test_a_folder_is_walked_only_by_commands_that_follow_its_links(root: Path) -> None:
    assert verdict("grep -R foo src", root) == "allow"
    assert verdict("grep -r foo lure", root) == "allow"
    for command in ("grep -R foo lure", "grep -R foo", "grep -R -e foo -A 3", "rg -L foo", "diff -r lure sub"):
        assert verdict(command, root) == "ask", command


def test_links_to_folders_are_walked_too(tmp_path: Path) -> None:
    here = tmp_path.resolve() / "proj"
    for folder in ("a", "b"):
        (here / folder).mkdir(parents=True)
    (here / "a" / "circle").symlink_to(here / "a")
    (here / "a" / "b").symlink_to(here / "b")
    assert verdict("grep -R foo a", here) == "allow"
    (here / "b" / "away").symlink_to(tmp_path)
    assert verdict("grep -R foo a", here) == "ask"


# -- awk


AWK_PIECES = [
    *(
        "print",
        "print $1",
        "printf",
        "{",
        "}",
        "(",
        ")",
        ";",
        "if (",
        "/a/",
        "/",
        "//",
        '"',
        '"x"',
        "'q'",
        ">",
        ">>",
        ">=",
    ),
    *(
        "|",
        "||",
        "$1",
        "$1 > 0",
        "1",
        "NR",
        "~",
        "!",
        "&&",
        "#",
        "\n",
        "\\",
        '"/"',
        '/"/',
        ",",
        "q",
        "BEGIN",
        "?",
        ":",
    ),
    *(
        "getline",
        'getline < "../outside.txt"',
        '"cat x"',
        '"q"',
        "close(q)",
        "ARGV[1]",
        "[/]",
        "]",
        "-",
        "/ 2",
        "/ q /",
    ),
]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=st.lists(st.sampled_from(AWK_PIECES), min_size=1, max_size=9).map(" ".join))
@example(script='{print "a" > "q"}')
@example(script='/"/ {print "a" > "q"} /"/')
@example(script='BEGIN {q = "touch q"; print 1 / 2 | q; 1 / 2}')
@example(script='{print "/" | "touch q"; x = "/"}')
@example(script='{print $1} # "\n{print > "q"} # "')
@example(script='BEGIN {print "if (" > "q)"}')
@example(script='BEGIN {print "}" > "q{"}')
@example(script="{print > $2}")
def test_an_awk_program_that_counts_as_tame_writes_and_runs_nothing(script: str, tmp_path: Path) -> None:
    quoted = "'" + script.replace("'", "'\\''") + "'"
    words = split_words(f"awk {quoted} a.txt")
    if words is None or not is_tame_awk(words):
        return
    folder = tmp_path / "awk"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "a.txt").write_text("a q\nb 2\n")
    subprocess.run(["awk", script, "a.txt"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt"]
