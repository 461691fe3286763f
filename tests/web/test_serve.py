"""The server as a program: where it listens, what it says, and how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import Complaints, Folders, Server, start
from turnlog.cli.web.browser import does_system_resolve_names
from turnlog.errors import TurnlogError
from turnlog.web.own_name import build_own_name, load_secret
from turnlog.web.server import open_listening_socket
from turnlog.web.server_keys import DEFAULT_PORT

pytestmark = pytest.mark.slow

ADDRESS = re.compile(r"http://(?P<host>[\w.-]+):\d+/\?token=(?P<token>[\w-]{43})")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and modes as POSIX has them")


def test_one_line_with_the_address_is_all_that_is_printed(folders: Folders) -> None:
    server = start(folders)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", server.address)
    assert server.process.stdout is not None
    server.process.send_signal(signal.SIGTERM)
    assert server.process.stdout.read() == ""
    assert server.stop() == 0
    assert server.errors == []


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_a_normal_end(server: Server, number: signal.Signals) -> None:
    assert server.stop(number) == 0
    assert server.errors == []


@posix
def test_an_open_connection_does_not_keep_the_server_from_ending(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as idle:
        idle.sendall(b"GET /api/state HTTP/1.1\r\n")  # and never the rest
        assert server.stop(signal.SIGINT, timeout=60) == 0


@posix
def test_pages_that_follow_do_not_keep_the_server_from_ending(
    server: Server, page: Page, complaints: Complaints
) -> None:
    with page.expect_response("**/api/live/updates*"):
        page.goto("/live")
    assert server.stop(signal.SIGINT, timeout=60) == 0
    assert server.errors == []
    page.close()
    complaints.clear()


def test_a_port_that_is_taken_is_told(folders: Folders) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "turnlog", "web", "--no-open", "--port", port],
            env=folders.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"turnlog: port {port}: ")


def test_without_a_wish_another_port_is_found_where_the_usual_one_is_taken() -> None:
    first = open_listening_socket(None)
    second = open_listening_socket(None)
    with first.socket, second.socket:
        assert first.port != second.port
        assert second.is_fallback
        assert second.port != DEFAULT_PORT
        assert second.socket.getsockname()[0] == "127.0.0.1"


def test_no_host_can_be_chosen(folders: Folders) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "turnlog", "web", "--host", "0.0.0.0"],
        env=folders.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2


@posix
@pytest.mark.parametrize(
    ("words", "browser_name", "has_own_name"),
    [([], "my-chromium", True), (["web"], "firefox", True), (["web"], "lynx", does_system_resolve_names())],
)
def test_on_a_terminal_a_browser_is_opened_at_a_name_that_it_resolves(
    folders: Folders, tmp_path: Path, words: list[str], browser_name: str, has_own_name: bool
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / browser_name
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    ours, theirs = os.openpty()
    environment = {**folders.environment, "BROWSER": str(browser)}
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", *words], env=environment, stdout=theirs, stderr=subprocess.DEVNULL
    )
    try:
        os.close(theirs)
        line = os.read(ours, 1000).decode().strip()
        until(opened.exists)
        printed, started = (ADDRESS.fullmatch(text) for text in (line, opened.read_text().strip()))
        assert printed
        assert started
        assert printed["host"] == started["host"]
        assert printed["host"] == (build_own_name(load_secret(folders.data)) if has_own_name else "127.0.0.1")
        # Everybody on this machine may see the words with which a program was started.
        assert printed["token"] != started["token"]
    finally:
        process.terminate()
        assert process.wait(60) == 0
        os.close(ours)


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)


def test_a_machine_without_sessions_shows_the_demo_and_says_so(tmp_path: Path, browser: Browser) -> None:
    empty = Folders(tmp_path / "claude", tmp_path / "turnlog")
    (empty.config / "projects").mkdir(parents=True)
    server = start(empty)
    try:
        page = browser.new_page()
        page.goto(server.address)
        page.goto(f"{server.url}/nothing")
        expect(page.get_by_role("note")).to_contain_text("Demo.")
        page.goto(f"{server.url}/s/bee7dbd3-a71b-48ef-8c53-70ecb3f99f59")
        # There, a line above the conversation would be in the way; the bar of the session says it.
        expect(page.locator(".session-bar .chip", has_text="Demo")).to_be_visible()
        page.close()
    finally:
        assert server.stop() == 0
    assert any("made-up" in line for line in server.errors)


def test_the_printed_address_leads_into_the_page_and_leaves_no_token_behind(server: Server, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(server.address)
    assert page.url == f"{server.url}/"
    assert "token" not in page.evaluate("document.cookie + location.href + document.referrer")
    assert page.evaluate("document.cookie") == ""
    page.close()


def test_a_page_that_is_not_there_says_so(page: Page, complaints: Complaints) -> None:
    page.goto("/nothing")
    expect(page.locator("h1")).to_have_text("Not found")
    assert complaints == ["console: Failed to load resource: the server responded with a status of 404 (Not Found)"]
    complaints.clear()


def test_a_failure_inside_is_told_in_the_terminal_without_a_traceback(tmp_path: Path) -> None:
    import logging

    from turnlog.web.server import FailureLogHandler

    told: list[str] = []
    log = logging.getLogger("turnlog-test")
    log.handlers, log.propagate = [FailureLogHandler(told.append)], False
    log.warning("Invalid HTTP request received.")
    try:
        raise ValueError("x")
    except ValueError:
        log.exception("Exception in ASGI application\n")
    assert told == ["internal error: ValueError: x (TURNLOG_DEBUG=1 shows the traceback)"]


class TestSecret:
    """The secret that the host name is made from."""

    def test_it_gives_each_installation_a_name_of_its_own(self, tmp_path: Path) -> None:
        names = [build_own_name(load_secret(tmp_path / folder)) for folder in ("one", "two", "one")]
        assert names[0] == names[2] != names[1]
        assert all(re.fullmatch(r"turnlog-[a-z2-7]{16}\.localhost", name) for name in names)

    def test_it_stays_the_same_and_is_for_us_alone(self, tmp_path: Path) -> None:
        found = load_secret(tmp_path / "new")
        assert len(found) == 32
        assert load_secret(tmp_path / "new") == found != load_secret(tmp_path / "other")
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["web.secret"]

    @posix
    def test_its_file_can_be_read_by_us_alone(self, tmp_path: Path) -> None:
        load_secret(tmp_path)
        assert stat.S_IMODE((tmp_path / "web.secret").stat().st_mode) == 0o600

    @posix
    def test_one_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        load_secret(tmp_path)
        (tmp_path / "web.secret").chmod(0o640)
        with pytest.raises(TurnlogError, match="readable by other users"):
            load_secret(tmp_path)

    @posix
    def test_a_link_is_refused(self, tmp_path: Path) -> None:
        load_secret(tmp_path / "real")
        (tmp_path / "web.secret").symlink_to(tmp_path / "real" / "web.secret")
        with pytest.raises(TurnlogError, match="a symbolic link"):
            load_secret(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
    def test_a_damaged_one_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "web.secret").write_bytes(content)
        (tmp_path / "web.secret").chmod(0o600)
        with pytest.raises(TurnlogError, match="damaged"):
            load_secret(tmp_path)

    def test_several_at_the_same_time_agree(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as threads:
            assert len(set(threads.map(lambda _: load_secret(tmp_path), range(32)))) == 1
