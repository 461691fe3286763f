"""The live pages in a browser: whatever happens to the file, the connection or the server, all items once."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.clock import build_now, register_client
from tests.session.build import SESSION, Build
from tests.web import writer
from tests.web.conftest import Complaints, Folders, Server, record_folders, start, start_indexed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow


# One machine and one server for all of these tests; each has a session of its own.
@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("live"))


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


@contextmanager
def begin_session(folders: Folders) -> Iterator[Path]:
    """A session with one prompt, which nobody else will see."""
    name = str(uuid.uuid4())
    build = build_now()
    build.prompt("begin", "first")
    path = folders.add(name, build.data().replace(SESSION.encode(), name.encode()))
    client = register_client(folders.config, name)
    try:
        yield path
    finally:
        client.unlink()
        path.unlink()
        shutil.rmtree(path.with_suffix(""), ignore_errors=True)


@pytest.fixture
def session(folders: Folders) -> Iterator[Path]:
    with begin_session(folders) as found:
        yield found


@contextmanager
def run_writer(path: Path, count: int, pause: float, name: str = "w") -> Iterator[subprocess.Popen[bytes]]:
    """A process that appends answers to a file."""
    words = [sys.executable, writer.__file__, str(path), str(count), str(pause), name]
    with subprocess.Popen(words) as process:
        yield process
        assert process.wait(60) == 0


def uuids(page: Page, within: str = ".transcript") -> list[str]:
    articles = page.locator(f"{within} > article.item:not(.meta)")
    return [key or "" for key in articles.evaluate_all("all => all.map((one) => one.dataset.key)")]


def list_expected_texts(count: int, name: str = "w") -> list[str]:
    return ["first", *(f"{name}-{number}" for number in range(count))]


def follow(page: Page, session: Path) -> None:
    from playwright.sync_api import expect

    page.goto(f"/live/{session.stem}")
    expect(page.locator(".link")).to_have_attribute("data-connected", "true")


def test_what_a_writer_appends_appears_in_order_while_the_page_stays_at_the_bottom(
    session: Path, server: Server, page: Page
) -> None:
    from playwright.sync_api import expect

    follow(page, session)
    with run_writer(session, 40, 0.02):
        expect(page.locator("#i-w-39")).to_be_in_viewport()
    assert uuids(page) == list_expected_texts(40)
    expect(page.locator(".more")).to_be_hidden()


def test_a_server_that_is_killed_and_started_again_loses_and_repeats_nothing(
    folders: Folders, session: Path, browser: Browser, complaints: Complaints
) -> None:
    from playwright.sync_api import expect

    server = start(folders)
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
    page = context.new_page()
    complaints.watch(page)
    follow(page, session)
    with run_writer(session, 60, 0.05):
        expect(page.locator("#i-w-5")).to_be_attached()
        assert server.stop(9) == -9
        expect(page.locator(".link")).to_have_attribute("data-connected", "false")
        seen = uuids(page)
        other = start(folders, "--port", str(server.port))
        try:
            context.new_page().goto(other.address)  # only another visit with a token opens the new server
            expect(page.locator("#i-w-59")).to_be_attached()
            assert len(seen) < 60
            assert uuids(page) == list_expected_texts(60)
            expect(page.locator(".live-note")).to_have_text("")
        finally:
            other.stop()
    context.close()
    # They tell of the connection that was cut, and of the new server before it was opened.
    assert not [words for words in complaints if "net::ERR_" not in words and "403 (Forbidden)" not in words]


@pytest.mark.parametrize("path", ["/live", "/live/{session}"])
def test_without_its_server_a_page_counts_no_further_and_turns_grey(
    folders: Folders, session: Path, browser: Browser, path: str
) -> None:
    from playwright.sync_api import expect

    session.write_bytes(session.read_bytes())  # just now
    server = start(folders)
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
    page = context.new_page()
    page.goto(path.format(session=session.stem))
    age = page.locator("[data-since]:visible").first
    link = page.locator(".link")
    expect(link).to_have_text("following")
    before = age.text_content() or ""
    expect(age).not_to_have_text(before)  # it counts
    server.stop(9)
    expect(link).to_have_text(re.compile("not connected since .*; reconnecting"))
    shown = [age.text_content()]
    box = page.locator(".columns, .live-columns")
    expect(box).to_have_css("opacity", "0.6")
    for _ in range(3):
        page.wait_for_timeout(1000)  # the clock's own step
        shown.append(age.text_content())
    assert len(set(shown)) == 1
    context.close()


def test_a_page_that_was_hidden_goes_on_where_it_was(session: Path, server: Server, page: Page) -> None:
    from playwright.sync_api import expect

    follow(page, session)
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", { get: () => hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
      if (hidden) dispatchEvent(new Event("pagehide"));
    }"""
    page.evaluate(hide, True)
    with run_writer(session, 12, 0.01):
        pass
    time.sleep(0.5)
    assert uuids(page) == ["first"]
    page.evaluate(hide, False)
    expect(page.locator("#i-w-11")).to_be_attached()
    assert uuids(page) == list_expected_texts(12)


def test_two_sessions_are_followed_at_once_and_none_gets_what_is_the_others(
    folders: Folders, session: Path, server: Server, context: BrowserContext, page: Page
) -> None:
    from playwright.sync_api import expect

    second = context.new_page()
    follow(page, session)
    with begin_session(folders) as other:
        follow(second, other)
        with run_writer(session, 15, 0.02, "a"), run_writer(other, 15, 0.02, "b"):
            expect(page.locator("#i-a-14")).to_be_attached()
            expect(second.locator("#i-b-14")).to_be_attached()
        assert uuids(page) == list_expected_texts(15, "a")
        assert uuids(second) == list_expected_texts(15, "b")
        second.close()


def test_a_sub_agent_that_starts_meanwhile_appears_with_what_it_does(session: Path, server: Server, page: Page) -> None:
    from playwright.sync_api import expect

    follow(page, session)
    expect(page.locator(".live-aside")).to_be_hidden()
    folder = session.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.meta.json").write_text('{"agentType": "Explore", "description": "Look around"}')
    agent = folder / "agent-a1.jsonl"
    agent.write_bytes(writer.answer("x-1", "looking", isSidechain=True, agentId="a1"))
    member = page.locator("details.live-agent[data-agent='a1']")
    expect(member.locator(".name")).to_have_text("Look around")
    member.locator("summary").first.click()
    expect(member.locator("article.item")).to_have_count(1)
    with agent.open("ab") as file:
        file.write(writer.answer("x-2", "found", isSidechain=True, agentId="a1"))
    expect(member.locator("article.item")).to_have_count(2)
    expect(member.locator("article.item").last).to_contain_text("found")
    with run_writer(session, 3, 0.01):
        expect(page.locator("#i-w-2")).to_be_attached()
    assert uuids(page) == list_expected_texts(3)


def test_a_replaced_file_is_shown_from_anew(session: Path, server: Server, page: Page) -> None:
    from playwright.sync_api import expect

    follow(page, session)
    with run_writer(session, 5, 0.01):
        expect(page.locator("#i-w-4")).to_be_attached()
    build = Build(step=1)
    build.prompt("another one", "another")
    new = session.with_suffix(".new")
    new.write_bytes(build.data())
    new.replace(session)
    expect(page.locator("#i-another")).to_be_attached()
    assert uuids(page) == ["another"]
    expect(page.locator(".live-note")).to_have_text("The file was replaced.")
    with run_writer(session, 2, 0.01, "n"):
        expect(page.locator("#i-n-1")).to_be_attached()
    assert uuids(page) == ["another", "n-0", "n-1"]


def test_a_reader_who_went_up_is_not_pulled_down_and_sees_how_much_is_new(
    session: Path, server: Server, page: Page
) -> None:
    from playwright.sync_api import expect

    with run_writer(session, 60, 0.001):
        pass
    follow(page, session)
    expect(page.locator("#i-w-59")).to_be_in_viewport()
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    expect(page.locator("#i-first")).to_be_in_viewport()
    page.wait_for_timeout(100)
    with run_writer(session, 3, 0.01, "n"):
        expect(page.locator(".more")).to_have_text("3 new ↓")
    expect(page.locator("#i-first")).to_be_in_viewport()
    page.locator(".more").click()
    expect(page.locator("#i-n-2")).to_be_in_viewport()
    expect(page.locator(".more")).to_be_hidden()


def test_an_item_that_grows_stays_in_its_place_and_unfolded(session: Path, server: Server, page: Page) -> None:
    from playwright.sync_api import expect

    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "sleep 5"}}
    message = {"role": "assistant", "id": "m1", "model": "claude-opus-5", "content": [call], "stop_reason": "tool_use"}
    follow(page, session)
    with session.open("ab") as file:
        file.write(writer.line("call", message))
    card = page.locator("#i-call details.card")
    expect(card.locator(".outcome")).to_have_text(re.compile("running"))
    card.locator("summary").first.click()
    expect(card).to_have_attribute("open", "")
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "slept well"}]}
    with session.open("ab") as file:
        file.write(writer.line("result", result, "user"))
    expect(card).to_contain_text("slept well")
    expect(card).to_have_attribute("open", "")
    assert uuids(page) == ["first", "call"]


def test_the_board_moves_a_session_to_where_it_belongs(session: Path, server: Server, page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/live")
    card = page.locator(f"article[data-ref='{session.stem}']")
    expect(page.locator("[data-column='working']").locator(card)).to_be_visible()
    ask = {"type": "tool_use", "id": "q", "name": "AskUserQuestion", "input": {"questions": [{"question": "Which?"}]}}
    message = {"role": "assistant", "id": "m1", "model": "claude-opus-5", "content": [ask], "stop_reason": "tool_use"}
    with session.open("ab") as file:
        file.write(writer.line("ask", message))
    expect(page.locator("[data-column='needs']").locator(card)).to_contain_text("asks: Which?")
    expect(page).to_have_title("(1) Live · turnlog")
    card.locator("a").click()
    expect(page.locator(".doing").first).to_contain_text("asks: Which?")


def test_the_board_can_be_limited_to_a_project_and_sorted(folders: Folders, server: Server, page: Page) -> None:
    from playwright.sync_api import expect

    names = [str(uuid.uuid4()) for _ in range(2)]
    paths = []
    for name, folder in zip(names, ("alpha", "beta"), strict=True):
        build = build_now()
        build.prompt(f"task in {folder}", cwd=f"/home/dana/{folder}")
        paths.append(folders.add(name, build.data().replace(SESSION.encode(), name.encode())))
    try:
        page.goto("/live")
        cards = [page.locator(f'article[data-ref="{name}"]') for name in names]
        for card in cards:
            expect(card).to_be_visible()
        page.get_by_label("Project").select_option(label="beta")
        expect(cards[0]).to_be_hidden()
        expect(cards[1]).to_be_visible()
        page.get_by_label("Sort by").select_option("title")
        page.reload()
        expect(cards[0]).to_be_hidden()
        expect(page.get_by_label("Sort by")).to_have_value("title")
        why = cards[1].locator(".why")
        why.focus()
        expect(cards[1].get_by_role("tooltip")).to_be_visible()
    finally:
        for path in paths:
            path.unlink()


def test_a_machine_without_sessions_today_plays_a_demo_on_request(
    tmp_path: Path, browser: Browser, complaints: Complaints
) -> None:
    from playwright.sync_api import expect

    old = record_folders(tmp_path)
    server = start_indexed(old)
    context = browser.new_context(base_url=server.url, storage_state=server.entrance(browser))
    page = context.new_page()
    complaints.watch(page)
    try:
        page.goto("/live")
        expect(page.get_by_role("heading", name="No session was active today")).to_be_visible()
        page.get_by_role("button", name="Play a demo session").click()
        card = page.locator("article.live-card")
        expect(card).to_be_visible()
        expect(page.get_by_role("heading", name="No session was active today")).to_be_hidden()
        expect(card.locator(".agents li").first).to_be_visible(timeout=60_000)
        card.get_by_role("link").click()
        expect(page.locator(".transcript > article.item.prompt").first).to_be_attached()
    finally:
        context.close()
        server.stop()
