"""Every way out of the program finds the everyday secrets, and takes almost no look-alike for one."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Machine, Turnlog
from tests.redact.cases import (
    EVERYDAY,
    FURTHER,
    FURTHER_HARMLESS,
    HARMLESS,
    MAX_ALARMS,
    MAX_FURTHER_ALARMS,
    MIN_FOUND,
    MIN_FURTHER_FOUND,
    Case,
)
from tests.session.build import SESSION, Build
from turnlog.redact.secret_rule import SECRET_MARK

Exit = Callable[[Turnlog, Path, Path], str]
"""Takes a session out, given a folder to write into, and gives all that came out."""


def build_session(cases: list[Case]) -> bytes:
    """A session in which each case is what a command printed, and every third also a prompt."""
    build = Build()
    for number, case in enumerate(cases):
        build.prompt(case.text if number % 3 == 0 else "go on")
        build.call(f"c{number}", "Bash", {"command": "cat it"})
        build.result(f"c{number}", case.text, toolUseResult={"stdout": case.text, "stderr": ""})
        build.answer("done")
    return build.data()


def print_output(*words: str) -> Exit:
    def run(turnlog: Turnlog, session: Path, folder: Path) -> str:
        done = turnlog(*words, session)
        assert done.status == 0, done.err
        return done.out

    return run


def write_output(ending: str, *words: str) -> Exit:
    def run(turnlog: Turnlog, session: Path, folder: Path) -> str:
        goal = folder / f"out{ending}"
        done = turnlog(words[0], session, *words[1:], "-o", goal)
        assert done.status == 0, done.err
        return goal.read_text("utf-8")

    return run


def read_packed(turnlog: Turnlog, session: Path, folder: Path) -> str:
    goal = folder / "out.tar.zst"
    done = turnlog("pack", session, "--redact", "-o", goal)
    assert done.status == 0, done.err
    done = turnlog("unpack", goal, "--config", folder / "config", "--project", folder)
    assert done.status == 0, done.err
    return "".join(path.read_text("utf-8") for path in sorted((folder / "config").rglob("*.jsonl")))


def read_cloned(turnlog: Turnlog, session: Path, folder: Path) -> str:
    before = set(session.parent.glob("*.jsonl"))
    done = turnlog("redact", session, "--clone")
    assert done.status == 0, done.err
    (clone,) = set(session.parent.glob("*.jsonl")) - before
    return clone.read_text("utf-8")


EXITS: dict[str, Exit] = {
    "redact": print_output("redact", "-o", "-"),
    "redact --clone": read_cloned,
    "pack": read_packed,
    "export Markdown": write_output(".md", "export", "--redact"),
    "export JSON": write_output(".json", "export", "--redact"),
    "export HTML": write_output(".html", "export", "--redact"),
    "share": write_output(".md", "export", "--share"),
    "trace": print_output("trace", "show", "--json"),
    "show": print_output("show", "--redact", "--full", "--thinking"),
    "show --json": print_output("show", "--redact", "--json"),
}


def readings(output: str) -> str:
    """An output as it is, and as who reads HTML or JSON reads it."""
    texts = [output, html.unescape(output)]
    for line in [output, *output.splitlines()]:
        try:
            texts += strings(json.loads(line))
        except ValueError:
            continue
    return "\n".join(texts)


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in strings(item)]


SECRETS = {"everyday": (EVERYDAY, MIN_FOUND), "further": (FURTHER, MIN_FURTHER_FOUND)}
LOOK_ALIKES = {"everyday": (HARMLESS, MAX_ALARMS), "further": (FURTHER_HARMLESS, MAX_FURTHER_ALARMS)}


@pytest.mark.parametrize("cases", SECRETS)
@pytest.mark.parametrize("name", EXITS)
def test_no_exit_lets_more_than_a_few_secrets_out(
    name: str, cases: str, turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    secrets, least = SECRETS[cases]
    output = readings(EXITS[name](turnlog, machine.add(SESSION, build_session(secrets)), tmp_path))
    missed = [case.name for case in secrets if not case.is_safe(output)]
    assert len(secrets) - len(missed) >= least, missed
    assert name == "show --json" or len(set(SECRET_MARK.findall(output))) > len(secrets) // 3, (
        "the texts themselves came out"
    )


@pytest.mark.parametrize("cases", LOOK_ALIKES)
@pytest.mark.parametrize("name", EXITS)
def test_no_exit_takes_more_than_one_look_alike_for_a_secret(
    name: str, cases: str, turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    harmless, most = LOOK_ALIKES[cases]
    output = EXITS[name](turnlog, machine.add(SESSION, build_session(harmless)), tmp_path)
    marks = {mark for mark in SECRET_MARK.findall(output) if mark.startswith("[secret:")}
    assert len(marks) <= most
