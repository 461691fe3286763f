"""The guard, by attack: whoever is not the browser that was opened for the server gets nothing."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from tests.web.conftest import HOST, PORT, Folders, Server, become_page, open_indexed, record_folders, start
from turnlog.web.app import MAX_BODY_BYTES, build_application
from turnlog.web.machine import Machine
from turnlog.web.security import (
    CONTENT_SECURITY_POLICY,
    MAX_ADDRESS_BYTES,
    PAGE_TOKEN_HEADER,
    SECURITY_HEADERS,
    RequestGuard,
)
from turnlog.web.server_keys import ServerKeys

OWN = f"http://127.0.0.1:{PORT}"
SAMPLES = {"ref": "932fc80a-c05a-4969-ba64-42dfe573deb6", "verb": "clone", "file": "app.css"}


# One machine and one server for all of these tests: whoever is refused changes nothing.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("security"))


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with open_indexed(folders) as found:
        yield found


@pytest.fixture(scope="module")
def server(folders: Folders, place: Machine) -> Iterator[Server]:
    found = start(folders)
    yield found
    found.stop()


def addresses(app: Starlette, **values: str) -> Iterator[tuple[str, str]]:
    """Every method and path that the application answers."""
    chosen = {**SAMPLES, **values}
    for route in app.routes:
        assert isinstance(route, Route), f"{route}: a kind of route that this test does not know"
        path = re.sub(r"{(\w+)(?::\w+)?}", lambda found: chosen.get(found[1], "1"), route.path)
        for method in sorted(route.methods or ()):
            yield method, path


def assert_headers(answer: object) -> None:
    headers = answer.headers  # type: ignore[attr-defined]
    for name, value in SECURITY_HEADERS.items():
        if name != b"cache-control":
            assert headers[name.decode()] == value.decode()
    assert headers["cache-control"] in ("no-store", "private, no-cache", "private, max-age=31536000, immutable")


def test_the_policy_is_the_one_that_was_agreed_on() -> None:
    assert CONTENT_SECURITY_POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types app"
    )


def test_every_route_refuses_a_request_without_the_cookie(place: Machine, stranger: TestClient) -> None:
    every = list(addresses(build_application(place)))
    assert ("GET", "/api/state") in every
    for method, path in every:
        answer = stranger.request(method, path, headers={"origin": OWN, "content-type": "application/json"})
        assert answer.status_code == 403, (method, path)
        assert_headers(answer)
        assert method == "HEAD" or "has no access" in answer.text


def test_get_and_head_write_nothing_of_the_user(place: Machine, client: TestClient, folders: Folders) -> None:
    def files() -> dict[Path, tuple[int, bytes]]:
        return {
            path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folders.config.rglob("*") if path.is_file()
        }

    before = files()
    for ref in folders.sessions[:3]:
        for method, path in addresses(build_application(place), ref=ref):
            if method != "POST" and not path.endswith(("/updates", "/events")):  # which never end
                assert client.request(method, path).status_code < 500, (method, path)
    assert files() == before


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("host", f"evil.example:{PORT}", 421),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("origin", "https://evil.example", 403),
    ],
)
def test_every_route_refuses_a_foreign_page_even_with_the_cookie(
    place: Machine, client: TestClient, header: str, value: str, status: int
) -> None:
    for method, path in addresses(build_application(place)):
        answer = client.request(method, path, headers={"content-type": "application/json", header: value})
        assert answer.status_code == status, (method, path)
        assert_headers(answer)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.:{PORT}",
        f"localhost.:{PORT}",
        f"127.0.0.1.nip.io:{PORT}",
        f"localhost.evil.example:{PORT}",
        f"evil.example#127.0.0.1:{PORT}",
        f"user@127.0.0.1:{PORT}",
        f"0.0.0.0:{PORT}",
        f"127.1:{PORT}",
        f"2130706433:{PORT}",
        f"[::]:{PORT}",
        f"::1:{PORT}",
        f"[::ffff:127.0.0.1]:{PORT}",
        f"127.0.0.1:{PORT}, evil.example",
        f"127.0.0.1:0{PORT}",
        f" 127.0.0.1:{PORT}x",
    ],
)
def test_a_foreign_host_gets_nothing_from_any_route(client: TestClient, host: str) -> None:
    for path in ("/", "/api/state", "/static/app.css", "/nothing"):
        answer = client.get(path, headers={"host": host})
        assert answer.status_code == 421, path
        assert_headers(answer)
        assert host.strip() == "" or host not in answer.text


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost", "[::1]", "own", "OWN"])
def test_the_names_of_this_machine_are_answered(stranger: TestClient, door: ServerKeys, name: str) -> None:
    own = {"own": door.own_name, "OWN": door.own_name.upper()}
    host = f"{own.get(name, name)}:{PORT}"
    headers = {"host": host, "origin": f"http://{host}", "cookie": f"{door.cookie_name}={door.derive_cookie(host)}"}
    assert stranger.get("/api/state", headers=headers).status_code == 200


def test_a_cookie_opens_only_the_name_for_which_it_was_given(stranger: TestClient, door: ServerKeys) -> None:
    """A cookie of 127.0.0.1 may have reached other ports; that of the server's own name has not."""
    hosts = [f"{name}:{PORT}" for name in ("127.0.0.1", "localhost", "[::1]", door.own_name)]
    for given in hosts:
        cookie = f"{door.cookie_name}={door.derive_cookie(given)}"
        opened = [
            host
            for host in hosts
            if stranger.get("/api/state", headers={"host": host, "cookie": cookie}).status_code == 200
        ]
        assert opened == [given]


def test_two_hosts_are_refused(client: TestClient) -> None:
    hosts = [("host", f"127.0.0.1:{PORT}"), ("host", "evil.example")]
    assert client.request("GET", "/api/state", headers=hosts).status_code == 421


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "",
        "http://127.0.0.1",
        f"https://127.0.0.1:{PORT}",
        f"http://localhost:{PORT}",
        f"http://127.0.0.1:{PORT}.evil.example",
    ],
)
def test_a_foreign_or_null_origin_is_refused(client: TestClient, origin: str) -> None:
    assert client.get("/api/state", headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site", "something-new", ""])
def test_only_our_own_pages_and_the_address_bar_may_ask(client: TestClient, site: str) -> None:
    assert client.get("/api/state", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_pages_and_the_address_bar_are_answered(client: TestClient, site: str) -> None:
    assert client.get("/api/state", headers={"sec-fetch-site": site}).status_code == 200


def test_the_token_gives_the_cookie_once(stranger: TestClient, door: ServerKeys) -> None:
    first = stranger.get("/", params={"token": door.program_token})
    goal = f"/#turnlog-token={door.derive_page_token(HOST)}"
    assert (first.status_code, first.headers["location"]) == (303, goal)
    cookie = f"turnlog-{PORT}={door.derive_cookie(HOST)}"
    assert first.headers["set-cookie"] == f"{cookie}; HttpOnly; SameSite=Strict; Path=/"
    assert_headers(first)
    assert stranger.get("/api/state").status_code == 200
    stranger.cookies.clear()
    again = stranger.get("/", params={"token": door.program_token})
    assert again.status_code == 403
    assert "set-cookie" not in again.headers


def test_who_has_the_cookie_may_open_the_printed_address_again(client: TestClient, door: ServerKeys) -> None:
    for _ in range(2):
        assert client.get("/", params={"token": door.program_token}).status_code == 303


@pytest.mark.parametrize("token", ["", "x", "é", "%00", "a" * 2000])
def test_a_wrong_token_is_refused_and_the_right_one_still_works(
    stranger: TestClient, door: ServerKeys, token: str
) -> None:
    assert stranger.get(f"/?token={token}").status_code == 403
    assert stranger.get("/", params={"token": door.program_token}).status_code == 303


def test_a_token_is_not_taken_from_a_head_a_post_or_a_foreign_page(stranger: TestClient, door: ServerKeys) -> None:
    query = {"token": door.program_token}
    assert stranger.head("/", params=query).status_code == 403
    assert stranger.post("/", params=query, json={}, headers={"origin": OWN}).status_code == 403
    assert stranger.get("/", params=query, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert stranger.get("/", params=query, headers={"host": "evil.example"}).status_code == 421
    assert stranger.get("/", params=query).status_code == 303


@pytest.mark.parametrize(
    ("path", "goal"),
    [
        ("/s/932fc80a-c05a-4969-ba64-42dfe573deb6", "/s/932fc80a-c05a-4969-ba64-42dfe573deb6"),
        ("/insights", "/insights"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/%0d%0aset-cookie:x=1", "/"),
        ("/%2f%2fevil.example", "/"),
        ("/a//evil.example", "/"),
    ],
)
def test_the_token_leads_to_places_of_ours_alone(place: Machine, path: str, goal: str) -> None:
    door = ServerKeys(PORT, b"s" * 32)
    with TestClient(RequestGuard(build_application(place), door), OWN, follow_redirects=False) as found:
        answer = found.get(f"{OWN}{path}?token={door.program_token}")
    assert (answer.status_code, answer.headers["location"].partition("#")[0]) == (303, goal)


def test_the_cookie_of_another_server_of_the_same_installation_opens_nothing(stranger: TestClient) -> None:
    for other in (ServerKeys(PORT + 1, b"s" * 32), ServerKeys(PORT, b"s" * 32)):
        for name in (f"turnlog-{PORT}", other.cookie_name):
            answer = stranger.get("/api/state", headers={"cookie": f"{name}={other.derive_cookie(HOST)}"})
            assert answer.status_code == 403


@pytest.mark.parametrize(
    "cookie", ["", "x", "=;=;=", "turnlog-4747", "turnlog-4747=", "a=b;" * 500, "turnlog-4747=\xff"]
)
def test_a_wrong_cookie_is_refused(stranger: TestClient, cookie: str) -> None:
    assert stranger.get("/api/state", headers={b"cookie": cookie.encode("latin-1")}).status_code == 403


def test_cookies_of_other_local_servers_do_no_harm(stranger: TestClient, door: ServerKeys) -> None:
    cookies = f'theirs="a b"; bad[]=1; {door.cookie_name}={door.derive_cookie(HOST)}; more=x'
    assert stranger.get("/api/state", headers={"cookie": cookies}).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    answer = client.request(method, "/api/state")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_a_post_to_what_can_only_be_read_is_refused(client: TestClient) -> None:
    assert client.post("/api/state", json={}).status_code == 405


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json"]
)
def test_a_post_that_a_form_could_send_is_refused(client: TestClient, kind: str) -> None:
    answer = client.post("/api/s/x/actions/clone", content=b"{}", headers={"content-type": kind})
    assert answer.status_code == 415


def test_a_post_without_an_origin_is_refused(client: TestClient) -> None:
    del client.headers["origin"]
    assert client.post("/api/s/x/actions/clone", json={}).status_code == 403


@pytest.mark.parametrize(
    "find_token",
    [
        lambda _: None,
        lambda _: "",
        lambda door: door.program_token,
        lambda door: door.derive_cookie(HOST),
        lambda door: door.derive_page_token(f"{door.own_name}:{PORT}"),
        lambda _: ServerKeys(PORT, b"s" * 32).derive_page_token(HOST),
        lambda door: f"{door.derive_page_token(HOST)}, x",
    ],
    ids=["none", "empty", "of-programs", "cookie", "of-another-name", "of-another-server", "two-in-one"],
)
def test_the_cookie_and_a_forged_origin_change_nothing_without_the_page_token(
    place: Machine, client: TestClient, door: ServerKeys, find_token: Callable[[ServerKeys], str | None]
) -> None:
    del client.headers[PAGE_TOKEN_HEADER]
    token = find_token(door)
    headers = {"content-type": "application/json"} | ({} if token is None else {PAGE_TOKEN_HEADER: token})
    posts = [path for method, path in addresses(build_application(place)) if method == "POST"]
    assert len(posts) >= 5
    for path in posts:
        answer = client.post(path, json={}, headers=headers)
        assert answer.status_code == 403, path
        assert "one of turnlog" in answer.text


def test_no_page_gives_its_token_away(place: Machine, client: TestClient, door: ServerKeys) -> None:
    """The cookie alone opens every page, so no page may contain what a POST needs."""
    secret = door.derive_page_token(HOST)
    for method, path in addresses(build_application(place)):
        if method == "GET" and not path.endswith(("/updates", "/events")):
            answer = client.get(path)
            assert secret not in answer.text, path
            assert secret not in str(answer.headers), path
    for token in ("", "x", door.derive_cookie(HOST)):
        assert "#" not in client.get("/", params={"token": token}).headers["location"]


class TestProgram:
    """A program sends the token of the printed address as a header."""

    def test_it_reads_and_changes_without_a_cookie_or_an_origin(self, stranger: TestClient, door: ServerKeys) -> None:
        headers = {"authorization": f"Bearer {door.program_token}"}
        for _ in range(2):
            assert stranger.get("/api/state", headers=headers).status_code == 200
            answer = stranger.post("/api/preferences", json={"set": {"theme": None}}, headers=headers)
            assert answer.status_code == 200, answer.text
        assert "set-cookie" not in answer.headers

    def test_a_header_does_not_use_up_the_visit_of_the_printed_address(
        self, stranger: TestClient, door: ServerKeys
    ) -> None:
        headers = {"authorization": f"Bearer {door.program_token}"}
        assert stranger.get("/api/state", headers=headers).status_code == 200
        assert stranger.get("/", params={"token": door.program_token}).status_code == 303
        assert stranger.get("/api/state", headers=headers).status_code == 200

    @pytest.mark.parametrize(
        "value", ["", "Bearer", "Bearer ", "Bearer x", "Basic {}", "{}", "Bearer {} x", "Bearer é"]
    )
    def test_a_wrong_header_is_refused_even_with_the_cookie(
        self, client: TestClient, door: ServerKeys, value: str
    ) -> None:
        header = value.format(door.program_token).encode("latin-1")
        assert client.get("/api/state", headers={b"authorization": header}).status_code == 403

    def test_a_launch_token_is_no_program_token(self, stranger: TestClient, door: ServerKeys) -> None:
        headers = {"authorization": f"Bearer {door.create_launch_token()}"}
        assert stranger.get("/api/state", headers=headers).status_code == 403

    @pytest.mark.parametrize(
        ("name", "value", "status"),
        [
            ("host", "evil.example", 421),
            ("origin", "http://evil.example", 403),
            ("origin", "null", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("content-type", "text/plain", 415),
        ],
    )
    def test_its_token_in_a_foreign_page_opens_nothing(
        self, stranger: TestClient, door: ServerKeys, name: str, value: str, status: int
    ) -> None:
        headers = {"authorization": f"Bearer {door.program_token}", "content-type": "application/json", name: value}
        assert stranger.post("/api/preferences", content=b"{}", headers=headers).status_code == status

    def test_it_gets_tokens_that_open_a_browser_once(self, stranger: TestClient, door: ServerKeys) -> None:
        headers = {"authorization": f"Bearer {door.program_token}"}
        tokens = [stranger.post("/api/launch", json={}, headers=headers).json()["token"] for _ in range(2)]
        assert len({*tokens, door.program_token}) == 3
        for token in tokens:
            first = stranger.get("/s/last", params={"token": token})
            assert (first.status_code, first.headers["location"].partition("#")[0]) == (303, "/s/last")
            stranger.cookies.clear()
            assert stranger.get("/s/last", params={"token": token}).status_code == 403

    def test_a_page_gets_no_such_tokens(self, client: TestClient) -> None:
        assert client.post("/api/launch", json={}).status_code == 404

    def test_only_so_many_visits_can_wait(self, door: ServerKeys) -> None:
        tokens = [door.create_launch_token() for _ in range(100)]
        assert not door.redeem_token(tokens[0], has_cookie=False)
        assert door.redeem_token(tokens[-1], has_cookie=False)
        assert not door.redeem_token(tokens[-1], has_cookie=False)


def test_a_body_that_is_too_large_is_refused(client: TestClient) -> None:
    ref = SAMPLES["ref"]
    answer = client.post(f"/api/s/{ref}/actions/clone", json={"options": {"title": "x" * MAX_BODY_BYTES}})
    assert answer.status_code == 413
    assert_headers(answer)


@pytest.mark.parametrize("path", ["/" + "a" * MAX_ADDRESS_BYTES, "/search?q=" + "a" * MAX_ADDRESS_BYTES])
def test_an_address_that_is_too_long_is_refused(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 414


@pytest.mark.parametrize(
    "ref",
    [
        "%2e%2e",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%5c..",
        "%00",
        "932fc80a-c05a-4969-ba64-42dfe573deb6%00",
        "932fc80a-c05a-4969-ba64-42dfe573deb6.0",
        "932fc80a-c05a-4969-ba64-42dfe573deb6.%D9%A1",
        "932fc80a-c05a-4969-ba64-42dfe573deb6.99999999999999999999",
        "932fc80a-c05a-4969-ba64-42dfe573deb6%0a",
        "932fc80a-c05a-4969-ba64-42dfe573deb6.jsonl",
        "%F0%9F%92%A5",
        "%ff%fe",
        "'%20OR%201=1--",
        "a" * 3000,
        "lasting",
        "~",
    ],
)
def test_a_reference_that_is_none_is_not_found_by_any_route(place: Machine, client: TestClient, ref: str) -> None:
    about = [(method, path) for method, path in addresses(build_application(place), ref=ref, file=ref) if ref in path]
    assert len(about) > 30
    for method, path in about:
        answer = client.request(method, path, headers={"content-type": "application/json"})
        assert answer.status_code == 404, (method, path)
        assert_headers(answer)


ENDLESS = re.compile(r"/api/s/last/(updates|events)")


def test_last_names_a_session_in_requests_that_only_read(place: Machine, client: TestClient) -> None:
    """Another session may be the last one by the time a request that changes something arrives."""
    every = addresses(build_application(place), ref="last", agent="a1", file="last")
    about = [(method, path) for method, path in every if "/last" in path and not ENDLESS.fullmatch(path)]
    assert len(about) > 30
    answers = {}
    for method, path in about:
        answer = answers[method, path] = client.request(method, path, headers={"content-type": "application/json"})
        assert_headers(answer)
        if answer.status_code == 307:
            assert re.fullmatch(r"/(s|live|replay)/[0-9a-f-]{36}(\.\d+)?(/agent/a1)?", answer.headers["location"])
    changing = {place: answer.status_code for place, answer in answers.items() if place[0] not in ("GET", "HEAD")}
    assert changing
    assert set(changing.values()) == {404}, changing
    redirected = {path for (method, path), answer in answers.items() if method == "GET" and answer.status_code == 307}
    assert redirected == {"/s/last", "/s/last/agent/a1", "/live/last", "/replay/last"}
    assert answers["GET", "/api/s/last/health"].status_code == 200


def test_static_files_are_those_that_there_are(server: Server) -> None:
    head = f"HTTP/1.1\r\nHost: {host(server)}\r\nCookie: {cookie(server)}\r\n"
    assert raw(server, f"GET /static/app.css {head}").startswith("HTTP/1.1 200")
    for name in ("../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "app.css%00", "../templates/base.html"):
        assert raw(server, f"GET /static/{name} {head}").startswith("HTTP/1.1 404"), name


@pytest.mark.parametrize("path", ["/nothing", "/api/nothing", "/static/nothing.css"])
def test_failures_carry_the_headers_too(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert_headers(answer)


def test_a_mistake_of_ours_carries_the_headers_and_tells_nothing_of_it(place: Machine, door: ServerKeys) -> None:
    app = build_application(place)

    def broken(request: object) -> None:
        raise ValueError("<script>alert(1)</script>")

    app.router.routes.append(Route("/broken", broken))
    with TestClient(RequestGuard(app, door), OWN, raise_server_exceptions=False) as found:
        become_page(found, door)
        answer = found.get("/broken")
    assert answer.status_code == 500
    assert "alert" not in answer.text
    assert_headers(answer)


def test_what_an_address_holds_is_escaped_in_the_failure(client: TestClient) -> None:
    assert "<script>" not in client.get("/s/%3Cscript%3Ealert(1)%3C/script%3E").text


def host(server: Server) -> str:
    return f"127.0.0.1:{server.port}"


def cookie(server: Server) -> str:
    """The cookie for the server's token, or the one it gave before."""
    answer = raw(server, f"GET /?token={server.token} HTTP/1.1\r\nHost: {host(server)}\r\n")
    found = re.search(r"set-cookie: ([^;]+)", answer)
    assert found, answer
    return found[1]


def raw(server: Server, head: str) -> str:
    """Send bytes that no client would send, and read the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(head.encode("latin-1") + b"Connection: close\r\n\r\n")
        found = b""
        while piece := connection.recv(65536):
            found += piece
    return found.decode("utf-8", "replace")


def test_the_server_listens_to_this_machine_alone(server: Server) -> None:
    with socket.socket(socket.AF_INET) as other:
        other.bind(("127.0.0.2", 0))  # every other address of this machine is free
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", server.port), timeout=60)


def test_a_request_with_a_foreign_host_gets_nothing_over_the_wire(server: Server) -> None:
    assert raw(server, "GET / HTTP/1.1\r\nHost: evil.example\r\n").startswith("HTTP/1.1 421")
    assert raw(server, f"GET http://evil.example/ HTTP/1.1\r\nHost: {host(server)}\r\n").split(" ")[1] != "200"
    assert raw(server, "GET / HTTP/1.0\r\n").startswith(("HTTP/1.1 421", "HTTP/1.0 421"))


def test_header_injection_by_the_address_reaches_no_header(folders: Folders) -> None:
    server = start(folders)
    answer = raw(server, f"GET /%0d%0aX-Evil:1?token={server.token} HTTP/1.1\r\nHost: {host(server)}\r\n")
    server.stop()
    assert "x-evil" not in answer.lower().partition("\r\n\r\n")[0].replace("%0d%0ax-evil", "")
    assert re.search("location: /#turnlog-token=[0-9a-f]{64}\r\n", answer)


def test_cookie_and_token_end_with_the_server(folders: Folders) -> None:
    server = start(folders)
    line, kept = f"Host: {host(server)}\r\n", cookie(server)
    assert raw(server, f"GET /api/state HTTP/1.1\r\n{line}Cookie: {kept}\r\n").startswith("HTTP/1.1 200")
    server.stop()
    again = start(folders, "--port", str(server.port))
    try:
        for header in (f"Cookie: {kept}\r\n", f"Authorization: Bearer {server.token}\r\n"):
            assert raw(again, f"GET /api/state HTTP/1.1\r\n{line}{header}").startswith("HTTP/1.1 403")
        assert raw(again, f"GET /?token={server.token} HTTP/1.1\r\n{line}").startswith("HTTP/1.1 403")
        assert again.token != server.token
    finally:
        again.stop()
