"""Transcripts that attack whoever reads them, on every page of a real server, in a real browser: nothing happens."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.conftest import BROWSER_LIMIT_MS
from tests.render.attacks import ATTACKS
from tests.session.build import SESSION, encode_lines
from tests.web import hostile
from tests.web.conftest import Complaints, Folders, Server, forget_preferences, start_indexed

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request

pytestmark = pytest.mark.slow

SHARES = 2
"""So many machines share the attacks."""
TOGETHER = 8
"""So many attacks are in one session, in turn."""
_ACTING = """() => [
  ...document.querySelectorAll("iframe, object, embed, base, meta[http-equiv], main script, main style, main link"),
].map((found) => found.outerHTML.slice(0, 200)).concat(
  [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes]
    .filter(({ name, value }) => /^on/.test(name) || (/^(href|src|action|formaction|xlink:href)$/.test(name)
      && /^\\s*(javascript|vbscript|data:text)/i.test(value)))
    .map(({ name, value }) => `${element.tagName} ${name}=${value.slice(0, 80)}`)),
)"""
"""What in a page could act, and is not ours."""


class Attack(NamedTuple):
    """Some attacks that share a session."""

    number: int
    texts: dict[str, str]

    @property
    def names(self) -> str:
        return ", ".join(self.texts)

    @property
    def uuid(self) -> str:
        return hostile.uuid_of(self.number)


def share(number: int) -> list[Attack]:
    every = list(ATTACKS.items())
    found = [
        Attack(first // TOGETHER, dict(every[first : first + TOGETHER])) for first in range(0, len(every), TOGETHER)
    ]
    return found[number::SHARES]


@pytest.fixture(scope="module", params=range(SHARES))
def attacks(request: pytest.FixtureRequest) -> list[Attack]:
    """Half of the attacks."""
    return share(request.param)


@pytest.fixture(scope="module")
def folders(attacks: list[Attack], tmp_path_factory: pytest.TempPathFactory) -> Folders:
    root = tmp_path_factory.mktemp("attacks")
    found = Folders(root / "claude", root / "turnlog")
    for attack in attacks:
        hostile.add(found, attack.number, *attack.texts.values())
        for place, text in enumerate(attack.texts.values()):
            hostile.add_short(found, 1000 + attack.number * TOGETHER + place, text)
            hostile.add_named(found, text)
    return found


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()
    assert not [words for words in found.errors if "error" in words]


@pytest.fixture(scope="module")
def entrance(browser: Browser, server: Server) -> Any:
    return server.entrance(browser)


@pytest.fixture
def context(browser: Browser, server: Server, entrance: Any) -> Iterator[BrowserContext]:
    found = browser.new_context(base_url=server.url, storage_state=entrance, accept_downloads=True)
    found.set_default_timeout(BROWSER_LIMIT_MS)
    forget_preferences(found, server)
    yield found
    found.close()


class Watch:
    """A page, and whether something in it ran, asked for other places, or broke."""

    def __init__(self, page: Page, home: str, complaints: Complaints) -> None:
        self.page = page
        self._home = home
        self._complaints = complaints
        page.on("dialog", self._dismiss_dialog)
        page.on("request", self._note_request)
        page.on("popup", lambda _: complaints.append("a window was opened"))
        page.on("response", lambda answer: complaints._note(answer.status >= 400, f"{answer.status}: {answer.url}"))

    def _dismiss_dialog(self, dialog: Dialog) -> None:
        self._complaints.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def _note_request(self, request: Request) -> None:
        self._complaints._note(not request.url.startswith((self._home, "data:", "file:")), f"asked for {request.url}")

    def look(self, what: str) -> None:
        """Nothing in the page as it is now acts, and nothing was complained of."""
        found = [*self._complaints, *self.page.evaluate(_ACTING)]
        assert not found, f"{what}: {found[:5]}"

    def open(self, address: str) -> Page:
        self.page.goto(address)
        self.look(address)
        return self.page

    def read(self, address: str) -> Page:
        """Open a transcript, and unfold all of it."""
        page = self.open(address)
        page.locator(".outline-list ol.windowed").wait_for(state="attached")
        page.keyboard.press("x")
        if not page.locator(".session.show-meta").count():  # the choice is remembered from the session before
            page.keyboard.press("m")
        page.locator(".session.show-meta").wait_for(state="attached")
        self.look(address)
        return page


@pytest.fixture
def watch(page: Page, server: Server, complaints: Complaints) -> Watch:
    return Watch(page, server.url, complaints)


def cut_search_text(text: str) -> str:
    """The beginning of an attack, as somebody types it into a field."""
    return text.replace("\0", "").strip()[:20] or "x"


def test_sessions_that_carry_attacks_in_every_field_are_read_and_nothing_happens(
    watch: Watch, attacks: list[Attack]
) -> None:
    for attack in attacks:
        page = watch.read(f"/s/{attack.uuid}")
        page.evaluate("document.querySelectorAll('details.agent').forEach((agent) => { agent.open = true; })")
        page.evaluate("document.querySelector('article.prompt a[href*=\"/raw/\"]').click()")
        page.locator("#raw .raw-body > *").first.wait_for(state="attached")
        watch.look(f"{attack.names}, raw")
        page.keyboard.press("Escape")
        window = page.locator("section.window").nth(3)
        window.evaluate("(window) => window.scrollIntoView({ behavior: 'instant' })")
        window.locator("article.item").last.wait_for(state="attached")
        watch.look(f"{attack.names}, middle")
        page.keyboard.press("End")
        page.locator("section.window:last-of-type article.item").last.wait_for(state="attached")
        watch.look(f"{attack.names}, end")
        page.keyboard.press("/")
        for text in sorted({cut_search_text(text) for text in list(attack.texts.values())[::2]}):
            with page.expect_response(lambda answer: "/find?" in answer.url):
                page.locator(".find-here input").fill(text)
            page.locator(".find-here output", has_text="found").wait_for()
            watch.look(f"{attack.names}, find")


def test_sub_agents_are_read_on_pages_of_their_own(watch: Watch, attacks: list[Attack]) -> None:
    for place, attack in enumerate(attacks):
        name = "a1" if place % 2 else hostile.file_name(next(iter(attack.texts.values())))
        watch.read(f"/s/{attack.uuid}/agent/{quote(name, safe='')}")


def test_the_lists_and_what_is_found_in_them_do_nothing(watch: Watch, folders: Folders, attacks: list[Attack]) -> None:
    page = watch.open("/?all=1&group=project")
    assert page.locator("tr.session").count() >= sum(len(attack.texts) for attack in attacks)
    for text in (cut_search_text(text) for attack in attacks for text in list(attack.texts.values())[::4]):
        with page.expect_response(lambda answer: "/rows?" in answer.url):
            page.locator("#filter").fill(text)
        page.locator("#sessions:not([aria-busy])").wait_for(state="attached")
        page.evaluate("() => new Promise(requestAnimationFrame)")
        watch.look(text)
    for query in ("alert", "x"):
        watch.open(f"/search?q={query}")
        page.wait_for_load_state("networkidle")
    watch.open("/search?mode=substring&text=alert")
    watch.open("/insights?range=all")
    page.locator(".part[aria-busy]").last.wait_for(state="detached")
    watch.look("insights")
    for path in (
        "/prompts",
        f"/compare?left={attacks[0].uuid}",
        f"/compare?left={attacks[0].uuid}&right={attacks[1].uuid}",
    ):
        watch.open(path)
        assert page.locator("main a").count() > 1
    page.keyboard.press("Control+k")
    for text in (cut_search_text(text) for attack in attacks for text in list(attack.texts.values())[::8]):
        page.get_by_role("combobox", name="Go to").fill(text)
        page.locator("#palette", has_text=f"Search all sessions for “{text.strip()}”").wait_for()
        watch.look(f"palette: {text}")
    page.keyboard.press("Escape")
    prompt_again(folders, [text for attack in attacks for text in attack.texts.values()])
    with page.expect_response("**/api/live/updates*"):
        watch.open("/live")
    page.locator("main article").first.wait_for(state="attached")
    watch.look("live")


def prompt_again(folders: Folders, texts: list[str]) -> None:
    """Add a prompt to sessions now: the board shows only those that are active today."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    for path, text in zip(sorted(folders.projects.glob("*/*.jsonl")), cycle(texts), strict=False):
        message = {"role": "user", "content": text}
        prompt = {"type": "user", "uuid": "now", "timestamp": now, "cwd": text, "gitBranch": text, "message": message}
        with path.open("ab") as file:
            file.write(encode_lines([prompt]))


def test_what_is_appended_while_a_page_follows_does_nothing(
    watch: Watch, folders: Folders, attacks: list[Attack]
) -> None:
    first, *others = attacks
    path = next(folders.projects.glob(f"*/{first.uuid}.jsonl"))
    page = watch.open(f"/live/{first.uuid}")
    page.locator(".link[data-connected=true]").wait_for()
    for attack in others[:3]:
        made = hostile.lines([*attack.texts.values()], first.uuid, 1)[:90]
        end = {"type": "user", "uuid": f"end-{attack.number}", "message": {"role": "user", "content": "END"}}
        with path.open("ab") as file:
            file.write(encode_lines([*made, {**end, "timestamp": made[0]["timestamp"], "parentUuid": None}]))
        for text in attack.texts.values():
            agent = path.with_suffix("") / "subagents" / f"agent-{hostile.file_name(text)}.jsonl"
            agent.write_bytes(encode_lines([{**line, "isSidechain": True, "agentId": text} for line in made[:20]]))
        page.locator(f"[data-key='end-{attack.number}']").wait_for(state="attached", timeout=60_000)
        watch.look(f"{attack.names}, appended to a session with {first.names}")


def test_the_report_of_an_action_does_nothing(watch: Watch, attacks: list[Attack]) -> None:
    for attack in attacks[:3]:
        page = watch.open(f"/s/{attack.uuid}")
        for verb in ("clone", "redact"):
            page.locator("details.actions-menu > summary").click()
            page.locator(f"[data-verb={verb}]").click()
            page.locator("#action .words:not([hidden])").wait_for(timeout=60_000)
            watch.look(verb)
            page.keyboard.press("Escape")


def test_an_exported_page_does_nothing_as_a_file(
    browser: Browser, folders: Folders, attacks: list[Attack], tmp_path: Path
) -> None:
    from turnlog.export.html import write_pages
    from turnlog.export.material import ExportChoice, ExportMaterial
    from turnlog.render.render_options import SHOW_EVERYTHING
    from turnlog.session.session import Session

    plain = browser.new_context()
    page = plain.new_page()
    complaints = Complaints()
    complaints.watch(page)
    watch = Watch(page, "file:", complaints)
    # Of these a part: tests/export/test_browser.py opens pages with all of them.
    for attack in attacks[::3]:
        goal = tmp_path / f"{attack.number}.html"
        with Session.open(next(folders.projects.glob(f"*/{attack.uuid}.jsonl"))) as session:
            write_pages(ExportMaterial(session, ExportChoice(SHOW_EVERYTHING, all_branches=True)), goal)
        page.goto(goal.as_uri())
        page.get_by_role("button", name="Expand all").click()
        assert not complaints, (attack.names, complaints)
        assert not page.evaluate(_ACTING.replace("base, meta[http-equiv], ", "base, ")), attack.names
    assert watch.page is page
    plain.close()


@pytest.mark.parametrize("attacks", [0], indirect=True)
def test_failures_show_what_was_asked_for_and_do_nothing(watch: Watch, complaints: Complaints) -> None:
    for text in ("<script>alert(1)</script>", "javascript:alert(1)", "%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E"):
        for address in (f"/{text}", f"/s/{SESSION}?branch={text}", f"/search?q={text}", f"/insights/{text}"):
            watch.page.goto(address)
            complaints[:] = [words for words in complaints if "404" not in words]
            watch.look(address)
