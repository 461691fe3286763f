"""Back and a reload return to where one was, on the pages that are not the list or a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server, start_indexed

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

SESSIONS = 15


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def talk(number: int) -> bytes:
    build = Build()
    for turn in range(4):
        build.prompt(f"The quokka of part {number}, turn {turn}", f"p-{number}-{turn}")
        build.answer("A quokka smiles.", uuid=f"a-{number}-{turn}", usage={"input_tokens": 900, "output_tokens": 90})
    build.note("custom-title", customTitle=f"Session number {number}")
    return encode_lines(build.lines).replace(SESSION.encode(), uuid_of(number).encode())


def uuid_of(number: int) -> str:
    return f"aaaaaaaa-0000-4000-8000-{number:012}"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("back")
    found = Folders(root / "claude", root / "turnlog")
    for number in range(SESSIONS):
        found.add(uuid_of(number), talk(number))
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


@pytest.mark.parametrize(
    ("address", "links"), [("/search?q=quokka", "ol.found li > a"), ("/prompts", "#prompts a.open")]
)
def test_back_and_a_reload_return_to_the_same_place(page: Page, address: str, links: str) -> None:
    page.goto(address)
    expect(page.locator("#results[aria-busy]")).to_have_count(0)
    page.locator(links).nth(30).evaluate("(link) => scrollTo(0, link.getBoundingClientRect().top + scrollY - 400)")
    place = page.evaluate("scrollY")
    assert place > 600
    page.locator(links).nth(30).click()
    page.wait_for_url("**/s/**")
    page.go_back()
    page.wait_for_url(f"**{address}")
    expect(page.locator(links).nth(30)).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - place) < 5
    page.reload()
    expect(page.locator(links).nth(30)).to_be_in_viewport()


def test_the_search_page_is_ready_for_typing(page: Page) -> None:
    page.goto("/search")
    expect(page.locator("#q")).to_be_focused()
