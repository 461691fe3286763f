"""What axe-core finds in states that other tests don't look at: dialogs, sub-agents, failures, exported files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.session.build import recorded
from tests.web.conftest import DATA, SESSIONS, Complaints, Folders, Server, start
from turnlog.web.place import Place

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

LOOKS = [("light", 390), ("dark", 1280)]
"""Other tests look at the others."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("axe")
    found = Folders(root / "claude", root / "turnlog")
    for name in (*SESSIONS, "2.1.325/tui_plan", "2.1.325/tui_edge", "2.1.325/hooks"):
        shutil.copytree(DATA / "sessions" / name / "projects", found.projects, dirs_exist_ok=True)
    place = Place([found.config], found.data)
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


@pytest.fixture(params=LOOKS, ids=[f"{scheme}-{width}" for scheme, width in LOOKS])
def context(
    browser: Browser, server: Server, entrance: Any, request: pytest.FixtureRequest
) -> Iterator[BrowserContext]:
    """A browser of some width, with some colours, that moves nothing."""
    scheme, width = request.param
    found = browser.new_context(
        base_url=server.url,
        storage_state=entrance,
        color_scheme=scheme,
        viewport={"width": width, "height": 800},
        reduced_motion="reduce",
    )
    yield found
    found.close()


def sound(page: Page, what: str) -> None:
    """Nothing serious is found, and nothing is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    found = [one for one in Axe().run(page).response["violations"] if one["impact"] in ("serious", "critical")]
    told = [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in found]
    assert not told, f"{what}: {told}"
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{what}: {wide} pixels too wide"


def reading(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".outline-list ol.windowed").wait_for(state="attached")


def with_agents(folders: Folders) -> Path:
    return next(path.parent for path in sorted(folders.projects.glob("*/*/subagents")))


@pytest.mark.parametrize(
    "name", ["2.1.325/tools", "2.1.325/tui_plan", "2.1.325/tui_edge", "2.1.325/hooks", "2.0.76/errors"]
)
def test_sessions_with_everything_unfolded(page: Page, name: str) -> None:
    reading(page, f"/s/{recorded(name).stem}")
    page.keyboard.press("x")
    page.keyboard.press("m")
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    sound(page, name)


def test_dialogs(page: Page, folders: Folders) -> None:
    reading(page, f"/s/{recorded('2.1.325/tools').stem}")
    page.keyboard.press("?")
    page.locator("#keys[open]").wait_for()
    sound(page, "keys")
    page.keyboard.press("Escape")
    page.evaluate("document.querySelector('article.prompt a[href*=\"/raw/\"]').click()")
    page.locator("#raw .raw-body > *").first.wait_for()
    sound(page, "raw entry")
    page.keyboard.press("Escape")
    for verb in ("export", "strip", "fork", "repair"):
        page.locator("details.menu > summary").click()
        page.locator(f"[data-verb={verb}]").first.click()
        page.locator("#action[open]").wait_for()
        sound(page, verb)
        page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.locator(".find-here input").fill("total")
    page.locator(".find-here output", has_text="found").wait_for()
    sound(page, "found in the session")


def test_a_sub_agent_inside_of_its_card_and_on_a_page_of_its_own(page: Page, folders: Folders) -> None:
    session = with_agents(folders)
    reading(page, f"/s/{session.name}")
    page.keyboard.press("x")
    page.evaluate("document.querySelectorAll('details.agent').forEach((agent) => { agent.open = true; })")
    page.locator(".agent-body .nested article.item").first.wait_for(state="attached")
    sound(page, "inside")
    agent = next(session.glob("subagents/agent-*.jsonl")).stem.removeprefix("agent-")
    reading(page, f"/s/{session.name}/agent/{agent}")
    sound(page, "alone")


def test_the_other_pages_and_failures(page: Page, complaints: Complaints) -> None:
    for address in ("/", "/?group=project&all=1", "/search?q=total", "/insights?range=all&parts=all", "/live"):
        page.goto(address)
        page.wait_for_timeout(200)
        sound(page, address)
    page.goto("/s/eeeeeeee-0000-4000-8000-000000000000")
    sound(page, "failure")
    complaints[:] = [words for words in complaints if "404" not in words]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_exported_files(browser: Browser, tmp_path: Path, scheme: Any, width: int) -> None:
    from turnlog.export.material import Choice, Material
    from turnlog.export.site import Site
    from turnlog.render.wishes import EVERYTHING
    from turnlog.session.session import Session

    site = Site(tmp_path)
    for name in ("2.1.325/tools", "2.1.325/agents", "2.0.76/errors"):
        with Session.open(recorded(name)) as session:
            site.add(Material(session, Choice(EVERYTHING, all_branches=True)))
    site.finish("All of it")
    alone = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = alone.new_page()
    for path in sorted(tmp_path.glob("*.html")):
        page.goto(path.as_uri())
        if path.name != "index.html":
            page.get_by_role("button", name="Expand all").click()
        sound(page, path.name)
    alone.close()
