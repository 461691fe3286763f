"""What axe-core finds, on every page and in every state of it: dialogs, sub-agents, failures, exported files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.conftest import BROWSER_LIMIT_MS
from tests.live.clock import build_now
from tests.session.build import SESSION, find_recording
from tests.web import writer
from tests.web.conftest import DATA, SESSIONS, Complaints, Folders, Server, forget_preferences, start_indexed
from tests.web.test_session_page import FORKED, forked_session
from turnlog.web.actions.verbs import VERBS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = pytest.mark.slow

Looks = tuple[tuple[Literal["light", "dark"], int], ...]

LOOKS: Looks = (("light", 380), ("dark", 1280))
"""Contrast is a matter of the colours, order and names of the width: each of them once."""
FILES: Looks = (("light", 1280), ("dark", 390))
"""The same for exported files."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("axe")
    found = Folders(root / "claude", root / "turnlog")
    for name in (*SESSIONS, "2.1.325/tui_plan", "2.1.325/tui_edge", "2.1.325/hooks"):
        shutil.copytree(DATA / "sessions" / name / "projects", found.projects, dirs_exist_ok=True)
    found.add(FORKED, forked_session().replace(SESSION.encode(), FORKED.encode()))
    build = build_now()
    build.prompt("begin", "first")
    agents = found.add(SESSION, build.data()).with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-a1.jsonl").write_bytes(writer.answer("x-1", "looking", isSidechain=True, agentId="a1"))
    return found


# One machine and one server for all of these tests: they only read.
@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


@pytest.fixture
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    """A browser that moves nothing."""
    found = browser.new_context(base_url=server.url, storage_state=server.entrance(browser), reduced_motion="reduce")
    found.set_default_timeout(BROWSER_LIMIT_MS)
    forget_preferences(found, server)
    yield found
    found.close()


def sound(page: Page, what: str, within: str | None = None, *, wholly: bool = False, looks: Looks = LOOKS) -> None:
    """In each look nothing serious (wholly: nothing at all) is found, and nothing is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    for scheme, width in looks:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        found = Axe().run(page, within).response["violations"]
        bad = [one for one in found if wholly or one["impact"] in ("serious", "critical")]
        told = [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in bad]
        assert not told, f"{what}, {scheme}, {width}: {told}"
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{what}, {scheme}, {width}: {wide} pixels too wide"


def wait_for_outline(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".outline-list ol.windowed").wait_for(state="attached")


def with_agents(folders: Folders) -> Path:
    return next(path.parent for path in sorted(folders.projects.glob("*/*/subagents")) if path.parent.name != SESSION)


@pytest.mark.parametrize(
    "uuid",
    [
        FORKED,
        *(
            pytest.param(find_recording(name).stem, id=name)
            for name in ("2.1.325/tools", "2.1.325/tui_plan", "2.1.325/tui_edge", "2.1.325/hooks", "2.0.76/errors")
        ),
    ],
)
def test_sessions_with_everything_unfolded(page: Page, uuid: str) -> None:
    wait_for_outline(page, f"/s/{uuid}")
    page.keyboard.press("x")
    page.keyboard.press("m")
    page.locator(".session.show-meta").wait_for(state="attached")
    page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    sound(page, uuid)


def test_dialogs(page: Page) -> None:
    wait_for_outline(page, f"/s/{find_recording('2.1.325/plain').stem}")
    page.keyboard.press("?")
    page.locator("#keys[open]").wait_for()
    sound(page, "keys", "#keys", wholly=True)
    page.keyboard.press("Escape")
    page.evaluate("document.querySelector('article.prompt a[href*=\"/raw/\"]').click()")
    page.locator("#raw .raw-body > *").first.wait_for()
    sound(page, "raw entry", "#raw")
    page.keyboard.press("Escape")
    for verb in VERBS:
        page.locator("details.actions-menu > summary").click()
        page.locator(f"[data-verb={verb}]").first.click()
        page.locator("#action[open]").wait_for()
        if verb not in ("fork", "rename", "move"):  # which ask for something first
            page.locator("#action .confirm:enabled").wait_for()
        sound(page, verb, "#action", wholly=True)
        page.keyboard.press("Escape")


def test_what_is_found_in_a_session(page: Page) -> None:
    wait_for_outline(page, f"/s/{find_recording('2.1.325/tools').stem}")
    page.keyboard.press("/")
    page.locator(".find-here input").fill("total")
    page.locator(".find-here output", has_text="found").wait_for()
    sound(page, "found in the session")


def test_a_sub_agent_inside_of_its_card_and_on_a_page_of_its_own(page: Page, folders: Folders) -> None:
    session = with_agents(folders)
    wait_for_outline(page, f"/s/{session.name}")
    page.keyboard.press("x")
    page.keyboard.press("m")
    page.evaluate("document.querySelectorAll('details.agent').forEach((agent) => { agent.open = true; })")
    page.locator(".agent-body .nested article.item").first.wait_for(state="attached")
    sound(page, "inside")
    agent = next(session.glob("subagents/agent-*.jsonl")).stem.removeprefix("agent-")
    wait_for_outline(page, f"/s/{session.name}/agent/{agent}")
    sound(page, "alone")


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?group=project&all=1",
        "/search",
        "/search?q=total",
        "/search?q=total+AND",
        "/search?q=qqqqqqqq",
        "/?q=qqqqqqqq",
        "/prompts?q=qqqqqqqq",
        f"/compare?left={FORKED}",
        "/insights?range=all",
        "/prompts",
        "/compare",
        f"/compare?left={FORKED}&branch=1&other_branch=2",
    ],
)
def test_the_lists(page: Page, address: str) -> None:
    page.goto(address)
    page.locator("[aria-busy]").last.wait_for(state="detached")
    sound(page, address)


def test_the_palette(page: Page) -> None:
    wait_for_outline(page, f"/s/{find_recording('2.1.325/tools').stem}")
    for text, group in (("", "Sessions"), ("tot", "Texts"), ("dark", "Settings"), ("qqqqqq", "Texts")):
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Go to").fill(text)
        page.locator(f"#palette [role=group][aria-label={group}]").wait_for()
        sound(page, f"palette with {text!r}", "#palette", wholly=True)
        page.keyboard.press("Escape")


def test_the_menus_of_the_list(page: Page) -> None:
    for menu in ("facets", "columns"):
        page.goto("/")
        page.locator(f"#{menu} > summary").click()
        sound(page, menu, f"#{menu}")
        for width in (380, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            box = page.locator(f"#{menu} fieldset").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_bookkeeping_has_room_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 380, "height": 800})
    wait_for_outline(page, f"/s/{find_recording('2.1.325/tools').stem}")
    page.keyboard.press("m")
    page.locator(".session.show-meta").wait_for(state="attached")
    page.evaluate("document.querySelectorAll('.item.meta details').forEach((one) => { one.open = true; })")
    widths = page.locator(".item.meta td.name").evaluate_all("cells => cells.map((cell) => cell.offsetWidth)")
    assert widths
    assert min(widths) > 100


def test_the_live_pages(page: Page) -> None:
    page.goto("/live")
    page.locator(f"article[data-ref='{SESSION}']").wait_for()
    page.locator("article .why").first.focus()
    page.get_by_role("tooltip").first.wait_for()
    sound(page, "board", wholly=True)
    page.evaluate("""() => {
      document.querySelector(".nothing").hidden = false;
      document.querySelector(".columns").hidden = true;
    }""")
    sound(page, "empty board", wholly=True)
    page.goto(f"/live/{SESSION}")
    page.locator(".link[data-connected=true]").wait_for()
    page.locator("details.live-agent").wait_for()
    sound(page, "session", wholly=True)


def test_the_replay(page: Page) -> None:
    page.goto(f"/replay/{find_recording('2.1.325/tools').stem}")
    page.locator(".replay.ready").wait_for()
    sound(page, "start of a replay", wholly=True)
    page.keyboard.press("End")
    sound(page, "end of a replay")
    page.keyboard.press("?")
    page.locator("#keys[open]").wait_for()
    sound(page, "keys", "#keys", wholly=True)
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("g")
    page.locator("#goto[open]").wait_for()
    sound(page, "go to", "#goto", wholly=True)


def test_failures(page: Page, complaints: Complaints) -> None:
    page.goto("/s/eeeeeeee-0000-4000-8000-000000000000")
    sound(page, "failure", wholly=True)
    page.keyboard.press("?")
    page.locator("#keys[open]").wait_for()
    sound(page, "keys", wholly=True)
    complaints[:] = [words for words in complaints if "404" not in words]


def test_exported_files(browser: Browser, tmp_path: Path) -> None:
    from turnlog.export.material import ExportChoice, ExportMaterial
    from turnlog.export.site import Site
    from turnlog.render.render_options import SHOW_EVERYTHING
    from turnlog.session.session import Session

    site = Site(tmp_path)
    for name in ("2.1.325/tools", "2.1.325/agents", "2.0.76/errors"):
        with Session.open(find_recording(name)) as session:
            site.add(ExportMaterial(session, ExportChoice(SHOW_EVERYTHING, all_branches=True)))
    site.finish("All of it")
    alone = browser.new_context()
    page = alone.new_page()
    for path in sorted(tmp_path.glob("*.html")):
        page.goto(path.as_uri())
        if path.name != "index.html":
            page.get_by_role("button", name="Expand all").click()
        sound(page, path.name, looks=FILES)
    alone.close()
