"""Variables that a line sets: bash itself says which of them run what they are set to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

BASH = shutil.which("bash")
TRAP = "'z[$(touch ran)]'"
"""A value that runs a command if bash computes it."""
MODES = ("default", "plan", "dontAsk", "acceptEdits")
WITH_NAMES = [
    "{}=x",
    "{}+=x",
    "export {}=x",
    "declare {}=x",
    "readonly {}=x",
    "printf -v {} x",
    "read {} <<< x",
    "for {} in x; do true; done",
    "wait -p {}",
    "getopts a {}",
]
WITHOUT_NAMES = [
    f"test -v {TRAP}",
    f"[ -v {TRAP} ]",
    f"[[ -v {TRAP} ]]",
    "[[ x -eq 1 ]]",
    "[[ 1 -lt x ]]",
    f"unset {TRAP}",
    f"read {TRAP} < a.txt",
    f"printf -v {TRAP} y",
    f"getopts a {TRAP}",
    f"declare {TRAP}=1",
    f"export {TRAP}=1",
    "mapfile -C 'touch ran;' -c 1 w < a.txt",
    f"mapfile {TRAP} < a.txt",
    f"let {TRAP}=1",
    "let y=x",
    "((x))",
    "((y=x))",
    "declare -i y=x",
    "typeset -i y; y=x",
    "local -i y=x",
    "echo $((x))",
    "echo $[x]",
    "echo ${y:x}",
    "echo ${y[x]}",
    "y[x]=1",
    "y=([x]=1)",
    "for ((y=x; 0; )); do true; done",
    "declare -n y=x; y=1",
    "y='$(touch ran)'; echo ${y@P}",
    "PS4='$(touch ran)'; set -x; true",
    "trap 'touch ran' EXIT",
    "compgen -W '$(touch ran)'",
    "compgen -C 'touch ran'",
    "jobs -x touch ran",
    "alias y='touch ran'",
    "hash -p ./run ls; ls",
    "BASH_ENV=./run bash -c true",
    "ENV=./run sh -i -c true",
    "PATH=. ls",
    "GREP_OPTIONS=--x grep x a.txt",
    "PAGER=./run man ls",
    "LD_PRELOAD=./run ls",
    "exec {w}> ran",
    "exec {RANDOM}> /dev/null",
    "coproc touch ran",
    "select y in x; do touch ran; break; done <<< 1",
]
pytestmark = pytest.mark.skipif(BASH is None or os.name != "posix", reason="needs bash")


def verdict(command: str, root: Path, mode: Any, **rules: Any) -> str:
    guard = SettingsGuard(flags(root, **rules), mode, home=root / "home")
    return guard.decide("Bash", {"command": command}, Workspace(root, root)).verdict


def run(command: str, root: Path) -> bool:
    """Whether a command runs what a value holds."""
    assert BASH
    (root / "a.txt").write_text("x\n")
    subprocess.run(
        [BASH, "--norc", "-c", command],
        cwd=root,
        env={"PATH": os.environ["PATH"], "HOME": str(root)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    ran = root / "ran"
    found = ran.exists()
    ran.unlink(missing_ok=True)
    return found


def variables() -> list[str]:
    """All variables that bash sets at its start, and those that it makes when they are used; not how programs talk."""
    assert BASH
    done = subprocess.run([BASH, "--norc", "-c", "compgen -v"], capture_output=True, text=True, check=True, env={})
    more = "RANDOM SRANDOM SECONDS LINENO OPTIND OPTARG HISTCMD COLUMNS LINES TMOUT FUNCNEST HISTSIZE REPLY".split()
    return sorted({*done.stdout.split(), *more} - {"_", "TERM"})


@pytest.mark.parametrize("form", WITH_NAMES)
def test_no_variable_of_bash_is_set_unasked(form: str, tmp_path: Path) -> None:
    commands = [f"for x in {TRAP}; do {form.format(name)}; done" for name in variables()]
    found = {(mode, one) for mode in MODES for one in commands if verdict(one, tmp_path, mode) == "allow"}
    assert found == set()


def test_bash_really_runs_what_some_variables_are_set_to(tmp_path: Path) -> None:
    ran = {name for name in ("RANDOM", "OPTIND", "HISTCMD", "y") if run(f"x={TRAP}; {name}=x", tmp_path)}
    assert {"RANDOM", "OPTIND"} <= ran
    assert "y" not in ran


@pytest.mark.parametrize("command", WITHOUT_NAMES)
def test_no_command_that_computes_a_value_runs_unasked(command: str, tmp_path: Path) -> None:
    for text in (command, f"for x in {TRAP}; do {command}; done", f"command {command}", f"true && {command}"):
        assert [mode for mode in MODES if verdict(text, tmp_path, mode) == "allow"] == [], text


@pytest.mark.parametrize("command", [*(form.format("RANDOM") for form in WITH_NAMES), *WITHOUT_NAMES])
def test_a_rule_for_a_builtin_does_not_speak_of_what_it_computes(command: str, tmp_path: Path) -> None:
    builtins = (
        *("declare", "typeset", "local", "export", "readonly", "read", "printf", "unset", "test", "[", "[[", "let"),
        *("getopts", "mapfile", "wait", "jobs", "compgen", "hash", "echo", "exec", "alias", "trap", "set", "true"),
        *("command", "builtin"),
    )
    for text in (f"for x in {TRAP}; do {command}; done", f"builtin {command}"):
        rules = [f"Bash({name}:*)" for name in builtins]
        assert verdict(text, tmp_path, "default", allow=rules) != "allow" or not run(text, tmp_path), text


def test_what_computes_a_value_is_asked_about_where_a_rule_forbids_some_commands(tmp_path: Path) -> None:
    for command in ("RANDOM=x", "[[ x -eq 1 ]]", "declare -i y=x", "printf -v RANDOM x", "read RANDOM < a.txt"):
        text = f"for x in 'z[$(\\touch ran)]'; do {command}; done"
        assert verdict(text, tmp_path, "default", allow=["Bash"], deny=["Bash(touch:*)"]) != "allow", command


@pytest.mark.parametrize(
    "command",
    [
        *("CI=1", "CI=1 ls", "TZ=UTC date +%s", "NO_COLOR=1 git status", "COLUMNS=80 ls", "TERM='dumb' ls"),
        *("for i in 1 2 3; do ls; done", "for file in a b; do true; done", "[[ 1 -eq 1 ]]", "test -f a", "printf %d 1"),
    ],
)
def test_plain_variables_are_set_unasked(command: str, tmp_path: Path) -> None:
    assert verdict(command, tmp_path, "default") == "allow"
