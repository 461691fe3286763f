"""No line of shell gets past the guard, whatever it is made of: bash itself is the judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.agent.waits import HANG
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.tools.call_result import Workspace

from .machine import flags

BASH = shutil.which("bash")
PIECES = [
    *"npm run evil x E 1 = # ! ~ * ? [ ] , : -c --".split(),
    *" ; & | && || ( ) { } < > << >> <( $( ${ $(( $x $ ` ' \" \\ \n \t if then fi do done for in while case esac".split(
        " "
    ),
    *[
        "<<'E'\n",
        "\nE\n",
        "\\\n",
        "$'",
        '$"',
        "; ",
        " | ",
        "[[ ",
        " ]]",
        "function ",
        "x() {",
        "time ",
        "eval ",
        "=(",
        " 2>&1",
    ],
]
WRAPPED = [
    *[
        "{}",
        "({})",
        "{{ {}; }}",
        "$({})",
        "`{}`",
        '"$({})"',
        "echo ${{x:-$({})}}",
        "! {}",
        "time {}",
        "nohup {}",
        "env {}",
    ],
    *[
        "if true; then {}; fi",
        "if {}; then npm x; fi",
        "for i in 1; do {}; done",
        "case x in x) {};; esac",
        "f() {{ {}; }}",
    ],
    *[
        "while {}; do npm x; done",
        "cat <<E\n$({})\nE",
        "cat <<'E' | {}\nE\n",
        "diff <({}) x",
        "timeout 5 {}",
        "xargs {}",
    ],
    *["npm x && {}", "{} && npm x", "npm x; {}", "npm x | {}", "npm x\n{}", "npm x & {}", "{} &", "npm x \\\n; {}"],
    *[
        "bash -c '{}'",
        'eval "{}"',
        "X=1 {}",
        "{} > /dev/null",
        "> /dev/null {}",
        "npm 'a'#b; {}",
        "npm \\ #b; {}",
        "npm # c\n{}",
    ],
]


@cache
def here() -> Path:
    """An empty folder."""
    return Path(mkdtemp(prefix="turnlog-guard-")).resolve()


def decide_command(command: str, *, deny: tuple[str, ...] = (), allow: tuple[str, ...] = ("Bash(npm:*)",)) -> str:
    guard = SettingsGuard(flags(here(), allow=allow, deny=deny), home=here() / "home")
    return guard.decide("Bash", {"command": command}, Workspace(here(), here())).verdict


def run_by_bash(command: str) -> set[str]:
    """The programs that bash would start: there are none, so each is missed."""
    script = 'command_not_found_handle() { printf "%s\\0" "$1" >&9; }; eval "$1"'
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as log:
        assert BASH
        subprocess.run(
            [BASH, "--norc", "-c", f"exec 9>&{writing}; exec {writing}>&-; {script}", "bash", command],
            cwd=here(),
            env={"PATH": str(here() / "nothing"), "HOME": str(here())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[writing],
            timeout=HANG,
        )
        os.close(writing)
        return set(log.read().decode("utf-8", "replace").split("\0"))


@pytest.mark.skipif(BASH is None, reason="needs bash")
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
@example("npm x \\ #b; evil")
@example("npm 'a'#b; evil")
@example("npm <<'E'\nE\nevil\nE\n")
@example("npm a\\\\; evil")
def test_what_is_allowed_starts_nothing_but_what_a_rule_names(text: str) -> None:
    command = "npm " + text
    if "evil" in command and decide_command(command) == "allow":
        assert "evil" not in run_by_bash(command), command


@pytest.mark.skipif(BASH is None, reason="needs bash")
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
@example("npm >$\nevil ; x")
@example("npm >$ evil")
def test_where_all_is_allowed_what_is_denied_is_not_started(text: str) -> None:
    command = text.replace("while", "").replace("for", "")
    if "evil" in command and decide_command(command, deny=("Bash(evil:*)",), allow=("Bash",)) == "allow":
        assert "evil" not in run_by_bash(command), command


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(WRAPPED), min_size=1, max_size=4), st.sampled_from(["rm x", "rm", "'r'm x", "/bin/rm x"])
)
@example(["({})", "({})"], "rm")
def test_a_denied_command_is_never_allowed_wherever_it_stands(wrappings: list[str], command: str) -> None:
    for wrapping in wrappings:
        command = wrapping.format(command)
    for allow in (("Bash",), ("Bash(npm:*)",), ("Bash(rm:*)", "Bash")):
        assert decide_command(command, deny=("Bash(rm:*)",), allow=allow) != "allow", command


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(WRAPPED), min_size=1, max_size=3))
def test_a_command_that_no_rule_names_is_never_allowed_wherever_it_stands(wrappings: list[str]) -> None:
    command = "evil x"
    for wrapping in wrappings:
        command = wrapping.format(command)
    assert decide_command(command) == "ask", command


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gets_a_decision(text: str) -> None:
    assert decide_command(text) in ("allow", "ask", "deny")
    assert decide_command(text, deny=("Bash(rm:*)",), allow=("Bash",)) in ("allow", "ask", "deny")
