"""Commands that go on until they are stopped, over sessions with escapes in every field."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.cli.hostile_machine import HostileMachine, build_hostile_machine
from tests.session.build import SESSION

ALL_TIME = ["--since", "100000d"]
SCREEN = re.compile(
    "\x1b\\[(?:\\?(?:25|1049|2004|2026)[hl]|[0-9;]*[HKJABCDG]|(?:0|[1-49]|2[1-9]|3[0-9]|[34]8;[25][0-9;]*|7|1;3[1-6])m)"
)
"""What our own screens write; the payload has other sequences."""
OWN_TITLE = re.compile("\x1b]0;(?!owned)[^\x07\x1b]*\x07")
ACTIVE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|\r\u202e|\r\\\\u")


def read_until(machine: HostileMachine, words: list[str], word: str, *, terminal: bool) -> str:
    """Start a command, read what it writes until a word has come, and stop it."""
    import pty

    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", *words],
        stdin=theirs if terminal else subprocess.DEVNULL, stdout=theirs, stderr=theirs,
        env=machine.environ, cwd=machine.base, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    data, deadline = b"", time.monotonic() + 120
    try:
        while time.monotonic() < deadline and word.encode() not in data:
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                if not piece:
                    break
                data += piece
    finally:
        process.send_signal(signal.SIGINT)
        process.kill()
        process.wait()
        os.close(ours)
    return data.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("words", "terminal"),
    [
        (["watch", *ALL_TIME], True),
        (["watch", *ALL_TIME], False),
        (["watch", *ALL_TIME, "--json"], True),
        (["replay", SESSION, "--speed", "32"], True),
        (["quest", "--tty", "--replay", SESSION, "--speed", "32"], True),
        (["quest", "--tty", "--replay", SESSION, "--speed", "32"], False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "terminal" if value else "pipe",
)
def test_no_command_that_goes_on_passes_an_escape_on(tmp_path: Path, words: list[str], terminal: bool) -> None:
    written = read_until(build_hostile_machine(tmp_path), words, "gnp", terminal=terminal)
    assert "gnp" in written
    left = OWN_TITLE.sub("", SCREEN.sub("", written))
    found = [line.encode("unicode_escape").decode()[:200] for line in left.split("\n") if ACTIVE.search(line)]
    assert not found, found[:3]
