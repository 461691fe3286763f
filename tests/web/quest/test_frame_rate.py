"""How often the quest draws: a page that stays open for hours must not draw what nobody would miss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.conftest import Folders, Server, record_folders, start_indexed
from tests.web.quest.quest_driver import open_quest, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

ENTER = {"game": "enter", "session": "one", "title": "One", "project": "shop", "biome": 0}
WATCHED_MS = 3000
COUNT_DRAWINGS = """async (milliseconds) => {
  const { screen } = document.querySelector(".quest").quest;
  const draw = screen.draw.bind(screen);
  let count = 0;
  screen.draw = (...given) => { count += 1; draw(...given); };
  const begin = performance.now();
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  const seconds = (performance.now() - begin) / 1000;
  screen.draw = draw;
  return { count, seconds };
}"""
READ_RATE = """async () => {
  const source = document.querySelector("script[src*='quest/page.js']").src;
  const { isMoving } = await import(source.replace("page.js", "frame_timer.js"));
  return isMoving(document.querySelector(".quest").quest.state);
}"""
COMPARE_PICTURES = """async () => {
  const source = document.querySelector("script[src*='quest/page.js']").src;
  const { describePicture } = await import(source.replace("page.js", "frame_timer.js"));
  const { step } = await import(source.replace("page.js", "world.js"));
  const { quest } = document.querySelector(".quest");
  await quest.art.loadAll();
  const paint = (state) => {
    quest.screen.draw(state, { calm: true });
    return quest.screen.canvas.toDataURL();
  };
  let same = 0;
  const wrong = [];
  for (let at = 1; at < quest.script.seconds; at += 2.5) {
    let state = quest.script.seek(quest.state, at);
    for (const pause of [0.01, 0.25, 1, 7, 61]) {
      const later = step(state, null, pause);
      if (describePicture(state) === describePicture(later)) {
        same += 1;
        if (paint(state) !== paint(later)) wrong.push([at, pause]);
      }
      state = later;
    }
  }
  return { same, wrong };
}"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    return record_folders(tmp_path_factory.mktemp("rate"), ("2.1.325/plain",))


@pytest.fixture(scope="module")
def server(folders: Folders) -> Iterator[Server]:
    found = start_indexed(folders)
    yield found
    found.stop()


def send(page: Page, event: dict[str, Any]) -> None:
    page.evaluate("(event) => document.querySelector('.quest').quest.receive(event)", event)


def wait_until_still(page: Page) -> None:
    wait_until(page, lambda: not page.evaluate(READ_RATE), "all stand")


def count_drawings(page: Page) -> tuple[int, float]:
    found = page.evaluate(COUNT_DRAWINGS, WATCHED_MS)
    return found["count"], found["seconds"]


def test_without_heroes_two_frames_a_second_are_drawn(page: Page) -> None:
    open_quest(page)
    page.wait_for_timeout(500)
    wait_until_still(page)
    count, seconds = count_drawings(page)
    assert 1 <= count <= 2 * seconds + 2


def test_a_hero_that_acts_is_drawn_more_often_than_one_that_stands(page: Page) -> None:
    open_quest(page)
    send(page, ENTER)
    assert page.evaluate(READ_RATE)
    count, seconds = count_drawings(page)
    assert 1 <= count <= 24 * seconds + 2
    send(page, {"game": "leave", "session": "one"})
    wait_until(page, lambda: page.evaluate("document.querySelector('.quest').quest.state.party.length") == 0, "it left")
    wait_until_still(page)
    assert count_drawings(page)[0] <= 2 * seconds + 2


def test_with_less_motion_only_a_change_is_drawn(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    open_quest(page)
    page.wait_for_timeout(1500)  # the first sheets arrive
    wait_until_still(page)
    clock = page.evaluate("document.querySelector('.quest').quest.state.clock")
    count, _ = count_drawings(page)
    assert count <= 1  # a new minute changes the light
    assert page.evaluate("document.querySelector('.quest').quest.state.clock") > clock
    before = page.evaluate("document.querySelector('.quest').quest.screen.costs.length")
    send(page, ENTER)
    wait_until(
        page,
        lambda: page.evaluate("document.querySelector('.quest').quest.screen.costs.length") > before,
        "the hero is drawn",
    )


def test_pictures_with_less_motion_differ_only_if_their_descriptions_do(page: Page) -> None:
    open_quest(page, "/quest?demo=1")
    page.locator("[data-act=pause]").click()
    found = page.evaluate(COMPARE_PICTURES)
    assert found["same"] > 20
    assert found["wrong"] == []


def test_a_paused_quest_draws_nothing_until_something_is_chosen(page: Page) -> None:
    open_quest(page, "/quest?demo=1")
    page.locator("[data-act=pause]").click()
    page.wait_for_timeout(1000)
    assert count_drawings(page)[0] == 0
    before = page.evaluate("document.querySelector('.quest').quest.screen.costs.length")
    page.locator("[name=biome]").select_option("2")
    wait_until(
        page,
        lambda: page.evaluate("document.querySelector('.quest').quest.screen.costs.length") > before,
        "the biome is drawn",
    )
