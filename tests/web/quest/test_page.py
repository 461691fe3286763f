"""The quest's page with sessions that are being written: what happens in them is what its heroes play."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import Complaints, Folders, Server, record_folders, start, start_indexed
from tests.web.quest.quest_driver import (
    LiveStory,
    live_story,
    open_quest,
    read_events,
    read_state,
    send_event,
    step_frames,
    wait_for_event,
    wait_until,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NAMES = [f"{number:08d}-2222-4333-8444-555555555555" for number in range(20)]


# One machine and one server for all of these tests; each has sessions of its own.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("quest"), ("2.1.325/agents",))


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


@pytest.fixture
def story(folders: Folders, request: pytest.FixtureRequest) -> Iterator[LiveStory]:
    place = zlib.crc32(request.node.name.encode()) % 10**8
    with live_story(folders, f"{place:08d}-1111-4333-8444-555555555555", "webshop") as found:
        yield found


def hero_of(state: Any, session: str) -> Any:
    return next((hero for hero in state["party"] if hero["session"] == session), None)


def wait_for_hero(page: Page, session: str) -> Any:
    return wait_until(page, lambda: hero_of(read_state(page), session), f"hero {session}")


def plays(event: dict[str, Any], session: str) -> list[str]:
    found: list[str] = next(hero["playing"] for hero in event["heroes"] if hero["session"] == session)
    return found


def write_every_row(story: LiveStory) -> None:
    """One line, or two, for each row of the table that a transcript can cause."""
    build = story.build
    build.prompt("Ultrathink: why are the totals off?", "prompt")
    build.answer({"type": "thinking", "thinking": "Floats drift.", "signature": "s"}, stop=None)
    story.run_call("r", "Read", {"file_path": "/x/till.py"})
    story.run_call("w", "Edit", {"file_path": "/x/till.py", "old_string": "a", "new_string": "b"})
    story.run_call("b", "Bash", {"command": "make test"})
    story.run_call("f", "WebFetch", {"url": "https://example.org", "prompt": "?"})
    story.run_call("s", "Skill", {"skill": "review"})
    todos = [{"content": "Fix", "status": "pending", "activeForm": "Fixing"}]
    story.run_call("t", "TodoWrite", {"todos": todos})
    story.run_call("p", "Bash", {"command": "git push"})
    story.run_call("e", "Bash", {"command": "false"}, error=True)
    build.answer("All done.", usage={"input_tokens": 150_000, "output_tokens": 5})
    build.system("turn_duration", durationMs=4000)
    story.write()


ROWS = {
    "think": "thinking",
    "read": "casting",
    "web": "casting",
    "write": "writing",
    "bash": "attack",
    "tool": "casting",
    "ship": "pose",
    "turn_finish": "victory",
}


def test_every_row_of_the_table_leads_to_its_animation(story: LiveStory, page: Page) -> None:
    open_quest(page)
    wait_for_hero(page, story.name)
    page.locator("[data-act=pause]").click()
    write_every_row(story)
    wait_for_event(page, "turn_finish", session=story.name)
    mine = [event for event in read_events(page) if event["session"] == story.name and event["actor"] == "main"]
    found = {event["game"]: plays(event, story.name) for event in mine if event["game"] in ROWS}
    assert set(found) == set(ROWS)
    for game, animation in ROWS.items():
        assert animation in found[game], game
    hero = hero_of(read_state(page), story.name)
    assert hero["quest"]["text"].startswith("Ultrathink")
    assert hero["bubble"]["text"] == "Floats drift."
    assert [item["text"] for item in hero["todos"]] == ["Fix"]
    assert read_state(page)["banner"]["kind"] == "push"
    assert "hurt" not in plays(mine[-1], story.name), "the enemy is still on its way"
    played = {hero_of(state, story.name)["anim"] for state in step_frames(page, 60)}
    assert "hurt" in played


def test_a_hero_that_waits_says_so_and_so_does_the_title(story: LiveStory, page: Page) -> None:
    from playwright.sync_api import expect

    open_quest(page)
    wait_for_hero(page, story.name)
    question = {"question": "Which till?", "header": "Till", "options": [], "multiSelect": False}
    story.build.call("q", "AskUserQuestion", {"questions": [question]})
    story.write()
    event = wait_for_event(page, "question", session=story.name)
    assert plays(event, story.name)[0] == "waiting"
    expect(page).to_have_title(re.compile("WAITS FOR YOU"))
    expect(page.locator(".waits")).to_contain_text("Which till?")
    story.build.result("q", "The left one")
    story.build.answer("Thank you.")
    story.write()
    wait_for_event(page, "answered", session=story.name)
    expect(page).not_to_have_title(re.compile("WAITS FOR YOU"))
    expect(page.locator(".waits")).to_be_hidden()


def test_compaction_is_a_rest_of_two_seconds_at_least(story: LiveStory, page: Page) -> None:
    open_quest(page)
    wait_for_hero(page, story.name)
    page.locator("[data-act=pause]").click()
    story.build.boundary()
    story.build.summary()
    story.write()
    wait_for_event(page, "compact_end", session=story.name)
    states = step_frames(page, 60)
    played = [hero_of(state, story.name)["anim"] for state in states]
    assert played[:40] == ["rest"] * 40
    assert played[-1] != "rest"


def test_an_api_error_is_a_storm_until_the_next_answer(story: LiveStory, page: Page) -> None:
    open_quest(page)
    wait_for_hero(page, story.name)
    error = {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}}
    story.build.system("api_error", level="error", error=error, retryInMs=500, retryAttempt=1, maxRetries=10)
    story.write()
    wait_for_event(page, "error", session=story.name)
    wait_until(page, lambda: read_state(page)["storm"] > 0, "storm")
    story.build.answer("There again.")
    story.write()
    wait_for_event(page, "text", session=story.name)
    wait_until(page, lambda: not hero_of(read_state(page), story.name)["storm"], "calm")


def test_a_party_of_eight_heroes_with_twenty_companions(folders: Folders, page: Page) -> None:
    with ExitStack() as stack:
        stories = [stack.enter_context(live_story(folders, NAMES[place], f"p{place}")) for place in range(8)]
        open_quest(page)
        names = {story.name for story in stories}
        for name in names:
            wait_for_hero(page, name)
        for number in range(20):
            stories[number % 8].start_agent(f"b{number}", ("Explore", "Plan")[number % 2])

        def count_crowd() -> bool:
            party = [hero for hero in read_state(page)["party"] if hero["session"] in names]
            return len(party) == 8 and sum(len(hero["companions"]) for hero in party) == 20

        wait_until(page, count_crowd, "eight heroes and twenty companions")
        types = {one["type"] for hero in read_state(page)["party"] for one in hero["companions"]}
        assert {"Explore", "Plan"} <= types
        hero = next(hero for hero in read_state(page)["party"] if hero["session"] in names)
        agent = hero["companions"][0]
        send_event(page, "agent_finish", session=hero["session"], actor="main", agent=agent["agent"], outcome="ok")

        def list_companions() -> list[str]:
            left = hero_of(read_state(page), hero["session"])["companions"]
            return [one["agent"] for one in left]

        others = [one["agent"] for one in hero["companions"][1:]]
        wait_until(page, lambda: list_companions() == others, "only the finished companion goes")


def test_two_sessions_that_are_live_at_once_never_flip(tmp_path: Path, browser: Browser) -> None:
    folders = record_folders(tmp_path, ())
    with ExitStack() as stack:
        one, two = (stack.enter_context(live_story(folders, NAMES[place], f"till{place}")) for place in (10, 11))
        server = start(folders)
        stack.callback(server.stop)
        context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
        stack.callback(context.close)
        page = context.new_page()
        open_quest(page)
        wait_for_hero(page, one.name)
        wait_for_hero(page, two.name)
        before = [hero["session"] for hero in read_state(page)["party"]]
        first = len(read_events(page))
        for number in range(6):
            for story in (one, two):
                story.run_call(f"c{number}", "Read", {"file_path": f"/x/{number}"})
        for story in (one, two):
            story.build.answer("Over.", uuid="over")
            story.write()
            wait_for_event(page, "text", session=story.name)
        events = read_events(page)[first:]
        orders = {tuple(hero["session"] for hero in event["heroes"]) for event in events}
        assert orders == {tuple(before)}
        assert "enter" not in [event["game"] for event in events]
        assert len({event["biome"] for event in events}) == 1


def test_a_server_that_starts_again_shows_the_same_heroes_without_an_entrance(
    folders: Folders, story: LiveStory, browser: Browser, complaints: Complaints
) -> None:
    from playwright.sync_api import expect

    server = start(folders)
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
    page = context.new_page()
    complaints.watch(page)
    open_quest(page)
    wait_for_hero(page, story.name)
    root = page.locator(".quest")
    expect(root).to_have_attribute("data-connected", "true")
    assert server.stop(9) == -9
    expect(root).to_have_attribute("data-connected", "false", timeout=60_000)
    other = start(folders, "--port", str(server.port))
    try:
        context.new_page().goto(other.address)  # only another visit with a token opens the new server
        expect(root).to_have_attribute("data-connected", "true", timeout=60_000)
        story.run_call("later", "Write", {"file_path": "/x", "content": "y"})
        wait_for_event(page, "write", session=story.name)
        assert "enter" not in [event["game"] for event in read_events(page) if event["session"] == story.name]
        assert len([hero for hero in read_state(page)["party"] if hero["session"] == story.name]) == 1
    finally:
        other.stop()
    context.close()
    assert not [words for words in complaints if "net::ERR_" not in words and "403 (Forbidden)" not in words]


def test_a_hidden_tab_keeps_its_title_true_and_goes_on_when_it_is_seen_again(
    story: LiveStory, server: Server, context: Any, page: Page
) -> None:
    from playwright.sync_api import expect

    # A hidden tab gets no frames; nothing else of it stops.
    page.add_init_script(
        """(() => {
          const request = requestAnimationFrame.bind(window);
          const held = [];
          window.hold = (isHidden) => {
            window.isHeld = isHidden;
            if (!isHidden) held.splice(0).forEach((callback) => request(callback));
          };
          window.requestAnimationFrame = (callback) => (window.isHeld ? held.push(callback) : request(callback));
        })()"""
    )
    open_quest(page)
    wait_for_hero(page, story.name)
    page.evaluate("hold(true)")
    story.build.call("q", "ExitPlanMode", {"plan": "1. Look 2. Leap"})
    story.write()
    expect(page).to_have_title(re.compile("WAITS FOR YOU"), timeout=60_000)
    story.build.result("q", "Go on")
    story.build.answer("I do.")
    story.write()
    expect(page).not_to_have_title(re.compile("WAITS FOR YOU"), timeout=60_000)
    clock = read_state(page)["clock"]
    page.evaluate("hold(false)")
    wait_until(page, lambda: read_state(page)["clock"] > clock, "the world goes on")
    assert hero_of(read_state(page), story.name)["waiting"] is None


def test_the_log_says_the_same_events_as_lines(story: LiveStory, page: Page) -> None:
    from playwright.sync_api import expect

    open_quest(page)
    wait_for_hero(page, story.name)
    log = page.get_by_role("log")
    expect(log).to_have_attribute("aria-live", "polite")
    story.run_call("b", "Bash", {"command": "make test"})
    expect(log).to_contain_text("strikes with Bash", timeout=60_000)
    expect(log).to_contain_text("+15 XP")
