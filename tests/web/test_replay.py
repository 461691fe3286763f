"""The replay page: when each item is shown, and a player with a scrubber and the keys of a video player."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server, open_indexed, record_folders, start_indexed
from tests.web.test_session_page import FORKED, LONG, TURNS, forked_session, long_session
from turnlog.web.machine import Machine

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

SMALL = "bbbbbbbb-0000-4000-8000-000000000001"


def small_session() -> bytes:
    """Three turns; a day passes before the last."""
    build = Build(step=2)
    for number in (1, 2, 3):
        if number == 3:
            build.wait(86_400)
        build.prompt(f"Please do number {number}", f"p{number}")
        build.call(
            f"c{number}", "Bash", {"command": f"echo {number}"}, uuid=f"k{number}", usage={"input_tokens": 9_000}
        )
        build.result(f"c{number}", f"output {number}")
        build.answer(f"Number {number} is done.", uuid=f"a{number}", usage={"input_tokens": 50_000 * number})
    return encode_lines(build.lines).replace(SESSION.encode(), SMALL.encode())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    found = record_folders(tmp_path_factory.mktemp("replay"), ("2.1.325/agents", "2.1.325/compact"))
    found.add(SMALL, small_session())
    found.add(LONG, long_session().replace(SESSION.encode(), LONG.encode()))
    found.add(FORKED, forked_session().replace(SESSION.encode(), FORKED.encode()))
    return found


@pytest.fixture(scope="module")
def place(folders: Folders) -> Iterator[Machine]:
    with open_indexed(folders) as found:
        yield found


# -- the score


def test_a_score_has_a_time_for_every_item(client: TestClient) -> None:
    score = client.get(f"/api/s/{SMALL}/replay").json()
    assert score["items"] == len(score["at"]) == len(score["elapsed"]) == len(score["kinds"]) == 9
    assert score["kinds"] == "paapaapaa"
    assert score["at"] == [0, 2, 5, 7, 9, 12, 15, 17, 20], "silences of four seconds and of a day take three"
    assert score["elapsed"][-1] > 86_400
    assert (score["turns"], score["positions"]) == ([1, 2, 3], [0, 3, 6])
    assert score["steps"][:2] == [[1, 9_000], [2, 50_000]]
    assert score["window"] in (200_000, 1_000_000)


def test_a_score_is_that_of_a_branch_or_a_sub_agent(client: TestClient, folders: Folders) -> None:
    current = client.get(f"/api/s/{FORKED}/replay").json()
    other = client.get(f"/api/s/{FORKED}/replay?branch=a2").json()
    assert current["items"] == 5
    assert other["items"] == 4
    session = next(folders.projects.glob("*/*/subagents")).parent
    agent = next(session.glob("subagents/agent-*.jsonl")).stem.removeprefix("agent-")
    whole = client.get(f"/api/s/{session.name}/replay").json()
    alone = client.get(f"/api/s/{session.name}/replay?agent={agent}").json()
    assert 0 < alone["items"] != whole["items"]
    assert client.get(f"/replay/{session.name}?agent={agent}").status_code == 200


def test_compactions_are_marked(client: TestClient, folders: Folders) -> None:
    (path,) = [path for path in folders.projects.glob("*/*.jsonl") if b"compact_boundary" in path.read_bytes()]
    score = client.get(f"/api/s/{path.stem}/replay").json()
    assert score["compactions"]
    assert all(score["kinds"][position] == "c" for position in score["compactions"])


def test_a_session_that_does_not_exist_has_no_replay(client: TestClient) -> None:
    for address in ("/replay/", "/api/s/"):
        assert client.get(f"{address}eeeeeeee-0000-4000-8000-000000000000/replay"[:60]).status_code == 404


def test_the_session_page_links_to_the_replay_of_its_branch(client: TestClient) -> None:
    assert f'href="/replay/{FORKED}"' in client.get(f"/s/{FORKED}").text
    assert f'href="/replay/{FORKED}?branch=a2"' in client.get(f"/s/{FORKED}?branch=a2").text


# -- the page in a browser


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def open_replay(page: Page, rest: str = SMALL) -> Locator:
    """Open a replay at normal speed; gives what a reader sees of its items."""
    page.goto(f"/replay/{rest}")
    page.locator(".replay.ready").wait_for()
    page.locator("[name=speed]").select_option("1")  # the speed is remembered, perhaps from the test before
    return page.locator("article.item:visible")


def read_share(page: Page) -> float:
    """How much of the session was played, from 0 to 1, by the scrubber."""
    value, end = (float(page.locator(".scrub input").evaluate(f"field => field.{name}")) for name in ("value", "max"))
    return value / end


@pytest.mark.slow
def test_a_replay_starts_with_the_first_prompt_and_goes_by_messages(page: Page) -> None:
    items = open_replay(page)
    expect(items).to_have_count(1)
    expect(items.first).to_contain_text("Please do number 1")
    page.keyboard.press(".")
    expect(items).to_have_count(2)
    page.keyboard.press(".")
    expect(items.last).to_contain_text("Number 1 is done.")
    expect(page.locator(".turn-head:visible")).to_have_count(1)
    page.keyboard.press(".")
    expect(page.locator(".turn-head:visible")).to_have_count(2)
    page.keyboard.press(",")
    expect(items).to_have_count(3)
    page.get_by_role("button", name="Next message").click()
    expect(items).to_have_count(4)
    page.get_by_role("button", name="Previous message").click()
    expect(items).to_have_count(3)


@pytest.mark.slow
def test_the_meter_the_clock_and_the_turn_move_along(page: Page) -> None:
    open_replay(page)
    expect(page.locator(".where")).to_have_text("Turn 1 of 3")
    expect(page.locator(".clock")).to_have_text("0:00 / 24:00:22")
    page.keyboard.press("End")
    expect(page.locator(".where")).to_have_text("Turn 3 of 3")
    expect(page.locator(".clock")).to_have_text("24:00:22 / 24:00:22")
    expect(page.locator(".fill span")).to_have_text(re.compile("^150k of (200k|1M)$"))
    assert page.locator(".fill meter").evaluate("meter => meter.value") == 150_000
    assert read_share(page) == 1
    page.keyboard.press("Home")
    expect(page.locator(".fill span")).to_have_text(re.compile("^0 of "))


@pytest.mark.slow
def test_turns_tenths_times_and_the_scrubber_lead_anywhere(page: Page) -> None:
    items = open_replay(page)
    page.keyboard.press("n")
    expect(page.locator(".where")).to_have_text("Turn 2 of 3")
    expect(items.last).to_contain_text("Please do number 2")
    page.keyboard.press("n")
    page.keyboard.press(".")
    page.keyboard.press("p")
    expect(page.locator(".where")).to_have_text("Turn 3 of 3")
    expect(items).to_have_count(7)
    page.keyboard.press("p")
    expect(items).to_have_count(4)
    page.keyboard.press("5")
    expect(items).to_have_count(5)
    page.keyboard.press("l")
    expect(items).to_have_count(9)
    page.keyboard.press("j")
    page.keyboard.press("ArrowLeft")
    expect(items).to_have_count(3)
    page.keyboard.press("ArrowRight")
    expect(items).to_have_count(5)
    page.locator(".scrub input").fill("0")
    expect(items).to_have_count(1)
    for text, count in (("2", 4), ("0:08", 4), ("1:00", 6)):
        page.keyboard.press("g")
        page.keyboard.press("g")
        page.locator("#goto input").fill(text)
        page.keyboard.press("Enter")
        expect(items).to_have_count(count)


@pytest.mark.slow
def test_a_replay_plays_to_its_end_and_again(page: Page) -> None:
    items = open_replay(page)
    for _ in range(5):
        page.keyboard.press(">")
    expect(page.locator("[name=speed]")).to_have_value("32")
    page.keyboard.press(" ")
    expect(items).to_have_count(9)
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    page.get_by_role("button", name="Play again").click()
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    expect(items).to_have_count(9)
    page.reload()
    page.locator(".replay.ready").wait_for()
    expect(page.locator("[name=speed]")).to_have_value("32")


@pytest.mark.slow
def test_space_pauses_and_speeds_stay_in_their_range(page: Page) -> None:
    open_replay(page)
    for _ in range(9):
        page.keyboard.press("<")
    expect(page.locator("[name=speed]")).to_have_value("0.25")
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    page.locator("[name=speed]").select_option("8")
    page.keyboard.press(">")
    expect(page.locator("[name=speed]")).to_have_value("16")


@pytest.mark.slow
def test_the_address_keeps_the_place(page: Page) -> None:
    items = open_replay(page)
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("#turn=2$"))
    page.keyboard.press(".")
    expect(page).to_have_url(re.compile("#turn=2&message=2$"))
    page.reload()
    page.locator(".replay.ready").wait_for()
    expect(items).to_have_count(5)
    page.evaluate("location.hash = 'turn=3'")
    expect(items).to_have_count(7)
    page.evaluate("location.hash = 'turn=99'")
    expect(page.locator(".session-note")).to_have_text("This session has no turn 99.")


@pytest.mark.slow
def test_a_long_session_needs_only_a_few_windows(page: Page) -> None:
    items = open_replay(page, f"{LONG}#turn={TURNS - 1}")
    expect(page.locator(".where")).to_have_text(f"Turn {TURNS - 1} of {TURNS}")
    expect(items.last).to_contain_text(f"Please look at part {TURNS - 2}")
    expect(items.last).to_be_in_viewport()
    for _ in range(4):
        page.keyboard.press(".")
    expect(items.last).to_contain_text(f"part-{TURNS - 1}.txt")
    assert page.locator("article.item").count() <= 7 * 40
    page.keyboard.press("Home")
    expect(items).to_have_count(1)
    page.keyboard.press("5")
    expect(page.locator(".where")).to_have_text(re.compile(rf"Turn 22\d of {TURNS}"))
    expect(items.last).to_be_in_viewport()


@pytest.mark.slow
def test_scrolling_up_while_it_plays_stops_following(page: Page) -> None:
    open_replay(page, f"{LONG}#turn=20")
    page.locator("[name=speed]").select_option("0.25")
    page.keyboard.press(" ")
    page.mouse.move(400, 300)
    page.mouse.wheel(0, -600)
    expect(page.get_by_role("button", name="Follow")).to_be_visible()
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("button", name="Follow")).to_be_hidden()
    page.keyboard.press("k")
    expect(page.locator("article.item:visible").last).to_be_in_viewport()


@pytest.mark.slow
def test_with_reduced_motion_nothing_is_animated(browser: Browser, server: Server) -> None:
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser), reduced_motion="reduce")
    page = context.new_page()
    open_replay(page)
    page.locator("[name=speed]").select_option("0.25")
    page.keyboard.press(" ")
    page.keyboard.press(".")
    page.keyboard.press(" ")
    assert page.evaluate("document.getAnimations().length") == 0
    context.close()


@pytest.mark.slow
def test_the_deck_is_a_pure_player(page: Page) -> None:
    open_replay(page)
    told = page.evaluate(
        """async () => {
          const { deck } = await import(document.querySelector("script[src*='/replay.js']").src);
          const { Deck, formatClock, parsePlace } = await import(
            document.querySelector("link[href*='replay/deck.js']").href);
          const times = { at: [0, 1, 1, 4], elapsed: [0, 1, 1, 100] };
          const made = new Deck({ ...times, kinds: "pamp", turns: [1, 2], turn_total: 2, positions: [0, 3] });
          const seen = [made.position];
          made.passTime(9);
          seen.push(made.position);
          made.isPlaying = true;
          made.passTime(0.5);
          seen.push(made.position);
          made.speed = 2;
          made.passTime(0.25);
          seen.push(made.position);
          seen.push(made.findNeighbour(1, (position) => made.kinds[position] !== "m"));
          made.passTime(9);
          seen.push(made.position, made.isPlaying, made.turn);
          return [seen, formatClock(3661), parsePlace("1:02:03"), parsePlace("7"), parsePlace("x"), deck.speed];
        }"""
    )
    assert told == [[0, 0, 0, 2, 3, 3, False, 2], "1:01:01", {"seconds": 3723}, {"turn": 7}, None, 1]
