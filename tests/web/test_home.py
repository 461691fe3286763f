"""The list of sessions: what its rows say, filters, order, pages, and what is asked for row by row."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.conftest import ROOT
from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders
from turnlog.demo import config_dir
from turnlog.web import amounts
from turnlog.web.app import build_application
from turnlog.web.home.home_address import build_home_address
from turnlog.web.home.listing_filter import ListingFilter
from turnlog.web.home.session_list import PAGE_SIZE
from turnlog.web.machine import Machine

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "bbbbbbbb-0000-4000-8000-000000000002"
NASTY = "<img src=x onerror=alert(1)>\"'&\u202egnp"


def talk(title: str, *, late: float = 0, fork_of: str | None = None, calls: int = 1) -> bytes:
    build = Build()
    build.wait(late)
    origin = {"forkedFrom": {"sessionId": fork_of}} if fork_of else {}
    build.prompt(f"Please do {title}", uuid=f"p-{title}", **origin)
    for number in range(calls):
        build.call(f"c-{title}-{number}", "Bash", {"command": "ls"}, usage={"input_tokens": 9, "output_tokens": 9})
        build.result(f"c-{title}-{number}")
    build.answer("Done.", usage={"input_tokens": 1000, "output_tokens": 100})
    build.note("custom-title", customTitle=title)
    return build.data().replace(b"msg-", f"msg-{hash(title)}-".encode())


@pytest.fixture
def shop(folders: Folders) -> Folders:
    folders.add(ONE, talk("Cent rounding", late=1e8))
    folders.add(TWO, talk("Discounts", late=2e8, fork_of=ONE, calls=3), "-home-eve-library")
    return folders


def titles(text: str) -> list[str]:
    return re.findall(r'<a class="title" href="[^"]+"><bdi>(.*?)</bdi>', text)


def ask(client: TestClient, path: str) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_page_lists_every_session_with_a_conversation(shop: Folders, client: TestClient) -> None:
    found = titles(client.get("/").text)
    assert found[:2] == ["Cent rounding", "Discounts"] or set(found[:2]) == {"Cent rounding", "Discounts"}
    assert len(found) == ask(client, "/api/sessions")["total"]


def test_a_row_says_tools_models_cost_and_where_it_came_from(shop: Folders, client: TestClient) -> None:
    rows = {row["session_id"]: row for row in ask(client, "/api/sessions")["sessions"]}
    row = rows[TWO]
    assert row["tools"] == [{"tool": "Bash", "calls": 3, "failed": 0}]
    assert row["models"] == ["claude-opus-5"]
    assert row["cost_usd"] > 0
    assert row["origin"]["session_id"] == ONE
    assert row["origin"]["ref"] == ONE
    text = client.get("/").text
    assert f'href="/s/{ONE}"' in text
    assert "fork of aaaaaaaa" in text


def test_rows_under_a_filter_say_what_adds_up_to_its_sum(client: TestClient, folders: Folders, place: Machine) -> None:
    usage = {"input_tokens": 1_000_000, "output_tokens": 100_000}
    build = Build()
    for question in ("first", "second"):
        build.prompt(f"The {question} question")
        build.answer(f"The {question} answer", usage=usage)
        build.wait(3 * 86_400)
    lines = len(build.lines)
    build.prompt("The third question")
    build.answer("The third answer", usage=usage)
    for uuid, count in ((ONE, lines), (TWO, len(build.lines))):
        folders.add(uuid, encode_lines(build.lines[:count]).replace(SESSION.encode(), uuid.encode()), "-home-two-days")
    place.store.refresh(place.config_dirs)

    third = str(build.lines[-1]["timestamp"])[:10]
    whole, rows = client.get("/?q=question").text, client.get(f"/?q=question&since={third}&until={third}").text
    one = float(re.findall(r'<span class="sub" title="What its own[^"]*">\$([0-9.]+) own', whole)[0])
    assert [float(cost) for cost in re.findall(r'<td class="number cost">\$([0-9.]+)', whole)] == [2 * one, 3 * one]
    assert f"${one:.2f}, 1.1M tokens, 1 message" in rows
    assert re.findall(r'select">\$([0-9.]+)</span><span class="sub"[^>]*>of \$([0-9.]+)', rows) == [
        (f"{one:.2f}", f"{3 * one:.2f}")
    ]
    assert re.search(r'title="In the part of its usage[^"]*; 3 in all">1 message<', rows)


@pytest.mark.parametrize("words", ["discounts", "DISCOUNTS please", "bbbbbbbb", "claude-opus-5 discounts"])
def test_all_words_of_a_filter_must_stand_in_what_a_row_says(shop: Folders, client: TestClient, words: str) -> None:
    assert [row["title"] for row in ask(client, f"/api/sessions?q={words}")["sessions"]] == ["Discounts"]
    assert titles(client.get(f"/rows?q={words}").text) == ["Discounts"]


def test_a_filter_that_nothing_fits_says_so(client: TestClient) -> None:
    text = client.get("/?q=qqqqqq").text
    assert "No matching sessions" in text
    assert titles(text) == []


def test_a_project_can_be_chosen_by_its_path(shop: Folders, client: TestClient) -> None:
    rows = ask(client, "/api/sessions?project=/home/dana/webshop")["sessions"]
    assert {row["title"] for row in rows} >= {"Cent rounding", "Discounts"}
    assert {row["project"] for row in rows} == {"/home/dana/webshop"}


@pytest.mark.parametrize(
    ("sort", "key"), [("cost", "cost_usd"), ("size", "size"), ("turns", "prompts"), ("tools", "calls")]
)
def test_sorting_goes_from_the_largest_and_turns_round(shop: Folders, client: TestClient, sort: str, key: str) -> None:
    down = [row[key] for row in ask(client, f"/api/sessions?sort={sort}")["sessions"]]
    up = [row[key] for row in ask(client, f"/api/sessions?sort={sort}&turned=1")["sessions"]]
    assert down == sorted(down, reverse=True)
    assert up == sorted(up)
    assert len(set(down)) > 1


def test_grouped_by_project_each_project_stands_once_with_its_sum(shop: Folders, client: TestClient) -> None:
    text = client.get("/?group=project").text
    heads = re.findall(r'<tr class="group">.*?<span class="muted"><bdi>(.*?)</bdi>', text, re.DOTALL)
    assert len(heads) == len(set(heads)) > 1
    assert "/home/dana/webshop" in heads
    assert re.search(r"/home/dana/webshop</bdi> · \d+ sessions · \$", text)


def test_many_sessions_come_in_pages_that_hold_each_of_them_once(folders: Folders) -> None:
    for number in range(PAGE_SIZE + 7):
        folders.add(f"aaaaaaaa-0000-4000-8000-{number:012}", talk(f"number {number}", late=number * 100), "-home-many")
    place = Machine([folders.config], folders.data)
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    total = client.get("/api/sessions").json()["total"]
    first, second = client.get("/rows"), client.get("/rows?page=1")
    assert f'data-page="0" data-total="{total}"' in first.text
    assert f'data-page="1" data-total="{total}"' in second.text
    refs = re.findall(r'data-ref="([^"]+)"', first.text + second.text)
    assert len(refs) == len(set(refs)) == total > PAGE_SIZE
    place.close()


def test_files_without_a_conversation_are_counted_and_shown_on_request(folders: Folders, place: Machine) -> None:
    client = TestClient(build_application(place))
    known = client.get("/api/sessions").json()["hidden"]
    folders.add(ONE, b'{"type":"summary","summary":"Nothing here","leafUuid":"x"}\n')
    place.store.refresh(place.config_dirs)
    before, after = client.get("/api/sessions").json(), client.get("/api/sessions?all=1").json()
    assert before["hidden"] == known + 1
    assert after["total"] == before["total"] + known + 1
    assert f"{known + 1} more without a conversation" in client.get("/").text


def test_a_day_lists_all_sessions_with_usage_even_without_a_conversation(
    client: TestClient, folders: Folders, place: Machine
) -> None:
    build = Build()
    build.wait(400 * 86_400)
    build.answer("Nobody asked.", usage={"input_tokens": 1_000_000}, isSidechain=True)
    folders.add(ONE, encode_lines(build.lines).replace(SESSION.encode(), ONE.encode()))
    place.store.refresh(place.config_dirs)
    day = str(build.lines[-1]["timestamp"])[:10]
    assert ask(client, f"/api/usage/daily?since={day}&until={day}")["total"]["messages"] == 1
    assert f'data-ref="{ONE}"' not in client.get("/").text
    rows = client.get(f"/?since={day}&until={day}").text
    assert f'data-ref="{ONE}"' in rows
    assert "1.0M tokens, 1 message</span>" in rows


def test_a_session_that_the_client_will_delete_soon_is_marked_with_the_day(folders: Folders, place: Machine) -> None:
    path = folders.add(ONE, talk("Old one"))
    old = time.time() - 25 * 86400
    os.utime(path, (old, old))
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    text = client.get("/").text
    day = amounts.format_local_time(old + 30 * 86400)[:10]
    assert "Claude Code will delete" in text
    assert f"deleted on or after {day}" in text
    row = next(row for row in client.get("/api/sessions").json()["sessions"] if row["session_id"] == ONE)
    assert row["deleted_after"] == amounts.format_datetime_attribute(old + 30 * 86400)


def test_a_session_that_was_written_just_now_is_not_about_to_be_deleted(shop: Folders, client: TestClient) -> None:
    assert all(row["deleted_after"] is None for row in ask(client, "/api/sessions")["sessions"])


def test_a_deleted_session_stays_in_the_list_and_says_so(shop: Folders, place: Machine) -> None:
    next(shop.projects.glob(f"*/{TWO}.jsonl")).unlink()
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    row = next(row for row in client.get("/api/sessions").json()["sessions"] if row["session_id"] == TWO)
    assert row["gone"] is True
    assert client.get(f"/api/s/{TWO}/health").json() == {"state": "gone", "health": None}


def test_health_is_told_when_it_is_asked_for_and_then_stands_in_the_list(shop: Folders, client: TestClient) -> None:
    assert f'data-ref="{TWO}" data-unread' in client.get("/").text
    found = ask(client, f"/api/s/{TWO}/health")
    assert found["state"] == "known"
    assert (found["health"]["turns"], found["health"]["branches"]) == (1, 0)
    text = client.get("/").text
    assert f'data-ref="{TWO}"' in text
    assert f'data-ref="{TWO}" data-unread' not in text


def test_a_sick_session_has_its_symptoms_in_words(folders: Folders, place: Machine) -> None:
    folders.add(ONE, talk("Broken") + b'{"type":"user","mess\n' + talk("Broken"))
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    found = client.get(f"/api/s/{ONE}/health").json()["health"]
    assert found["verdict"] in ("error", "warning")
    assert found["words"]


def test_health_is_made_again_when_the_file_changes(shop: Folders, client: TestClient) -> None:
    path = next(shop.projects.glob(f"*/{TWO}.jsonl"))
    before = ask(client, f"/api/s/{TWO}/health")["health"]
    path.write_bytes(path.read_bytes() + b'{"type":"user","mess\n\n')
    assert ask(client, f"/api/s/{TWO}/health")["health"] != before


def test_a_session_that_nobody_has_is_not_found(client: TestClient) -> None:
    assert client.get(f"/api/s/{ONE}/health").status_code == 404
    assert client.get("/api/s/..%2f..%2fetc/health").status_code == 404


def test_no_session_is_live_where_no_client_runs(client: TestClient) -> None:
    assert ask(client, "/api/sessions/live") == {"live": []}


def test_a_session_that_a_running_client_has_registered_is_live(shop: Folders, client: TestClient) -> None:
    registry = shop.config / "sessions"
    registry.mkdir()
    (registry / f"{os.getpid()}.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": TWO}))
    assert ask(client, "/api/sessions/live") == {"live": [TWO]}
    rows = {row["session_id"]: row["live"] for row in ask(client, "/api/sessions")["sessions"]}
    assert (rows[TWO], rows[ONE]) == (True, False)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="processes can't be looked at here")
def test_a_session_that_a_process_has_open_for_writing_is_live(shop: Folders, client: TestClient) -> None:
    path = next(shop.projects.glob(f"*/{TWO}.jsonl"))
    code = "import sys; file = open(sys.argv[1], 'ab'); print(flush=True); sys.stdin.read()"
    words = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert ask(client, "/api/sessions/live") == {"live": [TWO]}


def test_sorted_by_health_the_sick_come_first_and_those_that_nobody_looked_at_last(
    folders: Folders, place: Machine
) -> None:
    folders.add(ONE, talk("Well"))
    folders.add(TWO, talk("Sick") + b'{"type":"user","mess\n' + talk("Sick"))
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    for ref in (ONE, TWO):
        client.get(f"/api/s/{ref}/health")
    rows = client.get("/api/sessions?sort=health").json()["sessions"]
    assert [row["session_id"] for row in rows[:2]] == [TWO, ONE]
    assert all(row["health"] is None for row in rows[2:])


def test_what_a_transcript_says_is_escaped_everywhere(folders: Folders, place: Machine) -> None:
    data = talk("x").replace(b'"Please do x"', b'"first ' + NASTY.encode().replace(b'"', b'\\"') + b'"')
    data = data.replace(b'"customTitle":"x"', b'"customTitle":"' + NASTY.encode().replace(b'"', b'\\"') + b'"')
    data = data.replace(b'"name":"Bash"', b'"name":"<script>Bash"').replace(b"claude-opus-5", b"<script>opus")
    folders.add(ONE, data.replace(b"/home/dana/webshop", b"/home/<script>dana"))
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    for path in ("/", "/?group=project", "/rows"):
        text = client.get(path).text
        assert "onerror" in text
        assert "<img" not in text
        assert "<script>" not in text


def test_a_machine_without_sessions_shows_the_demo_and_says_where_it_looked(tmp_path: Path) -> None:
    place = Machine([config_dir()], tmp_path / "data", is_demo=True)
    place.store.refresh(place.config_dirs)
    client = TestClient(build_application(place))
    text = client.get("/").text
    assert "made up" in text
    assert "projects</code>" in text
    assert "Fix cent rounding in the cart" in text
    assert "will be deleted" not in text
    assert client.get("/api/sessions").json()["demo"] is True
    place.close()


@pytest.mark.parametrize("query", ["sort=nothing&page=-1", "page=999999999", "page=x&group=y", "sort=%00&q=%F0"])
def test_an_address_that_makes_no_sense_shows_the_list_all_the_same(client: TestClient, query: str) -> None:
    assert client.get(f"/?{query}").status_code == 200


def test_the_hour_of_a_filter_is_named_in_words(client: TestClient) -> None:
    assert "active on Wednesdays at 14:00" in client.get("/?hour=Wed-14").text


def test_an_address_says_only_what_is_not_usual() -> None:
    assert build_home_address(ListingFilter()) == "/"
    assert (
        build_home_address(ListingFilter(q="a b", sort="cost", is_turned=True), "/rows", page=2)
        == "/rows?q=a+b&sort=cost&turned=1&page=2"
    )


@pytest.mark.parametrize(
    ("seconds", "words"), [(10, "just now"), (600, "10 min ago"), (7300, "2 h ago"), (86400 * 2, "2 days ago")]
)
def test_times_are_told_as_people_do(seconds: float, words: str) -> None:
    assert amounts.describe_age(1e9 - seconds, 1e9) == words
    assert amounts.describe_age(1e9 - 30 * 86400, 1e9) == amounts.format_local_time(1e9 - 30 * 86400)[:10]


def test_amounts_are_told_in_few_letters() -> None:
    assert [amounts.format_seconds(value) for value in (4.8, 59.4, 65, 3600, 7500, 300_000)] == [
        "4.8 s", "59 s", "1 min", "1 h", "2 h 5 min", "3 days",
    ]  # fmt: skip
    assert [amounts.format_size(value) for value in (830, 12_300, 3_420_000)] == ["830 B", "12 KB", "3.4 MB"]
    assert [amounts.format_usd(value) for value in (0, 0.001, 12.5, -3)] == ["$0.00", "$0.0010", "$12.50", "-$3.00"]
    assert (
        amounts.format_local_time(1e30),
        amounts.format_datetime_attribute(1e30),
        amounts.format_datetime_attribute(None),
    ) == ("unknown time", "", "")
    assert [amounts.folder_name(path) for path in ("/a/b", "C:\\x\\y\\", "", None)] == ["b", "y", "–", "–"]


def list_documented_keys(heading: str) -> set[str]:
    """The keys that docs/api.md lists under a heading."""
    section = (ROOT / "docs" / "api.md").read_text("utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def test_the_documents_have_the_keys_that_are_documented(shop: Folders, client: TestClient) -> None:
    found = ask(client, "/api/sessions")
    rows = {f"sessions[].{key}{'[]' if key == 'tools' else ''}" for key in found["sessions"][0]}
    assert {key for key in found if key != "sessions"} | rows == list_documented_keys("GET /api/sessions")
    told = ask(client, f"/api/s/{TWO}/health")
    assert {*told, *(f"health.{key}" for key in told["health"])} == list_documented_keys("GET /api/s/{ref}/health")
    insights = ask(client, "/api/insights?range=all")
    keys = {f"{key}[]" if isinstance(insights[key], list) and key != "hours" else key for key in insights}
    assert keys == list_documented_keys("GET /api/insights")
