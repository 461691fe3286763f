"""What every page has, in a browser: keys, colours, the dialog of an action."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import Complaints, Folders, Server, record_folders, start_indexed
from turnlog.web.actions.verbs import VERBS

pytestmark = pytest.mark.slow


# One machine and one server for all of these tests; what some of them add disturbs no other.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("frame"))


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


@pytest.fixture
def frame(page: Page, complaints: Complaints) -> Page:
    """A page with nothing in it but the frame."""
    page.goto("/nothing")
    expect(page.locator("h1")).to_have_text("Not found")
    complaints.clear()
    return page


class TestFrame:
    """What every page has."""

    def test_the_slash_leads_into_the_search(self, frame: Page) -> None:
        frame.keyboard.press("/")
        expect(frame.locator("#find")).to_be_focused()
        frame.keyboard.type("a/b?")
        expect(frame.locator("#find")).to_have_value("a/b?")
        frame.keyboard.press("Escape")
        expect(frame.locator("#find")).not_to_be_focused()

    def test_the_question_mark_shows_the_keys(self, frame: Page) -> None:
        frame.keyboard.press("?")
        expect(frame.get_by_role("dialog", name="Keys")).to_be_visible()
        frame.keyboard.press("/")
        expect(frame.locator("#find")).not_to_be_focused()
        frame.keyboard.press("Escape")
        expect(frame.get_by_role("dialog", name="Keys")).to_be_hidden()

    def test_two_keys_lead_to_a_page(self, frame: Page, server: Server) -> None:
        frame.keyboard.press("g")
        frame.keyboard.press("s")
        frame.wait_for_url(f"{server.url}/")

    def test_colours_are_chosen_and_kept(self, frame: Page, complaints: Complaints) -> None:
        root = frame.locator("html")
        for theme in ("light", "dark", "auto", "light"):
            frame.locator("#theme").click()
            expect(root).to_have_attribute("data-theme", theme)
        frame.reload()
        expect(root).to_have_attribute("data-theme", "light")
        complaints.clear()

    def test_the_first_key_leads_past_the_bar(self, frame: Page) -> None:
        frame.keyboard.press("Tab")
        expect(frame.locator(".skip")).to_be_focused()
        frame.keyboard.press("Enter")
        expect(frame.locator("main")).to_be_focused()

    def test_a_string_that_is_not_ours_can_not_become_markup(self, frame: Page, complaints: Complaints) -> None:
        with pytest.raises(Exception, match="TrustedHTML"):
            frame.evaluate("document.body.innerHTML = '<img src=x>'")
        with pytest.raises(Exception, match=r"Trusted|policy"):
            frame.evaluate("trustedTypes.createPolicy('other', {})")
        frame.evaluate("() => new Promise(requestAnimationFrame)")
        assert any("trusted-types" in complaint for complaint in complaints)
        complaints.clear()


class TestActions:
    """The dialog of an action."""

    @pytest.fixture
    def dialog(self, frame: Page, folders: Folders) -> Page:
        """A page with a button for each action."""
        ref = next(path.stem for path in folders.projects.rglob("*.jsonl") if path.stat().st_size > 50_000)
        frame.evaluate(
            """([ref, verbs]) => {
              const box = document.createElement("div");
              box.dataset.ref = ref;
              for (const verb of verbs) {
                const button = document.createElement("button");
                button.dataset.verb = verb;
                button.textContent = `do ${verb}`;
                box.append(button);
              }
              document.querySelector("main").append(box);
            }""",
            [ref, list(VERBS)],
        )
        return frame

    def test_it_says_what_would_be_done_and_then_does_it(self, dialog: Page, folders: Folders) -> None:
        before = folders.sessions
        dialog.get_by_role("button", name="do strip").click()
        expect(dialog.locator("#action .words")).to_contain_text("Nothing was written: this was a dry run.")
        assert folders.sessions == before
        dialog.get_by_label("Title").fill("Leaner")
        dialog.get_by_label("How much").select_option("heavy")
        expect(dialog.locator("#action .command")).to_contain_text("--dry-run --preset=heavy --title=Leaner")
        expect(dialog.locator("#action .confirm")).to_be_enabled()
        dialog.get_by_role("button", name="Create clone").click()
        made = dialog.locator("#action .made a")
        expect(made).to_have_text("Leaner")
        (new,) = set(folders.sessions) - set(before)
        assert made.get_attribute("href") == f"/s/{new}"

    def test_what_can_not_be_done_is_told(self, dialog: Page, complaints: Complaints) -> None:
        dialog.get_by_role("button", name="do fork").click()
        dialog.get_by_label("Point").fill("999")
        expect(dialog.locator("#action .failed")).to_contain_text("--at 999: ")
        expect(dialog.locator("#action .confirm")).to_be_disabled()
        dialog.get_by_label("Point").fill("1")
        expect(dialog.locator("#action .words")).to_contain_text("The fork would continue after turn 1.")
        expect(dialog.locator("#action .failed")).to_be_hidden()
        complaints.clear()

    def test_nothing_is_done_when_it_is_closed(self, dialog: Page, folders: Folders) -> None:
        before = folders.sessions
        dialog.get_by_role("button", name="do clone").click()
        expect(dialog.locator("#action .confirm")).to_be_enabled()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog.locator("#action")).to_be_hidden()
        assert folders.sessions == before


def test_a_server_that_has_gone_is_told_of(browser: Browser, folders: Folders) -> None:
    server = start_indexed(folders)
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
    page = context.new_page()
    page.goto("/search")
    complaints = Complaints()
    complaints.watch(page)
    server.stop()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#state")).to_have_text("turnlog is not responding. Is it still running?")
    assert all("ERR_CONNECTION" in complaint for complaint in complaints)
    context.close()
