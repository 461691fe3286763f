"""Pages that commands open in the browser: of a running server, or of one that is started for them."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnlog.cli.web.page_opener import PageOpener, RunningServer
from turnlog.cli.web.page_opener import find_running_server as find_default_server
from turnlog.web.running_server import announce_server, read_server_token
from turnlog.web.server_keys import DEFAULT_PORT, ServerKeys

posix = pytest.mark.skipif(os.name != "posix", reason="the browser is a shell script")
pytestmark = pytest.mark.slow


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without sessions, whose browser writes down the addresses that it is opened with."""
    browser = tmp_path / "chromium"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "turnlog"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    return tmp_path / "turnlog"


@pytest.fixture
def pages() -> Iterator[PageOpener]:
    found = PageOpener()
    yield found
    found.close()


@posix
def test_each_page_is_opened_with_a_token_of_its_own(data: Path, pages: PageOpener, tmp_path: Path) -> None:
    for path in ("/live", "/quest?demo=1"):
        assert pages.open(path).startswith("Opened http://turnlog-")
    first, second = (tmp_path / "opened").read_text().split()
    assert "/live?token=" in first
    assert "/quest?demo=1&token=" in second
    assert first.partition("token=")[2] != second.partition("token=")[2]
    root = first.partition("/live")[0]
    local = first.replace(root.partition("//")[2].partition(":")[0], "127.0.0.1")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert opener.open(local).status == 200
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.build_opener().open(local)  # another browser with the same address


def test_a_server_is_found_by_the_file_that_it_keeps_while_it_runs(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    keys = ServerKeys(DEFAULT_PORT, b"s" * 32)
    with announce_server(tmp_path, keys):
        assert read_server_token(tmp_path, DEFAULT_PORT) == keys.program_token
        assert read_server_token(tmp_path, DEFAULT_PORT + 1) is None
        assert (tmp_path / f"web-{DEFAULT_PORT}.token").stat().st_mode & 0o077 == 0 or os.name != "posix"
    assert list(tmp_path.iterdir()) == []


def test_a_server_leaves_the_file_of_its_successor(tmp_path: Path) -> None:
    before, after = ServerKeys(DEFAULT_PORT, b"s" * 32), ServerKeys(DEFAULT_PORT, b"s" * 32)
    with announce_server(tmp_path, after):
        with announce_server(tmp_path, before):
            (tmp_path / f"web-{DEFAULT_PORT}.token").write_text(after.program_token)
        assert read_server_token(tmp_path, DEFAULT_PORT) == after.program_token


def test_a_server_that_was_killed_is_not_taken_for_a_running_one(data: Path) -> None:
    data.mkdir(parents=True)
    (data / f"web-{DEFAULT_PORT}.token").write_text("x" * 43)
    assert find_default_server() is None


@posix
def test_a_running_server_is_used_by_commands(data: Path) -> None:
    command = [sys.executable, "-m", "turnlog", "web", "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        port = int(address.partition("127.0.0.1:")[2].partition("/")[0])
        token = read_server_token(data, port)
        assert token == address.partition("token=")[2]
        server = RunningServer(port, token)
        assert server.send("HEAD", "/api/state")[0] == 200
        assert server._replace(token="x").send("HEAD", "/api/state")[0] == 403
        assert server.create_launch_token() != server.create_launch_token()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    assert read_server_token(data, port) is None
