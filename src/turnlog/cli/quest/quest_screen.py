"""The quest on a terminal: the world, the keys, and each frame as text."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

from turnlog.cli.terminal import cut_to_cells, make_visible
from turnlog.errors import TurnlogError
from turnlog.quest.chests import ChestCeremony, advance_ceremony, move_selection, press_key
from turnlog.quest.cosmetics import SLOTS
from turnlog.quest.game_event import GameEvent
from turnlog.quest.profile import QuestProfile
from turnlog.quest.story_lines import StoryTeller
from turnlog.quest.terminal.half_blocks import render_half_blocks
from turnlog.quest.terminal.panels import list_chest_lines, list_panel_lines, list_wardrobe, list_wardrobe_lines
from turnlog.quest.terminal.scene import ScenePainter
from turnlog.quest.terminal.sprites import load_sprites
from turnlog.quest.wardrobe import claim_item, open_chest, skip_chest, wear_item
from turnlog.quest.world.figures import WorldEvent
from turnlog.quest.world.world import create_world, find_focus, list_waits, step_world
from turnlog.render.json_bytes import to_plain_value

MAX_PICTURE_ROWS, MIN_PICTURE_ROWS = 40, 6
_MAX_LOG_LINES = 50
_BIOME_CHOICES = ("project", "time", "cycle", 0, 1, 2, 3, 4)
_SPEED_FACTOR, _MIN_SPEED, _MAX_SPEED = 2.0, 0.125, 64.0
_KEY_NAMES = {
    "\x1b[C": "right", "\x1bOC": "right", "\x1b[D": "left", "\x1bOD": "left", "\x1b[A": "up", "\x1bOA": "up",
    "\x1b[B": "down", "\x1bOB": "down", "\t": "tab", "\x1b": "escape", "\r": "enter", "\n": "enter", " ": "space",
    "q": "quit", "Q": "quit", "\x03": "quit", "?": "help", "b": "biome", "c": "chest", ".": "step", "+": "faster",
    "=": "faster", "-": "slower",
}  # fmt: skip
HELP_LINES = (
    "Tab        wardrobe: ← → slot, ↑ ↓ item",
    "← →        follow the previous or the next hero",
    "c          open a chest",
    "b          landscape: of the project, by time of day, in turn, or always the same",
    "Space      pause or go on; . shows the next event of a replay",
    "+ -        speed of a replay",
    "q          quit",
)


class QuestScreen:
    """What is shown, and what keys change."""

    def __init__(self, *, true_colour: bool) -> None:
        self._true_colour = true_colour
        self._state = create_world()
        self._teller = StoryTeller()
        self._log: deque[str] = deque(maxlen=_MAX_LOG_LINES)
        self._data_dir: Path | None = None
        self._frame: list[str] = []
        self._panel = ""
        """wardrobe, chest or help; empty for the party."""
        self._slot = self._item = self._biome = 0
        self._chest = ChestCeremony()
        self._chest_id = ""
        self._problem = ""
        self._has_step = False
        self.trouble = ""
        """Why nothing can be counted."""
        self.speed = 1.0
        self.is_paused = self.is_quitting = False

    # -- what happens

    def start(self, snapshot: dict[str, Any], data_dir: Path | None, speed: float) -> None:
        """Show a party; without a data folder, nothing that a person chooses is saved."""
        self._data_dir, self.speed = data_dir, speed
        self._teller.name_heroes(snapshot["sessions"])
        self.apply({"game": "snapshot", **snapshot})

    def apply(self, event: WorldEvent) -> None:
        """Let an event of the world itself happen."""
        self._state = step_world(self._state, event, 0)

    def add_event(self, event: GameEvent) -> None:
        """Let a game event happen, and log it."""
        document = event.to_document()
        self._state = step_world(self._state, document, 0)
        if line := self._teller.write_line(event):
            self._log.append(line)

    def pass_time(self, seconds: float, minute: int) -> None:
        """Let time pass; `minute` is that of the day."""
        self._state = step_world(self._state, {"game": "clock", "minute": minute}, seconds)
        if self._panel == "chest":
            self._advance_chest(seconds if seconds else 0.0)

    def take_step(self) -> bool:
        """Return whether the next event was requested, once."""
        has_step, self._has_step = self._has_step, False
        return has_step

    # -- keys

    def press(self, key: str) -> None:
        """React to a key."""
        name = _KEY_NAMES.get(key, "")
        self._problem = ""
        if name == "quit":
            self.is_quitting = True
        elif self._panel == "wardrobe" and name in ("left", "right", "up", "down", "tab", "escape"):
            self._press_in_wardrobe(name)
        elif self._panel == "chest" and name in ("left", "right", "enter", "space", "escape"):
            self._press_at_chest(name)
        elif self._panel:
            self._panel = ""
        else:
            self._press_in_party(name)

    def _press_in_party(self, name: str) -> None:
        if name in ("left", "right"):
            self._follow(1 if name == "right" else -1)
        elif name == "space":
            self.is_paused = not self.is_paused
        elif name == "step":
            self.is_paused = self._has_step = True
        elif name in ("faster", "slower"):
            factor = _SPEED_FACTOR if name == "faster" else 1 / _SPEED_FACTOR
            self.speed = max(_MIN_SPEED, min(self.speed * factor, _MAX_SPEED))
        elif name == "biome":
            self._biome = (self._biome + 1) % len(_BIOME_CHOICES)
            self.apply({"game": "choose", "biome": _BIOME_CHOICES[self._biome]})
        elif name == "help":
            self._panel = "help"
        elif name == "tab":
            self._panel, self._item = "wardrobe", 0
        elif name == "chest":
            self._open_chest()

    def _follow(self, step: int) -> None:
        party, focus = self._state.party, find_focus(self._state)
        if focus is not None:
            hero = party[(party.index(focus) + step) % len(party)]
            self.apply({"game": "choose", "follow": hero.session})

    def _press_in_wardrobe(self, name: str) -> None:
        if name in ("tab", "escape"):
            self._panel = ""
            return
        if name in ("left", "right"):
            self._slot, self._item = (self._slot + (1 if name == "right" else -1)) % len(SLOTS), 0
            return
        items = list_wardrobe(self._slot)
        self._item = (self._item + (1 if name == "down" else -1)) % len(items)
        item = items[self._item]
        profile = self._state.profile or {}
        if item is None or item in profile["unlocked"]:
            self._change_profile(lambda folder: wear_item(folder, SLOTS[self._slot], item), {SLOTS[self._slot]: item})

    def _open_chest(self) -> None:
        chests = (self._state.profile or {}).get("chests") or []
        if not chests:
            self._problem = "No chest waits; there is one for each level, and sometimes a bonus chest."
            return
        self._chest_id = chests[0]["id"]
        self._change_profile(lambda folder: open_chest(folder, self._chest_id))
        for chest in (self._state.profile or {})["chests"]:
            if chest["id"] == self._chest_id and chest["offers"]:
                self._panel, self._chest = "chest", ChestCeremony(tuple(chest["offers"]))

    def _press_at_chest(self, name: str) -> None:
        if name in ("left", "right"):
            self._chest = move_selection(self._chest, 1 if name == "right" else -1)
        elif name != "escape":
            self._chest = press_key(self._chest)
            self._claim()
        elif self._chest.state != "claiming":
            self._panel = ""
            self._change_profile(lambda folder: skip_chest(folder, self._chest_id))

    def _advance_chest(self, seconds: float) -> None:
        self._chest = advance_ceremony(self._chest, seconds)
        self._claim()
        if self._chest.state == "done":
            self._panel = ""

    def _claim(self) -> None:
        item = self._chest.claimed
        if item is not None and self._chest_id:
            chest, self._chest_id = self._chest_id, ""
            self._change_profile(lambda folder: claim_item(folder, chest, item))

    def _change_profile(self, change: Any, worn: dict[str, str | None] | None = None) -> None:
        """Save a choice; in the demo and in a replay, clothes change for the moment only."""
        profile = dict(self._state.profile or {})
        if self._data_dir is not None:
            try:
                changed: QuestProfile = change(self._data_dir)
            except TurnlogError as error:
                self._problem = str(error)
                return
            profile = to_plain_value(changed)
        elif worn:
            profile["worn"] = {**profile["worn"], **worn}
        self.apply({"game": "profile", "profile": profile})

    # -- drawing

    def forget_frame(self) -> None:
        """Draw the next frame completely."""
        self._frame = []

    def draw(self, columns: int, rows: int) -> str:
        """Return what changes the screen to the current frame."""
        lines = self._build_frame(max(columns, 20), max(rows, 8))
        parts = ["\x1b[?2026h"]
        if len(lines) != len(self._frame):
            self._frame = []
            parts.append("\x1b[2J")
        for number, line in enumerate(lines):
            if number >= len(self._frame) or self._frame[number] != line:
                parts.append(f"\x1b[{number + 1};1H{line}\x1b[K")
        self._frame = lines
        waits = list_waits(self._state)
        title = f"{len(waits)} wait for you" if waits else "turnlog quest"
        return "".join([*parts, "\x1b[?2026l", f"\x1b]0;{title}\x07"]) if len(parts) > 1 else ""

    def _build_frame(self, columns: int, rows: int) -> list[str]:
        panel = self._list_panel()
        height = max(MIN_PICTURE_ROWS, min(MAX_PICTURE_ROWS, rows - len(panel) - 3))
        painter = ScenePainter(load_sprites(), self._state, columns - 1, 2 * height)
        pixels = painter.paint()
        lines = render_half_blocks(pixels, painter.captions, true_colour=self._true_colour)
        left = rows - len(lines) - len(panel)
        log = list(self._log)[-left:] if left > 0 else []
        texts = [*panel, *log][: rows - len(lines)]
        texts += [""] * (rows - len(lines) - len(texts))
        return [*lines, *(_paint_text(cut_to_cells(make_visible(text), columns - 1)) for text in texts)]

    def _list_panel(self) -> list[str]:
        profile = self._state.profile or {}
        if self._panel == "wardrobe":
            lines = list(list_wardrobe_lines(profile, self._slot, self._item))
        elif self._panel == "chest":
            lines = list(list_chest_lines(self._chest))
        elif self._panel == "help":
            lines = list(HELP_LINES)
        else:
            lines = list(list_panel_lines(self._state))
        if self.is_paused:
            lines.append("Paused; Space goes on.")
        if problem := self._problem or self.trouble or profile.get("problem"):
            lines.append(problem)
        return lines


def _paint_text(text: str) -> str:
    """Highlight the lines that nobody must miss."""
    return f"\x1b[1;33m{text}\x1b[0m" if "WAITS FOR YOU" in text else text
