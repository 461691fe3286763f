"""The quest's feeds and its profile, asked for without a browser."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.live.clock import build_now
from tests.session.build import Build, encode_lines
from tests.web.conftest import Folders, Server, record_folders, start_indexed
from tests.web.test_live import Listener, cookie_of, listen_to
from turnlog.entries.clients import read_process_identity
from turnlog.quest.cosmetics import COSMETICS
from turnlog.quest.ledger import ProfileKeeper
from turnlog.web.machine import Machine

SHOP, TIDES = "aaaaaaaa-2222-4333-8444-555555555555", "bbbbbbbb-2222-4333-8444-555555555555"


def register_client(folders: Folders, name: str) -> None:
    """Register this process as a session's client, so that the session does not end while a machine is slow."""
    folder = folders.config / "sessions"
    folder.mkdir(exist_ok=True)
    client = {"pid": os.getpid(), "sessionId": name, "status": "busy", **read_process_identity(os.getpid())}
    (folder / f"{os.getpid()}-{name[:4]}.json").write_text(json.dumps(client))


class LiveSession:
    """A session that is written line by line, now."""

    def __init__(self, folders: Folders, name: str, slug: str) -> None:
        register_client(folders, name)
        self.build: Build = build_now()
        self.build.prompt(f"begin {name[:4]}", "first", cwd=f"/home/dana/{slug}")
        self.path = folders.add(name, self._encode(name, 0), f"-home-dana-{slug}")
        self._name = name
        self._done = len(self.build.lines)

    def _encode(self, name: str, start: int) -> bytes:
        return encode_lines([{**line, "sessionId": name} for line in self.build.lines[start:]])

    def write(self) -> None:
        """Append what was built since the last time."""
        with self.path.open("ab") as file:
            file.write(self._encode(self._name, self._done))
        self._done = len(self.build.lines)

    def run(self, call: str, name: str = "Bash", *, error: bool | None = None) -> None:
        """Let a call take place."""
        self.build.call(call, name, {"command": "make", "file_path": "/x"})
        self.build.result(call, error=error)
        self.write()


@pytest.fixture(scope="module")
def shared_folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("quest"), ["2.1.325/agents"])


@pytest.fixture(scope="module")
def server(shared_folders: Folders) -> Iterator[Server]:
    found = start_indexed(shared_folders)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def cookie(server: Server) -> str:
    return cookie_of(server)


def games(events: list[tuple[str, dict[str, Any], str]]) -> list[dict[str, Any]]:
    return [data for name, data, _ in events if name == "game"]


def until_game(listener: Listener, game: str, **fields: Any) -> list[dict[str, Any]]:
    """The game events up to one with these fields."""
    wanted = {"game": game, **fields}
    return games(listener.until("game", lambda data: wanted.items() <= data.items()))


def read_json(server: Server, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    headers = server.program_headers
    try:
        connection.request(
            "GET" if body is None else "POST", path, json.dumps(body) if body is not None else None, headers
        )
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_two_sessions_live_at_once_are_two_heroes_whose_events_never_mix(
    shared_folders: Folders, server: Server, cookie: str
) -> None:
    with listen_to(server, cookie, "/quest/events") as listener:
        first = next(listener.events())
        assert first[0] == "snapshot"
        shop = LiveSession(shared_folders, SHOP, "shop")
        tides = LiveSession(shared_folders, TIDES, "tides")
        entered = {
            event["session"] for event in until_game(listener, "enter", session=TIDES) if event["game"] == "enter"
        }
        if SHOP not in entered:
            until_game(listener, "enter", session=SHOP)
        found: list[dict[str, Any]] = []
        for number in range(4):
            shop.run(f"toolu_shop{number}", "Read")
            tides.run(f"toolu_tides{number}", error=number == 3)
        found += until_game(listener, "error", session=TIDES)
        while sum(event["game"] == "result" and event["session"] == SHOP for event in found) < 4:
            found += until_game(listener, "result", session=SHOP)
    for session, game in ((SHOP, "read"), (TIDES, "bash")):
        own = [event for event in found if event["session"] == session]
        assert [event["game"] for event in own if event["game"] in ("read", "bash")] == [game] * 4
        assert not any(event["game"] in ("enter", "leave") for event in own)
    results = [event for event in found if event["game"] == "result" and event["session"] == TIDES]
    assert [event["outcome"] for event in results] == ["ok", "ok", "ok", "failed"]
    assert [event["streak"] for event in results] == [1, 2, 3, 0]
    assert [sum(grant["amount"] for grant in event["xp"]) for event in results] == [15, 20, 20, 5]


def test_watching_with_two_pages_counts_each_event_once_and_a_reconnect_starts_with_the_whole_party(
    tmp_path: Path,
) -> None:
    folders = record_folders(tmp_path, ["2.1.325/plain"])
    server = start_indexed(folders)
    try:
        cookie = cookie_of(server)
        with (
            listen_to(server, cookie, "/quest/events") as one,
            listen_to(server, cookie, "/quest/events") as two,
        ):
            assert next(one.events())[0] == next(two.events())[0] == "snapshot"
            shop = LiveSession(folders, SHOP, "shop")
            until_game(one, "enter", session=SHOP)
            shop.run("toolu_1", "Read")
            shop.run("toolu_2", "Edit")
            assert until_game(one, "result", category="write")[-1]["xp"] == [{"amount": 10, "reason": "write"}]
            until_game(two, "result", category="write")
            with listen_to(server, cookie, "/quest/events", one.cursor) as again:
                name, snapshot, _ = next(again.events())
        assert name == "snapshot"
        assert [hero["session"] for hero in snapshot["sessions"]] == [SHOP]
        assert snapshot["profile"]["xp"] == 15
        assert read_json(server, "/quest/profile")[1]["xp"] == 15
    finally:
        server.stop()


def test_a_snapshot_has_the_fields_of_the_contract(shared_folders: Folders, server: Server, cookie: str) -> None:
    with listen_to(server, cookie, "/quest/events?demo=1&from=12&speed=64") as listener:
        name, snapshot, cursor = next(listener.events())
        assert (name, cursor) == ("snapshot", "12")
        hero = next(one for one in snapshot["sessions"] if one["session"] == "demo-webshop")
        assert set(hero) == {
            "session", "project", "title", "biome", "mode", "agents", "todos", "context", "waiting", "quest",
        }  # fmt: skip
        assert [agent["agent_type"] for agent in hero["agents"]] == ["Explore", "Explore", "Plan"]
        waiting = next(one["waiting"] for one in snapshot["sessions"] if one["session"] == "demo-bakery")
        assert waiting == {"kind": "question", "text": "Which French: of France, or of Canada?"}
        assert games(listener.until("end"))[0]["at"] >= 12


def test_the_replay_of_a_genuine_session_has_a_companion_for_each_sub_agent(
    shared_folders: Folders, server: Server, cookie: str
) -> None:
    session = next(name for name in shared_folders.sessions if name not in (SHOP, TIDES))
    status, script = read_json(server, f"/quest/replay/{session}")
    assert status == 200
    events = script["events"]
    started = [event["agent"] for event in events if event["game"] == "agent_start"]
    finished = [event["agent"] for event in events if event["game"] == "agent_finish"]
    assert started
    assert sorted(started) == sorted(finished)
    assert {event["actor"] for event in events} == {"main", *started}
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
    assert script["seconds"] == events[-1]["at"]
    assert read_json(server, "/quest/replay/nonsense")[0] == 404


def test_a_get_request_never_creates_the_profile(client: TestClient, place: Machine) -> None:
    for path in ("/quest", "/quest/studio", "/quest/profile", "/quest/cosmetics", "/quest/demo"):
        assert client.get(path).status_code == 200, path
    assert not ProfileKeeper(place.data_dir).file.path.exists()


def test_the_list_of_items_has_sixteen_hats_ten_faces_eight_auras_and_six_trails(client: TestClient) -> None:
    items = client.get("/quest/cosmetics").json()["items"]
    slots = [item["slot"] for item in items]
    assert {slot: slots.count(slot) for slot in slots} == {"hat": 16, "face": 10, "aura": 8, "trail": 6}
    assert len({item["id"] for item in items}) == len({item.name for item in COSMETICS}) + 1 == 40


def test_a_hero_wears_only_what_it_owns(client: TestClient) -> None:
    assert (
        client.post("/quest/profile/wear", json={"slot": "hat", "item": "hat-wizard"}).json()["worn"]["hat"]
        == "hat-wizard"
    )
    refused = client.post("/quest/profile/wear", json={"slot": "hat", "item": "hat-crown"})
    assert (refused.status_code, refused.json()) == (
        400, {"error": "item hat-crown: not unlocked yet; chests offer it from level 14"},
    )  # fmt: skip
    assert client.post("/quest/profile/wear", json={"slot": "face", "item": "hat-wizard"}).status_code == 400
    assert client.post("/quest/profile/wear", json={"slot": "belt", "item": None}).status_code == 400
    assert client.post("/quest/profile/wear", json={"slot": "hat", "item": None}).json()["worn"]["hat"] is None
    assert client.post("/quest/profile/wear", content=b"[1").status_code in (400, 415)
    assert client.post("/quest/chests/level-9", json={"action": "open"}).status_code == 409
    assert client.post("/quest/chests/level-9", json={"action": "eat"}).status_code == 400


def test_a_number_in_the_query_is_checked(client: TestClient) -> None:
    for query in ("speed=0", "speed=nan", "speed=fast", "from=-1", "from=inf"):
        assert client.get(f"/quest/events?demo=1&{query}").status_code == 400, query


def test_only_sheets_are_served_as_sheets(client: TestClient) -> None:
    for name in ("..%2F__init__.py", "__init__.py", "nothing.png"):
        assert client.get(f"/quest/sheets/{name}").status_code == 404
