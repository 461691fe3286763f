"""The controls of the quest: replay, demo, wardrobe, chest, studio, sizes, motion, touch, and what axe-core finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.session.build import find_recording as recorded_file
from tests.web.conftest import Folders, Server, record_folders, start_indexed
from tests.web.quest.quest_driver import PATIENCE_SECONDS, open_quest, read_state, send_event, step_frames, wait_until
from turnlog.quest.cosmetics import COSMETICS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

DEMO = "/quest?demo=1"
LEVEL_UP_SECONDS = 70
MOVE_RANGE = """(seconds) => {
  const range = document.querySelector(".scrub input");
  range.value = seconds;
  range.dispatchEvent(new Event("input"));
}"""
PICTURE = """() => {
  const { quest } = document.querySelector(".quest");
  quest.screen.draw(quest.state, { calm: document.querySelector("[data-act=motion]").ariaPressed === "true" });
  return quest.screen.canvas.toDataURL();
}"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("controls"), ("2.1.325/agents", "2.1.325/tools"))


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def find_violations(page: Page) -> list[Any]:
    """Everything that axe-core finds, in light and dark colours, and what is wider than a phone."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    found: list[Any] = []
    for scheme, width in (("light", 380), ("dark", 1280)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        violations = Axe().run(page).response["violations"]
        found += [(scheme, one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in violations]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append((scheme, "too wide", []))
    return found


def read_face(page: Page) -> Any:
    """The face that the heroes wear."""
    profile = read_state(page)["profile"] or {}
    return profile.get("worn", {}).get("face")


def test_a_replay_can_be_moved_to_any_time(page: Page) -> None:
    open_quest(page, f"/quest?replay={recorded_file('2.1.325/agents').stem}")
    page.locator("[data-act=pause]").click()
    wait_until(page, lambda: read_state(page)["profile"], "the profile")
    seconds = page.evaluate("document.querySelector('.quest').quest.script.seconds")
    page.evaluate(MOVE_RANGE, seconds)
    end = read_state(page)
    assert page.locator(".log li").count() > 3
    page.evaluate(MOVE_RANGE, seconds / 2)
    middle = read_state(page)
    page.evaluate(MOVE_RANGE, 0)
    assert read_state(page)["clock"] <= middle["clock"] < end["clock"]
    page.evaluate(MOVE_RANGE, seconds / 2)
    assert read_state(page) == middle
    # The range has tenths of a second.
    assert page.evaluate("document.querySelector('.quest').quest.script.at") == pytest.approx(seconds / 2, abs=0.11)


def test_pause_step_and_speed_rule_time(page: Page) -> None:
    open_quest(page, DEMO)
    page.keyboard.press("Space")
    clock = read_state(page)["clock"]
    assert step_frames(page, 24)[-1]["clock"] == pytest.approx(clock + 100, abs=13)
    page.keyboard.press("+")
    assert page.locator("[name=speed]").input_value() == "2"
    page.keyboard.press("Space")
    wait_until(page, lambda: read_state(page)["clock"] > clock + 300, "time goes on")


def test_the_landscape_and_the_followed_session_can_be_chosen(page: Page) -> None:
    open_quest(page, DEMO)
    page.locator("[name=biome]").select_option("4")
    wait_until(page, lambda: read_state(page)["biome"] == 4, "the library")
    page.evaluate(MOVE_RANGE, 30)
    other = read_state(page)["party"][1]["session"]
    page.locator("[name=follow]").select_option(other)
    assert read_state(page)["choice"]["follow"] == other
    page.reload()
    page.locator(".quest[data-ready=true]").wait_for()
    assert page.locator("[name=biome]").input_value() == "4", "the choice lasts"


def test_the_wardrobe_opens_with_tab_and_what_is_put_on_stays_on(page: Page) -> None:
    from playwright.sync_api import expect

    open_quest(page)
    page.locator(".stage canvas").focus()
    page.keyboard.press("Tab")
    dialog = page.locator("#wardrobe")
    expect(dialog).to_be_visible()
    assert dialog.locator("input").count() == len(COSMETICS) + 4
    page.keyboard.press("ArrowRight")
    expect(dialog.locator("fieldset").nth(1).locator("input:focus")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    wait_until(page, lambda: read_face(page) == "face-mustache", "the moustache is put on")
    page.keyboard.press("Tab")
    expect(dialog).to_be_hidden()
    page.reload()
    page.locator(".quest[data-ready=true]").wait_for()
    wait_until(
        page, lambda: (read_state(page)["profile"] or {}).get("worn", {}).get("face") == "face-mustache", "again"
    )


def test_a_chest_of_the_demo_opens_and_its_item_is_worn(page: Page) -> None:
    from playwright.sync_api import expect

    open_quest(page, DEMO)
    page.locator("[data-act=pause]").click()
    offers = ["hat-crown", "aura-flame", "trail-petals"]
    profile = {
        **read_state(page)["profile"],
        "chests": [{"id": "demo-1", "kind": "level", "state": "closed", "offers": offers}],
    }
    send_event(page, "profile", profile=profile)
    page.keyboard.press("c")
    dialog = page.locator("#chest")
    expect(dialog).to_have_attribute("data-state", "choosing", timeout=PATIENCE_SECONDS * 1000)
    expect(dialog.locator(".offers button")).to_have_count(3)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden(timeout=PATIENCE_SECONDS * 1000)
    assert read_state(page)["profile"]["worn"]["aura"] == "aura-flame"
    assert read_state(page)["profile"]["chests"] == []


def test_the_picture_has_whole_pixels_at_any_size(page: Page) -> None:
    open_quest(page, DEMO)
    for width, height in ((1280, 900), (1000, 700), (2000, 1300), (700, 500)):
        page.set_viewport_size({"width": width, "height": height})

        def is_whole(width: int = width) -> bool:
            box = page.locator(".stage canvas").bounding_box()
            return (
                box is not None
                and box["width"] % 320 == 0
                and box["height"] % 200 == 0
                and 320 <= box["width"] <= width
            )

        wait_until(page, is_whole, f"{width} x {height}")


def test_less_motion_shows_poses_that_do_not_move(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    open_quest(page, DEMO)
    page.locator("[data-act=pause]").click()
    page.evaluate(MOVE_RANGE, 10_000)
    step_frames(page, 400)  # what has begun to fade or to fly is over
    before = page.evaluate(PICTURE)
    step_frames(page, 2)
    assert page.evaluate(PICTURE) == before
    page.locator("[data-act=motion]").click()
    moving = page.evaluate(PICTURE)
    step_frames(page, 2)
    assert page.evaluate(PICTURE) != moving


def test_a_tap_on_a_hero_follows_it(browser: Browser, server: Server) -> None:
    context = browser.new_context(
        base_url=server.url,
        storage_state=server.entrance(browser),
        has_touch=True,
        viewport={"width": 720, "height": 900},
    )
    page = context.new_page()
    open_quest(page, DEMO)
    page.locator("[data-act=pause]").tap()
    page.evaluate(MOVE_RANGE, 30)
    place = page.evaluate(
        """async () => {
          const page = document.querySelector("script[src*='quest/page.js']").src;
          const { placeHero } = await import(page.replace("page.js", "stage.js"));
          return placeHero(document.querySelector(".quest").quest.state, 1);
        }"""
    )
    box = page.locator(".stage canvas").bounding_box()
    assert box is not None
    scale = box["width"] / 320
    page.touchscreen.tap(box["x"] + (place["x"] + 16) * scale, box["y"] + (place["y"] + 18) * scale)
    other = read_state(page)["party"][1]["session"]
    wait_until(page, lambda: read_state(page)["choice"]["follow"] == other, "the tapped hero is followed")
    context.close()


def test_sound_is_off_until_it_is_turned_on(page: Page) -> None:
    from playwright.sync_api import expect

    open_quest(page, DEMO)
    button = page.locator("[data-act=sound]")
    expect(button).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("document.querySelector('.quest').quest.sound === null")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_the_studio_plays_every_animation_landscape_and_item(page: Page) -> None:
    from playwright.sync_api import expect

    page.goto("/quest/studio")
    page.locator(".studio[data-ready=true]").wait_for(timeout=PATIENCE_SECONDS * 1000)
    page.locator("[data-act=pause]").click()
    names = page.locator("[name=animation] option").evaluate_all("all => all.map((one) => one.value)")
    assert len(names) == 13
    for name in names:
        page.locator("[name=animation]").select_option(name)
        expect(page.locator(".frame")).to_contain_text(f"{name}: frame")
        assert page.evaluate("document.querySelector('.studio').studio.buildState().party[0].anim") == name
    assert page.locator("[name=biome] option").count() == 5
    items = sum(page.locator(f"[name={slot}] option").count() - 1 for slot in ("hat", "face", "aura", "trail"))
    assert items == len(COSMETICS)
    before = page.locator(".frame").inner_text()
    page.keyboard.press(".")
    expect(page.locator(".frame")).not_to_have_text(before)


def test_the_pages_are_accessible(page: Page) -> None:
    open_quest(page, DEMO)
    page.locator("[data-act=pause]").click()
    page.evaluate(MOVE_RANGE, 45)
    assert find_violations(page) == []
    page.keyboard.press("w")
    page.locator("#wardrobe[open]").wait_for()
    assert find_violations(page) == []
    page.keyboard.press("Escape")
    chest = {"id": "demo-1", "kind": "bonus", "state": "closed", "offers": ["hat-crown", "face-pipe"]}
    send_event(page, "profile", profile={**read_state(page)["profile"], "chests": [chest]})
    page.keyboard.press("c")
    page.locator("#chest[data-state=choosing] .offers button").first.wait_for(timeout=PATIENCE_SECONDS * 1000)
    assert find_violations(page) == []
    page.goto("/quest/studio")
    page.locator(".studio[data-ready=true]").wait_for(timeout=PATIENCE_SECONDS * 1000)
    assert find_violations(page) == []
