"""The page of a session as a place to stay: its bar, rail, palette, densities, and an address that follows reading."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server, record_folders, start_indexed

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

LONG, HUGE, BRANCHED, CROWDED = (f"cccccccc-0000-4000-8000-00000000000{n}" for n in (1, 2, 3, 4))
TURNS = 300
AGENTS = 1100


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def long_session() -> bytes:
    build = Build(step=1)
    for number in range(TURNS):
        build.prompt(f"Question {number}", f"p-{number}")
        thought = {"type": "thinking", "thinking": f"I think about {number}.", "signature": "x"}
        build.answer(thought, uuid=f"t-{number}")
        build.call(f"c{number}", "Bash", {"command": f"cat part-{number}"}, uuid=f"a-{number}")
        build.result(f"c{number}", f"output {number}\n" * 3, error=number == 5)
        said = f"Part {number} is **fine**. Quail {number}."
        build.answer(said, uuid=f"b-{number}", usage={"input_tokens": 100 + number, "output_tokens": 9})
    build.note("last-prompt", lastPrompt="the ptarmigan hides here", leafUuid="b-299")
    build.note("custom-title", customTitle="The long read")
    return encode_lines(build.lines).replace(SESSION.encode(), LONG.encode())


def huge_session() -> bytes:
    build = Build()
    build.prompt("x" * 2_000_000, "p1")
    build.answer("Thanks.", uuid="b1")
    build.note("custom-title", customTitle="The unbroken word")
    return encode_lines(build.lines).replace(SESSION.encode(), HUGE.encode()).replace(b"msg-", b"msg-huge-")


def branched_session() -> bytes:
    build = Build()
    build.prompt("one", "p1")
    fork = build.answer("1", uuid="a1")
    build.prompt("left", "p2")
    build.answer("2", uuid="a2")
    build.prompt("right", "p3", parent=fork)
    build.answer("3", uuid="a3")
    return encode_lines(build.lines).replace(SESSION.encode(), BRANCHED.encode()).replace(b"msg-", b"msg-branched-")


def crowded_session() -> bytes:
    build = Build(step=1)
    build.prompt("Start many", "p1")
    for number in range(AGENTS):
        build.call(f"a{number}", "Agent", {"description": f"Look at part {number}", "prompt": "Look."})
        build.result(f"a{number}", "Done.", toolUseResult={"status": "completed", "agentId": f"b{number:06}"})
    build.note("custom-title", customTitle="The crowd")
    return encode_lines(build.lines).replace(SESSION.encode(), CROWDED.encode()).replace(b"msg-", b"msg-crowd-")


def agent_file(number: int) -> bytes:
    entry = {
        "type": "user", "uuid": f"w{number}", "parentUuid": None, "isSidechain": True, "agentId": f"b{number:06}",
        "sessionId": CROWDED, "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "Look."},
    }  # fmt: skip
    return json.dumps(entry).encode() + b"\n"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    found = record_folders(tmp_path_factory.mktemp("shell"), ("2.1.325/agents", "2.1.325/plain"))
    found.add(LONG, long_session())
    found.add(HUGE, huge_session())
    found.add(BRANCHED, branched_session())
    agents = found.add(CROWDED, crowded_session()).with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    for number in range(AGENTS):
        (agents / f"agent-b{number:06}.jsonl").write_bytes(agent_file(number))
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def open_page(page: Page, uuid: str, rest: str = "", width: int = 1440) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/s/{uuid}{rest}")
    expect(page.locator(".outline-list ol.windowed")).to_be_attached()


# -- reading starts at once


@pytest.mark.parametrize(("width", "most"), [(1440, 120), (1024, 120), (390, 120)])
def test_the_conversation_starts_near_the_top(page: Page, width: int, most: int) -> None:
    open_page(page, LONG, width=width)
    bar = page.locator(".session-bar").bounding_box()
    first = page.locator(".turn-head").first.bounding_box()
    assert bar is not None
    assert first is not None
    assert bar["height"] <= 50
    assert first["y"] <= most
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1440, 1024])
def test_the_bar_has_room_for_cost_and_context_beside_a_long_title(page: Page, width: int) -> None:
    open_page(page, LONG, width=width)
    page.locator(".session-bar h1").evaluate("(title) => (title.textContent = 'A very long title '.repeat(20))")
    end = page.locator(".chips").bounding_box()
    assert end is not None
    for words in ("webshop", "turns", "call", "$", "context"):
        chip = page.locator(".chips .chip", has_text=words).first.bounding_box()
        assert chip is not None
        assert chip["y"] < end["y"] + end["height"], words
        assert chip["x"] + chip["width"] <= end["x"] + end["width"] + 1, words


def test_the_chart_is_there_on_request_and_stays_after_a_reload(page: Page) -> None:
    open_page(page, LONG)
    expect(page.locator("section.chart")).to_be_hidden()
    page.keyboard.press("w")
    expect(page.locator("section.chart svg.plot")).to_be_visible()
    page.reload()
    expect(page.locator("section.chart svg.plot")).to_be_visible()


def test_the_rail_lists_the_other_sessions_and_keys_lead_to_them(page: Page) -> None:
    open_page(page, LONG)
    here = page.locator(".rail-list a[aria-current]")
    expect(here).to_have_attribute("data-ref", LONG)
    refs = page.locator(".rail-list a").evaluate_all("links => links.map((link) => link.dataset.ref)")
    place = refs.index(LONG)
    key, goal = ("]", refs[place + 1]) if place + 1 < len(refs) else ("[", refs[place - 1])
    page.keyboard.press(key)
    page.wait_for_url(re.compile(goal))
    expect(page.locator(".rail-list a[aria-current]")).to_have_attribute("data-ref", goal)


def test_the_rail_shows_the_current_session_without_moving_the_page(page: Page) -> None:
    open_page(page, LONG)
    refs = page.locator(".rail-list a").evaluate_all("links => links.map((link) => link.dataset.ref)")
    for ref in refs:
        page.set_viewport_size({"width": 1440, "height": 300})
        page.goto(f"/s/{ref}")
        here = page.locator(".rail-list a[aria-current]")
        expect(here).to_have_attribute("data-ref", ref)
        assert page.evaluate("scrollY") == 0, ref
        list_box, box = page.locator(".rail-list").bounding_box(), here.bounding_box()
        assert list_box is not None
        assert box is not None
        assert list_box["y"] <= box["y"] <= list_box["y"] + list_box["height"]


def test_the_rail_filters_groups_and_can_be_put_away(page: Page) -> None:
    open_page(page, LONG)
    page.get_by_label("Filter sessions").fill("unbroken")
    expect(page.locator(".rail-list a")).to_have_count(1)
    page.get_by_label("Filter sessions").fill("")
    page.get_by_label("Group the sessions").select_option("project")
    expect(page.locator(".rail-group").first).to_have_text(re.compile("webshop|demo"))
    expect(page.locator(".rail-facts").first).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d · [0-9]+ prompts?$"))
    page.locator("h1").click()
    page.keyboard.press("b")
    expect(page.locator(".rail")).to_be_hidden()
    page.reload()
    expect(page.locator(".outline-list ol.windowed")).to_be_attached()
    expect(page.locator(".rail")).to_be_hidden()


# -- turns and densities


def test_a_turn_says_what_it_consists_of(page: Page) -> None:
    open_page(page, LONG, "?turn=6#t-6")
    expect(page.locator("#t-6 .work")).to_have_text("1 thought, 1 call (1 failed)")


def test_a_folded_turn_has_one_row_for_each_step(page: Page) -> None:
    open_page(page, LONG)
    answer = page.locator("#i-b-0")
    expect(answer.locator(".prose")).to_be_visible()
    page.locator("#t-1 .turn-fold").click()
    expect(page.locator("#t-1 .turn-fold")).to_have_attribute("aria-expanded", "false")
    expect(answer.locator(".prose")).to_be_hidden()
    expect(page.locator("#i-a-0 .card .size")).to_have_text(re.compile("~.* tokens"))
    expect(page.locator("#i-b-1 .prose")).to_be_visible()  # another turn
    answer.locator(".step").click()
    expect(answer.locator(".prose")).to_be_visible()
    page.locator("#t-1 .turn-fold").click()
    expect(answer.locator(".step")).to_be_hidden()


def test_a_density_is_remembered_and_holds_for_windows_that_come_later(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("v")
    expect(page.locator(".session")).to_have_attribute("data-density", "steps")
    expect(page.locator("#i-b-0 .prose")).to_be_hidden()
    page.keyboard.press("End")
    expect(page.locator("#i-b-299")).to_be_attached()
    expect(page.locator("#i-b-299 .prose")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"at=[ptab]-29\d"))
    page.reload()
    expect(page.locator(".session")).to_have_attribute("data-density", "steps")
    page.keyboard.press("v")
    expect(page.locator("#i-a-299 details.card")).to_have_attribute("open", "")


def test_amounts_are_words(page: Page) -> None:
    open_page(page, LONG)
    expect(page.locator("#i-b-0 .used .tokens")).to_have_text(re.compile(r" in, (\d+ out|out unknown)$"))
    assert "→" not in page.locator(".transcript").inner_text()


# -- never losing the place


def test_the_address_follows_reading_and_a_reload_returns_there(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("g")
    page.keyboard.press("g")
    page.get_by_label("Turn number").fill("200")
    page.keyboard.press("Enter")
    expect(page.locator("#t-200")).to_be_in_viewport()
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 3000)
    expect(page).to_have_url(re.compile(r"at=[ptab]-2\d\d"))
    with page.expect_event("load"):  # the address may still follow; the reload leads to what it says at that moment
        page.evaluate("setTimeout(() => { sessionStorage.setItem('at', location.hash); location.reload(); })")
    key = unquote(page.evaluate("sessionStorage.getItem('at')")).removeprefix("#i-")
    expect(page.locator(f"[id='i-{key}']")).to_be_in_viewport()


def test_back_from_another_session_returns_to_the_place(page: Page) -> None:
    open_page(page, LONG, "#i-b-150")
    expect(page.locator("#i-b-150")).to_be_in_viewport()
    expect(page).to_have_url(re.compile("b-150"))
    page.goto(f"/s/{BRANCHED}")
    expect(page.locator("h1")).to_be_visible()
    page.go_back()
    expect(page.locator("#i-b-150")).to_be_in_viewport()


def test_a_call_has_a_link_that_opens_it(page: Page) -> None:
    open_page(page, LONG)
    link = page.locator("#i-a-3 .call-link").get_attribute("href") or ""
    page.goto(link)
    expect(page.locator("#i-a-3 details.card")).to_have_attribute("open", "")
    expect(page.locator("#i-a-3 details.card")).to_be_in_viewport()


def test_short_ids_and_last_are_addresses(page: Page) -> None:
    page.goto(f"/s/{LONG[:8]}?turn=2")
    expect(page.get_by_role("link", name="The long read")).to_be_visible()  # three sessions begin like this
    page.goto("/s/The%20long%20read")
    expect(page.locator("h1")).to_have_text("The long read")
    page.goto("/s/last")
    expect(page.locator(".session-bar h1")).to_be_visible()


# -- finding


def test_the_current_hit_is_painted_above_the_others(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("/")
    page.keyboard.type("Quail 7")
    expect(page.locator(".find-here output")).to_have_text(re.compile("found"))
    page.keyboard.press("Enter")
    expect(page.locator("article.found-here")).to_have_count(1)
    priorities = page.evaluate("['found', 'found-here'].map((name) => CSS.highlights.get(name).priority)")
    assert priorities[1] > priorities[0]


def test_hits_in_bookkeeping_are_shown_or_skipped_by_choice(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("/")
    page.keyboard.type("ptarmigan")
    expect(page.locator(".find-here output")).to_have_text("1 found")
    page.keyboard.press("Enter")
    shown = page.locator("article.meta.found-here")
    expect(shown).to_be_visible()
    expect(shown).to_be_in_viewport()
    page.locator(".find-hidden input").uncheck()
    expect(page.locator(".find-here output")).to_have_text("1 elsewhere")


def test_hits_are_counted_by_kind_and_limited_to_one(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("/")
    page.keyboard.type("29")
    expect(page.locator(".find-kinds button").first).to_be_visible()
    page.locator(".find-kinds button[data-kind=call]").click()
    expect(page.locator(".find-kinds button[data-kind=call]")).to_have_attribute("aria-pressed", "true")
    kinds = page.locator("#find-results li:visible .hit-kind").all_inner_texts()
    assert kinds
    assert all(kind.startswith("call") for kind in kinds)


# -- the palette


@pytest.mark.parametrize("path", ["/", "/search", "/insights", "/live", f"/s/{LONG}"])
def test_the_palette_opens_on_every_page_and_leads_to_a_session(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.locator("#palette-open")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("unbroken")
    expect(page.locator("#palette [role=option]").first).to_contain_text("The unbroken word")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(HUGE))


def test_the_palette_finds_turns_actions_settings_and_texts(page: Page) -> None:
    open_page(page, LONG)
    for text, heading, goal in (
        ("Question 222", "Turns", "Question 222"),
        ("export", "Actions", "Export…"),
        ("compare", "Actions", "Compare…"),
        ("density steps", "Settings", "How much to show: steps"),
        ("dark", "Settings", "Dark colours"),
        ("Quail 123", "Texts", "Quail 123"),
        ("fine quai", "Texts", "Quail"),
    ):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Go to").fill(text)
        group = page.locator(f"#palette [role=group][aria-label='{heading}']")
        expect(group.locator("[role=option]").first).to_contain_text(goal)
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("Question 222")
    expect(page.locator("#palette [role=option][aria-selected=true]")).to_contain_text("Question 222")
    page.keyboard.press("Enter")
    expect(page.locator("#t-223")).to_be_in_viewport()


def test_the_palette_changes_the_list_of_sessions(page: Page) -> None:
    page.goto("/")
    goals = {"overview": "Overview", "column models": "Column Models: on", "group": "Group by project: on"}
    for text, goal in goals.items():
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Go to").fill(text)
        group = page.locator("#palette [role=group][aria-label=Settings]")
        expect(group.locator("[role=option]")).to_have_count(1)
        expect(group).to_contain_text(goal)
        page.keyboard.press("Enter")
    expect(page.locator("#dashboard-content")).to_be_hidden()
    expect(page.locator("#sessions th.models")).to_be_visible()
    expect(page.locator("#sessions tr.group").first).to_be_visible()


# -- sub-agents, hardening


def test_sub_agents_are_a_tree_and_their_prompt_is_a_task(page: Page, folders: Folders) -> None:
    names = [path.parent.name for path in folders.projects.glob("*/*/subagents")]
    uuid = next(name for name in names if name != CROWDED)  # whose sub-agents only have a task
    open_page(page, uuid)
    page.get_by_role("tab", name="Sub-agents").click()
    tree = page.locator(".agent-tree")
    expect(tree).to_be_visible()
    expect(tree.locator("li .facts").first).to_contain_text(re.compile("finished|unfinished|failed"))
    tree.locator("li > a").first.click()
    expect(page.locator(".crumbs")).to_contain_text("sub-agent")
    expect(page.locator("article.prompt .who").first).to_contain_text("Task")
    page.locator(".crumbs a").first.click()
    page.wait_for_url(re.compile(f"/s/{uuid}$"))


def test_many_sub_agents_are_listed_page_by_page(page: Page) -> None:
    open_page(page, CROWDED)
    page.get_by_role("tab", name="Sub-agents").click()
    rows = page.locator(".agent-tree li")
    for count in (500, 1000, AGENTS):
        expect(rows).to_have_count(count)
        if count < AGENTS:
            page.get_by_role("button", name="Show more").click()
    expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_everything_unfolds_in_steps_up_to_the_last_card(page: Page) -> None:
    open_page(page, LONG)
    expect(page.locator("#i-a-5 details.card")).to_be_attached()
    page.keyboard.press("v")
    page.keyboard.press("v")
    expect(page.locator(".session")).to_have_attribute("data-density", "everything")
    expect(page.locator(".window details.card:not([open])")).to_have_count(0)
    page.keyboard.press("v")
    expect(page.locator(".session")).to_have_attribute("data-density", "reading")
    expect(page.locator(".window details.card[open]:not(.outcome-error)")).to_have_count(0)


def test_an_unbroken_word_of_two_megabytes_unfolds_piece_by_piece_and_stays_narrow(page: Page) -> None:
    open_page(page, HUGE)
    page.locator("#i-p1 details.fold > summary").click()
    expect(page.locator("#i-p1 .chunk").first).to_be_visible()
    assert page.locator("#i-p1 .chunk").count() > 50
    longest = page.evaluate(
        "Math.max(...[...document.querySelectorAll('#i-p1 .chunk')].map((e) => e.textContent.length))"
    )
    assert longest <= 4096
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_reading_is_the_same_after_other_densities(page: Page) -> None:
    open_page(page, LONG)
    cards = page.locator(".window details.card[open]")
    failed = page.locator("#i-a-5 details.card")
    failed.scroll_into_view_if_needed()
    expect(failed).to_have_attribute("open", "")
    count = cards.count()
    for density in ("steps", "everything", "reading"):
        page.keyboard.press("v")
        expect(page.locator(".session")).to_have_attribute("data-density", density)
        if density == "everything":
            expect(page.locator(".window details.card:not([open])")).to_have_count(0)
    expect(cards).to_have_count(count)
    expect(failed).to_have_attribute("open", "")


def test_the_row_of_an_answer_shows_no_signs_of_markdown(page: Page) -> None:
    open_page(page, LONG)
    row = page.locator("#i-b-3 .step .title")
    expect(row).to_have_attribute("data-first", "Part 3 is fine. Quail 3.")
