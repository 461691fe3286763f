"""The page of a session in a browser: reading to the end, folding, finding, jumping, branches, sub-agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server, record_folders, start_indexed
from turnlog.web.reading.windows import ITEMS_PER_WINDOW

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

LONG = "aaaaaaaa-0000-4000-8000-000000000001"
FORKED = "aaaaaaaa-0000-4000-8000-000000000002"
TURNS = 450
WINDOWS = -(-3 * TURNS // ITEMS_PER_WINDOW)


def long_session() -> bytes:
    """Turns of three items each; some of them fail, one thing is said only near the end."""
    build = Build(step=1)
    for number in range(TURNS):
        build.prompt(f"Please look at part {number}", f"p-{number}")
        given = {"command": f"cat part-{number}.txt"}
        build.call(f"c{number}", "Bash", given, uuid=f"a-{number}")
        build.result(f"c{number}", f"line of part {number}\n" * 8, error=number in (40, 300))
        rare = " The heron stands in the reeds." if number == TURNS - 7 else ""
        build.answer(f"Part {number} is **fine**.{rare}", uuid=f"b-{number}", usage={"input_tokens": 100 + number})
    return encode_lines(build.lines)


def forked_session() -> bytes:
    """Two ways from the first answer."""
    build = Build()
    build.prompt("Where do we begin?", "p1")
    fork = build.answer("Here.", uuid="a1")
    build.prompt("Go left", "left")
    build.answer("It is dark on the left.", uuid="a2")
    build.prompt("Go right", "right", parent=fork)
    edit = {"file_path": "/home/dana/way.txt", "old_string": "left", "new_string": "right"}
    lines = [" a way", "-left", "+right"]
    hunk = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": lines}
    made = {"filePath": edit["file_path"], "oldString": "left", "newString": "right", "structuredPatch": [hunk]}
    build.call("e1", "Edit", edit, uuid="edit")
    build.result("e1", "The file has been updated.", toolUseResult=made)
    build.answer("It is bright on the right.", uuid="a3")
    return encode_lines(build.lines)


# One machine and one server for all of these tests: they only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    names = ("2.1.325/tools", "2.1.325/agents", "2.1.325/compact")
    found = record_folders(tmp_path_factory.mktemp("reading"), names)
    found.add(LONG, long_session().replace(SESSION.encode(), LONG.encode()))
    found.add(FORKED, forked_session().replace(SESSION.encode(), FORKED.encode()))
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def read_clipboard(page: Page) -> str:
    """What was copied; pages themselves may not read it."""
    field = page.get_by_label("Search all sessions")
    field.fill("")
    field.press("ControlOrMeta+V")
    found = field.input_value()
    field.blur()
    return found


def open_page(page: Page, uuid: str, rest: str = "") -> None:
    page.goto(f"/s/{uuid}{rest}")
    expect(page.locator("article.item").first).to_be_attached()
    # The outline is filled last: then all scripts are at work.
    expect(page.locator(".outline-list ol.windowed")).to_be_attached()


def test_the_first_message_is_there_without_any_script(browser: Browser, server: Server) -> None:
    plain = browser.new_context(base_url=server.url, java_script_enabled=False, storage_state=server.entrance(browser))
    silent = plain.new_page()
    silent.goto(f"/s/{LONG}")
    expect(silent.get_by_text("Please look at part 0", exact=True).first).to_be_visible()
    silent.get_by_role("link", name="Later messages").click()
    expect(silent.get_by_text(f"Please look at part {ITEMS_PER_WINDOW // 3 + 2}", exact=True).first).to_be_visible()
    expect(silent.locator("article.item")).to_have_count(ITEMS_PER_WINDOW)
    plain.close()


def test_a_long_session_is_read_to_its_end_by_scrolling_and_the_page_stays_small(page: Page) -> None:
    open_page(page, LONG)
    most = 0
    last = page.locator(f"#i-b-{TURNS - 1}")
    for _ in range(200):
        page.mouse.move(700, 500)
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(60)
        most = max(most, page.evaluate("document.querySelectorAll('*').length"))
        if last.count() and page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2"):
            break
    expect(last).to_be_in_viewport()
    assert page.locator("section.window").count() == WINDOWS
    assert page.locator("section.window:not(.empty)").count() <= 6
    assert most < 45_000


def test_scrolling_meets_every_item_in_order(page: Page) -> None:
    open_page(page, LONG)
    seen: list[str] = []
    for _ in range(36):
        found = page.evaluate(
            "[...document.querySelectorAll('article.item.prompt')].filter((a) => { const b = a.getBoundingClientRect();"
            " return b.bottom > 50 && b.top < innerHeight; }).map((a) => a.dataset.key)"
        )
        seen += [key for key in found if key not in seen]
        page.evaluate("scrollBy({ top: 500, behavior: 'instant' })")
        page.wait_for_timeout(60)
        expect(page.locator("section.window[aria-busy]")).to_have_count(0)
    numbers = [int(key.removeprefix("p-")) for key in seen]
    assert len(numbers) > 24
    assert numbers == list(range(len(numbers)))


def test_what_is_read_stays_where_it_is_while_windows_above_come(page: Page) -> None:
    open_page(page, LONG, "#i-p-200")
    article = page.locator("#i-p-200")
    expect(article).to_be_in_viewport()
    page.wait_for_timeout(400)
    first = article.bounding_box()
    page.wait_for_timeout(600)
    later = article.bounding_box()
    assert first is not None
    assert later is not None
    assert abs(first["y"] - later["y"]) < 2
    assert 40 < later["y"] < 200


def test_end_and_home_go_to_the_last_and_first_message(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("End")
    expect(page.locator(f"#i-b-{TURNS - 1}")).to_be_in_viewport()
    expect(page.locator(".outline-list a[aria-current]")).to_have_attribute("data-turn", str(TURNS))
    page.keyboard.press("Home")
    expect(page.locator("h1")).to_be_in_viewport()


def test_a_permalink_leads_to_the_last_item(page: Page) -> None:
    open_page(page, LONG, f"#i-b-{TURNS - 1}")
    expect(page.locator(f"#i-b-{TURNS - 1}")).to_be_in_viewport()
    expect(page.locator(f"#i-b-{TURNS - 1}")).to_be_focused()


def test_an_entry_inside_of_an_item_has_a_permalink_too(page: Page, folders: Folders) -> None:
    """The uuid of a result leads to the message with its call."""
    result = next(
        line["uuid"]
        for line in map(_decode_line, _lines(folders, LONG))
        if "c222" in str(line) and line["type"] == "user"
    )
    open_page(page, LONG, f"#i-{result}")
    expect(page.locator("#i-a-222")).to_be_in_viewport()


def test_keys_step_through_messages_and_turns(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("n")
    expect(page.locator("#t-2")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#i-p-1")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#i-a-1")).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#i-p-1")).to_be_focused()
    page.keyboard.press("p")
    expect(page.locator("#t-1")).to_be_focused()


def test_stepping_goes_over_the_border_of_a_window(page: Page) -> None:
    open_page(page, LONG, "#i-p-33")
    expect(page.locator("#i-p-33")).to_be_focused()
    for key in ("a-33", "b-33", "p-34"):
        page.keyboard.press("j")
        expect(page.locator(f"#i-{key}")).to_be_focused()


def test_e_goes_to_the_next_error_however_far(page: Page) -> None:
    open_page(page, LONG)
    for number in (40, 300):
        page.keyboard.press("e")
        expect(page.locator(f"#i-a-{number}")).to_be_focused()
        expect(page.locator(f"#i-a-{number} details.card")).to_have_attribute("open", "")
    page.keyboard.press("e")
    expect(page.locator(".session-note")).to_have_text("No later error.")
    page.keyboard.press("Shift+E")
    expect(page.locator("#i-a-40")).to_be_focused()


def test_g_goes_to_a_turn_by_its_number(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("g")
    page.keyboard.press("g")
    page.get_by_label("Turn number").fill("321")
    page.keyboard.press("Enter")
    expect(page.locator("#t-321")).to_be_in_viewport()


def test_a_text_far_away_is_found_and_marked(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("/")
    page.keyboard.type("HERON stands")
    expect(page.locator(".find-here output")).to_have_text("1 found")
    page.keyboard.press("Enter")
    expect(page.locator(f"#i-b-{TURNS - 7}")).to_be_in_viewport()
    expect(page.locator(".find-here output")).to_have_text("1 of 1")
    assert page.evaluate("CSS.highlights.get('found-here').size") == 1
    page.keyboard.press("Escape")
    expect(page.locator("#find-results")).to_be_hidden()


def test_found_texts_are_stepped_through_in_both_directions(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("/")
    page.keyboard.type("cat part-20")
    status = page.locator(".find-here output")
    expect(status).to_have_text("11 found")
    page.keyboard.press("Enter")
    expect(status).to_have_text("1 of 11")
    page.keyboard.press("Enter")
    expect(page.locator("#i-a-200")).to_be_in_viewport()
    expect(page.locator("#i-a-200 details.card")).to_have_attribute("open", "")
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#i-a-20")).to_be_in_viewport()


def test_the_last_step_wins_when_an_earlier_window_arrives_late(page: Page) -> None:
    held: list[Any] = []
    pattern = f"**/window/{3 * 250 // ITEMS_PER_WINDOW}*"
    page.route(pattern, lambda route: held.append(route))
    open_page(page, LONG)
    page.keyboard.press("/")
    page.keyboard.type("of part 25")
    status = page.locator(".find-here output")
    expect(status).to_have_text(re.compile("found"))
    page.keyboard.press("Enter")  # part 25 is in a window that is loaded
    with page.expect_request(pattern):
        page.keyboard.press("Enter")  # part 250 is not, and its window has to wait
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#i-a-25")).to_be_in_viewport()
    for route in held:
        route.continue_()
    expect(page.locator("#i-a-250")).to_be_attached()
    expect(page.locator("#i-a-25")).to_be_in_viewport()


def test_the_outline_filters_turns_and_leads_to_them(page: Page) -> None:
    open_page(page, LONG)
    page.get_by_label("Filter turns by words").fill("part 44")
    expect(page.locator(".outline-count")).to_have_text("14 of 450 turns")
    page.locator(".outline-list a[data-turn='445']").click()
    expect(page.locator("#t-445")).to_be_in_viewport()
    page.get_by_label("Filter turns by words").fill("")
    page.get_by_label("with errors").check()
    expect(page.locator(".outline-list a")).to_have_count(2)


def test_the_outline_has_only_the_rows_that_can_be_seen(page: Page) -> None:
    open_page(page, LONG)
    assert 5 < page.locator(".outline-list li").count() < 60
    page.locator(".outline-list").evaluate("(list) => { list.scrollTop = list.scrollHeight; }")
    expect(page.locator(f".outline-list a[data-turn='{TURNS}']")).to_be_visible()


def test_the_chart_leads_to_a_message(page: Page) -> None:
    open_page(page, LONG)
    page.get_by_role("button", name="Chart of context and cost").click()
    plot = page.locator(".context-chart svg.plot")
    expect(plot).to_be_visible()
    box = plot.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 40)
    expect(page.locator("article.current")).to_have_attribute("data-key", re.compile(r"-33\d$"))


def test_the_minimap_leads_to_a_place(page: Page) -> None:
    open_page(page, LONG)
    page.mouse.wheel(0, 600)
    box = page.locator(".minimap").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 4, box["y"] + box["height"] * 0.5)
    expect(page.locator("article.current")).to_have_attribute("data-key", re.compile(r"-22\d$"))


def test_cards_unfold_one_by_one_and_all_at_once_also_those_that_come_later(page: Page) -> None:
    open_page(page, LONG)
    card = page.locator("#i-a-0 details.card")
    expect(card).not_to_have_attribute("open", "")
    card.locator("summary").first.click()
    expect(card.get_by_text("line of part 0").first).to_be_visible()
    page.keyboard.press("x")
    expect(page.locator("#i-a-5 details.card")).to_have_attribute("open", "")
    page.keyboard.press("End")
    expect(page.locator(f"#i-a-{TURNS - 1} details.card")).to_have_attribute("open", "")
    page.keyboard.press("x")
    expect(page.locator(f"#i-a-{TURNS - 1} details.card")).not_to_have_attribute("open", "")


def test_enter_unfolds_the_message_but_leaves_links_and_buttons_alone(page: Page) -> None:
    open_page(page, LONG, "#i-a-3")
    expect(page.locator("#i-a-3")).to_be_focused()
    card = page.locator("#i-a-3 details.card")
    page.keyboard.press("Enter")
    expect(card).to_have_attribute("open", "")
    card.locator("> summary").focus()
    page.keyboard.press("Enter")
    expect(card).not_to_have_attribute("open", "")


def test_the_link_of_a_message_is_copied_and_leads_back_to_it(page: Page) -> None:
    open_page(page, LONG, "#i-b-100")
    article = page.locator("#i-b-100")
    article.hover()
    article.locator("a.permalink").click()
    expect(page.locator(".session-note")).to_have_text("Link copied.")
    page.goto(read_clipboard(page))
    expect(page.locator("#i-b-100")).to_be_in_viewport()


def test_the_help_explains_each_key_once(page: Page) -> None:
    open_page(page, LONG)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    names = page.locator("#keys dt").all_inner_texts()
    assert len(names) == len({*names})
    expect(page.locator("#keys dl")).to_contain_text("show or hide thinking")


def test_a_branch_is_switched_at_the_fork(page: Page) -> None:
    open_page(page, FORKED)
    expect(page.get_by_text("It is bright on the right.")).to_be_visible()
    expect(page.get_by_text("It is dark on the left.")).to_have_count(0)
    page.get_by_text("branch 2 of 2 from here").click()
    page.get_by_role("link", name="Go left").click()
    expect(page.get_by_text("It is dark on the left.")).to_be_visible()
    expect(page.get_by_text("It is bright on the right.")).to_have_count(0)
    expect(page.locator("#i-left")).to_be_in_viewport()
    expect(page.get_by_role("combobox", name="Branch")).to_have_value("a2")


def test_turns_count_the_same_on_every_branch_and_page(page: Page) -> None:
    for rest, last in (("", 3), ("?branch=a2", 2)):
        open_page(page, FORKED, rest)
        expect(page.locator(".session-bar .chip", has_text="turns")).to_have_text("3 turns, 2 on this branch")
        expect(page.locator(".outline-count")).to_have_text("2 turns on this branch")
        expect(page.locator(".session-where")).to_have_text("Turn 1 of 3")
        for _ in range(2):
            page.keyboard.press("n")
        expect(page.locator(".session-where")).to_have_text(f"Turn {last} of 3")
        page.goto(f"/replay/{FORKED}{rest}#turn={last}")
        expect(page.locator(".where")).to_have_text(f"Turn {last} of 3")
    page.goto("/")
    row = page.locator("tr", has=page.locator(f"a[href='/s/{FORKED}']"))
    row.scroll_into_view_if_needed()
    expect(row.locator(".turn-count")).to_have_text("3")
    open_page(page, LONG)
    expect(page.locator(".session-bar .chip", has_text="turns")).to_have_text(f"{TURNS} turns")


def test_a_permalink_into_another_branch_leads_there(page: Page) -> None:
    page.goto(f"/s/{FORKED}#i-a2")
    expect(page).to_have_url(re.compile("branch=a2"))
    expect(page.get_by_text("It is dark on the left.")).to_be_visible()


def test_a_sub_agent_opens_inside_of_its_card(page: Page, folders: Folders) -> None:
    open_page(page, _with_agents(folders))
    card = page.locator("details.card:has(details.agent)").first
    if card.get_attribute("open") is None:
        card.locator("> summary").click()
    agent = card.locator("details.agent").first
    agent.locator("> summary").click()
    expect(agent.locator(".nested article.item").first).to_be_visible()
    agent.get_by_role("link", name="Open separately").click()
    expect(page.locator(".crumbs")).to_contain_text("sub-agent")
    expect(page.locator("h1")).to_have_count(1)


def test_the_raw_entry_of_a_message_is_shown_and_copied(page: Page) -> None:
    open_page(page, LONG, "#i-p-3")
    expect(page.locator("#i-p-3")).to_be_focused()
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog", name="Raw entry")
    expect(dialog).to_contain_text("parentUuid")
    dialog.get_by_role("button", name="Copy").click()
    expect(page.locator(".session-note")).to_have_text("Copied.")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert '"uuid":"p-3"' in read_clipboard(page)


def test_a_message_is_copied_as_markdown_and_the_command_to_resume_too(page: Page) -> None:
    open_page(page, LONG, "#i-b-3")
    expect(page.locator("#i-b-3")).to_be_focused()
    page.keyboard.press("c")
    expect(page.locator(".session-note")).to_have_text("Copied as Markdown.")
    assert "Part 3 is **fine**." in read_clipboard(page)
    page.keyboard.press("Home")
    page.get_by_role("button", name="Copy claude --resume").click()
    expect(page.locator(".session-note")).to_have_text("Copied.")
    assert read_clipboard(page) == f"cd /home/dana/webshop && claude --resume {LONG}"


def test_times_are_dates_or_how_long_ago(page: Page) -> None:
    open_page(page, LONG)
    time = page.locator("#t-1 time")
    expect(time).to_have_text(re.compile(r"^2026-01-01 \d\d:\d\d$"))
    page.keyboard.press("d")
    expect(time).to_have_text(re.compile("ago|month|year"))
    page.keyboard.press("d")
    expect(time).to_have_text(re.compile(r"^2026-01-01 \d\d:\d\d$"))


def test_book_keeping_is_shown_on_request(page: Page, folders: Folders) -> None:
    open_page(page, _with_agents(folders))
    meta = page.locator("article.meta").first
    expect(meta).to_be_hidden()
    page.keyboard.press("m")
    expect(meta).to_be_visible()


def test_a_change_of_a_file_is_shown_in_two_ways(page: Page) -> None:
    open_page(page, FORKED)
    diff = page.locator("#i-edit .diff")
    expect(diff.locator(".unified")).to_be_visible()
    diff.get_by_label("side by side").check()
    expect(diff.locator(".split")).to_be_visible()
    expect(diff.locator(".unified")).to_be_hidden()


def test_on_a_phone_the_outline_is_a_drawer(page: Page) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    open_page(page, LONG)
    outline = page.get_by_role("navigation", name="Outline")
    expect(outline).to_be_hidden()
    page.get_by_role("button", name="Outline", exact=False).first.click()
    expect(outline).to_be_visible()
    page.locator(".outline-list a").nth(4).click()
    expect(page.locator("#t-5")).to_be_in_viewport()
    expect(outline).to_be_hidden()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 380


def test_a_window_that_fails_can_be_asked_for_again(page: Page, complaints: list[str]) -> None:
    # Before the page opens: an open page may send a request before it learns that requests are intercepted.
    page.route(f"**/window/{WINDOWS - 1}*", lambda route: route.fulfill(status=503, body="gone"))
    open_page(page, LONG)
    page.keyboard.press("End")
    again = page.get_by_role("button", name="Try again")
    expect(again).to_be_visible()
    page.unroute(f"**/window/{WINDOWS - 1}*")
    again.click()
    expect(page.locator(f"#i-b-{TURNS - 1}")).to_be_attached()
    complaints.clear()


def _with_agents(folders: Folders) -> str:
    return next(path.parent.name for path in sorted(folders.projects.glob("*/*/subagents")))


def _lines(folders: Folders, uuid: str) -> list[str]:
    return Path(next(folders.projects.glob(f"*/{uuid}.jsonl"))).read_text("utf-8").splitlines()


def _decode_line(line: str) -> dict[str, Any]:
    import json

    found: dict[str, Any] = json.loads(line)
    return found
