"""The page that compares: what it offers, and where its links lead."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from tests.session.build import SESSION, Build, encode_lines
from tests.web.conftest import Folders, Server

if TYPE_CHECKING:
    from playwright.sync_api import Page

ONE, TWO = (f"cccccccc-0000-4000-8000-00000000000{number}" for number in (1, 2))
HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>'


def expect(target: Any) -> Any:
    from playwright.sync_api import expect

    return expect(target)


def branched_session(uuid: str, title: str, name: str) -> bytes:
    build = Build()
    build.prompt("Begin", f"p-{uuid[-1]}")
    fork = build.answer("Begun.", uuid=f"a-{uuid[-1]}")
    for way in ("left", "middle", "right"):
        build.prompt(f"Go {way}", f"p-{way}{name}", parent=fork)
        build.answer(f"Went {way}.", uuid=f"b-{way}{name}")
    build.note("custom-title", customTitle=title)
    return (
        encode_lines(build.lines).replace(SESSION.encode(), uuid.encode()).replace(b"msg-", f"msg-{uuid[-1]}-".encode())
    )


@pytest.fixture
def folders(tmp_path: Any) -> Folders:
    found = Folders(tmp_path / "claude", tmp_path / "turnlog")
    found.add(ONE, branched_session(ONE, "Three ways", ""))
    found.add(TWO, branched_session(TWO, f"Hostile {HOSTILE}", HOSTILE))
    return found


def test_one_session_alone_offers_its_branches_and_other_sessions(client: TestClient) -> None:
    answer = client.get(f"/compare?left={ONE}")
    assert answer.status_code == 200
    assert 'role="alert"' not in answer.text
    links = [unescape(link) for link in re.findall(r'href="(/compare\?[^"]*)"', answer.text)]
    assert [link for link in links if "other_branch" in link] == [
        f"/compare?left={ONE}&branch=b-right&other_branch={leaf}" for leaf in ("b-middle", "b-left")
    ]
    assert f"/compare?left={ONE}&right={TWO}" in links
    for link in links:
        answer = client.get(link)
        assert answer.status_code == 200
        assert "shared turn" in answer.text


@pytest.mark.parametrize("number", [1, 2, 3])
def test_branches_have_the_numbers_of_the_command_line(
    client: TestClient, program: Any, folders: Folders, number: int
) -> None:
    way = ("left", "middle", "right")[number - 1]
    path = folders.projects / "-home-dana-webshop" / f"{ONE}.jsonl"
    assert f"Went {way}." in program("show", path, "--branch", str(number)).stdout
    labels = re.findall(r'<option value="b-\w+"[^>]*>([^<]*)<', client.get(f"/s/{ONE}").text)
    assert [label for label in labels if label.startswith(f"{number}: Go {way}")]
    found = client.get(f"/compare?left={ONE}&branch={number}&other_branch={number}").text
    assert f"branch <bdi>{number}: Go {way}" in found


def test_hostile_branches_are_text_and_values(client: TestClient) -> None:
    for rest in ("", f"&right={ONE}", "&branch=2&other_branch=1"):
        assert "<img" not in client.get(f"/compare?left={TWO}{rest}").text.partition("<main")[2].partition("</main>")[0]


def test_a_deleted_session_is_refused_in_words(client: TestClient, folders: Folders) -> None:
    path = folders.projects / "-home-dana-webshop" / f"{ONE}.jsonl"
    path.unlink()
    client.app.app.state.machine.store.refresh([folders.config])  # type: ignore[attr-defined]
    assert "was deleted" in client.get(f"/compare?left={ONE}").text
    assert client.get(f"/api/compare?left={ONE}&right={TWO}").status_code == 404


@pytest.mark.slow
def test_from_a_session_to_two_branches_and_back_to_a_turn(page: Page, server: Server) -> None:
    for uuid in (ONE, TWO):
        page.goto(f"/s/{uuid}")
        page.locator(".actions-menu summary").click()
        page.get_by_role("link", name="Compare…").click()
        page.get_by_role("link", name="2: Go middle").click()
        expect(page.locator(".sides h2")).to_have_count(2)
        page.locator("select[name=other_branch]").select_option(index=3)
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.locator(".sides h2").nth(1)).to_contain_text("1: Go left")
        page.locator(".sides").get_by_role("link", name="Go left").click()
        expect(page.locator("#t-2")).to_be_in_viewport()
        expect(page.locator("article.prompt").filter(has_text="Go left")).to_be_visible()
