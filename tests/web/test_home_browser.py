"""The home page in a browser: a truthful first minute, one's place in the list, whole rows, columns, the overview."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.session.build import Build
from tests.web.conftest import Complaints, Folders, Server, record_folders, start, start_indexed
from turnlog.web.home.session_list import PAGE_SIZE

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow

MANY = 400


def talk(number: int, filling: int = 0) -> bytes:
    build = Build()
    build.wait(number * 10_000)
    build.prompt(f"Please look at part {number}", uuid=f"p-{number}")
    build.answer("It is fine. " + "word " * filling, usage={"input_tokens": 1000, "output_tokens": 100})
    build.note("custom-title", customTitle=f"Session number {number}")
    return build.data().replace(b"msg-", f"msg-{number}-".encode())


# One machine and one server for all tests that only read.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    found = record_folders(tmp_path_factory.mktemp("home"))
    for number in range(MANY):
        found.add(f"aaaaaaaa-0000-4000-8000-{number:012}", talk(number), f"-home-dana-part{number % 5}")
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def test_on_a_cold_start_every_session_is_listed_and_nothing_contradicts_until_the_index_has_read_them(
    browser: Browser, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    folders = Folders(tmp_path / "claude", tmp_path / "turnlog")
    for number in range(300):
        folders.add(f"bbbbbbbb-0000-4000-8000-{number:012}", talk(number, 20_000), f"-home-dana-part{number % 3}")
    server = start(folders)
    context = browser.new_context(base_url=server.url)
    page = context.new_page()
    complaints = Complaints()
    complaints.watch(page)
    # Every state that the page ever shows is recorded by the page itself, so that none is missed.
    page.add_init_script(
        """
        window.seen = new Set();
        addEventListener("DOMContentLoaded", () => {
          const text = (id) => document.getElementById(id).textContent.trim().replace(/\\s+/g, " ");
          const look = () => window.seen.add(JSON.stringify([
            text("head"), text("count"), document.querySelectorAll("tr.session").length,
            document.querySelectorAll("tr.provisional").length,
            document.getElementById("progress").hidden ? "" : text("progress-words")]));
          look();
          new MutationObserver(look).observe(document.querySelector("main"),
            { childList: true, subtree: true, attributes: true, characterData: true });
        });
        """
    )
    page.goto(server.address)
    expect(page.locator("#head")).to_have_text(re.compile(r"^\s*300 sessions in \d projects?\s*$"))
    expect(page.locator("#progress")).to_be_hidden()
    expect(page.locator("tr.provisional")).to_have_count(0)
    expect(page.locator("tr.session").first).to_contain_text("$")
    seen = [tuple(item) for item in page.evaluate("[...window.seen].map((item) => JSON.parse(item))")]
    assert seen
    for head, count, rows, _, progress in seen:
        if rows:
            assert not progress.startswith("Looking"), progress
            assert head.startswith("300 sessions"), head
            assert count.startswith("300 sessions"), count
        else:
            assert head.startswith("Looking for sessions"), head
    assert not complaints
    context.close()
    server.stop()


def test_while_the_index_is_built_rows_are_marked_and_there_is_a_progress_bar(folders: Folders, tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from turnlog.store.index.file_changes import find_index_changes
    from turnlog.web.app import build_application
    from turnlog.web.machine import Machine

    place = Machine([folders.config], tmp_path / "turnlog")
    find_index_changes(place.store.db, place.config_dirs)
    place.state = place.state._replace(phase="indexing", done=1, total=10)
    client = TestClient(build_application(place))
    found = client.get("/api/sessions").json()
    assert found["total"] >= MANY
    assert all(row["provisional"] for row in found["sessions"])
    assert any(row["title"].startswith("Session number") for row in found["sessions"])
    assert {row["project"] for row in found["sessions"]} >= {"/home/dana/webshop"}
    text = client.get("/").text
    assert text.count("not read yet") > PAGE_SIZE
    assert 'id="progress" role="status">' in text
    place.store.refresh(place.config_dirs)
    place.state = place.state._replace(phase="idle")
    assert not any(row["provisional"] for row in client.get("/api/sessions").json()["sessions"])
    place.close()


def open_home(page: Page, path: str = "/") -> None:
    """Open the list, and wait until it shows an index that is up to date."""
    from playwright.sync_api import expect

    page.goto(path)
    expect(page.locator("#sessions")).to_have_attribute("data-phase", re.compile("idle|timelines"))
    expect(page.locator("tbody[data-page]").first).to_be_attached()


def find_top_row(page: Page) -> tuple[str, float]:
    """The first row below the sticky head, and where it is."""
    ref, top = page.evaluate(
        """() => {
          const line = document.querySelector("#sessions thead th").getBoundingClientRect().bottom;
          for (const row of document.querySelectorAll("tr.session")) {
            const box = row.getBoundingClientRect();
            if (box.bottom > line) return [row.dataset.ref, box.top];
          }
          return ["", 0];
        }"""
    )
    return str(ref), float(top)


def scroll_to_share(page: Page, share: float) -> tuple[str, float]:
    """Scroll, and wait until rows are there and no longer move."""
    page.evaluate("(share) => scrollTo(0, document.documentElement.scrollHeight * share)", share)
    before, end = ("", 0.0), time.monotonic() + 60
    while time.monotonic() < end:
        page.wait_for_timeout(250)
        is_empty = page.evaluate(
            """() => [...document.querySelectorAll("tbody[data-empty]")].some((body) => {
              const box = body.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; })"""
        )
        now = find_top_row(page)
        if now[0] and now == before and not is_empty:
            return now
        before = now
    raise AssertionError("the list did not come to rest")


def test_back_returns_to_the_same_row_filter_and_focus(page: Page) -> None:
    from playwright.sync_api import expect

    open_home(page, "/?sort=title")
    expect(page.locator("tr.session").nth(PAGE_SIZE - 1)).to_be_attached()
    ref, top = scroll_to_share(page, 0.7)
    page.mouse.click(300, 500)  # a row in the middle of the window, so that nothing scrolls
    page.wait_for_url(re.compile("/s/"))
    page.go_back()
    page.wait_for_url(re.compile(r"/\?sort=title"))
    row = page.locator(f'tr.session[data-ref="{ref}"]')
    expect(row).to_be_in_viewport()
    end = time.monotonic() + 60
    while abs(find_top_row(page)[1] - top) > 2 or find_top_row(page)[0] != ref:
        assert time.monotonic() < end, (find_top_row(page), (ref, top))
        page.wait_for_timeout(100)


def test_a_click_anywhere_on_a_row_opens_its_session(page: Page) -> None:
    open_home(page, "/?q=number+377")
    row = page.locator("tr.session").first
    box = row.locator("td.cost").bounding_box()
    assert box
    page.mouse.click(box["x"] + 5, box["y"] + box["height"] - 5)
    page.wait_for_url(re.compile(r"/s/aaaaaaaa-0000-4000-8000-000000000377"))


def test_only_pages_near_the_view_have_rows_and_the_scroll_bar_is_as_long_as_the_list(page: Page) -> None:
    from playwright.sync_api import expect

    open_home(page)
    expect(page.locator("tbody[data-page]")).to_have_count(-(-(MANY + 6) // PAGE_SIZE))
    assert page.locator("tr.session").count() < MANY
    high = page.evaluate("document.documentElement.scrollHeight")
    assert high > MANY * 40
    scroll_to_share(page, 1.0)
    expect(page.locator("tbody[data-page]").last.locator("tr.session").first).to_be_attached()
    assert abs(page.evaluate("document.documentElement.scrollHeight") - high) < high / 10


def test_chosen_columns_and_a_folded_overview_are_remembered(page: Page) -> None:
    from playwright.sync_api import expect

    open_home(page)
    expect(page.locator("td.tools").first).to_be_hidden()
    page.locator("#columns summary").click()
    page.get_by_role("checkbox", name="Tools").check()
    expect(page.locator("td.tools").first).to_be_visible()
    page.keyboard.press("Escape")
    with page.expect_response(lambda answer: "home.dashboard" in (answer.request.post_data or "")):
        page.locator("#dashboard summary").click()
    page.reload()
    expect(page.locator("td.tools").first).to_be_visible()
    expect(page.locator("#dashboard .cards")).to_be_hidden()
    page.keyboard.press("d")
    expect(page.locator("#dashboard .cards")).to_be_visible()
    page.locator("#columns summary").click()
    page.get_by_role("checkbox", name="Tools").uncheck()
    expect(page.locator("td.tools").first).to_be_hidden()


def test_choices_that_the_server_has_not_received_survive_a_reload(page: Page) -> None:
    from playwright.sync_api import expect

    held: list[Route] = []
    page.route("**/api/preferences", lambda route: held.append(route))
    open_home(page)
    page.locator("#columns summary").click()
    page.get_by_role("checkbox", name="Tools").check()
    page.keyboard.press("Escape")
    page.locator("#dashboard summary").click()
    expect(page.locator("#dashboard .cards")).to_be_hidden()
    page.reload()
    expect(page.locator("td.tools").first).to_be_visible()
    expect(page.locator("#dashboard .cards")).to_be_hidden()
    with page.expect_response(lambda answer: "/api/preferences" in answer.url) as answer:
        held[-1].continue_()
    assert answer.value.json()["values"]["home.dashboard"] is False


def test_a_day_of_the_year_filters_the_list(page: Page) -> None:
    from playwright.sync_api import expect

    open_home(page)
    day = page.locator(".year .mark:not(:has(.h0))").first
    words = day.get_attribute("data-words") or ""
    day.click()
    page.wait_for_url(re.compile(r"since=\d{4}-\d\d-\d\d&until="))
    expect(page.locator("#count .chip")).to_contain_text("active on")
    expect(page.locator("tr.session").first).to_be_visible()
    assert "$" in words
    page.locator("#count .chip").click()
    expect(page.locator("#count .chip")).to_have_count(0)


def test_rows_appear_by_themselves_when_a_session_is_written(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    folders = record_folders(tmp_path)
    server = start_indexed(folders)
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
    page = context.new_page()
    open_home(page)
    expect(page.locator("tr.session").first).to_be_visible()
    folders.add("cccccccc-0000-4000-8000-000000000001", talk(3_000_000), "-home-dana-new")
    expect(page.locator("tr.session", has_text="Session number 3000000")).to_be_visible()
    expect(page.locator("#head")).to_contain_text("7 sessions")
    context.close()
    server.stop()


def test_prompts_are_filtered_and_opened(page: Page) -> None:
    from playwright.sync_api import expect

    open_home(page)
    page.goto("/prompts")
    expect(page.locator(".prompt-list > li")).to_have_count(50)
    page.keyboard.press("f")
    page.keyboard.type("look part 377")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=look"))
    row = page.locator(".prompt-list > li")
    expect(row).to_have_count(1)
    expect(row.locator(".badge.good")).to_have_text("finished")
    expect(row).to_contain_text("$")
    button = row.get_by_role("button", name="Copy resume command")
    expect(button).to_have_attribute("data-copy", re.compile("claude --resume aaaaaaaa-0000-4000-8000-000000000377$"))
    row.locator("a.open").click()
    page.wait_for_url(re.compile("/s/aaaaaaaa-0000-4000-8000-000000000377"))
    expect(page.locator("article.item.prompt", has_text="Please look at part 377")).to_be_in_viewport()


def test_the_results_say_how_many_hits_there_are_at_least(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/search?q=fine")
    expect(page.locator(".summary")).to_contain_text(re.compile(r"hits in (at least )?[\d,]+ sessions"))
    expect(page.locator(".summary")).not_to_contain_text("+")


def test_a_panel_is_saved_as_csv_svg_and_png(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/insights?range=all")
    panel = page.locator("#stack")
    expect(panel.locator(".exports button")).to_have_count(3)
    starts = {"CSV": b"Week,All", "SVG": b"<svg", "PNG": b"\x89PNG"}
    for name, beginning in starts.items():
        with page.expect_download() as saved:
            panel.get_by_role("button", name=name).click()
        assert saved.value.suggested_filename == f"turnlog-stack.{name.lower()}"
        assert saved.value.path().read_bytes().startswith(beginning)
