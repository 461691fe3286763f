"""The server's own origin in a browser: what other local servers get to see of it, and what they can do with that."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.web.conftest import Complaints, Folders, Server, open_indexed, record_folders, start
from turnlog.web.own_name import build_own_name, load_secret

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("origin"), ("2.1.325/plain",))


@pytest.fixture(scope="module")
def running_server(folders: Folders) -> Iterator[Server]:
    with open_indexed(folders):
        pass
    found = start(folders)
    yield found
    found.stop()


class Neighbour(ThreadingHTTPServer):
    """Another server on this machine, which writes down what browsers send."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _NeighbourHandler)
        self.cookies: list[str] = []

    def url(self, host: str) -> str:
        return f"http://{host}:{self.server_port}/"


class _NeighbourHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Neighbour)
        self.server.cookies.append(self.headers.get("cookie", ""))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>neighbour</title>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def run_neighbour() -> Iterator[Neighbour]:
    with Neighbour() as neighbour:
        thread = threading.Thread(target=neighbour.serve_forever)
        thread.start()
        try:
            yield neighbour
        finally:
            neighbour.shutdown()
            thread.join()


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    with run_neighbour() as found:
        yield found


def launch(server: Server) -> str:
    """Get a token for one visit, as a program of the same user."""
    status, body = send(server, "POST", "/api/launch", {}, server.program_headers)
    assert status == 200
    return str(json.loads(body)["token"])


def send(
    server: Server, method: str, path: str, value: object = None, headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Send a request as a program that makes up its headers."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        connection.request(method, path, None if value is None else json.dumps(value), headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def open_context(browser: Browser, server: Server, host: str) -> tuple[BrowserContext, Page]:
    """Open the front page in a new browser profile, as `turnlog web` does."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://{host}:{server.port}/?token={launch(server)}")
    expect(page).to_have_url(f"http://{host}:{server.port}/")
    return context, page


def choose_theme(page: Page) -> str:
    """Change something that the server keeps; return what it has kept."""
    with page.expect_response("**/api/preferences") as response:
        page.locator("#theme").click()
    assert response.value.status == 200
    return str(page.locator("html").get_attribute("data-theme"))


def test_no_other_port_sees_a_cookie_of_the_own_name(
    browser: Browser, folders: Folders, running_server: Server, neighbour: Neighbour, complaints: Complaints
) -> None:
    own_name = build_own_name(load_secret(folders.data))
    context, page = open_context(browser, running_server, own_name)
    complaints.watch(page)
    kept = choose_theme(page)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", kept)
    assert context.cookies()
    other = context.new_page()
    for host in ("127.0.0.1", "localhost", "turnlog-other.localhost"):
        other.goto(neighbour.url(host))
    assert neighbour.cookies
    assert set(neighbour.cookies) == {""}
    context.close()
    assert complaints == []


def test_a_cookie_of_127_0_0_1_that_another_port_sees_changes_nothing(
    browser: Browser, running_server: Server, neighbour: Neighbour
) -> None:
    context, page = open_context(browser, running_server, "127.0.0.1")
    choose_theme(page)
    other = context.new_page()
    other.goto(neighbour.url("127.0.0.1"))
    stolen = neighbour.cookies[0]
    assert stolen.startswith(f"turnlog-{running_server.port}=")
    assert other.evaluate("localStorage.length") == 0  # of each port its own
    headers = {"cookie": stolen, "origin": running_server.url, "content-type": "application/json"}
    body = {"set": {"theme": "pink"}}
    assert send(running_server, "POST", "/api/preferences", body, headers)[0] == 403
    pages = [send(running_server, "GET", path, None, headers)[1] for path in ("/", "/live", "/api/state")]
    token = page.evaluate("localStorage.getItem('turnlog-token')")
    assert len(token) == 64
    assert all(token not in text for text in pages)
    assert send(running_server, "POST", "/api/launch", {}, headers)[0] == 403
    context.close()


def test_a_foreign_local_page_can_neither_read_nor_post_nor_frame(
    browser: Browser, folders: Folders, running_server: Server, neighbour: Neighbour
) -> None:
    own_name = build_own_name(load_secret(folders.data))
    for host in (own_name, "127.0.0.1"):
        context, _ = open_context(browser, running_server, host)
        foreign = context.new_page()
        for origin in (host, "evil.localhost"):  # the same name on another port is the same site
            foreign.goto(neighbour.url(origin))
            root = f"http://{host}:{running_server.port}"
            outcome = foreign.evaluate(
                """async (root) => {
                  const outcomes = [];
                  const send = async (path, options) => {
                    try { outcomes.push((await fetch(root + path, {credentials: "include", ...options})).type); }
                    catch { outcomes.push("failed"); }
                  };
                  await send("/api/sessions", {});
                  await send("/api/preferences", {method: "POST", body: "{}"});
                  await send("/api/preferences", {method: "POST", body: "{}",
                    headers: {"content-type": "application/json", "x-turnlog-token": "x"}});
                  return outcomes;
                }""",
                root,
            )
            assert outcome == ["failed"] * 3
            with foreign.expect_response(f"{root}/") as framed:
                foreign.evaluate(
                    """(address) => {
                      const frame = document.createElement("iframe");
                      frame.src = address;
                      document.body.append(frame);
                    }""",
                    f"{root}/",
                )
            assert framed.value.status == 403
        context.close()


def test_an_open_tab_goes_on_after_a_restart_once_the_new_server_was_opened(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folders = record_folders(tmp_path_factory.mktemp("restart"), ("2.1.325/plain",))
    own_name = build_own_name(load_secret(folders.data))
    server = start(folders)
    context, page = open_context(browser, server, own_name)
    session = folders.sessions[0]
    page.goto(f"http://{own_name}:{server.port}/s/{session}")
    choose_theme(page)
    server.stop()
    again = start(folders, "--port", str(server.port))
    try:
        with page.expect_response("**/api/preferences") as refused:
            page.locator("#theme").click()
        assert refused.value.status == 403
        wanted = str(page.locator("html").get_attribute("data-theme"))
        bookmark = context.new_page()
        assert bookmark.goto(f"http://{own_name}:{server.port}/s/{session}").status == 403  # type: ignore[union-attr]
        bookmark.goto(f"http://{own_name}:{server.port}/?token={launch(again)}")
        assert bookmark.goto(f"http://{own_name}:{server.port}/s/{session}").status == 200  # type: ignore[union-attr]
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", wanted)  # the choice was not lost
        choose_theme(page)
    finally:
        again.stop()
        context.close()


def test_two_servers_at_once_stay_open_in_one_browser(
    browser: Browser, folders: Folders, running_server: Server
) -> None:
    other = start(folders)
    own_name = build_own_name(load_secret(folders.data))
    try:
        for host in (own_name, "127.0.0.1"):
            context, page = open_context(browser, running_server, host)
            second = context.new_page()
            second.goto(f"http://{host}:{other.port}/?token={launch(other)}")
            for opened in (page, second, page):
                choose_theme(opened)
                opened.reload()
                assert opened.locator("#theme").is_visible()
            context.close()
    finally:
        other.stop()
