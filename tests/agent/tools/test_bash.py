"""Bash."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.tools.workshop import Workshop
from tests.agent.waits import wait_until
from turnlog.agent.tools import bash, shell_process
from turnlog.agent.tools.bash import Bash, build_command_environment
from turnlog.agent.tools.call_result import CallResult, ToolError
from turnlog.model.failures import RequestCancelled

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no bash")
PLAIN = {"stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path.resolve())
    yield made
    made.shells.close()


def run(shop: Workshop, text: str, **more: object) -> CallResult:
    return shop.call(Bash(), command=text, **more)


def see_end(pid: int) -> None:
    """Wait until a process is over."""

    def is_over() -> bool:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
        return not state or state.startswith("Z")

    wait_until(is_over)


def appears(path: Path) -> str:
    """What a command writes into a file, once it has."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return path.read_text().strip()


def test_what_is_written_to_both_streams_stands_in_its_order(shop: Workshop) -> None:
    found = run(shop, "echo one; echo two >&2; echo three; echo four > /dev/stderr")
    assert found == CallResult("one\ntwo\nthree\nfour", {"stdout": "one\ntwo\nthree\nfour", **PLAIN})


def test_blank_lines_before_and_space_after_the_output_are_left_out(shop: Workshop) -> None:
    assert run(shop, r"printf '\n \n  lead\n\ntrail  \n\n'").content == "  lead\n\ntrail"


def test_a_command_that_says_nothing_is_told_to_have_ended(shop: Workshop) -> None:
    assert run(shop, "true").content == "(Bash completed with no output)"


@pytest.mark.parametrize("text", ["touch a", "mkdir b && cd b; cd ..", "export A=1"])
def test_commands_that_are_silent_by_nature_are_marked(shop: Workshop, text: str) -> None:
    assert run(shop, text).structured["noOutputExpected"] is True


@pytest.mark.parametrize("text", ["true", "touch a | cat", "touch a || true", "touch a; true", ""])
def test_other_commands_are_not_marked_as_silent(shop: Workshop, text: str) -> None:
    assert run(shop, text).structured["noOutputExpected"] is False


def test_an_exit_status_is_an_error_with_the_output(shop: Workshop) -> None:
    text = "Exit code 3\na\nb"
    assert run(shop, "echo a; echo b >&2; exit 3") == CallResult(text, f"Error: {text}", is_error=True)


def test_an_exit_status_without_output_is_just_told(shop: Workshop) -> None:
    assert run(shop, "exit 4").content == "Exit code 4"


def test_a_shell_killed_by_a_signal_has_the_status_of_shells(shop: Workshop) -> None:
    assert run(shop, "kill -9 $$").content == "Exit code 137"


def test_a_command_with_an_open_quote_is_an_error_of_the_shell(shop: Workshop) -> None:
    found = run(shop, "echo 'unclosed")
    assert found.is_error
    assert "unexpected EOF" in str(found.content)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("grep x /dev/null", "No matches found"),
        ("true && cat /dev/null | grep x", "No matches found"),
        ("echo 1 > a; echo 2 > b; diff -q a b", "Files differ"),
        ("test -f none", "Condition is false"),
        ("[ 1 = 2 ]", "Condition is false"),
        ("grep x /dev/null 2>&1", "No matches found"),
        ("grep x /dev/null &> /dev/null", "No matches found"),
        ("test -f x ||\ntest -f y", "Condition is false"),
    ],
)
def test_a_status_of_one_that_is_no_error_is_told_as_what_it_means(shop: Workshop, text: str, meaning: str) -> None:
    found = run(shop, text)
    assert not found.is_error
    assert found.structured["returnCodeInterpretation"] == meaning


@pytest.mark.parametrize(
    "text", ["grep x none", "grep x /dev/null; false", "LC_ALL=C grep x /dev/null", "[[ a = b ]]", "! true"]
)
def test_other_statuses_are_errors(shop: Workshop, text: str) -> None:
    assert run(shop, text).is_error


def test_the_folder_is_carried_over_and_variables_are_not(shop: Workshop) -> None:
    run(shop, "mkdir sub; cd sub; X=1")
    assert run(shop, 'echo "$PWD [$X]"').content == f"{shop.root}/sub []"
    assert shop.place.cwd == shop.root / "sub"


def test_the_folder_of_a_command_that_fails_is_not_carried_over(shop: Workshop) -> None:
    run(shop, "mkdir sub; cd sub; false")
    assert shop.place.cwd == shop.root


def test_a_folder_outside_of_the_working_folders_is_left_again(shop: Workshop) -> None:
    found = run(shop, "cd / && pwd")
    reset = f"Shell cwd was reset to {shop.root}"
    assert found == CallResult(f"/\n{reset}", {"stdout": "/", **PLAIN, "stderr": f"\n{reset}"})
    assert shop.place.cwd == shop.root


def test_a_link_to_the_outside_does_not_lead_out(shop: Workshop, tmp_path: Path) -> None:
    (shop.root / "out").symlink_to(tmp_path)
    assert "reset" in str(run(shop, "cd out").content)


def test_a_further_folder_may_be_gone_to(shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    shop.place.further = [tmp_path / "more"]
    run(shop, f"cd '{tmp_path}/more'")
    assert shop.place.cwd == tmp_path.resolve() / "more"


def test_a_folder_that_is_gone_is_left_and_that_is_told(shop: Workshop) -> None:
    run(shop, "mkdir sub; cd sub")
    (shop.root / "sub").rmdir()
    found = run(shop, "pwd")
    assert found.content == f"{shop.root}\nShell cwd was reset to {shop.root}"


def test_without_the_working_folder_nothing_is_run(shop: Workshop) -> None:
    shop.root.rmdir()
    assert "no longer exists" in str(run(shop, "pwd").content)


def test_standard_input_is_empty(shop: Workshop) -> None:
    assert run(shop, "cat; echo end").content == "end"


def test_keys_of_the_client_are_not_in_the_environment(tmp_path: Path) -> None:
    secret = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t", "CLAUDE_CODE_OAUTH_TOKEN": "o"}
    shop = Workshop(tmp_path, environ={**secret, "PATH": os.environ["PATH"], "MINE": "1"})
    names = {line.split("=")[0] for line in str(run(shop, "env").content).split("\n")}
    assert names >= {"MINE", "CLAUDECODE"}
    assert not names & secret.keys()


def test_bytes_that_are_no_text_are_replaced(shop: Workshop) -> None:
    assert run(shop, r"printf 'a\x00b\xff\n'").content == "a\x00b\ufffd"


def test_thirty_thousand_characters_are_shown_whole(shop: Workshop) -> None:
    assert run(shop, "head -c 30000 /dev/zero | tr '\\0' a; echo").content == "a" * 30_000


def test_more_is_kept_in_a_file_and_shown_in_its_beginning(shop: Workshop) -> None:
    found = run(shop, "seq 1 8000")
    kept = Path(found.structured["persistedOutputPath"])
    assert kept.parent == shop.session / "tool-results"
    assert kept.read_text() == "".join(f"{number}\n" for number in range(1, 8001))
    assert found.structured["persistedOutputSize"] == 38893
    assert len(found.structured["stdout"]) == 30_000
    begin = "\n".join(map(str, range(1, 528)))
    assert found.content == (
        f"<persisted-output>\nOutput too large (38KB). Full output saved to: {kept}\n\n"
        f"Preview (first 2KB):\n{begin}\n...\n</persisted-output>"
    )


def test_nothing_is_left_behind_by_a_command_in_the_foreground(shop: Workshop) -> None:
    run(shop, "echo a")
    run(shop, "seq 1 8000")
    run(shop, "false")
    assert list(shop.shells.folder.iterdir()) == []


def test_the_error_of_a_talkative_command_shows_its_beginning_and_its_very_end(shop: Workshop) -> None:
    text = str(run(shop, "seq 1 80000; echo the reason; exit 4").content)
    assert text.startswith("Exit code 4\n1\n2\n")
    assert text.endswith("\n80000\nthe reason")
    assert "characters truncated] ..." in text
    assert len(text) < 10_100


def test_a_hundred_megabytes_take_no_memory(shop: Workshop) -> None:
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from tests.agent.tools.workshop import Workshop\nfrom turnlog.agent.tools.bash import Bash\n"
        "shop = Workshop(Path(sys.argv[1]))\nshop.call(Bash(), command='echo')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "found = shop.call(Bash(), command='head -c 100000000 /dev/zero')\n"
        "print(found.structured['persistedOutputSize'], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code, str(shop.root / "x")], cwd=root, capture_output=True, text=True, check=True
    )
    size, grown = map(int, done.stdout.split())
    assert size == 100_000_000
    assert grown < 20_000 * (1024 if sys.platform == "darwin" else 1)


def test_a_command_that_would_fill_the_disk_is_ended(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_process, "MAX_OUTPUT_BYTES", 1 << 20)
    found = run(shop, "yes")
    assert found.is_error
    assert "Command was stopped after it had written" in str(found.content)


def test_what_a_shell_leaves_in_the_background_is_not_waited_for(shop: Workshop) -> None:
    found = run(shop, "sleep 60 & echo $! > pid; echo done")
    assert found.content == "done"
    os.kill(int((shop.root / "pid").read_text()), 9)


def test_what_is_left_in_the_background_can_t_fill_the_disk_either(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_process, "MAX_OUTPUT_BYTES", 1 << 20)
    assert run(shop, "(sleep 0.1; exec yes) & echo $! > pid").content == "(Bash completed with no output)"
    see_end(int((shop.root / "pid").read_text()))


def test_cancelling_ends_all_that_the_command_started(shop: Workshop) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            shop.call(Bash(), command="(trap '' TERM; sleep 60) & echo $! > pid; sleep 60")
        except RequestCancelled as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    pid = int(appears(shop.root / "pid"))
    shop.cancel.set()
    thread.join()
    assert failed
    see_end(pid)
    assert list(shop.shells.folder.iterdir()) == []


def test_a_cancelled_call_starts_nothing(shop: Workshop) -> None:
    shop.cancel.set()
    with pytest.raises(RequestCancelled):
        shop.call(Bash(), command="touch made")
    assert not (shop.root / "made").exists()


def test_a_command_that_takes_too_long_goes_on_in_the_background(shop: Workshop) -> None:
    waits = "echo first; read < <(while [ ! -e go ]; do sleep 0.01; done); echo last"
    limit = 300
    while not (found := run(shop, waits, timeout=limit)).structured["stdout"]:  # a slow machine needs longer for it
        limit *= 2
        shop.shells.close()
    shell = shop.shell(found)
    assert str(found.content).startswith(
        f"first\nCommand did not complete within its {limit // 1000}s timeout and was moved to the background "
        f"(ID: {shell.id}). Output is being written to: {shell.path}. "
    )
    assert found.structured["stdout"] == "first"
    assert found.structured["timedOutAfterMs"] == limit
    (shop.root / "go").touch()
    assert len(shop.notices()) == 1
    assert shell.path.read_text() == "first\nlast\n"


def test_a_pause_that_takes_too_long_is_ended(shop: Workshop) -> None:
    found = run(shop, "sleep 60; echo x", timeout=100)
    assert found == CallResult("Exit code 143\nCommand timed out after 0s", found.structured, is_error=True)


@pytest.mark.parametrize(("given", "used"), [(None, 120_000), (5, 5), (-5, 120_000), (0, 120_000), (10**9, 600_000)])
def test_the_time_that_a_command_may_take_has_a_default_and_a_limit(given: int | None, used: int) -> None:
    assert bash._read_timeout_ms({"timeout": given}, 120_000, 600_000) == used


def test_a_long_command_tells_how_it_gets_on(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash, "PROGRESS_DELAY_SECONDS", 0.0)
    monkeypatch.setattr(bash, "_choose_report_interval", lambda _: 0.05)

    def see_all() -> None:
        wait_until(lambda: shop.progress and shop.progress[-1]["totalLines"] == 7)
        (shop.root / "go").touch()

    threading.Thread(target=see_all).start()
    run(shop, "for i in 1 2 3 4 5 6 7; do echo $i; done; while [ ! -e go ]; do sleep 0.01; done")
    report = dict(shop.progress[-1])
    assert report.pop("taskId")
    assert report.pop("elapsedTimeSeconds") >= 0
    assert report == {
        "type": "bash_progress",
        "output": "3\n4\n5\n6\n7",
        "fullOutput": "1\n2\n3\n4\n5\n6\n7\n",
        "totalLines": 7,
        "totalBytes": 14,
        "timeoutMs": 120_000,
    }


def test_a_short_command_tells_nothing(shop: Workshop) -> None:
    run(shop, "echo a")
    assert shop.progress == []


def test_only_commands_that_are_known_to_read_run_beside_others() -> None:
    tool = Bash(lambda text: text.startswith("ls"))
    assert tool.is_safe({"command": "ls"})
    assert not tool.is_safe({"command": "rm x"})
    assert not tool.is_safe({"command": "ls", "run_in_background": True})
    assert not Bash().is_safe({"command": "ls"})


def test_a_command_that_no_program_can_be_given_is_refused(shop: Workshop) -> None:
    found = run(shop, "echo " + "x" * 10_000_000)
    assert found.is_error
    assert "could not be started" in str(found.content)
    assert list(shop.shells.folder.iterdir()) == []


def test_a_command_with_a_zero_byte_is_refused(shop: Workshop) -> None:
    assert "could not be started" in str(run(shop, "echo \0").content)


def test_where_there_is_no_posix_the_model_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_process, "os", type("os", (), {"name": "nt"}))
    with pytest.raises(ToolError, match="WSL"):
        shell_process._find_bash({})


def test_a_command_begins_in_a_clean_shell() -> None:
    given = {"BASH_ENV": "/tmp/x", "ENV": "/tmp/x", "CDPATH": "/", "BASH_FUNC_ls%%": "() { :; }", "PATH": "/bin"}
    assert set(build_command_environment(given)) == {"PATH", "CLAUDECODE", "GIT_EDITOR"}
