"""The live pages and their events, asked for without a browser."""

from __future__ import annotations

import http.client
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.live.clock import build_now
from tests.session.build import ROOT, SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server, record_folders, start, start_indexed
from tests.web.test_reading import block, png
from turnlog.web.machine import Machine

Told = tuple[str, dict[str, Any], str]
"""An event: its name, its data, its id."""


class Listener:
    """A connection that brings events."""

    def __init__(self, server: Server, cookie: str, address: str, cursor: str | None = None) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        headers = {"cookie": cookie, **({"last-event-id": cursor} if cursor else {})}
        self._connection.request("GET", address, headers=headers)
        self.answer = self._connection.getresponse()
        self.cursor = cursor

    def events(self) -> Iterator[Told]:
        fields: dict[str, str] = {}
        deadline = time.monotonic() + 120  # comments keep the connection alive for ever
        while (line := self.answer.readline()) and time.monotonic() < deadline:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                self.cursor = fields.get("id")
                yield fields["event"], json.loads(fields["data"]), fields.get("id", "")
                fields = {}

    def until(self, name: str, fits: Any = lambda data: True) -> list[Told]:
        """The events up to one of a name that fits."""
        found = []
        for event in self.events():
            found.append(event)
            if event[0] == name and fits(event[1]):
                return found
        raise AssertionError(f"the stream did not bring {name}: {[name for name, *_ in found]}")

    def close(self) -> None:
        self._connection.close()


def cookie_of(server: Server) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", server.address.removeprefix(server.url))
    answer = connection.getresponse()
    found = (answer.getheader("set-cookie") or "").partition(";")[0]
    connection.close()
    return found


@contextmanager
def listen_to(server: Server, cookie: str, address: str, cursor: str | None = None) -> Iterator[Listener]:
    found = Listener(server, cookie, address, cursor)
    try:
        yield found
    finally:
        found.close()


class Growing:
    """A session that is written bit by bit."""

    def __init__(self, folders: Folders, name: str = SESSION) -> None:
        self.build = build_now()
        self.build.prompt("begin", "first")
        self.name = name
        self.path = folders.add(name, self.build.data())
        self._done = len(self.build.lines)

    def write(self) -> None:
        data = encode_lines(self.build.lines[self._done :])
        self._done = len(self.build.lines)
        with self.path.open("ab") as file:
            file.write(data)


@pytest.fixture
def growing_session(folders: Folders) -> Growing:
    return Growing(folders)


# One machine and one server for all who listen; each has a session of its own.
@pytest.fixture(scope="module")
def shared_folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def server(shared_folders: Folders) -> Iterator[Server]:
    found = start_indexed(shared_folders)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def cookie(server: Server) -> str:
    return cookie_of(server)


@pytest.fixture
def followed_session(shared_folders: Folders) -> Growing:
    return Growing(shared_folders, str(uuid.uuid4()))


def keys(events: list[Told], stream: str = "") -> list[str]:
    parts = [part for _, data, _ in events for part in data.get("parts", ()) if part["stream"] == stream]
    return [change["key"] for part in parts for change in part["changes"]]


def test_the_page_of_a_session_shows_its_last_items_and_where_to_go_on_from(
    growing_session: Growing, client: TestClient
) -> None:
    growing_session.build.answer("an answer with <b>markup</b>", uuid="second")
    growing_session.write()
    page = client.get(f"/live/{SESSION}")
    assert page.status_code == 200
    assert 'id="i-first"' in page.text
    assert 'id="i-second"' in page.text
    assert "<b>markup" not in page.text
    assert 'data-cursor="' in page.text


def test_the_board_lists_the_sessions_of_today_with_what_they_do(growing_session: Growing, client: TestClient) -> None:
    growing_session.build.answer("I have read it. There are <two> ways.")
    growing_session.build.call("q", "AskUserQuestion", {"questions": [{"question": "Which <one>?"}]})
    growing_session.write()
    found = client.get("/api/live").json()
    (row,) = [row for row in found["sessions"] if row["session_id"] == SESSION]
    assert (row["ref"], row["title"], row["column"]) == (SESSION, "begin", "needs")
    assert (row["state"]["kind"], row["state"]["words"]) == ("waiting", "asks: Which <one>?")
    assert found["files"] >= len(found["sessions"])
    page = client.get("/live")
    assert "asks: Which &lt;one&gt;?" in page.text
    assert row["last_sentence"] == "There are <two> ways."
    assert "There are &lt;two&gt; ways." in page.text
    assert f'href="/live/{SESSION}"' in page.text


def test_a_session_that_has_ended_has_the_cost_that_the_index_knows(
    growing_session: Growing, client: TestClient, place: Machine
) -> None:
    growing_session.build.answer("Goodbye.", usage={"input_tokens": 1_000_000})
    growing_session.build.prompt("<command-name>/exit</command-name>")
    growing_session.build.wait(5)
    growing_session.write()
    sessions = place.config_dirs[0] / "sessions"
    sessions.mkdir(exist_ok=True)
    (sessions / "1.json").write_text(json.dumps({"sessionId": SESSION, "pid": 4_194_303, "status": "idle"}))
    place.store.refresh(place.config_dirs)
    (row,) = [row for row in client.get("/api/live").json()["sessions"] if row["session_id"] == SESSION]
    assert row["column"] == "ended", row
    assert row["cost_usd"] > 0.1
    assert f"${row['cost_usd']:.2f}" in client.get("/live").text


def test_a_line_has_its_picture_and_raw_entry_also_if_the_sessions_page_leaves_it_out(
    growing_session: Growing, client: TestClient
) -> None:
    """A page that follows a session shows each line when it is written, before it is known to be a repetition."""
    growing_session.build.prompt(
        [{"type": "text", "text": "Look at picture 1"}, block("image", "image/png", png())], "same"
    )
    growing_session.build.prompt("Another start", "start", parent=None)
    growing_session.build.prompt(
        [{"type": "text", "text": "Look at picture 2"}, block("image", "image/png", png())], "same"
    )
    growing_session.write()
    data = growing_session.path.read_bytes()
    agent = growing_session.path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(b"\xef\xbb\xbf" + data)
    offsets = [match.start() for match in re.finditer(rb"^.*Look at picture", data, re.MULTILINE)]
    for offset in offsets:
        for place, rest in ((offset, ""), (offset + 3, "?agent=a1")):
            assert client.get(f"/s/{SESSION}/picture/{place}/0{rest}").content == png()
            assert client.get(f"/s/{SESSION}/raw/{place}{rest}").json()["uuid"] == "same"
            assert client.get(f"/s/{SESSION}/raw/{place + 1}{rest}").status_code == 404
            assert client.get(f"/s/{SESSION}/picture/{place}/1{rest}").status_code == 404
    assert client.get(f"/s/{SESSION}/raw/{'9' * 30}").status_code == 404
    assert client.get(f"/s/{SESSION}/raw/3?agent=a1").status_code == 200
    assert client.get(f"/s/{SESSION}/raw/0?agent=nobody").status_code == 404


def list_documented_names(heading: str) -> set[str]:
    """The names that docs/api.md lists under a heading."""
    text = (ROOT / "docs" / "api.md").read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return {key for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for key in re.findall("`([^`]+)`", row)}


def test_the_documents_have_the_keys_that_are_documented(growing_session: Growing, client: TestClient) -> None:
    found = client.get("/api/live").json()
    row = found["sessions"][0]
    keys = {"files", *(f"sessions[].{key}" for key in row if key != "state")}
    assert keys | {f"sessions[].state.{key}" for key in row["state"]} == list_documented_names("GET /api/live")
    assert list_documented_names("GET /api/live/updates") == {"board", "row", "gone"}
    assert list_documented_names("GET /api/s/{ref}/updates") == {"items", "reset", "agent", "gone", "state"}


@pytest.mark.parametrize("ref", ["nonsense", "00000000-0000-4000-8000-000000000000", f"{SESSION}.77", "%2e%2e%2fx"])
def test_what_is_no_session_is_not_found(client: TestClient, ref: str) -> None:
    assert client.get(f"/live/{ref}").status_code == 404
    assert client.get(f"/api/s/{ref}/updates").status_code == 404


def test_a_session_that_is_too_new_for_the_index_can_be_followed(folders: Folders, client: TestClient) -> None:
    Growing(folders)
    assert client.get(f"/live/{SESSION}").status_code == 200


def test_the_live_pages_of_a_stranger_are_refused(growing_session: Growing, stranger: TestClient) -> None:
    for address in ("/live", f"/live/{SESSION}", "/api/live", "/api/live/updates", f"/api/s/{SESSION}/updates"):
        assert stranger.get(address).status_code == 403


def test_streams_end_when_the_server_does(growing_session: Growing, client: TestClient, place: Machine) -> None:
    timer = threading.Timer(0.3, place.ending.set)
    timer.start()
    answer = client.get(f"/api/s/{SESSION}/updates")
    timer.join()
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.startswith("retry: 1000\n\n")
    assert "event: reset\n" in answer.text
    assert '"reason":"start"' in answer.text


def test_what_is_written_arrives_as_it_is_written(followed_session: Growing, server: Server, cookie: str) -> None:
    with listen_to(server, cookie, f"/api/s/{followed_session.name}/updates") as listener:
        assert keys(listener.until("state")) == ["first"]
        followed_session.build.answer("hello", uuid="second", id="m")
        followed_session.write()
        found = listener.until("items")
        assert keys(found) == ["second"]
        followed_session.build.call("c", uuid="third", id="m")
        followed_session.write()
        assert keys(listener.until("items")) == ["second"]


def test_whoever_comes_back_gets_what_was_missed_and_nothing_twice(
    shared_folders: Folders, followed_session: Growing
) -> None:
    server = start(shared_folders)
    cookie, address = cookie_of(server), f"/api/s/{followed_session.name}/updates"
    with listen_to(server, cookie, address) as listener:
        listener.until("state")
        followed_session.build.answer("one", uuid="one")
        followed_session.write()
        listener.until("items")
    followed_session.build.answer("two", uuid="two")
    followed_session.write()
    with listen_to(server, cookie, address, listener.cursor) as again:
        assert keys(again.until("items")) == ["two"]
    followed_session.build.answer("three", uuid="three")
    followed_session.write()
    assert server.stop(9) == -9
    other = start(shared_folders, "--port", str(server.port))
    try:
        with listen_to(other, cookie_of(other), address, again.cursor) as last:
            found = last.until("state")
            assert keys(found) == ["three"]
            assert [name for name, *_ in found] == ["items", "state"]
    finally:
        other.stop()


@pytest.mark.parametrize("cursor", ["x", "AQAB", "-" * 1500, "%00", "é"])
def test_whatever_is_no_cursor_starts_again(
    followed_session: Growing, server: Server, cookie: str, cursor: str
) -> None:
    with listen_to(
        server, cookie, f"/api/s/{followed_session.name}/updates?cursor={cursor.encode().hex()}"
    ) as listener:
        first = listener.until("state")[0]
        assert (first[0], first[1]["reason"]) == ("reset", "cursor")
        assert keys([first]) == ["first"]


def test_a_file_that_was_replaced_starts_again(followed_session: Growing, server: Server, cookie: str) -> None:
    with listen_to(server, cookie, f"/api/s/{followed_session.name}/updates") as listener:
        listener.until("state")
        other = followed_session.path.with_suffix(".new")
        build = Build()
        build.prompt("another", "another")
        other.write_bytes(build.data())
        other.replace(followed_session.path)
        found = listener.until("reset")[-1]
        assert (found[1]["stream"], found[1]["reason"]) == ("", "replaced")
        assert keys([found]) == ["another"]
        followed_session.path.unlink()
        assert listener.until("gone")[-1][1] == {"stream": ""}


def test_sub_agents_appear_as_they_start(followed_session: Growing, server: Server, cookie: str) -> None:
    with listen_to(server, cookie, f"/api/s/{followed_session.name}/updates") as listener:
        listener.until("state")
        folder = followed_session.path.with_suffix("") / "subagents"
        folder.mkdir(parents=True)
        build = Build()
        build.prompt("explore", "a-1", isSidechain=True, agentId="a1")
        (folder / "agent-a1.meta.json").write_text('{"agentType": "Explore", "description": "Look around"}')
        (folder / "agent-a1.jsonl").write_bytes(build.data())
        found = listener.until("items")
        (agent,) = [data for name, data, _ in found if name == "agent"]
        assert (agent["agent"], agent["type"], agent["description"]) == ("a1", "Explore", "Look around")
        assert keys(found, "a1") == ["a-1"]


def test_the_board_tells_when_something_changes(followed_session: Growing, server: Server, cookie: str) -> None:
    with listen_to(server, cookie, "/api/live/updates") as listener:
        (_, board, _) = listener.until("board")[-1]
        shown = {one["session"]["ref"]: one["session"]["column"] for one in board["sessions"]}
        assert shown[followed_session.name] == "working"
        followed_session.build.answer("done")
        followed_session.write()
        fits = lambda data: data["session"]["ref"] == followed_session.name and data["session"]["column"] == "idle"  # noqa: E731
        assert "finished" in listener.until("row", fits)[-1][1]["html"]
        followed_session.path.unlink()
        assert listener.until("gone")[-1][1] == {"ref": followed_session.name}


def test_many_listeners_share_one_look_at_the_files(followed_session: Growing, server: Server, cookie: str) -> None:
    listeners = [Listener(server, cookie, f"/api/s/{followed_session.name}/updates") for _ in range(8)]
    for listener in listeners:
        listener.until("state")
    followed_session.build.answer("to all", uuid="all")
    followed_session.write()
    found = [listener.until("items")[-1] for listener in listeners]
    assert all(event == found[0] for event in found)
    for listener in listeners:
        listener.close()


def test_the_server_stops_at_once_while_streams_are_open(shared_folders: Folders, followed_session: Growing) -> None:
    server = start(shared_folders)
    with listen_to(server, cookie_of(server), f"/api/s/{followed_session.name}/updates") as listener:
        listener.until("state")
        assert server.stop(timeout=60) == 0
    assert server.errors == []


def test_what_a_transcript_holds_is_escaped_in_events(followed_session: Growing, server: Server, cookie: str) -> None:
    evil = '<img src=x onerror=alert(1)>\n\ndata: x\nevent: y\r\n"\u2028</script>'
    with listen_to(server, cookie, f"/api/s/{followed_session.name}/updates") as listener:
        listener.until("state")
        followed_session.build.prompt(evil, "evil")
        followed_session.write()
        (change,) = listener.until("items")[-1][1]["parts"][0]["changes"]
        assert "<img" not in change["html"]
        assert "</script>" not in change["html"]


def test_a_path_that_cannot_be_read_is_said(growing_session: Growing, client: TestClient, place: Machine) -> None:
    place.store.refresh(place.config_dirs)
    growing_session.path.unlink()
    os.mkdir(growing_session.path)  # noqa: PTH102
    answer = client.get(f"/api/s/{SESSION}/updates")
    assert answer.status_code in (404, 500)
    assert "error" in answer.json()
    Path(growing_session.path).rmdir()


def test_events_of_all_sessions_arrive_as_they_are_written(
    followed_session: Growing, server: Server, cookie: str
) -> None:
    with listen_to(server, cookie, "/api/events") as listener:
        followed_session.build.answer("an event", uuid="as-event")
        followed_session.write()
        events = listener.until("event", lambda data: data.get("entry") == "as-event")
        (name, data, cursor) = events[-1]
        assert (name, data["event"], data["session"], data["text"]) == (
            "event",
            "text",
            followed_session.name,
            "an event",
        )
    followed_session.build.answer("while away", uuid="missed-event")
    followed_session.write()
    with listen_to(server, cookie, "/api/events", cursor) as listener:
        again = listener.until("event", lambda data: data.get("entry") == "missed-event")
        assert "an event" not in [data.get("text") for _, data, _ in again]


def test_a_cursor_that_is_not_remembered_says_that_events_are_missing(
    followed_session: Growing, server: Server, cookie: str
) -> None:
    with listen_to(server, cookie, "/api/events", "long-ago-7") as listener:
        assert listener.until("reset")[0][1] == {}


def test_events_of_one_session_start_with_its_history_and_have_no_others(
    followed_session: Growing, server: Server, cookie: str
) -> None:
    followed_session.build.answer("earlier", uuid="earlier")
    followed_session.write()
    with listen_to(server, cookie, f"/api/s/{followed_session.name}/events?history=2") as listener:
        events = listener.until("event", lambda data: data.get("entry") == "earlier" and data["event"] != "text")
        assert [data["event"] for _, data, _ in events] == ["text", "turn-finish"]
        followed_session.build.prompt("now", "now")
        followed_session.write()
        live = listener.until("event", lambda data: data.get("entry") == "now")
        assert [data["event"] for _, data, _ in live if data["offset"] is not None] == ["prompt"]


def test_the_demo_is_written_to_a_temporary_folder_and_can_be_followed(client: TestClient, place: Machine) -> None:
    before = {path: path.stat().st_mtime_ns for folder in place.config_dirs for path in folder.rglob("*")}
    ref = client.post("/api/live/demo", json={}).json()["ref"]
    assert client.post("/api/live/demo", json={}).json()["ref"] == ref
    rows: list[dict[str, Any]] = []
    while not rows:
        rows = [row for row in client.get("/api/live").json()["sessions"] if row["ref"] == ref]
    assert rows[0]["column"] in ("working", "needs", "idle")
    assert client.get(f"/live/{ref}").status_code == 200
    folder = Path(rows[0]["path"]).parents[2]
    assert not any(folder.is_relative_to(one) for one in place.config_dirs)
    client.app.app.state.channels.close()  # type: ignore[attr-defined]
    assert not folder.exists()
    assert {path: path.stat().st_mtime_ns for one in place.config_dirs for path in one.rglob("*")} == before


def test_a_demo_is_not_started_by_a_link(client: TestClient) -> None:
    assert client.get("/api/live/demo").status_code == 405


def test_a_card_says_how_the_state_is_known_and_what_it_cost(growing_session: Growing, client: TestClient) -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 1000}
    growing_session.build.answer("on it", usage=usage, stop=None, uuid="with-usage")
    growing_session.write()
    text = client.get("/live").text
    assert 'role="tooltip"' in text
    assert 'class="fill-meter"' in text
    assert 'class="cost-meter"' in text
    assert re.search(r"<span>100k of [0-9.]+[kM] context</span>", client.get(f"/live/{SESSION}").text)
    row = next(row for row in client.get("/api/live").json()["sessions"] if row["session_id"] == SESSION)
    assert row["cost_usd"] > 0
