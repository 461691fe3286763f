"""The quest in the terminal: sprites, pictures, panels and keys, without a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.quest.stories import tell
from turnlog.cli.quest.quest_screen import QuestScreen
from turnlog.quest.chests import ChestCeremony
from turnlog.quest.cosmetics import COSMETICS
from turnlog.quest.demo_script import build_demo
from turnlog.quest.ledger import ProfileKeeper
from turnlog.quest.terminal.half_blocks import render_half_blocks, to_cube_colour
from turnlog.quest.terminal.panels import list_chest_lines
from turnlog.quest.terminal.scene import SceneCaption, ScenePainter
from turnlog.quest.terminal.sprites import SHEETS_FOLDER, decode_sheet, load_sprites
from turnlog.quest.world.actors import ANIMATIONS
from turnlog.quest.world.world import create_world, step_world
from turnlog.render.json_bytes import to_plain_value


def strip_escapes(text: str) -> str:
    return re.sub("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07]*\x07", "", text)


def play(screen: QuestScreen, until: float, pause: float = 0.1) -> None:
    """Play the demo on a screen up to a time."""
    events, now = build_demo().script.events, 0.0
    while now < until:
        for event in events:
            if now <= event.at < now + pause:
                screen.add_event(event)
        screen.pass_time(pause, 720)
        now += pause


def open_demo(until: float = 0) -> QuestScreen:
    screen = QuestScreen(true_colour=True)
    screen.start({"sessions": [], "profile": to_plain_value(build_demo().profile)}, None, 1.0)
    play(screen, until)
    return screen


def show(screen: QuestScreen, columns: int = 100, rows: int = 30) -> str:
    screen.forget_frame()
    return strip_escapes(screen.draw(columns, rows))


def test_every_sheet_can_be_read_and_has_every_frame_of_the_layout() -> None:
    book = load_sprites()
    for path in sorted(SHEETS_FOLDER.glob("*.png")):
        rows = decode_sheet(path.read_bytes())
        assert rows
        assert len({len(row) for row in rows}) == 1, path.name
    assert list(book.layout["sheets"]["hero"]["rows"]) == list(ANIMATIONS)
    for sheet, facts in book.layout["sheets"].items():
        for row, place in facts["rows"].items():
            picture = book.get_frame(sheet, row, place["frames"] - 1)
            assert (len(picture), len(picture[0])) == (facts["height"], facts["width"]), (sheet, row)


def test_every_item_has_a_picture() -> None:
    layout = load_sprites().layout
    known = {
        *(f"hat-{name}" for name in layout["hats"]),
        *(f"face-{name}" for name in layout["faces"]),
        *(f"{slot}-{name}" for slot in ("aura", "trail") for name in layout["sheets"][slot]["rows"]),
    }
    assert known == {item.id for item in COSMETICS}


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n"])
def test_a_file_that_is_no_sheet_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        decode_sheet(data)


@pytest.mark.parametrize(("width", "height"), [(19, 12), (79, 40), (159, 60), (400, 80)])
def test_a_picture_has_exactly_the_size_of_the_terminal_at_any_time_of_the_demo(width: int, height: int) -> None:
    state = create_world()
    for event in build_demo().script.events:
        state = step_world(state, event.to_document(), 0.2)
        if event.game in ("error", "permission", "compact_start", "ship", "agent_finish"):
            painter = ScenePainter(load_sprites(), state, width, height)
            pixels = painter.paint()
            assert (len(pixels), {len(row) for row in pixels}) == (height, {width})
            assert all(0 <= colour <= 0xFFFFFF for row in pixels for colour in row)
            assert len(render_half_blocks(pixels, painter.captions)) == height // 2


def test_half_blocks_show_two_pixels_in_each_character() -> None:
    (line,) = render_half_blocks([[0xFF0000, 0x00FF00], [0x0000FF, 0x00FF00]])
    assert line == "\x1b[38;2;255;0;0;48;2;0;0;255m▀\x1b[38;2;255;0;0;48;2;0;255;0m \x1b[0m"


def test_captions_stay_inside_the_picture_and_cannot_carry_escapes() -> None:
    black = [[0] * 20 for _ in range(4)]
    lines = render_half_blocks(
        black, [SceneCaption(0, -3, "WAITS", 0xFFFFFF), SceneCaption(19, 2, "a\x1b[2Jb界", 0xFF)]
    )
    assert strip_escapes(lines[0]).startswith("WAITS")
    assert strip_escapes(lines[1]).endswith("a[2Jb?")
    assert not any("\x1b[2J" in line for line in lines)


def test_colours_of_the_cube_are_the_nearest() -> None:
    assert [to_cube_colour(colour) for colour in (0, 0xFFFFFF, 0xFF0000, 0x5F5F5F)] == [16, 231, 196, 59]


def test_a_hero_that_waits_says_so_in_the_picture_in_a_line_and_in_the_title() -> None:
    screen = open_demo(11)
    frame = show(screen)
    assert frame.count("WAITS FOR YOU") >= 2
    assert "Which French" in frame
    assert "1 wait for you" in screen.draw(100, 31)


def test_the_panel_names_the_quest_tasks_companions_and_mana() -> None:
    assert "Quest: Totals are off by a cent" in show(open_demo(6), 140, 40)
    frame = show(open_demo(24.9), 140, 40)
    assert "✓ Find the rounding" in frame
    assert "► Fix it" in frame
    assert "Level 5" in frame
    assert re.search(r"█+░+ +\d\d %", frame)


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (20, 8), (80, 24), (200, 60)])
def test_a_frame_fits_any_terminal(columns: int, rows: int) -> None:
    screen = open_demo(30)
    screen.forget_frame()
    drawn = screen.draw(columns, rows)
    assert {int(row) for row in re.findall("\x1b\\[(\\d+);1H", drawn)} == set(range(1, max(rows, 8) + 1))


def test_a_frame_that_stays_the_same_writes_almost_nothing() -> None:
    screen = open_demo()
    first, second = screen.draw(80, 24), screen.draw(80, 24)
    assert len(second) < 60 < len(first)


def test_keys_follow_pause_and_change_the_landscape_and_the_speed() -> None:
    screen = open_demo(14)
    assert "▸ Fix the rounding" in show(screen)
    screen.press("\x1b[C")
    assert "▸ Translate the recipes" in show(screen)
    screen.press("\x1b[D")
    screen.press(" ")
    assert screen.is_paused
    assert "Paused" in show(screen)
    screen.press(" ")
    screen.press("+")
    assert (screen.is_paused, screen.speed) == (False, 2.0)
    screen.press("?")
    assert "wardrobe: ← → slot" in show(screen)
    screen.press("x")
    screen.press(".")
    assert screen.is_paused
    assert screen.take_step()
    assert not screen.take_step()
    screen.press("q")
    assert screen.is_quitting


def test_the_wardrobe_of_the_demo_changes_clothes_for_the_moment() -> None:
    screen = open_demo(5)
    screen.press("\t")
    assert "Crown  (locked; chests offer it from level 14)" in show(screen, 100, 40)
    screen.press("\x1b[B")
    assert "▸ Wizard hat  (worn)" in show(screen, 100, 40)
    screen.press("\x1b[C")
    assert "[face]" in show(screen, 100, 40)
    screen.press("\t")
    assert "[face]" not in show(screen, 100, 40)


def test_a_chest_is_opened_with_keys_and_its_item_is_saved(tmp_path: Path) -> None:
    keeper = ProfileKeeper(tmp_path)
    for number in range(12):
        keeper.count_events(tell(["ultra"] * 10, f"s{number}", pause=60 + number))
    screen = QuestScreen(true_colour=False)
    screen.start({"sessions": [], "profile": to_plain_value(keeper.read_profile())}, tmp_path, 1.0)
    screen.press("c")
    assert "A chest!" in show(screen)
    for _ in range(40):
        screen.pass_time(0.1, 720)
    assert "Choose an item" in show(screen)
    screen.press("\x1b[C")
    screen.press("\r")
    assert "It is yours" in show(screen)
    found = keeper.read_profile()
    assert len(found.unlocked) == 3
    for _ in range(15):
        screen.pass_time(0.1, 720)
    assert "It is yours" not in show(screen)


def test_a_chest_that_is_put_off_still_waits(tmp_path: Path) -> None:
    keeper = ProfileKeeper(tmp_path)
    for number in range(12):
        keeper.count_events(tell(["ultra"] * 10, f"s{number}", pause=60 + number))
    screen = QuestScreen(true_colour=True)
    screen.start({"sessions": [], "profile": to_plain_value(keeper.read_profile())}, tmp_path, 1.0)
    screen.press("c")
    screen.press("\x1b")
    assert [chest.skipped for chest in keeper.read_profile().chests].count(True) == 1
    assert keeper.read_profile().chests


def test_without_a_chest_the_key_says_so() -> None:
    screen = open_demo()
    screen.press("c")
    assert "No chest waits" in show(screen)


def test_an_empty_chest_says_that_it_is_empty() -> None:
    assert list(list_chest_lines(ChestCeremony((), "done"))) == ["The chest is empty."]
