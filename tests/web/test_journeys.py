"""Whole ways through the app, as people go them: from the list to a session's end, to a hit, to a file."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import BROWSER_LIMIT_MS
from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Complaints, Folders, Server, forget_preferences, start
from turnlog.web.machine import Machine

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow

LONG = "bbbbbbbb-0000-4000-8000-000000000001"
ODD = "bbbbbbbb-0000-4000-8000-000000000002"
TURNS = 1_000


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def long_session() -> bytes:
    """Three thousand messages; one of them says something that no other says."""
    build = Build(step=1)
    for number in range(TURNS):
        build.prompt(f"Question {number}", f"p-{number}")
        build.call(f"c{number}", "Bash", {"command": f"make part-{number}"}, uuid=f"a-{number}")
        build.result(f"c{number}", f"made part {number}")
        rare = " The kingfisher dives." if number == 777 else ""
        build.answer(
            f"Part {number} is made.{rare}", uuid=f"b-{number}", usage={"input_tokens": 10, "output_tokens": 2}
        )
    build.note("custom-title", customTitle="The long way")
    return encode_lines(build.lines).replace(SESSION.encode(), LONG.encode())


def odd_session() -> bytes:
    """Keys, times and names that no client writes, but that a file may hold."""
    build = Build()
    build.prompt("with a colon", "one:two")
    build.answer("Answer of odd keys", uuid="a/b?c#d%20e")
    build.prompt("in another zone", "zone", timestamp="2026-01-01T23:30:00+02:00")
    build.answer("later", uuid="last one")
    return encode_lines(build.lines).replace(SESSION.encode(), ODD.encode())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("journeys")
    found = Folders(root / "claude", root / "turnlog")
    found.add(LONG, long_session())
    found.add(ODD, odd_session(), "-home-dana-odd")
    place = Machine([found.config], found.data)
    place.store.refresh(place.config_dirs)
    place.close()
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start(folders)
    yield found
    found.stop()


@pytest.fixture(scope="module")
def entrance(browser: Browser, server: Server) -> Any:
    return server.entrance(browser)


@pytest.fixture
def context(browser: Browser, server: Server, entrance: Any) -> Iterator[BrowserContext]:
    found = browser.new_context(base_url=server.url, storage_state=entrance, timezone_id="America/New_York")
    found.set_default_timeout(BROWSER_LIMIT_MS)
    forget_preferences(found, server)
    yield found
    found.close()


def ready(page: Page) -> None:
    """The scripts of a session's page are at work."""
    expect(page.locator(".outline-list ol.windowed")).to_be_attached()


def test_from_the_list_to_the_end_of_three_thousand_messages(page: Page) -> None:
    page.goto("/")
    page.locator("#filter").fill("long way")
    page.get_by_role("link", name="The long way").first.click()
    ready(page)
    expect(page.locator("h1")).to_have_text("The long way")
    for _ in range(300):
        page.evaluate("scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })")
        page.wait_for_timeout(30)
        if page.locator(f"#i-b-{TURNS - 1}").count():
            break
    expect(page.locator(f"#i-b-{TURNS - 1}")).to_be_in_viewport()
    assert page.locator("article.item").count() <= 700


def test_from_a_search_over_all_sessions_to_the_one_message_and_back(page: Page) -> None:
    page.goto("/search")
    page.locator("#q").fill("kingfisher")
    page.locator("ol.found a").first.click()
    expect(page.locator("#i-b-777")).to_be_in_viewport()
    expect(page.locator("#i-b-777")).to_contain_text("The kingfisher dives.")
    page.go_back()
    expect(page.locator("#q")).to_have_value("kingfisher")


def test_a_place_survives_a_reload(page: Page) -> None:
    page.goto(f"/s/{LONG}#i-b-500")
    expect(page.locator("#i-b-500")).to_be_in_viewport()
    page.reload()
    expect(page.locator("#i-b-500")).to_be_in_viewport()


@pytest.mark.parametrize("key", ["one:two", "a/b?c#d%20e", "last one"])
def test_a_message_of_an_odd_key_has_a_link_a_raw_entry_and_markdown(page: Page, key: str) -> None:
    page.goto(f"/s/{ODD}")
    ready(page)
    article = page.locator(f"article[data-key='{key}']")
    link = article.locator("a.permalink").get_attribute("href") or ""
    page.goto(link)
    ready(page)
    expect(article).to_be_in_viewport()
    assert page.request.get(f"/s/{ODD}/item", params={"key": key}).status == 200
    page.keyboard.press("j")
    article.locator("a[href*='/raw/']").first.evaluate("(link) => link.click()")
    expect(page.locator("#raw")).to_contain_text("parentUuid")


def test_times_are_those_of_the_reader_wherever_the_writer_was(page: Page) -> None:
    page.goto(f"/s/{ODD}")
    ready(page)
    # 23:30 in a zone two hours east of Greenwich is 16:30 in New York.
    expect(page.locator("#t-2 time")).to_have_text("2026-01-01 16:30")


def test_an_export_is_asked_for_made_saved_and_opened_as_a_file(page: Page, browser: Browser, tmp_path: Path) -> None:
    page.goto(f"/s/{ODD}")
    ready(page)
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Export…").click()
    dialog = page.get_by_role("dialog", name="Export this session")
    expect(dialog.locator(".words")).to_contain_text("the session does not change")
    with page.expect_download() as waiting:
        dialog.get_by_role("button", name="Create file").click()
    goal = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(goal)
    if goal.suffix == ".zip":
        with zipfile.ZipFile(goal) as packed:
            goal = Path(packed.extract(packed.namelist()[0], tmp_path))
    complaints = Complaints()
    alone = browser.new_context()
    file = alone.new_page()
    complaints.watch(file)
    file.goto(goal.as_uri())
    expect(file.get_by_text("Answer of odd keys")).to_be_visible()
    alone.close()
    assert not complaints


def test_a_clone_is_shown_before_it_is_made_and_then_stands_in_the_list(page: Page, folders: Folders) -> None:
    before = folders.sessions
    page.goto(f"/s/{ODD}")
    ready(page)
    page.get_by_text("Actions", exact=True).click()
    page.get_by_role("button", name="Clone…").click()
    dialog = page.get_by_role("dialog", name="Clone this session")
    dialog.get_by_label("Title").fill("Twin of the odd one")
    expect(dialog.locator(".words")).to_contain_text("Nothing was written")
    assert folders.sessions == before
    expect(dialog.get_by_role("button", name="Create clone")).to_be_enabled()
    dialog.get_by_role("button", name="Create clone").click()
    dialog.get_by_role("link", name=re.compile("Twin")).click()
    ready(page)
    expect(page.locator("h1")).to_have_text("Twin of the odd one")
    assert len(folders.sessions) == len(before) + 1
    page.goto("/?q=twin")
    expect(page.locator("tr.session a.title").first).to_have_text("Twin of the odd one")


def test_the_keys_lead_through_all_pages(page: Page) -> None:
    page.goto("/")
    for key, address in (("f", "/search"), ("i", "/insights"), ("l", "/live"), ("s", "/")):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(re.compile(f"{address}(\\?.*)?$"))
        expect(page.locator("main h1")).to_be_visible()
