"""Commands in the background: Shells, BashOutput, KillShell."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.tools.test_bash import appears, see_end
from tests.agent.tools.workshop import Workshop
from tests.agent.waits import HANG
from turnlog.agent.tools import shell_process
from turnlog.agent.tools.bash import Bash
from turnlog.agent.tools.bash_output import BashOutput
from turnlog.agent.tools.call_result import CallResult
from turnlog.agent.tools.kill_shell import KillShell
from turnlog.agent.tools.shells import Shell

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no bash")
HOLD = "while [ ! -e go ]; do sleep 0.01; done"
NOTICE = """<task-notification>
<task-id>{shell.id}</task-id>
<tool-use-id>toolu_1</tool-use-id>
<output-file>{shell.path}</output-file>
<status>{status}</status>
<summary>Background command "{about}" {end}</summary>
</task-notification>"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path.resolve())
    yield made
    made.shells.close()


def start(shop: Workshop, text: str, **more: object) -> Shell:
    return shop.shell(shop.call(Bash(), command=text, run_in_background=True, **more))


def look(shop: Workshop, shell: Shell, **more: object) -> CallResult:
    found = shop.call(BashOutput(), bash_id=shell.id, **more)
    return found._replace(content=re.sub(r"\n\n<timestamp>[^<]+Z</timestamp>\Z", "", str(found.content)))


def wait_for_shell(shell: Shell) -> None:
    assert shell.process.ended.wait(HANG)


def test_the_model_is_told_the_id_and_the_file_at_once(shop: Workshop) -> None:
    found = shop.call(Bash(), command=HOLD, run_in_background=True)
    shell = shop.shell(found)
    assert str(found.content).startswith(
        f"Command running in background with ID: {shell.id}. Output is being written to: {shell.path}. "
        "You will be notified when it completes"
    )
    assert re.fullmatch(r"b[0-9a-z]{8}", shell.id)
    plain = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    assert found.structured == {**plain, "backgroundTaskId": shell.id}
    assert shop.shells.list_running() == [shell]


def test_a_background_command_does_not_move_the_session(shop: Workshop) -> None:
    found = shop.call(Bash(), command="mkdir sub; cd sub", run_in_background=True)
    wait_for_shell(shop.shell(found))
    assert shop.place.cwd == shop.root
    hint = found.structured["backgroundCwdHint"]
    assert hint.startswith(f"Session cwd remains {shop.root}")
    assert str(found.content).endswith(f"\n{hint}")


@pytest.mark.parametrize(
    ("text", "given", "status", "about", "end"),
    [
        ("true", {"description": "Say yes"}, "completed", "Say yes", "completed (exit code 0)"),
        ("exit 3", {}, "failed", "exit 3", "failed with exit code 3"),
        ("sleep 60", {"timeout": 50}, "killed", "sleep 60", "was stopped after reaching its background time limit"),
    ],
)
def test_when_it_ends_there_is_one_notice(
    shop: Workshop, text: str, given: dict[str, object], status: str, about: str, end: str
) -> None:
    shell = start(shop, text, **given)
    assert shop.notices() == [NOTICE.format(shell=shell, status=status, about=about, end=end)]
    assert shop.shells.notices.take_all() == []
    assert list(shop.shells.folder.iterdir()) == [shell.path]


def test_a_command_that_would_fill_the_disk_is_ended_and_that_is_told(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_process, "MAX_OUTPUT_BYTES", 1 << 20)
    start(shop, "yes")
    assert "<status>killed</status>" in shop.notices()[0]


def test_with_the_client_all_commands_end_with_all_that_they_started(shop: Workshop) -> None:
    shell = start(shop, "echo kept; sleep 60 & echo $! > pid; wait")
    pid = int(appears(shop.root / "pid"))
    shop.shells.close()
    see_end(pid)
    assert shell.status == "killed"
    assert shop.shells.notices.take_all() == []
    assert shell.path.read_text() == "kept\n"


def test_a_command_that_does_not_hear_is_killed(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_process, "KILL_GRACE_SECONDS", 0.05)
    shell = start(shop, "trap '' TERM; echo $$ > pid; while true; do sleep 0.1; done")
    pid = int(appears(shop.root / "pid"))
    shell.stop("model")
    see_end(pid)
    wait_for_shell(shell)
    assert shell.process.exit_code == 137


def test_each_look_shows_what_is_new(shop: Workshop) -> None:
    shell = start(shop, f"echo one; echo 1 > ready; {HOLD}; echo two")
    appears(shop.root / "ready")
    while shell.process.bytes < 4:
        shell.process.ended.wait(0.01)
    first = look(shop, shell)
    assert first.content == "<status>running</status>\n\n<stdout>\none\n</stdout>"
    assert look(shop, shell).content == "<status>running</status>"
    (shop.root / "go").touch()
    wait_for_shell(shell)
    last = look(shop, shell)
    assert last.content == ("<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\ntwo\n</stdout>")
    assert last.structured.pop("timestamp").endswith("Z")
    assert last.structured == {
        "shellId": shell.id,
        "command": shell.command,
        "status": "completed",
        "exitCode": 0,
        "stdout": "two",
        "stderr": "",
        "stdoutLines": 1,
        "stderrLines": 1,
    }


def test_a_filter_shows_the_lines_that_match(shop: Workshop) -> None:
    shell = start(shop, "seq 8 12")
    wait_for_shell(shell)
    found = look(shop, shell, filter="^1")
    assert found.structured["stdout"] == "10\n11\n12"
    assert found.structured["filterPattern"] == "^1"


def test_a_filter_that_is_none_is_refused(shop: Workshop) -> None:
    shell = start(shop, "true")
    found = shop.call(BashOutput(), bash_id=shell.id, filter="(")
    assert str(found.content).startswith("<tool_use_error>The filter is not a valid regular expression")


def test_a_look_shows_no_more_than_a_result_may_have_and_says_what_is_left(shop: Workshop) -> None:
    shell = start(shop, "seq 1 10000")
    wait_for_shell(shell)
    shown = ""
    while "more: call again" in str((found := look(shop, shell)).content):
        shown += found.structured["stdout"] + ("\n" if shell.path.read_bytes()[shell.shown - 1 :][:1] == b"\n" else "")
        assert len(found.structured["stdout"]) <= 30_000
    shown += found.structured["stdout"]
    assert shown.split() == list(map(str, range(1, 10_001)))


def test_a_character_that_is_half_written_waits_for_its_other_half(shop: Workshop) -> None:
    shell = start(shop, rf"printf 'abcde\xc3'; echo 1 > ready; {HOLD}; printf '\xa4\n'")
    appears(shop.root / "ready")
    while shell.process.bytes < 6:
        shell.process.ended.wait(0.01)
    assert look(shop, shell).structured["stdout"] == "abcde"
    (shop.root / "go").touch()
    wait_for_shell(shell)
    assert look(shop, shell).structured["stdout"] == "ä"


def test_a_command_can_be_ended_once(shop: Workshop) -> None:
    shell = start(shop, "sleep 60")
    found = shop.call(KillShell(), shell_id=shell.id)
    assert found.structured == {
        "message": f"Successfully stopped task: {shell.id} (sleep 60)",
        "task_id": shell.id,
        "task_type": "local_bash",
        "command": "sleep 60",
    }
    assert json.loads(str(found.content)) == found.structured
    assert shop.shells.notices.take_all() == []
    again = shop.call(KillShell(), shell_id=shell.id)
    assert again.content == f"<tool_use_error>Task {shell.id} is not running (status: killed)</tool_use_error>"


@pytest.mark.parametrize("name", ["bnone", "../../etc/passwd", ""])
def test_a_command_that_nobody_started_is_not_found(shop: Workshop, name: str) -> None:
    text = f"<tool_use_error>No task found with ID: {name}</tool_use_error>"
    assert shop.call(BashOutput(), bash_id=name).content == text
    assert shop.call(KillShell(), shell_id=name) == CallResult(
        text, f"Error: No task found with ID: {name}", is_error=True
    )


def test_looking_runs_beside_others_and_ending_does_not() -> None:
    assert BashOutput().is_safe({})
    assert not KillShell().is_safe({})


def test_only_the_user_can_read_what_commands_write(shop: Workshop) -> None:
    shell = start(shop, "true")
    assert shell.path.stat().st_mode & 0o077 == 0
