"""Sessions whose files are gone: their pages say so, or show what the archive has."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from tests.web.conftest import Complaints, Folders
from tests.web.test_reading import OWN, keys, own_session
from turnlog.store.archive.archive import Archive
from turnlog.store.archive.archive_run import run_archive
from turnlog.web.machine import Machine
from turnlog.web.reading.transcript_view import MAX_COPIES

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def folders(folders: Folders) -> Folders:
    folders.add(OWN, own_session())
    return folders


def test_a_session_that_is_gone_and_was_not_archived_is_not_found(
    client: TestClient, folders: Folders, place: Machine
) -> None:
    next(folders.projects.glob(f"*/{OWN}.jsonl")).unlink()
    place.store.refresh(place.config_dirs)
    answer = client.get(f"/s/{OWN}")
    assert answer.status_code == 404
    assert "is not in the archive" in answer.text


def test_a_session_that_is_gone_is_read_from_the_archive(client: TestClient, folders: Folders, place: Machine) -> None:
    run_archive(Archive(folders.data), [folders.config])
    path = sorted(folders.projects.glob("*/*/subagents/agent-*.jsonl"))[0]
    uuid, agent = path.parent.parent.name, path.stem.removeprefix("agent-")
    before = [keys(client.get(path).text) for path in (f"/s/{OWN}", f"/s/{uuid}/agent/{agent}/window/0")]
    shutil.rmtree(folders.projects)
    place.store.refresh(place.config_dirs)
    answer = client.get(f"/s/{OWN}")
    assert "Deleted." in answer.text
    assert "data-verb" not in answer.text
    assert [keys(answer.text), keys(client.get(f"/s/{uuid}/agent/{agent}/window/0").text)] == before
    assert not folders.projects.exists()


def test_of_the_copies_of_sessions_that_are_gone_only_a_few_are_kept(
    client: TestClient, folders: Folders, place: Machine
) -> None:
    run_archive(Archive(folders.data), [folders.config])
    sessions = folders.sessions
    shutil.rmtree(folders.projects)
    place.store.refresh(place.config_dirs)
    assert [client.get(f"/s/{uuid}").status_code for uuid in sessions] == [200] * len(sessions)
    assert len([*(folders.data / "opened").iterdir()]) == MAX_COPIES < len(sessions)
    assert client.get(f"/s/{sessions[0]}").status_code == 200


@pytest.mark.slow
def test_a_page_whose_session_is_deleted_meanwhile_says_so(
    page: Page, folders: Folders, complaints: Complaints
) -> None:
    from playwright.sync_api import expect

    page.goto(f"/s/{OWN}")
    expect(page.locator(".outline-list ol.windowed")).to_be_attached()
    next(folders.projects.glob(f"*/{OWN}.jsonl")).unlink()
    page.keyboard.press("/")
    page.locator(".find-here input").fill("Answer")
    expect(page.get_by_role("alert")).to_contain_text("Deleted.")
    expect(page.locator(".find-here output")).not_to_contain_text("undefined")
    expect(page.locator(".find-here output")).not_to_contain_text("null")
    expect(page.locator("article.item").first).to_be_visible()
    complaints[:] = [words for words in complaints if "404" not in words]
