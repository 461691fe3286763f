"""The channels of this machine: hostile text is never an option, a script, markup or an escape sequence."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.notify.channels import TERMINAL_STYLES, TerminalStyle
from turnlog.notify.desktop import show_on_desktop
from turnlog.notify.notification import Notification
from turnlog.notify.terminal_signal import build_terminal_signal, signal_terminal

HOSTILE = [
    "--help",
    "-e",
    '" & (do shell script "touch owned") & "',
    "'; Remove-Item x; '",
    "$(touch owned) `touch owned`",
    "<b>bold</b> <a href='x'>&amp;",
    "%s %n \\n",
]


def note(headline: str = "Needs you: x", body: str = "webshop: waiting") -> Notification:
    return Notification("id", "needs", "t", headline, body)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with stand-ins for the desktop programs, which write down how they were called."""
    if os.name != "posix":
        pytest.skip("the stand-ins are scripts with a shebang")
    for name in ("notify-send", "osascript", "powershell"):
        path = tmp_path / name
        path.write_text(
            f"#!{sys.executable}\nimport json, os, sys\n"
            f"own = {{k: v for k, v in os.environ.items() if k.startswith('TURNLOG_NOTIFY')}}\n"
            f"open({str(tmp_path / 'calls')!r}, 'a').write(json.dumps([sys.argv, own]) + '\\n')\n"
            "status = os.environ.get('FAIL', '0')\nif status != '0':\n    print('no\\ndaemon', file=sys.stderr)\n"
            "sys.exit(int(status))\n"
        )
        path.chmod(0o755)
    return tmp_path


def read_calls(programs: Path) -> list[tuple[list[str], dict[str, str]]]:
    return [json.loads(line) for line in (programs / "calls").read_text().splitlines()]


@pytest.mark.parametrize("text", HOSTILE)
def test_notify_send_gets_text_after_the_end_of_its_options(programs: Path, text: str) -> None:
    assert show_on_desktop(note(text, text), {"PATH": str(programs)}, "linux").result == "sent"
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert read_calls(programs) == [
        [[str(programs / "notify-send"), "--app-name=turnlog", "--", text, escaped], {}]  # type: ignore[comparison-overlap]
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_osascript_gets_text_as_arguments_of_a_fixed_script(programs: Path, text: str) -> None:
    assert show_on_desktop(note(text, text), {"PATH": str(programs)}, "darwin").result == "sent"
    ((arguments, variables),) = read_calls(programs)
    assert arguments == [
        str(programs / "osascript"),
        "-e",
        "on run argv",
        "-e",
        "display notification (item 3 of argv) with title (item 2 of argv)",
        "-e",
        "end run",
        "turnlog",
        text,
        text,
    ]
    assert variables == {}


@pytest.mark.parametrize("text", HOSTILE)
def test_powershell_gets_text_in_variables_of_a_fixed_script(programs: Path, text: str) -> None:
    assert show_on_desktop(note(text, "b"), {"PATH": str(programs)}, "win32").result == "sent"
    ((arguments, variables),) = read_calls(programs)
    assert arguments[1:4] == ["-NoProfile", "-NonInteractive", "-Command"]
    assert len(arguments) == 5
    assert text not in arguments[4]
    assert '"' not in arguments[4]
    assert "CreateTextNode($env:TURNLOG_NOTIFY_TITLE)" in arguments[4]
    assert variables == {"TURNLOG_NOTIFY_TITLE": text, "TURNLOG_NOTIFY_BODY": "b"}


def test_a_missing_desktop_program_is_named(tmp_path: Path) -> None:
    outcome = show_on_desktop(note(), {"PATH": str(tmp_path)}, "linux")
    assert (outcome.result, outcome.reason) == ("later", "notify-send is not installed")


def test_a_program_that_a_relative_path_names_is_not_run(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that somebody else wrote may hold a program of that name."""
    monkeypatch.chdir(programs)
    assert show_on_desktop(note(), {"PATH": "."}, "linux").reason == "notify-send is not installed"
    assert not (programs / "calls").exists()


def test_a_failing_desktop_program_is_reported_on_one_line(programs: Path) -> None:
    outcome = show_on_desktop(note(), {"PATH": str(programs), "FAIL": "3"}, "linux")
    assert (outcome.result, outcome.reason) == ("later", "notify-send failed with exit status 3: no daemon")


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("bell", "\a"),
        ("osc9", "\x1b]9;Needs you: x (webshop; waiting)\a"),
        ("osc777", "\x1b]777;notify;Needs you: x;webshop, waiting\a"),
    ],
)
def test_each_terminal_style_has_its_sequence(style: TerminalStyle, expected: str) -> None:
    assert build_terminal_signal(note(body="webshop; waiting"), style) == expected


@given(st.text(st.characters()), st.text(), st.sampled_from(TERMINAL_STYLES))
def test_no_text_can_end_the_sequence_and_start_another(headline: str, body: str, style: TerminalStyle) -> None:
    signal = build_terminal_signal(note("Needs you: " + headline, body), style)
    assert signal.count("\x1b") == (0 if style == "bell" else 1)
    assert signal.count("\a") == 1
    assert signal.endswith("\a")
    assert signal.removeprefix("\x1b").removesuffix("\a").isprintable()
    signal.encode()
    if style == "osc777":
        assert signal.count(";") == 3


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_the_signal_reaches_the_controlling_terminal() -> None:
    import pty

    pid, fd = pty.fork()
    if pid == 0:
        outcome = signal_terminal(note(), "osc9")
        os._exit(0 if outcome.result == "sent" else 1)
    assert os.read(fd, 1000) == b"\x1b]9;Needs you: x (webshop: waiting)\x07"
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(fd)


@pytest.mark.skipif(os.name != "posix", reason="needs setsid")
def test_without_a_terminal_the_message_is_dropped() -> None:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os._exit(0 if signal_terminal(note(), "bell").result == "refused" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
