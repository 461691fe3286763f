"""Paints the world as pixels: the part of the page's picture, 320 by 200 pixels, that fits into the terminal.

The places of heroes and companions are those of the page (`stage.js`). Where the page writes small letters, the
terminal has letters of its own, so the scene also returns captions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from turnlog.quest.terminal.sprites import TRANSPARENT, Pixels, SpriteBook
from turnlog.quest.world.actors import find_frame
from turnlog.quest.world.figures import HeroFigure, Item, WorldState
from turnlog.quest.world.world import LIFE_TICKS, find_focus, list_waits

SCENE_WIDTH, SCENE_HEIGHT = 320, 200
_CENTRE, _MAX_GAP, _PARTY_WIDTH = 132, 68, 262
_LOWEST_ROW = 198
_COMPANION_FEET = (194, 170, 183)
_SKY_ROWS = 160
_POOF_HAT_FRAMES = 5
_STORM_COLOUR, _RAIN_COLOUR = 0x23263A, 0x8AA0C8
_FIREWORK_COLOURS = (0xFFE36E, 0xFF8AD0, 0x7EF2FF, 0x9BE07A, 0xFF9D3B, 0xB07AFF)
_TOOL_COLOURS = {
    "bash": 0xFF5A5A, "read": 0x6AB8FF, "write": 0x7AE07A, "web": 0xFFE36E, "agent": 0xC08AFF, "other": 0xC8C8D0,
}  # fmt: skip
_XP_COLOUR, _WAIT_COLOUR, _ENEMY_COLOUR, _QUIET_COLOUR = 0xFFE36E, 0xFFE36E, 0xFF8A5A, 0xFFFFFF
_RAINBOW = (0xFF5A5A, 0xFF9D3B, 0xFFE36E, 0x7AE07A, 0x6AB8FF, 0xC08AFF)


class ScenePlace(NamedTuple):
    x: int
    y: int


class SceneCaption(NamedTuple):
    """Letters over the picture, at the middle of a place in it."""

    x: int
    y: int
    text: str
    colour: int


class ScenePainter:
    """One picture of a size."""

    def __init__(self, book: SpriteBook, state: WorldState, width: int, height: int) -> None:
        self._book = book
        self._state = state
        self.width, self.height = width, height
        self._left = self._choose_left()
        self._top = _LOWEST_ROW - height
        self.pixels: Pixels = [[0] * width for _ in range(height)]
        self.captions: list[SceneCaption] = []

    def paint(self) -> Pixels:
        """Paint everything, the farthest first."""
        biome = self._book.layout["biomes"][self._state.biome or 0]
        self._paint_sky(biome)
        for layer in biome["layers"][:-1]:
            self._paint_layer(biome["file"], layer)
        if self._state.storm:
            self._paint_storm()
        for index, hero in reversed(list(enumerate(self._state.party))):
            self._paint_hero(index, hero)
        self._paint_fireworks()
        if self._state.banner is not None:
            self._write_banner(self._state.banner)
        waits = len(list_waits(self._state))
        if waits:  # also if who waits is outside the picture
            words = f" {waits} WAIT{'S' if waits == 1 else ''} FOR YOU "
            self.captions.append(SceneCaption(self.width // 2, 0, words, _WAIT_COLOUR))
        return self.pixels

    def _choose_left(self) -> int:
        """Return the left edge, so that the hero who is followed is seen with its companions."""
        focus = find_focus(self._state)
        middle = SCENE_WIDTH // 2
        if focus is not None:
            middle = place_hero(self._state, self._state.party.index(focus)).x + 8
        if self.width >= SCENE_WIDTH:
            return (SCENE_WIDTH - self.width) // 2
        return max(0, min(middle - self.width // 2, SCENE_WIDTH - self.width))

    # -- scenery

    def _paint_sky(self, biome: dict[str, Any]) -> None:
        name = biome["only"] or _find_light(self._state.minute)
        stops = [int(colour, 16) for colour in self._book.layout["skies"][name]["sky"]]
        for row in range(self.height):
            share = max(0.0, min((row + self._top) / _SKY_ROWS, 0.999)) * (len(stops) - 1)
            number = int(share)
            colour = _mix_colours(stops[number], stops[number + 1], share - number)
            self.pixels[row] = [colour] * self.width

    def _paint_layer(self, file: str, layer: dict[str, Any]) -> None:
        sheet = self._book.read_sheet(file)
        begin = (int(self._state.scroll / 10 * layer["factor"]) + self._left) % SCENE_WIDTH
        for y in range(layer["height"]):
            row = y + layer["y"] - self._top
            if 0 <= row < self.height:
                source = sheet[layer["top"] + y]
                turned = source[begin:] + source[:begin]
                repeats = -(-self.width // SCENE_WIDTH)
                line = self.pixels[row]
                self.pixels[row] = [
                    old if new == TRANSPARENT else new
                    for old, new in zip(line, (turned * repeats)[: self.width], strict=True)
                ]

    def _paint_storm(self) -> None:
        share = self._state.storm / 400
        for number, row in enumerate(self.pixels):
            self.pixels[number] = [_mix_colours(colour, _STORM_COLOUR, share) for colour in row]
        for drop in range(self._state.storm * self.width // 500):
            x, speed = drop * 37 % self.width, 3 + drop % 3
            y = (drop * 53 + self._state.clock * speed // 4) % self.height
            self.pixels[y][x] = _RAIN_COLOUR

    # -- figures

    def _put(self, picture: Pixels, x: int, y: int) -> None:
        """Put a picture with its upper left corner at a place of the scene."""
        left, top = x - self._left, y - self._top
        for number, source in enumerate(picture):
            row = top + number
            if not 0 <= row < self.height:
                continue
            line = self.pixels[row]
            for column, colour in enumerate(source, left):
                if colour != TRANSPARENT and 0 <= column < self.width:
                    line[column] = colour

    def _write(self, x: int, y: int, text: str, colour: int) -> None:
        self.captions.append(SceneCaption(x - self._left, y - self._top, text, colour))

    def _paint_hero(self, index: int, hero: HeroFigure) -> None:
        place = place_hero(self._state, index)
        for number, one in enumerate(hero.companions):
            spot = place_companion(self._state, index, number)
            variant = self._book.choose_companion_variant(one.type)
            self._put(self._book.get_frame("companion", one.anim, find_frame(one), variant), *spot)
            if one.waiting:
                self._write(spot.x + 8, spot.y - 2, "!", _WAIT_COLOUR)
        worn = (self._state.profile or {}).get("worn") or {}
        is_whole = hero.anim not in ("rest", "poof", "enter")
        if is_whole and worn.get("aura"):
            frame = self._state.clock // 9 % 8
            self._put(self._book.get_frame("aura", _get_item_name(worn["aura"]), frame), place.x - 8, place.y - 14)
        if hero.anim == "walk" and worn.get("trail"):
            self._paint_trail(_get_item_name(worn["trail"]), place)
        if hero.anim == "rest":
            self._put(self._book.get_frame("chest", "fire", self._state.clock // 8), place.x + 26, place.y + 1)
            self._write(place.x + 12, place.y + 8 - self._state.clock // 20 % 8, "Zzz", _QUIET_COLOUR)
        frame = find_frame(hero)
        variant = self._book.choose_hero_variant(hero.session)
        self._put(self._book.get_frame("hero", hero.anim, frame, variant), *place)
        self._dress(hero, worn, place, frame)
        self._paint_extras(index, hero, place)

    def _dress(self, hero: HeroFigure, worn: dict[str, Any], place: ScenePlace, frame: int) -> None:
        """Put the hat and the face on the head, wherever it is in this frame."""
        if hero.anim == "poof" and frame >= _POOF_HAT_FRAMES:
            return
        x, y = self._book.layout["heads"][hero.anim][frame]
        for slot, names, left, top in (("face", "faces", 8, 6), ("hat", "hats", 12, 18)):
            name, known = _get_item_name(worn.get(slot)), self._book.layout[names]
            if name in known:
                self._put(self._book.get_cell(slot, known.index(name)), place.x + x - left, place.y + y - top)

    def _paint_trail(self, name: str, place: ScenePlace) -> None:
        for number in range(5):
            frame = (self._state.clock // 8 + number * 2) % 8
            picture = self._book.get_frame("trail", name, frame)
            self._put(picture, place.x - 4 - number * 7, place.y + 15 + number % 2 * 5)

    def _paint_extras(self, index: int, hero: HeroFigure, place: ScenePlace) -> None:
        """Add what surrounds a hero: enemies, thrown names of tools, experience, and the sign of one who waits."""
        for enemy in hero.enemies:
            self._paint_enemy(index, hero, enemy)
        for item in hero.thrown:
            rise = item["age"] * 26 // LIFE_TICKS["thrown"]
            y = place.y - 4 - rise - item["lane"] * 4
            self._write(place.x + 34 + rise, y, item["text"], _TOOL_COLOURS[item["colour"]])
        for number, gain in enumerate(hero.gains):
            rise = gain["age"] * 20 // LIFE_TICKS["gain"]
            self._write(place.x + 4, place.y - 2 - rise - number * 4, f"+{gain['amount']} xp", _XP_COLOUR)
        if hero.waiting:
            self._write(place.x + 16, place.y - 8, " WAITS FOR YOU ", _WAIT_COLOUR)

    def _paint_enemy(self, index: int, hero: HeroFigure, enemy: Item) -> None:
        spot = place_hero(self._state, index)
        x, y, size = spot.x + 16, spot.y + 16, 32
        if enemy["actor"] != "main":
            number = next((n for n, one in enumerate(hero.companions) if one.agent == enemy["actor"]), None)
            if number is None:
                return
            spot = place_companion(self._state, index, number)
            x, y, size = spot.x + 8, spot.y + 8, 16
        place = place_enemy(enemy, x, y, size)
        row = enemy["kind"] if enemy["kind"] in ("error", "low") else f"bug{enemy['shape']}"
        self._put(self._book.get_frame("enemy", row, self._state.clock // 7), place.x - 12, place.y - 12)
        label = {"error": "ERROR", "low": "LOW CTX"}.get(enemy["kind"], "bug")
        self._write(place.x, place.y - 15, label, _ENEMY_COLOUR)

    # -- shows

    def _paint_fireworks(self) -> None:
        for rocket in self._state.fireworks:
            age = rocket["age"]
            if age < 0:
                continue
            reach = 2 + age // 8
            colour = _FIREWORK_COLOURS[rocket["colour"]]
            # Most of the sky is above a terminal's picture, so the rockets burst lower.
            x = rocket["x"] * self.width // SCENE_WIDTH
            y = rocket["y"] * self.height // (2 * SCENE_HEIGHT)
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
                row, column = y + dy * reach // 2, x + dx * reach
                if 0 <= row < self.height and 0 <= column < self.width:
                    self.pixels[row][column] = colour

    def _write_banner(self, banner: Item) -> None:
        words = "★ SHIPPED ★" if banner["kind"] == "push" else "★ SHIPPED: PULL REQUEST ★"
        colour = _RAINBOW[banner["age"] // 12 % len(_RAINBOW)]
        self.captions.append(SceneCaption(self.width // 2, 2, f" {words} ", colour))


def place_hero(state: WorldState, index: int) -> ScenePlace:
    """Return the upper left corner of a hero; the first of the party leads."""
    count = len(state.party)
    gap = min(_MAX_GAP, _PARTY_WIDTH / max(1, count))
    foot = 181 if count == 1 else 173 if index % 2 else 184
    return ScenePlace(round(_CENTRE + ((count - 1) / 2 - index) * gap), foot - 30)


def place_companion(state: WorldState, index: int, number: int) -> ScenePlace:
    """Return the upper left corner of a companion, which is behind its hero."""
    hero, count = place_hero(state, index), len(state.party[index].companions)
    rows = 3 if count > 12 else 2
    column, row = divmod(number, rows)
    gap = 10 if len(state.party) > 4 else 13
    foot = _COMPANION_FEET[row] + (0 if len(state.party) == 1 else index % 2 * -3)
    return ScenePlace(round(hero.x + 2 - (column + 1) * gap - row * 4), foot - 15)


def place_enemy(enemy: Item, x: int, y: int, size: int) -> ScenePlace:
    """Return the middle of an enemy that is on its way to a target."""
    reach = size // 2 + 6
    if enemy["phase"] == "fly":
        share = min(1.0, enemy["age"] / LIFE_TICKS["flight"])
        begin = ScenePlace(340, 96 + enemy["shape"] * 12)
        return ScenePlace(int(begin.x + (x + reach - begin.x) * share), int(begin.y + (y - 2 - begin.y) * share))
    if enemy["phase"] == "hover":
        return ScenePlace(x + 34, y - 16)
    share = enemy["age"] / LIFE_TICKS["impact"]
    if enemy["phase"] == "flee":
        return ScenePlace(int(x + 34 + share * 160), int(y - 16 - share * 60))
    return ScenePlace(int(x + reach + share * 26), int(y - 2 - share * 12))


def _find_light(minute: int) -> str:
    if minute < 340 or minute >= 1200:
        return "night"
    if minute < 430:
        return "dawn"
    return "day" if minute < 1090 else "dusk"


def _mix_colours(one: int, other: int, share: float) -> int:
    mixed = 0
    for shift in (16, 8, 0):
        a, b = one >> shift & 0xFF, other >> shift & 0xFF
        mixed |= int(a + (b - a) * share) << shift
    return mixed


def _get_item_name(item: str | None) -> str:
    return item.partition("-")[2] if item else ""
