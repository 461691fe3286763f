"""A message of any length on a page: a part of it at first, and the rest when it is wanted."""

from __future__ import annotations

import asyncio
import html
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders
from tests.web.loops import run_apart
from turnlog.errors import NotFound
from turnlog.render.view_builder import build_item_views
from turnlog.session.session import Session
from turnlog.session.timeline.excerpt import Excerpt
from turnlog.session.timeline.timeline_builder import build_timeline
from turnlog.web.abandonment import stop_when_abandoned
from turnlog.web.machine import Machine
from turnlog.web.reading.item_parts import MAX_PAGE_TEXT_CHARS, MAX_PART_BLOCKS
from turnlog.work_progress import WorkStopped, check_for_stop, stop_work_when

if TYPE_CHECKING:
    from playwright.sync_api import Page

CALLS = 2 * MAX_PART_BLOCKS + 20
CARD = re.compile(r'<details class="card [^>]* id="(c-[^"]+)"')


def crowded_session() -> bytes:
    """One message with many calls, and their results in one line; then a long answer."""
    build = Build()
    build.prompt("Run everything.", "p1")
    calls = [
        {"type": "tool_use", "id": f"call{number}", "name": "Bash", "input": {"command": f"run {number}"}}
        for number in range(CALLS)
    ]
    build.answer(*calls, uuid="a1", stop="tool_use")
    results = [
        {"type": "tool_result", "tool_use_id": f"call{number}", "content": f"output {number}"}
        for number in range(CALLS)
    ]
    build.row("user", "r1", message={"role": "user", "content": results})
    build.answer("word " * (MAX_PAGE_TEXT_CHARS // 4), uuid="a2")
    return encode_lines(build.lines)


@pytest.fixture
def folders(folders: Folders) -> Folders:
    folders.add(SESSION, crowded_session())
    return folders


def list_rests(markup: str) -> list[tuple[str, str]]:
    """The kinds and addresses of what a page leaves out."""
    return [(kind, html.unescape(address)) for address, kind in re.findall(r'href="([^"]+)" data-rest="(\w+)"', markup)]


def test_a_message_of_many_calls_is_sent_in_parts(client: TestClient) -> None:
    page = client.get(f"/s/{SESSION}").text
    found = CARD.findall(page)
    assert len(found) == MAX_PART_BLOCKS
    assert f"Show the next {MAX_PART_BLOCKS} of {CALLS - MAX_PART_BLOCKS} more blocks" in page
    rests = list_rests(page)[:1]
    while rests:
        ((kind, address),) = rests
        assert kind == "blocks"
        part = client.get(address).text
        assert 0 < len(CARD.findall(part)) <= MAX_PART_BLOCKS
        found += CARD.findall(part)
        rests = list_rests(part)
    assert found == [f"c-call{number}" for number in range(CALLS)]


def test_a_long_text_is_cut_until_all_of_it_is_wanted(client: TestClient) -> None:
    page = client.get(f"/s/{SESSION}").text
    (address,) = [address for kind, address in list_rests(page) if kind == "item"]
    whole = client.get(address).text
    assert 1.2 * page.count("word ") < whole.count("word ")
    assert "more characters" in page
    assert "more characters" not in whole
    assert list_rests(whole) == []


def test_a_part_that_does_not_exist_is_empty(client: TestClient) -> None:
    address = f"/s/{SESSION}/item?key=a1&format=html&part=999999"
    assert CARD.findall(client.get(address).text) == []


@pytest.mark.slow
def test_the_rest_of_a_message_is_shown_on_request_and_for_a_link_to_a_call(page: Page) -> None:
    page.goto(f"/s/{SESSION}")
    page.locator("[data-rest=blocks]").click()
    page.locator(f"#c-call{2 * MAX_PART_BLOCKS - 1}").wait_for()
    page.goto(f"/s/{SESSION}?at=a1#c-call{CALLS - 1}")
    page.locator(f"#c-call{CALLS - 1}[open]").wait_for()
    assert page.locator("details.card").count() >= CALLS


def ask(handler: Any, *messages: dict[str, Any]) -> Response:
    """The answer to a request whose connection sends these messages."""
    rest = list(messages)

    async def receive() -> dict[str, Any]:
        if not rest:
            await asyncio.Event().wait()
        return rest.pop(0)

    async def run() -> Response:
        return await stop_when_abandoned(handler)(Request({"type": "http", "method": "GET", "headers": []}, receive))

    return run_apart(run())


SENT: dict[str, Any] = {"type": "http.request", "body": b"", "more_body": False}


def test_the_work_of_a_request_stops_after_the_browser_has_gone() -> None:
    def work_forever(_request: Request) -> Response:
        while True:
            check_for_stop()

    assert ask(work_forever, SENT, {"type": "http.disconnect"}).status_code == 499


def test_a_request_that_somebody_waits_for_is_answered() -> None:
    def fail(_request: Request) -> Response:
        raise NotFound("no such thing")

    assert ask(lambda _request: Response("done"), SENT).body == b"done"
    with pytest.raises(NotFound, match="no such thing"):
        ask(fail, SENT)


def test_views_and_their_blocks_are_steps_at_which_work_stops(place: Machine) -> None:
    session = Session.from_bytes(crowded_session())
    timeline = build_timeline(session)
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return steps > CALLS // 2

    def work() -> None:
        stop_work_when(count)
        with pytest.raises(WorkStopped):
            build_item_views(Excerpt.from_session(session), timeline.items, timeline.head)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert steps == CALLS // 2 + 1
