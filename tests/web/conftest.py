"""What the tests of the web app share: a machine with sessions, a client, a server, and a page in a browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from tests.conftest import BROWSER_LIMIT_MS
from turnlog.web.app import build_application
from turnlog.web.machine import Machine
from turnlog.web.security import PAGE_TOKEN_HEADER, RequestGuard
from turnlog.web.server_keys import ServerKeys

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, StorageState

DATA = Path(__file__).parent.parent / "data"
PORT = 4747
HOST = f"127.0.0.1:{PORT}"
SESSIONS = ("2.1.325/tools", "2.1.325/agents", "2.1.325/compact", "2.1.325/plain", "2.1.29/tools", "2.0.76/errors")
"""Recorded sessions that the machine of these tests has."""


@dataclass(frozen=True)
class Folders:
    """Where the machine of a test has its things."""

    config: Path
    data: Path

    @property
    def projects(self) -> Path:
        return self.config / "projects"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "CLAUDE_CONFIG_DIR": str(self.config), "TURNLOG_HOME": str(self.data)}

    def add(self, name: str, data: bytes, slug: str = "-home-dana-webshop") -> Path:
        """Put a session file there."""
        path = self.projects / slug / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    @property
    def sessions(self) -> list[str]:
        """The uuids of the sessions there are."""
        return sorted(path.stem for path in self.projects.glob("*/*-*-*-*-*.jsonl"))


def record_folders(root: Path, names: Sequence[str] = SESSIONS) -> Folders:
    """A machine with recorded sessions."""
    found = Folders(root / "claude", root / "turnlog")
    for name in names:
        shutil.copytree(DATA / "sessions" / name / "projects", found.projects, dirs_exist_ok=True)
    return found


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """A machine with recorded sessions of several versions of the client."""
    return record_folders(tmp_path)


@contextmanager
def open_indexed(folders: Folders) -> Iterator[Machine]:
    """A machine with its index up to date."""
    found = Machine([folders.config], folders.data)
    found.store.refresh(found.config_dirs)
    yield found
    found.close()


@pytest.fixture
def place(folders: Folders) -> Iterator[Machine]:
    """The same machine, with its index up to date."""
    with open_indexed(folders) as found:
        yield found


@pytest.fixture
def door() -> ServerKeys:
    return ServerKeys(PORT, b"s" * 32)


@pytest.fixture
def stranger(place: Machine, door: ServerKeys) -> Iterator[TestClient]:
    """A client that was not let in; failures inside the server are its answers."""
    app = RequestGuard(build_application(place), door)
    with TestClient(app, f"http://127.0.0.1:{PORT}", raise_server_exceptions=False, follow_redirects=False) as found:
        yield found


@pytest.fixture
def client(place: Machine, door: ServerKeys) -> Iterator[TestClient]:
    """A client that has the cookie; failures inside the server fail the test."""
    app = RequestGuard(build_application(place), door)
    with TestClient(app, f"http://127.0.0.1:{PORT}", follow_redirects=False) as found:
        become_page(found, door)
        yield found


def become_page(client: TestClient, door: ServerKeys) -> None:
    """Give a client what a page of the server has."""
    client.cookies.set(door.cookie_name, door.derive_cookie(HOST))
    client.headers["origin"] = f"http://{HOST}"
    client.headers[PAGE_TOKEN_HEADER] = door.derive_page_token(HOST)


@dataclass
class Server:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    """As it was printed, with the token."""
    errors: list[str]
    """What it said on standard error."""
    reader: threading.Thread
    _entrance: StorageState | None = None

    def entrance(self, browser: Browser) -> StorageState:
        """What a browser has that was let in; the address with the token is good for one visit."""
        if self._entrance is None:
            context = browser.new_context(base_url=self.url)
            context.new_page().goto(self.address.replace("/?", "/nothing?"))  # an error page takes the page token, too
            self._entrance = context.storage_state()
            context.close()
        return self._entrance

    @property
    def url(self) -> str:
        """Its address without a path."""
        return re.sub(r"/\?.*", "", self.address)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    @property
    def program_headers(self) -> dict[str, str]:
        """What a program sends instead of a cookie."""
        return {"authorization": f"Bearer {self.token}", "content-type": "application/json"}

    def stop(self, number: int = signal.SIGTERM, timeout: float = 60) -> int:
        """End it, by its id, and wait; gives its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            for pipe in (self.process.stdout, self.process.stderr):
                assert pipe is not None
                pipe.close()


def start(folders: Folders, *words: str) -> Server:
    """Start `turnlog web` and wait until it listens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "turnlog", "web", "--no-open", *(words or ("--port", "0"))],
        env=folders.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    address = process.stdout.readline().strip()
    if not address:
        raise AssertionError(f"the server did not start: {process.communicate()[1]}")
    errors: list[str] = []
    reader = threading.Thread(target=errors.extend, args=[process.stderr], daemon=True)
    reader.start()
    return Server(process, address, errors, reader)


def start_indexed(folders: Folders) -> Server:
    """The same, with an index that is up to date from the start."""
    with open_indexed(folders):
        pass
    return start(folders)


@pytest.fixture
def server(folders: Folders, place: Machine) -> Iterator[Server]:
    """`turnlog web` on a free port of this machine; its index is up to date."""
    found = start(folders)
    yield found
    if found.process.returncode is None:
        found.stop()


_REPORTER = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


class Complaints(list[str]):
    """What a browser had to complain of; a test may take back what it has provoked."""

    def watch(self, page: Page) -> None:
        page.add_init_script(_REPORTER)
        page.on("console", lambda message: self._note(message.type == "error", f"console: {message.text}"))
        page.on("pageerror", lambda error: self.append(f"error: {error}"))
        page.on("crash", lambda _: self.append("the page crashed"))
        page.on("response", lambda answer: self._note(answer.status >= 500, f"{answer.status}: {answer.url}"))

    def _note(self, is_bad: bool, words: str) -> None:
        if is_bad:
            self.append(words)


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


def forget_preferences(context: BrowserContext, server: Server) -> None:
    """Tests that share a server choose themes, speeds and folds; the next test starts without them."""
    values = context.request.get("/api/preferences").json()["values"]
    if values:
        body = {"set": dict.fromkeys(values)}
        assert context.request.post("/api/preferences", data=body, headers=server.program_headers).ok


@pytest.fixture
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    """A browser that was let in; nothing is remembered from the test before."""
    allowed = ["clipboard-read", "clipboard-write"]
    found = browser.new_context(base_url=server.url, storage_state=server.entrance(browser), permissions=allowed)
    found.set_default_timeout(BROWSER_LIMIT_MS)
    forget_preferences(found, server)
    yield found
    found.close()


@pytest.fixture
def page(context: BrowserContext, complaints: Complaints) -> Iterator[Page]:
    """A page that was let in; whatever its browser complains of fails the test."""
    found = context.new_page()
    complaints.watch(found)
    yield found
    found.close()
    assert not complaints, "\n".join(complaints)
