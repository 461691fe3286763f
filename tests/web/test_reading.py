"""What the page of a session asks the server for: windows, raw entries, pictures, the outline, what was found."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.session.build import ROOT, SESSION, Build, encode_lines
from tests.web.conftest import DATA, Folders, open_indexed, record_folders
from turnlog.render.card import Picture
from turnlog.render.phrases import read_turn_title
from turnlog.session.timeline.timeline import Chapter
from turnlog.web.amounts import format_usd
from turnlog.web.charts.context_chart import (
    MAX_POINTS,
    CompactionLine,
    ContextPoint,
    CostBar,
    join_bars,
    render_context_chart,
    thin_points,
)
from turnlog.web.machine import Machine
from turnlog.web.reading.outline import build_minimap_strip
from turnlog.web.reading.pictures import build_safe_name, detect_media_type, to_picture_file
from turnlog.web.reading.text_search import find_text
from turnlog.web.reading.transcript_view import TranscriptView
from turnlog.web.reading.windows import ITEMS_PER_WINDOW

OWN = "bbbbbbbb-0000-4000-8000-000000000001"


def png() -> bytes:
    """A picture of one pixel."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0\0\0\0")) + chunk(b"IEND", b"")
    )


def block(kind: str, media: str, data: bytes, **more: str) -> dict[str, Any]:
    source = {"type": "base64", "media_type": media, "data": base64.b64encode(data).decode()}
    return {"type": kind, "source": source, **more}


def own_session() -> bytes:
    """Two branches, 130 turns on the one that counts, pictures in the first prompt, an error in turn 100."""
    build = Build(step=1)
    shown = [
        {"type": "text", "text": "What is in this picture?"},
        block("image", "image/png", png()),
        block("image", "image/png", b"<svg onload=alert(1)>"),
        block("document", "application/pdf", b"%PDF-1.7 a page", title='../../etc/pass wd".pdf'),
    ]
    build.prompt(shown, "p1")
    fork = build.answer("A pixel.", uuid="a1", usage={"input_tokens": 10, "cache_read_input_tokens": 90})
    build.prompt("The way not taken", "q1", parent=fork)
    build.answer("Über den Wolken", uuid="r1")
    build.last = fork
    for number in range(2, 131):
        build.prompt(f"Question {number}", f"p{number}")
        if number == 100:
            build.call("c100", uuid="call")
            build.result("c100", "it broke", error=True)
        build.answer(f"Answer {number}", uuid=f"a{number}", usage={"input_tokens": 100 * number})
    return encode_lines(build.lines).replace(SESSION.encode(), OWN.encode())


# One machine for all of these tests: what some of them add disturbs no other.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    found = record_folders(tmp_path_factory.mktemp("reading"))
    found.add(OWN, own_session() + b"this line is broken\n")
    return found


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with open_indexed(folders) as found:
        yield found


def keys(text: str) -> list[str]:
    return re.findall(r'<article class="item[^>]* data-key="([^"]+)"', text)


def places(folders: Folders) -> dict[str, int]:
    """The offset of each entry of the session by its uuid."""
    found, offset = {}, 0
    for line in next(folders.projects.glob(f"*/{OWN}.jsonl")).read_bytes().splitlines(keepends=True):
        if line.startswith(b"{"):
            found[json.loads(line)["uuid"]] = offset
        else:
            found["broken"] = offset
        offset += len(line)
    return found


# -- the page and its windows


def test_the_page_holds_its_first_window(client: TestClient) -> None:
    answer = client.get(f"/s/{OWN}")
    assert answer.status_code == 200
    assert keys(answer.text)[:2] == ["p1", "a1"]
    assert len(keys(answer.text)) == ITEMS_PER_WINDOW
    assert answer.text.count("<h1") == 1
    assert f"Turn {ITEMS_PER_WINDOW // 2}" in answer.text


def test_windows_together_are_the_branch_every_item_once_and_in_order(client: TestClient) -> None:
    windows = -(-client.get(f"/api/s/{OWN}").json()["items"] // ITEMS_PER_WINDOW)
    found = [key for n in range(windows) for key in keys(client.get(f"/s/{OWN}/window/{n}").text)]
    wanted = [
        key for number in range(1, 131) for key in (f"p{number}", *(["call"] if number == 100 else []), f"a{number}")
    ]
    assert [key for key in found if not key.startswith("@")] == wanted
    assert client.get(f"/s/{OWN}/window/{windows}").status_code == 404


def test_every_view_becomes_one_article(client: TestClient, folders: Folders) -> None:
    for uuid in folders.sessions:
        total = client.get(f"/api/s/{uuid}").json()["items"]
        found = keys(client.get(f"/s/{uuid}/window/0").text)
        assert len(found) == min(total, ITEMS_PER_WINDOW)


@pytest.mark.parametrize("asked", ["at=a118", "turn=118", f"window={236 // ITEMS_PER_WINDOW}", "at=p118"])
def test_the_page_begins_where_it_was_asked_to(client: TestClient, asked: str) -> None:
    assert "a118" in keys(client.get(f"/s/{OWN}?{asked}").text)


@pytest.mark.parametrize(
    "asked", ["at=nobody", "turn=99999999999999", "window=x", "turn=-1", "at=@99999999", "window=²"]
)
def test_a_place_that_is_not_there_gives_some_window(client: TestClient, asked: str) -> None:
    assert client.get(f"/s/{OWN}?{asked}").status_code == 200


def test_a_branch_is_asked_for_by_its_leaf(client: TestClient) -> None:
    found = keys(client.get(f"/s/{OWN}?branch=r1").text)
    assert [key for key in found if not key.startswith("@")] == ["p1", "a1", "q1", "r1"]
    assert client.get(f"/s/{OWN}?branch=nobody").status_code == 404


def test_at_a_fork_stand_the_ways_from_it(client: TestClient) -> None:
    text = client.get(f"/s/{OWN}?branch=r1").text
    assert re.search(r"branch \d of 2 from here", text)
    assert "Question 2" in text
    assert text.index("of 2 from here") > text.index("A pixel.")


@pytest.mark.parametrize("path", ["/s/{}", "/s/{}/window/0", "/api/s/{}", "/api/s/{}/find?q=x", "/s/{}/raw/0"])
@pytest.mark.parametrize("ref", ["nobody", "cccccccc-0000-4000-8000-000000000009", "..%2F..%2Fetc", "%00"])
def test_a_session_that_is_not_there_is_not_found(client: TestClient, path: str, ref: str) -> None:
    assert client.get(path.format(ref)).status_code == 404


def test_an_empty_session_has_a_page(client: TestClient, folders: Folders, place: Machine) -> None:
    folders.add("bbbbbbbb-0000-4000-8000-000000000002", b"")
    place.store.refresh(place.config_dirs)
    assert client.get("/s/bbbbbbbb-0000-4000-8000-000000000002").status_code == 200


# -- sub-agents


@pytest.fixture
def with_agents(folders: Folders) -> tuple[str, str]:
    path = sorted(folders.projects.glob("*/*/subagents/agent-*.jsonl"))[0]
    return path.parent.parent.name, path.stem.removeprefix("agent-")


def test_a_sub_agent_has_windows_and_a_page(client: TestClient, with_agents: tuple[str, str]) -> None:
    uuid, agent = with_agents
    inner = client.get(f"/s/{uuid}/agent/{agent}/window/0")
    assert inner.status_code == 200
    assert all(key.startswith(f"{agent}:") for key in keys(inner.text))
    assert keys(inner.text)
    assert f"?agent={agent}" in inner.text
    assert client.get(f"/s/{uuid}/agent/{agent}").text.count("<h1") == 1
    assert client.get(f"/s/{uuid}/agent/nobody").status_code == 404
    assert client.get(f"/s/{uuid}/agent/{'x' * 400}").status_code == 404


def test_the_costs_of_turns_include_their_sub_agents_and_add_up(
    client: TestClient, with_agents: tuple[str, str]
) -> None:
    uuid, agent = with_agents
    whole = client.get(f"/api/s/{uuid}").json()
    turns = client.get(f"/api/s/{uuid}/turns").json()["turns"]
    assert sum(turn["agents_cost_usd"] for turn in turns) > 0
    assert sum(turn["cost_usd"] + turn["agents_cost_usd"] for turn in turns) == pytest.approx(whole["cost_usd"])
    started = next(turn for turn in turns if turn["agents_cost_usd"])
    page = client.get(f"/s/{uuid}").text
    assert f"{format_usd(started['agents_cost_usd'])} of it for the sub-agents that this turn started" in page
    assert f">{format_usd(started['cost_usd'] + started['agents_cost_usd'])}</span>" in page
    inner = client.get(f"/s/{uuid}/agent/{agent}").text
    assert 'title="What the sub-agent was started for">task<' in inner
    assert ">new session<" not in inner


def test_the_card_of_a_call_leads_to_its_sub_agent(client: TestClient, with_agents: tuple[str, str]) -> None:
    uuid, agent = with_agents
    assert f'data-src="/s/{uuid}/agent/{agent}/window/0"' in client.get(f"/s/{uuid}/window/0").text


def test_an_item_of_a_sub_agent_is_raw_and_markdown_too(client: TestClient, with_agents: tuple[str, str]) -> None:
    uuid, agent = with_agents
    text = client.get(f"/s/{uuid}/agent/{agent}/window/0").text
    raw = re.search(r'href="(/s/[^"]+/raw/\d+\?agent=[^"]+)"', text)
    assert raw is not None
    assert client.get(raw[1]).json()["isSidechain"] is True
    answer = client.get(f"/s/{uuid}/agent/{agent}/item", params={"key": keys(text)[0]})
    assert answer.status_code == 200


# -- raw entries, Markdown, pictures


def test_the_raw_entry_is_byte_for_byte_what_the_file_holds(client: TestClient, folders: Folders) -> None:
    path = next(folders.projects.glob(f"*/{OWN}.jsonl"))
    offset = places(folders)["a120"]
    answer = client.get(f"/s/{OWN}/raw/{offset}")
    line = path.read_bytes()[offset:].split(b"\n")[0]
    assert answer.content == line
    assert answer.headers["content-type"] == "application/json"
    shown = client.get(f"/s/{OWN}/raw/{offset}?format=html").text
    assert "Answer 120" in shown
    assert 'class="tree"' in shown


def test_the_raw_entry_of_a_result_is_found_by_its_own_place(client: TestClient, folders: Folders) -> None:
    result = next(uuid for uuid in places(folders) if uuid.startswith("user-"))
    assert client.get(f"/s/{OWN}/raw/{places(folders)[result]}").json()["uuid"] == result


def test_a_broken_line_is_raw_text(client: TestClient, folders: Folders) -> None:
    offset = places(folders)["broken"]
    answer = client.get(f"/s/{OWN}/raw/{offset}")
    assert answer.text == "this line is broken"
    assert answer.headers["content-type"].startswith("text/plain")
    assert "not a JSON object" in client.get(f"/s/{OWN}/raw/{offset}?format=html").text


def test_no_entry_begins_in_the_middle_of_another(client: TestClient, folders: Folders) -> None:
    assert client.get(f"/s/{OWN}/raw/{places(folders)['a120'] + 1}").status_code == 404
    assert client.get(f"/s/{OWN}/raw/999999999999").status_code == 404


def test_an_item_is_had_as_markdown_and_as_text(client: TestClient) -> None:
    assert "Answer 77" in client.get(f"/s/{OWN}/item?key=a77").text
    assert client.get(f"/s/{OWN}/item?key=a77&format=text").headers["content-type"].startswith("text/plain")
    assert client.get(f"/s/{OWN}/item?key=nobody").status_code == 404


def test_a_picture_is_served_with_the_type_of_its_bytes(client: TestClient) -> None:
    answer = client.get(f"/s/{OWN}/picture/0/0")
    assert answer.content == png()
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"].startswith("inline")
    assert f'<img src="/s/{OWN}/picture/0/0"' in client.get(f"/s/{OWN}").text


def test_what_only_claims_to_be_a_picture_is_never_shown_as_one(client: TestClient) -> None:
    answer = client.get(f"/s/{OWN}/picture/0/1")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "/picture/0/1" not in client.get(f"/s/{OWN}").text


def test_a_document_is_a_download_with_a_harmless_name(client: TestClient) -> None:
    answer = client.get(f"/s/{OWN}/picture/0/2")
    assert answer.content == b"%PDF-1.7 a page"
    assert answer.headers["content-disposition"] == 'attachment; filename="pass wd_.pdf"'
    assert answer.headers["content-type"] == "application/octet-stream"


def test_the_intact_part_of_a_damaged_picture_is_served() -> None:
    data = base64.b64encode(png() * 9).decode()
    found = to_picture_file(Picture("image", "image/png", f"{data[:-10]}!{data[-9:]}"))
    assert found is not None
    assert found.media_type == "image/png"
    assert (png() * 9).startswith(found.data)
    assert len(found.data) > len(png()) * 8
    assert to_picture_file(Picture("document", "application/pdf", "JVBERi0xLjc!")) is None


def test_pictures_and_lines_of_a_session_are_there_before_the_index_has_read_it(
    client: TestClient, folders: Folders
) -> None:
    new = "eeeeeeee-0000-4000-8000-000000000005"
    assert client.get(f"/s/{new}/picture/0/0").status_code == 404
    folders.add(new, own_session().replace(OWN.encode(), new.encode()))
    assert client.get(f"/s/{new}/picture/0/0").content == png()
    assert client.get(f"/s/{new}/raw/0").status_code == 200


@pytest.mark.parametrize("where", ["0/3", "0/99", "1/0"])
def test_a_picture_that_is_not_there_is_not_found(client: TestClient, where: str) -> None:
    assert client.get(f"/s/{OWN}/picture/{where}").status_code == 404


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF0000WEBP", "image/webp"),
        (b"RIFF0000WAVE", "application/octet-stream"),
        (b"<svg xmlns=", "application/octet-stream"),
        (b"", "application/octet-stream"),
    ],
)
def test_a_type_comes_from_the_first_bytes(data: bytes, kind: str) -> None:
    assert detect_media_type(data) == kind


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("C:\\x\\report.exe", "application/pdf", "report.pdf"),
        ("..", "application/pdf", "document.pdf"),
        ('a"\r\nSet-Cookie: x', "application/octet-stream", "a_Set-Cookie_ x.bin"),
        ("\u202egnp.html", "image/png", "gnp.png"),
    ],
)
def test_a_file_name_means_nothing_to_any_system(name: str, kind: str, wanted: str) -> None:
    assert build_safe_name(Picture("document", "", "", name), kind) == wanted


def test_a_document_of_text_is_a_file_of_text() -> None:
    found = to_picture_file(Picture("document", "text/plain", "plain words, no base64", "notes"))
    assert found is not None
    assert (found.data, found.name) == (b"plain words, no base64", "notes.txt")
    assert to_picture_file(Picture("image", "image/png", "no base64!")) is None


def test_a_turn_says_how_it_relates_to_the_one_before(client: TestClient, folders: Folders, place: Machine) -> None:
    own = "bbbbbbbb-0000-4000-8000-000000000077"
    build = Build(step=1)
    for number, pause in enumerate((0, 60, 7_200), start=1):
        build.wait(pause)
        build.prompt(f"Question {number}", f"q{number}")
        build.answer(f"Answer {number}", uuid=f"r{number}")
    folders.add(own, encode_lines(build.lines).replace(SESSION.encode(), own.encode()))
    place.store.refresh(place.config_dirs)
    page = client.get(f"/s/{own}").text
    found = re.findall(r'<span class="round (\w+)" title="([^"]+)">([^<]+)</span>', page)
    assert [(name, words) for name, _, words in found] == [
        ("new_session", "new session"),
        ("new_round", "new round"),
        ("resume", "resumed after 2 h"),
    ]
    assert found[1][1].startswith("Follows the turn before it after 1 min")


# -- what scripts ask for


def test_the_outline_tells_the_turns_of_the_branch_with_their_positions(client: TestClient) -> None:
    found = client.get(f"/api/s/{OWN}").json()
    assert len(found["numbers"]) == 130
    assert found["positions"][:3] == [0, 2, 4]
    assert len(found["branches"]) == 2
    assert sum(found["strip"]["errors"]) == 1


def test_turns_are_told_some_at_once(client: TestClient) -> None:
    found = client.get(f"/api/s/{OWN}/turns?first=100&count=7").json()
    assert (found["total"], found["first"]) == (130, 100)
    assert [turn["title"] for turn in found["turns"]] == [f"Question {number}" for number in range(101, 108)]
    assert len(client.get(f"/api/s/{OWN}/turns?count=99999").json()["turns"]) == 130
    assert client.get(f"/api/s/{OWN}/turns?first=x&count=-1").json()["total"] == 130


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("words=QUESTION 12", ["Question 12", *(f"Question {number}" for number in range(112, 130))]),
        ("failed=1", ["Question 100"]),
        ("file=/nowhere", []),
        ("branch=r1", ["What is in this picture?", "The way not taken"]),
    ],
)
def test_turns_are_filtered(client: TestClient, asked: str, wanted: list[str]) -> None:
    found = client.get(f"/api/s/{OWN}/turns?{asked}").json()
    titles = [turn["title"] for turn in found["turns"]]
    assert titles == [title for title in wanted if "words" not in asked or "12" in title]


def test_turns_are_filtered_by_the_file_that_they_touched(client: TestClient, folders: Folders) -> None:
    uuid = next((DATA / "sessions/2.1.325/tools").glob("projects/*/*.jsonl")).stem
    files = client.get(f"/api/s/{uuid}").json()["files"]
    touched = next(file for file in files if file["reads"] or file["writes"])
    found = client.get(f"/api/s/{uuid}/turns", params={"file": touched["path"]}).json()
    assert found["total"] >= 1


def test_what_a_background_task_reported_is_its_title() -> None:
    wrapped = "<task-notification> <task-id>x</task-id> <summary>Agent finished</summary>"
    assert read_turn_title(Chapter(1, 0, 1, "notification", wrapped)) == "Agent finished"
    assert read_turn_title(Chapter(1, 0, 1, "notification", wrapped[:40])) == "Background task report"
    assert read_turn_title(Chapter(1, 0, 1, "prompt", "<summary>mine")) == "<summary>mine"


def test_the_strip_spreads_long_turns_and_marks_pauses() -> None:
    long = Chapter(1, 0, 100, started="2026-01-01T10:00:00.000Z", ended="2026-01-01T10:10:00.000Z", output=100)
    late = Chapter(2, 100, 1, started="2026-01-01T12:00:00.000Z", errors=2, output=5)
    made = build_minimap_strip([(0, long), (100, late)], 101, rows=10)
    assert sum(made.tokens) == 105
    assert made.tokens[0] == 10
    assert (made.errors[9], made.pauses) == (2, [9])


def test_an_item_is_located_by_key_by_offset_and_over_branches(client: TestClient, folders: Folders) -> None:
    at = client.get(f"/api/s/{OWN}/locate?key=a120").json()
    assert at["key"] == "a120"
    by_offset = client.get(f"/api/s/{OWN}/locate?offset={places(folders)['a120']}").json()
    assert by_offset == at
    other = client.get(f"/api/s/{OWN}/locate?key=r1").json()
    assert other["position"] is None
    assert other["address"] == f"/s/{OWN}?branch=r1&at=r1#i-r1"
    assert client.get(f"/api/s/{OWN}/locate?key=nobody").status_code == 404
    assert client.get(f"/api/s/{OWN}/locate").status_code == 400


def test_a_text_is_found_in_whatever_case_with_its_place(client: TestClient) -> None:
    found = client.get(f"/api/s/{OWN}/find?q=aNSWER 121").json()
    (hit,) = found["hits"]
    assert (hit["key"], hit["kind"], hit["agent"]) == ("a121", "answer", None)
    assert hit["position"] == client.get(f"/api/s/{OWN}/locate?key=a121").json()["position"]
    start, end = hit["ranges"][0]
    assert hit["text"][start:end] == "Answer 121"
    assert found["next"] is None


def test_a_text_of_another_branch_is_found_and_leads_there(client: TestClient) -> None:
    (hit,) = client.get(f"/api/s/{OWN}/find", params={"q": "üBER DEN"}).json()["hits"]
    assert hit["position"] is None
    assert "branch=r1" in hit["address"]


def test_finding_goes_on_behind_what_was_given(place: Machine) -> None:
    known = place.find_session(OWN)
    kept = place.timelines.get_timeline(known.path)
    whole = TranscriptView(known, kept, None, None, kept.head)
    found: list[str] = []
    start: str | None = ""
    while start is not None:
        part = find_text(place, whole, "Question", start, limit=50)
        assert len(part.hits) <= 50
        found += [hit.key for hit in part.hits]
        start = part.next
    assert found == [f"p{number}" for number in range(2, 131)]


def test_texts_of_sub_agents_are_found_too(client: TestClient, with_agents: tuple[str, str], folders: Folders) -> None:
    uuid, agent = with_agents
    path = next(folders.projects.glob(f"*/{uuid}/subagents/agent-{agent}.jsonl"))
    first = json.loads(path.read_text("utf-8").splitlines()[0])
    words = first["message"]["content"]
    text = words if isinstance(words, str) else words[0]["text"]
    hits = client.get(f"/api/s/{uuid}/find", params={"q": text[:60]}).json()["hits"]
    assert agent in {hit["agent"] for hit in hits}
    hit = next(hit for hit in hits if hit["agent"] == agent)
    assert hit["address"].startswith(f"/s/{uuid}/agent/{agent}?at=")
    assert client.get(hit["address"].partition("#")[0]).status_code == 200


@pytest.mark.parametrize("asked", ["q=", f"q={'x' * 401}", "q=x&start=nothing", "q=x&start=-1:5"])
def test_a_question_that_makes_no_sense_is_refused(client: TestClient, asked: str) -> None:
    assert client.get(f"/api/s/{OWN}/find?{asked}").status_code == 400


def test_the_next_error_and_the_one_before_are_found(client: TestClient) -> None:
    where = client.get(f"/api/s/{OWN}/locate?key=call").json()["position"]
    assert client.get(f"/api/s/{OWN}/errors?from=0&direction=1").json() == {"position": where}
    assert client.get(f"/api/s/{OWN}/errors?from={where}&direction=1").json() == {"position": None}
    assert client.get(f"/api/s/{OWN}/errors?from=250&direction=-1").json() == {"position": where}
    assert client.get(f"/api/s/{OWN}/errors?from=abc").json() == {"position": where}


def test_the_steps_tell_how_full_the_window_was(client: TestClient) -> None:
    steps = client.get(f"/api/s/{OWN}/steps").json()["steps"]
    assert steps[0] | {"time": None, "cost_usd": 0} == {
        "item": 1, "time": None, "context": 100, "cache_read": 90, "output": 0, "cost_usd": 0,
    }  # fmt: skip


# -- the chart


@pytest.mark.parametrize("by", ["messages", "time", "nonsense"])
def test_the_chart_has_a_point_for_every_message_and_leads_to_it(client: TestClient, by: str) -> None:
    text = client.get(f"/s/{OWN}/context?by={by}").text
    points = re.search(r'data-points="([^"]*)"', text)
    assert points is not None
    assert len(points[1].split()) == 130
    assert " style=" not in text


def test_the_chart_marks_compactions(client: TestClient, folders: Folders) -> None:
    uuid = next((DATA / "sessions/2.1.325/compact").glob("projects/*/*.jsonl")).stem
    assert 'class="cut"' in client.get(f"/s/{uuid}/context").text
    outline = client.get(f"/api/s/{uuid}").json()
    assert all(found["position"] is not None for found in outline["compactions"])
    assert outline["compactions"]


def test_many_points_are_thinned_but_the_highest_stay() -> None:
    points = [ContextPoint(n / 9999, n, 5 if n != 4321 else 900, 0) for n in range(10_000)]
    kept = thin_points(points)
    assert len(kept) <= MAX_POINTS + 2
    assert max(point.context for point in kept) == 900
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]


def test_many_bars_are_joined_and_nothing_of_the_cost_is_lost() -> None:
    bars = [CostBar(n / 1000, (n + 1) / 1000, 1.0, n, n, n) for n in range(1000)]
    assert sum(bar.cost_usd for bar in join_bars(bars)) == 1000
    assert len(join_bars(bars)) <= 300


def test_a_chart_escapes_the_words_in_it() -> None:
    line = CompactionLine(0.5, 1, "Compaction (<script>)", "#")
    text = render_context_chart([ContextPoint(0, 0, 5, 1)], [line], [CostBar(0, 1, 0.5, 0, 1, 1)], lambda n: f"#t-{n}")
    assert "<script>" not in text


def test_a_transcript_without_usage_has_no_chart(client: TestClient, folders: Folders, place: Machine) -> None:
    build = Build()
    build.prompt()
    build.answer("hello")
    uuid = "bbbbbbbb-0000-4000-8000-000000000003"
    folders.add(uuid, encode_lines(build.lines))
    place.store.refresh(place.config_dirs)
    assert "No message in this transcript" in client.get(f"/s/{uuid}/context").text


# -- what is documented


def list_documented_keys(address: str) -> set[str]:
    """The keys that docs/api.md lists for an address."""
    text = (ROOT / "docs" / "api.md").read_text("utf-8")
    section = text.partition(f"## GET {address}\n")[2].partition("\n## ")[0]
    return {key for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for key in re.findall("`([^`]+)`", row)}


@pytest.mark.parametrize(
    ("address", "rest"),
    [
        ("/api/s/{ref}", ""),
        ("/api/s/{ref}/turns", ""),
        ("/api/s/{ref}/find", "?q=answer"),
        ("/api/s/{ref}/locate", "?key=a3"),
        ("/api/s/{ref}/errors", ""),
        ("/api/s/{ref}/steps", ""),
        ("/api/s/{ref}/replay", ""),
    ],
)
def test_every_key_is_documented_and_every_documented_key_is_there(client: TestClient, address: str, rest: str) -> None:
    found = client.get(address.replace("{ref}", OWN) + rest).json()
    assert list_nested_keys(found, list_documented_keys(address)) == list_documented_keys(address)


def list_nested_keys(found: dict[str, Any], wanted: set[str]) -> set[str]:
    """The keys of a document, with those of the objects in its lists where these are documented one by one."""
    names: set[str] = set()
    for key, value in found.items():
        if any(name.startswith(f"{key}[].") for name in wanted):
            names |= {f"{key}[].{name}" for name in value[0]}
        else:
            names.add(f"{key}[]" if f"{key}[]" in wanted else key)
    return names
