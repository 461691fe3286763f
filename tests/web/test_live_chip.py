"""The chip beside a session's title says what the live page says: never that a copied file is being written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.live.clock import build_now
from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server, start_indexed
from turnlog.entries.clients import read_process_identity
from turnlog.render.json_bytes import to_json_bytes

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OLD, OPEN = (f"bbbbbbbb-0000-4000-8000-00000000000{number}" for number in (1, 2))


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def running_session() -> bytes:
    build = build_now()
    build.prompt("Make a file", "p-open")
    build.call("c-open", "Bash", {"command": "sleep 1000"}, uuid="a-open")
    return encode_lines(build.lines).replace(SESSION.encode(), OPEN.encode())


def copied_session() -> bytes:
    build = Build()
    build.prompt("Long ago", "p-old")
    build.call("c-old", "Bash", {"command": "make"}, uuid="a-old")
    return encode_lines(build.lines).replace(SESSION.encode(), OLD.encode())


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    found = Folders(tmp_path / "claude", tmp_path / "turnlog")
    found.add(OLD, copied_session())
    found.add(OPEN, running_session())
    return found


@pytest.fixture
def client_process(folders: Folders) -> Iterator[subprocess.Popen[bytes]]:
    """A process that counts as the client of the open session, in the middle of a call."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        status = {"pid": process.pid, "sessionId": OPEN, "status": "busy", **read_process_identity(process.pid)}
        file = folders.config / "sessions" / f"{process.pid}.json"
        file.parent.mkdir()
        file.write_bytes(to_json_bytes(status))
        yield process
        process.kill()


@pytest.fixture
def server(folders: Folders, client_process: subprocess.Popen[bytes]) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def test_a_copied_session_is_not_live_however_new_its_file_is(page: Page) -> None:
    with page.expect_response("**/api/live"):
        page.goto(f"/s/{OLD}")
    expect(page.locator(".rail-list a")).to_have_count(2)
    expect(page.locator(".rail-dot.working")).to_be_visible()  # the answer that the chip gets, too
    expect(page.locator(".chip.live")).to_be_hidden()


def test_the_chip_follows_the_client_until_it_is_killed(page: Page, client_process: subprocess.Popen[bytes]) -> None:
    page.goto(f"/s/{OPEN}")
    expect(page.locator(".chip.live")).to_have_text("Working now")
    client_process.kill()
    client_process.wait()
    expect(page.locator(".chip.live")).to_be_hidden()
    expect(page.locator(".rail-dot.working")).to_be_hidden()
    page.goto(f"/live/{OPEN}")
    expect(page.locator(".live-bar .words")).to_have_text("ended while running Bash: sleep 1000")
