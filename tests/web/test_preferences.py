"""What the pages remember: kept in the data folder, whole at every moment, and the same for all tabs and ports."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import Folders, Server, start
from turnlog.errors import UsageError
from turnlog.web.preferences import MAX_PREFERENCES, MAX_VALUE_BYTES, PREFERENCES_FILE_NAME, PreferenceStore

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_a_value_outlives_the_server(tmp_path: Path) -> None:
    PreferenceStore(tmp_path).change({"theme": "dark", "columns": ["title", "cost"]})
    kept = PreferenceStore(tmp_path).load()
    assert kept.values == {"theme": "dark", "columns": ["title", "cost"]}
    assert kept.revision == 1


def test_null_forgets_a_value_and_leaves_the_others(tmp_path: Path) -> None:
    store = PreferenceStore(tmp_path)
    store.change({"theme": "dark", "density": "steps"})
    assert store.change({"theme": None}).values == {"density": "steps"}


def test_servers_that_change_different_values_at_once_keep_both(tmp_path: Path) -> None:
    def change(number: int) -> None:
        store = PreferenceStore(tmp_path)
        for round_ in range(10):
            store.change({f"value-{number}": round_})

    threads = [threading.Thread(target=change, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = PreferenceStore(tmp_path).load()
    assert kept.values == {f"value-{number}": 9 for number in range(4)}
    assert kept.revision == 40


def test_a_server_sees_what_another_one_saved(tmp_path: Path) -> None:
    one, other = PreferenceStore(tmp_path), PreferenceStore(tmp_path)
    assert not one.load().values
    other.change({"rail": True})
    assert one.load().values == {"rail": True}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version": 1, "values": 3}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_file_is_set_aside_by_the_next_change(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / PREFERENCES_FILE_NAME
    path.write_bytes(data)
    store = PreferenceStore(tmp_path)
    assert "damaged" in store.load().notice
    assert path.read_bytes() == data  # reading never writes
    assert store.change({"theme": "dark"}) == store.load()
    assert store.load().notice == ""
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == data


def test_a_file_of_a_newer_turnlog_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / PREFERENCES_FILE_NAME
    data = b'{"version": 2, "values": {"theme": "dark"}}'
    path.write_bytes(data)
    store = PreferenceStore(tmp_path)
    assert store.change({"rail": True}).values == {"rail": True}
    assert "newer turnlog" in store.load().notice
    assert path.read_bytes() == data


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_choices_last_until_the_end_if_the_folder_is_read_only(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    store = PreferenceStore(tmp_path)
    assert store.change({"theme": "dark"}).values == {"theme": "dark"}
    assert "until turnlog stops" in store.load().notice
    tmp_path.chmod(0o700)
    assert store.change({"rail": True}).notice == ""
    assert PreferenceStore(tmp_path).load().values == {"theme": "dark", "rail": True}


def test_a_folder_that_is_a_file_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = PreferenceStore(tmp_path / "file")
    assert store.change({"theme": "dark"}).values == {"theme": "dark"}
    assert "until turnlog stops" in store.load().notice


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_link_out_of_the_data_folder_is_not_followed(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside.json", tmp_path / "turnlog"
    folder.mkdir()
    outside.write_text('{"version": 1, "values": {}}')
    (folder / PREFERENCES_FILE_NAME).symlink_to(outside)
    PreferenceStore(folder).change({"theme": "dark"})
    assert json.loads(outside.read_text()) == {"version": 1, "values": {}}


@pytest.mark.parametrize(
    "changes", [{"": 1}, {"Theme": 1}, {"../x": 1}, {"a" * 65: 1}, {"theme": "x" * MAX_VALUE_BYTES}]
)
def test_unreasonable_values_are_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    store = PreferenceStore(tmp_path)
    with pytest.raises(UsageError):
        store.change(changes)
    assert not store.load().values


def test_the_number_and_the_size_of_values_are_limited(tmp_path: Path) -> None:
    store = PreferenceStore(tmp_path)
    with pytest.raises(UsageError, match="at most"):
        store.change({f"value-{number}": 1 for number in range(MAX_PREFERENCES + 1)})
    with pytest.raises(UsageError, match="limited"):
        store.change({f"value-{number}": "x" * (MAX_VALUE_BYTES - 2) for number in range(17)})
    assert not store.load().values


def test_a_page_changes_values_and_the_next_page_has_them(client: TestClient) -> None:
    sent = client.post("/api/preferences", json={"set": {"theme": "dark", "note": '"><script>'}})
    assert sent.json()["values"] == {"theme": "dark", "note": '"><script>'}
    assert client.get("/api/preferences").json() == sent.json()
    page = client.get("/").text
    assert 'data-theme="dark"' in page
    assert "<script>&#34;" not in page
    assert '"><script>' not in page


def test_a_theme_that_does_not_exist_is_the_systems(client: TestClient) -> None:
    client.post("/api/preferences", json={"set": {"theme": "pink"}})
    assert 'data-theme="auto"' in client.get("/").text


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"set": 1}', '{"set": {}, "more": 1}', '{"set": {"X": 1}}'])
def test_a_request_that_makes_no_sense_is_refused(client: TestClient, body: str) -> None:
    answer = client.post("/api/preferences", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert client.get("/api/preferences").json()["values"] == {}


@pytest.mark.slow
def test_a_choice_is_there_after_a_restart_on_another_port(page: Page, server: Server, folders: Folders) -> None:
    from playwright.sync_api import expect

    page.goto("/search")
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()  # at once: the request may still be on its way
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    browser = page.context.browser
    assert browser is not None
    wait_until(lambda: PreferenceStore(folders.data).load().values.get("theme") == "dark")
    server.stop()
    check_theme_of_new_server(browser, folders)


def wait_until(is_true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < limit
        time.sleep(0.02)


def check_theme_of_new_server(browser: Browser, folders: Folders) -> None:
    from playwright.sync_api import expect

    other = start(folders)
    try:
        context = browser.new_context(base_url=other.url, storage_state=other.entrance(browser))
        page = context.new_page()
        page.goto("/search")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        context.close()
    finally:
        other.stop()


@pytest.mark.slow
def test_a_choice_shows_in_the_other_tab_without_a_reload(page: Page) -> None:
    from playwright.sync_api import expect

    other = page.context.new_page()
    for tab in (page, other):
        tab.goto("/search")
        expect(tab.locator("#theme")).to_have_attribute("title", "Colours: system")
    page.locator("#theme").click()
    expect(other.locator("html")).to_have_attribute("data-theme", "light")
    expect(other.locator("#theme")).to_have_attribute("title", "Colours: light")
