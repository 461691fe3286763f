"""Exported pages in a real browser, opened as files: nothing of a transcript runs, and what they offer works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, expect

from tests.export.test_html import hostile
from tests.render.attacks import ATTACKS
from tests.session.build import Build, find_recording, use
from turnlog.export.html import write_pages
from turnlog.export.material import ExportChoice, ExportMaterial
from turnlog.render.render_options import SHOW_EVERYTHING
from turnlog.session.session import Session

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def tidy(browser: Browser) -> Iterator[None]:
    """The browser is everybody's: what a test has opened is closed behind it."""
    before = set(browser.contexts)
    yield
    for context in set(browser.contexts) - before:
        context.close()


class Watched:
    """A page, and everything that it did and should not have done."""

    def __init__(self, browser: Browser, *, scripts: bool = True) -> None:
        context = browser.new_context(java_script_enabled=scripts, viewport={"width": 1200, "height": 800})
        self.page: Page = context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", self._dismiss_dialog)
        self.page.on("request", self._note_request)

    def _dismiss_dialog(self, dialog: Dialog) -> None:
        self.faults.append("dialog")
        dialog.dismiss()

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            self.faults.append(request.url)

    def open(self, path: Path, anchor: str = "") -> Page:
        self.page.goto(path.as_uri() + anchor)
        return self.page


def write_page(session: Session, folder: Path, choice: ExportChoice | None = None) -> Path:
    goal = folder / "a.html"
    write_pages(ExportMaterial(session, choice or ExportChoice()), goal)
    return goal


def talk() -> Build:
    build = Build()
    build.prompt("first question")
    build.answer({"type": "thinking", "thinking": "deep thought", "signature": "x"}, "a plain answer")
    build.prompt("second question")
    build.answer(use("c1", "Bash", {"command": "ls"}), stop="tool_use")
    build.result("c1", "needle in the output")
    build.answer("done")
    return build


@pytest.mark.parametrize("first", range(0, len(ATTACKS), 15))
def test_no_attack_runs_loads_or_breaks_anything(browser: Browser, tmp_path: Path, first: int) -> None:
    texts = list(ATTACKS.values())[first : first + 15]
    watched = Watched(browser)
    page = watched.open(
        write_page(hostile(*texts).session(), tmp_path, ExportChoice(SHOW_EVERYTHING, all_branches=True))
    )
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("footer.page-foot")).to_be_attached()
    assert watched.faults == []


def test_search_shows_only_what_fits_and_opens_it(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser)
    page = watched.open(write_page(talk().session(), tmp_path))
    page.keyboard.press("/")
    page.keyboard.type("needle")
    expect(page.locator("#found")).to_have_text("1 found")
    expect(page.get_by_text("first question").last).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.get_by_text("needle in the output")).to_be_visible()
    page.locator("#find").fill("")
    expect(page.locator(".item.prompt").first).to_be_visible()
    assert watched.faults == []


def test_filters_and_folding_work(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser)
    page = watched.open(write_page(talk().session(), tmp_path))
    expect(page.locator(".card").first).to_be_visible()
    page.get_by_label("Tools").uncheck()
    expect(page.locator(".card").first).to_be_hidden()
    page.get_by_role("button", name="Expand all").click()
    expect(page.get_by_text("deep thought").last).to_be_visible()
    page.get_by_role("button", name="Light or dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert watched.faults == []


def test_a_page_can_be_read_without_scripts(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser, scripts=False)
    page = watched.open(write_page(talk().session(), tmp_path))
    expect(page.locator("#bar")).to_be_hidden()
    expect(page.get_by_text("a plain answer")).to_be_visible()
    page.locator(".card > summary").first.click()
    expect(page.get_by_text("needle in the output")).to_be_visible()
    page.get_by_role("link", name="second question").click()
    assert page.url.endswith("#t-2")


def test_a_sub_agent_can_be_opened_in_its_card(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser)
    with Session.open(find_recording("2.1.325/agents")) as session:
        page = watched.open(write_page(session, tmp_path))
    page.get_by_role("button", name="Expand all").click()
    expect(page.locator("details.agent .item.prompt").first).to_be_visible()
    assert watched.faults == []


def test_it_fits_a_phone(browser: Browser, tmp_path: Path) -> None:
    watched = Watched(browser)
    with Session.open(find_recording("2.1.325/tools")) as session:
        page = watched.open(write_page(session, tmp_path))
    page.set_viewport_size({"width": 380, "height": 700})
    page.get_by_role("button", name="Expand all").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
