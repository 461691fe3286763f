"""Requests and files that no page of ours would send or write: each gets an answer in words, soon, and all goes on."""

from __future__ import annotations

import gzip
import html
import http.client
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.render.attacks import ATTACKS
from tests.session.build import SESSION, Build, encode_lines
from tests.web import hostile
from tests.web.conftest import Folders, Server
from turnlog.render.text_folds import MAX_TEXT_CHARS
from turnlog.web.machine import Machine
from turnlog.web.reading.item_parts import MAX_PAGE_TEXT_CHARS, MAX_WHOLE_TEXT_CHARS

LARGE = "9" * 40


def put(folders: Folders, place: Machine, build: Build) -> Path:
    path = folders.add(SESSION, build.data())
    place.store.refresh(place.config_dirs)
    return path


def talk() -> Build:
    build = Build()
    build.prompt("hello", "u1")
    build.answer("there", uuid="a1")
    return build


ANSWERED = [
    f"/?page={LARGE}", "/?page=-1", "/?page=NaN", "/rows?page=1e3", "/?sort=x&turned=9&group=z", "/search?q=%00",
    "/search?q=%ff%fe", "/search?q=%ED%A0%80", f"/search?q={'(' * 1500}", "/search?q=since:99999999999999999999",
    "/search?mode=regex&text=(", "/api/search?q=x&limit=-5", f"/api/search?q=x&limit={LARGE}",
    "/insights?since=0000-00-00&until=x", "/insights?since=9999-12-31&until=9999-12-31",
    "/insights?since=0001-01-01",
    f"/s/{SESSION}?window={LARGE}", f"/s/{SESSION}?turn=-1", f"/s/{SESSION}?at=@{LARGE}", f"/s/{SESSION}?at=@-1",
    f"/s/{SESSION}?at={'x' * 3000}", f"/api/s/{SESSION}/turns?first={LARGE}&count={LARGE}",
    f"/api/s/{SESSION}/find?q=%ED%A0%80", f"/api/s/{SESSION}/find?q=hello&start=0:{'9' * 15}",
    f"/api/s/{SESSION}/find?q=hello&start=999999:0", f"/api/s/{SESSION}/errors?from={LARGE}",
    f"/s/{SESSION}/context?by=x",
]  # fmt: skip
"""What makes no sense, and is answered all the same."""
ABSENT = [
    (f"/s/{SESSION}/window/{LARGE}", 404), (f"/s/{SESSION}/window/{'9' * 4000}", 404),
    (f"/s/{SESSION}/window/-1", 404), (f"/s/{SESSION}?branch=%00", 404), (f"/s/{SESSION}/raw/1", 404),
    (f"/s/{SESSION}/raw/-1", 404), (f"/s/{SESSION}/raw/999999", 404), (f"/s/{SESSION}/raw/{LARGE}", 404),
    (f"/s/{SESSION}/raw/0?agent=../../x", 404), (f"/s/{SESSION}/picture/0/{LARGE}", 404),
    (f"/s/{SESSION}/agent/..%2f..%2fetc", 404), (f"/s/{SESSION}/agent/{'x' * 400}", 404),
    (f"/api/s/{SESSION}/find?q={'x' * 401}", 400), (f"/api/s/{SESSION}/find?q=x&start=x", 400),
    (f"/api/s/{SESSION}/locate?offset=-1", 400), (f"/s/{SESSION}/item?key=nobody", 404),
    ("/api/usage/nothing", 404), ("/insights/nothing", 404), ("/api/downloads/..%2f..%2fx", 404),
    (f"/search?q={'x' * 4100}", 414),
]  # fmt: skip
"""What there is not, and with which status that is told."""


def test_numbers_and_texts_beyond_all_sense_do_no_harm(folders: Folders, place: Machine, client: TestClient) -> None:
    put(folders, place, talk())
    for path in ANSWERED:
        assert client.get(path).status_code == 200, path


def test_what_is_not_there_is_told_as_such(folders: Folders, place: Machine, client: TestClient) -> None:
    put(folders, place, talk())
    for path, status in ABSENT:
        answer = client.get(path)
        assert answer.status_code == status, path
        assert "Traceback" not in answer.text
        kind = "application/json" if path.startswith("/api") else "text/html"
        assert answer.headers["content-type"].startswith(kind), path


def test_an_address_of_a_megabyte_and_a_packed_body_leave_the_server_alive(server: Server) -> None:
    headers = server.program_headers

    def ask(method: str, path: str, body: bytes = b"", **more: str) -> int | None:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            connection.request(method, path, body, {**headers, **more})
            return connection.getresponse().status
        except OSError:  # it is no longer listened to
            return None
        finally:
            connection.close()

    action = "/api/s/eeeeeeee-0000-4000-8000-000000000000/actions/clone"
    bomb = gzip.compress(b" " * 20_000_000)
    assert ask("GET", f"/search?q={'x' * 1_000_000}") in (None, 400, 414, 431)
    assert ask("POST", action, bomb, **{"Content-Encoding": "gzip"}) == 400
    assert ask("POST", action, b"x" * 70_000) == 413
    assert ask("POST", action, b"[" * 60_000) == 400
    assert ask("GET", "/api/state") == 200


def pipe(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    path.symlink_to(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def noise(path: Path) -> None:
    path.write_bytes(os.urandom(50_000))


def delete_file(path: Path) -> None:
    path.unlink(missing_ok=True)


def half(path: Path) -> None:
    path.write_bytes(b'{"type":"us')


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes among the files there")
@pytest.mark.parametrize("made", [pipe, folder, loop, endless, noise, delete_file, half])
def test_what_took_the_place_of_a_session_is_told_and_keeps_nobody_waiting(
    folders: Folders, place: Machine, stranger: TestClient, client: TestClient, made: Callable[[Path], None]
) -> None:
    path = put(folders, place, talk())
    assert client.get(f"/s/{SESSION}").status_code == 200
    stranger.cookies.update(client.cookies)
    path.unlink()
    made(path)
    is_file, is_gone = made in (noise, half), made is delete_file
    for rest in ("", "/window/0", "/raw/0", "/picture/0/0"):
        answer = stranger.get(f"/s/{SESSION}{rest}")
        assert "bug in turnlog" not in answer.text
        is_shown = is_file and not rest.startswith("/pic")
        assert answer.status_code == (200 if is_shown else 404 if is_file or is_gone else 500)
    for rest in ("", "/find?q=hello", "/locate?key=u1", "/health"):
        answer = stranger.get(f"/api/s/{SESSION}{rest}")
        if is_gone and rest == "/health":
            assert answer.json() == {"state": "gone", "health": None}
            continue
        assert answer.status_code in ((200, 404) if is_file else (404,) if is_gone else (500,)), rest
        assert "mistake" not in answer.text
        assert is_file or "error" in answer.json()
    assert stranger.get(f"/live/{SESSION}").status_code in ((200,) if is_file else (404, 500))
    assert stranger.get("/").status_code == 200


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes among the files there")
def test_pipes_among_the_files_of_sub_agents_keep_nobody_waiting(
    folders: Folders, place: Machine, client: TestClient
) -> None:
    path = put(folders, place, talk())
    inside = path.with_suffix("") / "subagents"
    inside.mkdir(parents=True)
    (inside / "agent-a1.jsonl").write_bytes(path.read_bytes())
    os.mkfifo(inside / "agent-a1.meta.json")
    os.mkfifo(inside / "agent-a2.jsonl")
    loop(inside / "agent-a3.jsonl")
    folder(inside / "agent-a4.jsonl")
    assert client.get(f"/s/{SESSION}").status_code == 200
    assert [agent["agent_id"] for agent in client.get(f"/api/s/{SESSION}").json()["agents"]] == ["a1"]
    assert client.get(f"/s/{SESSION}/agent/a1").status_code == 200
    assert client.get(f"/api/s/{SESSION}/find?q=hello").status_code == 200
    assert client.get(f"/live/{SESSION}").status_code == 200


@pytest.mark.slow
def test_all_that_a_followed_session_links_to_exists_although_its_entries_repeat_ids(
    folders: Folders, place: Machine, client: TestClient
) -> None:
    """Its page shows an entry at once; the session's own page leaves out those that an id no longer leads to."""
    texts = list(ATTACKS.values())[:4]
    own = hostile.add(folders, 0, *texts)
    path = next(folders.projects.glob(f"*/{own}.jsonl"))
    again = {"type": "user", "uuid": "end", "parentUuid": None, "message": {"role": "user", "content": "END"}}
    with path.open("ab") as file:
        file.write(encode_lines([*hostile.lines(texts[::-1], own, 1)[:90], again]))
    place.store.refresh(place.config_dirs)
    page = client.get(f"/live/{own}").text
    links = {html.unescape(link) for link in re.findall(r'="(/s/[^"]*/(?:picture|raw)/[^"]+)"', page)}
    assert len([link for link in links if "/picture/" in link]) > 20
    assert [link for link in sorted(links) if client.get(link).status_code != 200] == []


def test_a_text_that_no_page_could_hold_is_cut_and_the_raw_entry_has_it(
    folders: Folders, place: Machine, client: TestClient
) -> None:
    build = Build()
    build.prompt("x" * 5_000_000, "u1")
    build.call("c1", "Bash", {"command": "yes"})
    build.result("c1", ("y" * 99 + "\n") * 40_000)
    path = put(folders, place, build)
    text = client.get(f"/s/{SESSION}").text
    assert len(text) < 3 * MAX_TEXT_CHARS
    assert f"{5_000_000 - MAX_PAGE_TEXT_CHARS:,} more characters, in the raw entry" in text
    whole = client.get(html.unescape(re.findall(r'href="([^"]+)" data-rest="item"', text)[0])).text
    assert f"{5_000_000 - MAX_WHOLE_TEXT_CHARS:,} more characters, in the raw entry" in whole
    assert len(client.get(f"/s/{SESSION}/raw/0").content) > 5_000_000
    assert len(client.get(f"/live/{SESSION}").text) < 3 * MAX_TEXT_CHARS
    assert client.get(f"/s/{SESSION}/raw/0?format=html").status_code == 200
    assert path.stat().st_size > 9_000_000


def test_a_line_of_many_megabytes_is_followed_in_linear_time(
    folders: Folders, place: Machine, client: TestClient
) -> None:
    build = talk()
    build.prompt("x" * 60_000_000, "u2")
    put(folders, place, build)
    assert client.get(f"/live/{SESSION}").status_code == 200


def test_half_characters_in_every_field_are_shown(folders: Folders, place: Machine, client: TestClient) -> None:
    from tests.web import hostile

    own = hostile.add(folders, 0, "\ud800 <b>\udfff</b>")
    place.store.refresh(place.config_dirs)
    for rest in (f"/s/{own}", f"/live/{own}", f"/s/{own}/agent/a1", f"/api/s/{own}", f"/api/s/{own}/find?q=b"):
        assert client.get(rest).status_code == 200


def test_a_sub_agent_whose_file_is_not_there_is_told_to_be_missing(
    folders: Folders, place: Machine, client: TestClient
) -> None:
    build = talk()
    build.call("c1", "Agent", {"prompt": "look", "description": "Look", "subagent_type": "Explore"})
    build.result("c1", "seen", toolUseResult={"agentId": "afffff", "status": "completed"})
    put(folders, place, build)
    text = client.get(f"/s/{SESSION}").text
    assert "No transcript available." in text
    assert "/agent/afffff" not in text
