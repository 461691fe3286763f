"""No command that the model runs can read the client's key: not from its parent's environment, arguments or memory."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.agent.api import Api
from tests.agent.desk import KEY, Desk, call, reply, script
from turnlog.agent.key_shield import build_child_environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the means")
MakeDesk = Callable[[dict[str, Any]], Desk]
# The reader must not hold the key itself, or it would find its own copy: the word is put together from its halves.
SCAN = """
import os, sys
key = (sys.argv[2] + sys.argv[3]).encode()
pid = sys.argv[1]
found = []
for name in ("environ", "cmdline"):
    try:
        found += [name] * (key in open(f"/proc/{pid}/{name}", "rb").read())
    except OSError as error:
        print(name, error.strerror)
try:
    memory = open(f"/proc/{pid}/mem", "rb", 0)
    for line in open(f"/proc/{pid}/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        try:
            memory.seek(start)
            found += ["mem"] * (key in memory.read(end - start))
        except (OSError, ValueError, OverflowError):
            pass
except OSError as error:
    print("mem", error.strerror)
print("FOUND", *found)
"""


def scan_parent(here: Desk, *words: str, **options: Any) -> str:
    """What a command of the model finds in the process that runs it."""
    (here.cwd / "scan.py").write_text(SCAN)
    done = here.turnlog("-p", "look", "--dangerously-skip-permissions", *words, **options)
    assert done.returncode == 0, done.stderr
    return result_of(here)


def result_of(here: Desk) -> str:
    """What the model was told of its only call."""
    results = here.requests[-1]["messages"][-1]["content"]
    return str(next(block["content"] for block in results if block["type"] == "tool_result"))


def build_scan_script(python: str = sys.executable) -> dict[str, Any]:
    """A conversation in which the model looks for the key."""
    half = len(KEY) // 2
    command = f"{python} scan.py $PPID {KEY[:half]} {KEY[half:]}"
    return script(reply(call("Bash", command=command)), "Done.")


def test_a_command_finds_the_key_neither_in_the_environment_nor_in_the_memory_of_the_client(desk: MakeDesk) -> None:
    assert scan_parent(desk(build_scan_script())).endswith("FOUND")


def test_a_key_given_as_an_argument_is_not_shown_by_the_arguments_of_the_process(desk: MakeDesk) -> None:
    settings = json.dumps({"env": {"ANTHROPIC_API_KEY": KEY}})
    assert scan_parent(desk(build_scan_script()), "--settings", settings).endswith("FOUND")


def test_the_other_arguments_of_the_process_stay_as_they_were(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="tr '\\0' ' ' < /proc/$PPID/cmdline")), "Done."))
    here.turnlog("-p", "look", "--dangerously-skip-permissions", "--settings", '{"model": "opus"}')
    told = str(here.requests[-1]["messages"][-1]["content"])
    assert "-p look --dangerously-skip-permissions --settings ****" in told


def test_a_variable_that_repeats_the_key_is_kept_from_commands() -> None:
    given = {"ANTHROPIC_API_KEY": KEY, "MY_KEY": f"Bearer {KEY}", "PATH": "/bin", "CLAUDE_CODE_X": "1"}
    assert build_child_environment(given) == {"PATH": "/bin"}


def test_a_short_value_is_no_key_that_others_could_repeat() -> None:
    assert build_child_environment({"ANTHROPIC_API_KEY": "b", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_a_search_does_not_get_the_key(desk: MakeDesk, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\n")
    program.chmod(0o755)
    here = desk(script(reply(call("Grep", pattern="x")), "Done."))
    here.turnlog("-p", "look", environ={"PATH": f"{program.parent}:{os.environ['PATH']}"})
    seen = (tmp_path / "seen").read_text()
    assert "PATH=" in seen
    assert KEY not in seen


def test_the_archive_that_is_brought_up_to_date_meanwhile_does_not_hold_the_key(desk: MakeDesk, tmp_path: Path) -> None:
    here = desk(script("Done."))
    schedule = here.base / "data" / "archive" / "schedule"
    schedule.parent.mkdir(parents=True)
    schedule.write_text("6\n")
    os.utime(schedule, (0, 0))
    # `-P -m turnlog` starts whatever program `turnlog` there is on the path of modules; this one notes what it sees.
    modules = tmp_path / "modules"
    modules.mkdir()
    (modules / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'archive' in sys.orig_argv:\n"
        f"    open({str(tmp_path / 'seen')!r} + '.part', 'w').write(repr(dict(os.environ)))\n"
        f"    os.rename({str(tmp_path / 'seen')!r} + '.part', {str(tmp_path / 'seen')!r})\n"
        "    os._exit(0)\n"
    )
    path = os.pathsep.join(filter(None, (str(modules), os.environ.get("PYTHONPATH"))))
    assert here.turnlog("-p", "hello", environ={"PYTHONPATH": path}).returncode == 0
    while not (tmp_path / "seen").exists():
        time.sleep(0.01)
    seen = (tmp_path / "seen").read_text()
    assert "PATH" in seen
    assert KEY not in seen


def open_python() -> tuple[str, str]:
    """An interpreter that other users can run, and its path of modules."""
    path = os.pathsep.join(name for name in sys.path if name.endswith("-packages") or Path(name, "turnlog").is_dir())
    version = ".".join(map(str, sys.version_info[:2]))
    for python in (sys.executable, f"/usr/bin/python{version}"):
        with contextlib.suppress(OSError):
            words = [python, "-c", "import turnlog, msgspec"]
            if not subprocess.run(words, user="nobody", cwd="/", env={"PYTHONPATH": path}).returncode:
                return python, path
    pytest.skip("the program is closed to other users")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_neither_does_a_command_of_a_user_without_rights() -> None:
    nobody = pwd.getpwnam("nobody")
    python, path = open_python()
    with (
        TemporaryDirectory() as base,
        Api(scenario=build_scan_script(python=python)) as api,
    ):  # pytest's own folders are closed to others
        here = Desk(Path(base), api)
        (here.cwd / "scan.py").write_text(SCAN)
        for folder, _, names in os.walk(base):
            for name in (".", *names):
                os.chown(Path(folder, name), nobody.pw_uid, nobody.pw_gid)
        words = [python, "-m", "turnlog", "-p", "look", "--dangerously-skip-permissions"]
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        environ = {**here.environ, "PYTHONPATH": path}
        done = subprocess.run(words, cwd=here.cwd, env=environ, user="nobody", group="nogroup", **pipes)
        assert done.returncode == 0, done.stderr
        assert "Permission denied" in result_of(here)
        assert result_of(here).endswith("FOUND")
