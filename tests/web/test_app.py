"""The frame of the pages: the place behind them, what they load, what they answer with, keys and colours."""

from __future__ import annotations

import json
import math
import re
import shutil
import threading
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from tests.web.conftest import Complaints, Folders, Server
from turnlog.errors import Busy, NotFound, TurnlogError, UsageError
from turnlog.web.answers import document, html
from turnlog.web.place import Place
from turnlog.web.static_files import StaticFiles

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "turnlog" / "web"


class TestPlace:
    """What the pages know of the machine."""

    def test_a_session_is_found_by_its_uuid(self, place: Place, folders: Folders) -> None:
        for uuid in folders.sessions:
            known = place.session(uuid)
            assert (known.uuid, known.ref, known.path.stem) == (uuid, uuid, uuid)
            assert known.path.is_file()

    def test_the_same_uuid_in_two_projects_is_told_apart_by_its_number(self, place: Place, folders: Folders) -> None:
        uuid = folders.sessions[0]
        first = place.session(uuid)
        shutil.copy(first.path, folders.add(uuid, b"", slug="-home-dana-copy"))
        place.store.refresh(place.config_dirs)
        found = {place.session(place.refs().of(number, uuid)).path for number in numbers(place, uuid)}
        assert found == {first.path, folders.projects / "-home-dana-copy" / f"{uuid}.jsonl"}
        assert place.session(uuid).path in found
        assert place.session(uuid).ref == place.ref_of(str(place.session(uuid).path)) != uuid

    def test_a_number_of_another_session_leads_nowhere(self, place: Place, folders: Folders) -> None:
        one, other, *_ = folders.sessions
        (number,) = numbers(place, other)
        with pytest.raises(NotFound):
            place.session(f"{one}.{number}")

    def test_a_path_that_is_not_in_the_index_has_no_reference(self, place: Place) -> None:
        assert place.ref_of("/etc/passwd") is None

    def test_every_thread_has_a_connection_of_its_own(self, place: Place) -> None:
        found = []
        thread = threading.Thread(target=lambda: found.append(place.store))
        thread.start()
        thread.join()
        assert found[0].db is not place.store.db
        assert place.store is place.store

    def test_an_index_that_was_put_in_the_place_of_another_is_opened_again(self, place: Place) -> None:
        before = place.store
        fresh = place.index.with_name("fresh.db")
        shutil.copy(place.index, fresh)
        fresh.replace(place.index)
        assert place.store is not before

    def test_a_folder_that_can_not_be_written_to_gets_an_index_for_this_one_time(
        self, folders: Folders, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        told: list[str] = []
        place = Place([folders.config], tmp_path / "file", tell=told.append)
        place.store.refresh(place.config_dirs)
        assert place.session(folders.sessions[0])
        place.close()
        assert not place.index.exists()
        assert "temporary folder" in told[0]

    def test_it_is_empty_where_there_is_no_session(self, place: Place, tmp_path: Path) -> None:
        assert not place.is_empty()
        empty = Place([tmp_path / "nothing"], tmp_path / "data")
        assert empty.is_empty()
        empty.close()


def numbers(place: Place, uuid: str) -> list[int]:
    return [int(number) for (number,) in place.store.db.execute("SELECT id FROM session WHERE uuid = ?", (uuid,))]


class TestAnswers:
    """What the server answers with."""

    def test_half_a_surrogate_pair_does_not_break_a_page_or_a_document(self) -> None:
        assert html("a\ud800b").body == "a\ufffdb".encode()
        assert json.loads(bytes(document({"a": "\ud800", "b": 2**70, "c": math.inf, "d": (1,)}).body)) == {
            "a": "\ud800",
            "b": 2**70,
            "c": None,
            "d": [1],
        }

    @pytest.mark.parametrize(
        ("error", "status"), [(NotFound("x"), 404), (UsageError("x"), 400), (Busy("x"), 409), (TurnlogError("x"), 500)]
    )
    def test_a_failure_is_json_for_the_api_and_a_page_otherwise(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
    ) -> None:
        from turnlog.web.answers import failed

        class Asked:
            def __init__(self, path: str) -> None:
                self.app = client.app.app  # type: ignore[attr-defined]
                self.url = type("Url", (), {"path": path})

        answer = failed(Asked("/api/x"), error)  # type: ignore[arg-type]
        assert (answer.status_code, json.loads(bytes(answer.body))) == (status, {"error": "x"})
        page = failed(Asked("/x"), error)  # type: ignore[arg-type]
        assert (page.status_code, page.media_type) == (status, "text/html")


class TestStatic:
    """Styles and scripts."""

    def test_every_file_is_sent_with_its_type_and_kept_by_its_version(self, client: TestClient) -> None:
        found = StaticFiles.found()
        assert {"app.css", "content.css", "fragment.js"} <= found.files.keys()
        for name, path in found.files.items():
            answer = client.get(found.address(name))
            assert answer.content == path.read_bytes()
            assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
            assert answer.headers["content-type"].startswith(("text/", "image/"))

    @pytest.mark.parametrize("address", ["/static/app.css", "/static/v-old/app.css"])
    def test_another_version_is_asked_for_again(self, client: TestClient, address: str) -> None:
        answer = client.get(address)
        assert answer.headers["cache-control"] == "private, no-cache"
        again = client.get(address, headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code in (200, 304)

    def test_a_file_that_nobody_has_is_a_mistake_of_ours(self) -> None:
        with pytest.raises(LookupError):
            StaticFiles.found().address("nothing.css")

    def test_markup_is_made_from_a_string_in_one_place(self) -> None:
        sinks = re.compile(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|srcdoc|setHTML|DOMParser"
            r"|\beval\(|new Function"
        )
        users = {path.name for path in (WEB / "static").rglob("*.js") if sinks.search(path.read_text("utf-8"))}
        assert users == {"fragment.js"}

    def test_no_template_has_a_style_or_a_script_in_it(self) -> None:
        for path in (WEB / "templates").glob("*.html"):
            text = path.read_text("utf-8")
            assert not re.search(r"\sstyle=|\son\w+=|<style|<script(?![^>]*\ssrc=)|javascript:", text), path
            assert not re.search(r"[^'\"\s]\s*\|\s*safe\b", text), f"{path}: only words of the template itself are safe"


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

    def test_a_server_that_has_gone_is_told_of(self, frame: Page, server: Server, complaints: Complaints) -> None:
        server.stop()
        frame.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(frame.locator("#state")).to_have_text("turnlog does not answer: is it still running?")
        assert all("ERR_CONNECTION" in complaint for complaint in complaints)
        complaints.clear()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [380, 1280])
    def test_it_is_fit_for_everybody(self, frame: Page, scheme: str, width: int) -> None:
        frame.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        frame.set_viewport_size({"width": width, "height": 800})
        assert_accessible(frame)
        frame.keyboard.press("?")
        assert_accessible(frame)
        assert frame.evaluate("document.documentElement.scrollWidth") <= width

    def test_a_string_that_is_not_ours_can_not_become_markup(self, frame: Page, complaints: Complaints) -> None:
        with pytest.raises(Exception, match="TrustedHTML"):
            frame.evaluate("document.body.innerHTML = '<img src=x>'")
        with pytest.raises(Exception, match=r"Trusted|policy"):
            frame.evaluate("trustedTypes.createPolicy('other', {})")
        frame.evaluate("() => new Promise(requestAnimationFrame)")
        assert any("trusted-types" in complaint for complaint in complaints)
        complaints.clear()


def assert_accessible(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"]) for item in found] == []


class TestActions:
    """The dialog of an action."""

    @pytest.fixture
    def dialog(self, frame: Page, folders: Folders) -> Page:
        """A page with a button for each action."""
        ref = next(path.stem for path in folders.projects.rglob("*.jsonl") if path.stat().st_size > 50_000)
        frame.evaluate(
            """(ref) => {
              const box = document.createElement("div");
              box.dataset.ref = ref;
              for (const verb of ["clone", "strip", "fork", "redact", "repair", "export", "rename", "tag"]) {
                const button = document.createElement("button");
                button.dataset.verb = verb;
                button.textContent = `do ${verb}`;
                box.append(button);
              }
              document.querySelector("main").append(box);
            }""",
            ref,
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
        dialog.get_by_role("button", name="Make the clone").click()
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
        expect(dialog.locator("#action .words")).to_contain_text("It would go on behind turn 1.")
        expect(dialog.locator("#action .failed")).to_be_hidden()
        complaints.clear()

    def test_nothing_is_done_when_it_is_closed(self, dialog: Page, folders: Folders) -> None:
        before = folders.sessions
        dialog.get_by_role("button", name="do clone").click()
        expect(dialog.locator("#action .confirm")).to_be_enabled()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog.locator("#action")).to_be_hidden()
        assert folders.sessions == before

    @pytest.mark.parametrize("verb", ["clone", "strip", "fork", "redact", "repair", "export", "rename", "tag"])
    def test_every_dialog_is_fit_for_everybody(self, dialog: Page, verb: str) -> None:
        dialog.get_by_role("button", name=f"do {verb}").click()
        expect(dialog.locator("#action")).to_be_visible()
        if verb not in ("fork", "rename"):
            expect(dialog.locator("#action .confirm")).to_be_enabled()
        assert_accessible(dialog)
