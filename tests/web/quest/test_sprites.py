"""The sheets of the quest: drawn by the script, small, and described by their layout."""

from __future__ import annotations

import json
import struct
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from draw_sprites import draw_files

import turnlog
from turnlog.quest.cosmetics import COSMETICS

SHEETS = Path(turnlog.__file__).parent / "quest" / "sheets"
MAX_SHEETS_BYTES = 110_000


@cache
def drawn_files() -> dict[str, bytes]:
    return draw_files()


def layout() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SHEETS / "sheets.json").read_text("utf-8"))
    return found


def unpack(data: bytes) -> tuple[bytes, list[bytes]]:
    """The bytes of the pixels of a PNG, and its other chunks."""
    place, pixels, others = 8, b"", []
    while place < len(data):
        size, name = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        if name == b"IDAT":
            pixels += body
        else:
            others.append(name + body)
        place += size + 12
    return zlib.decompress(pixels), others


def size(name: str) -> tuple[int, int]:
    width, height = struct.unpack(">II", (SHEETS / name).read_bytes()[16:24])
    return width, height


def test_the_script_draws_the_committed_sheets() -> None:
    drawn = drawn_files()
    assert sorted(drawn) == sorted(path.name for path in SHEETS.iterdir() if path.suffix in (".png", ".json"))
    for name, data in drawn.items():
        committed = (SHEETS / name).read_bytes()
        # Another zlib may pack the same pixels into other bytes.
        assert data == committed or unpack(data) == unpack(committed), f"{name}: run make sprites"


def test_all_sheets_together_are_small() -> None:
    assert sum(path.stat().st_size for path in SHEETS.iterdir()) < MAX_SHEETS_BYTES


@pytest.mark.parametrize("name", ["hero", "companion", "enemy", "chest", "aura", "trail"])
def test_a_sheet_holds_all_frames_of_its_rows(name: str) -> None:
    sheet = layout()["sheets"][name]
    width, height = size(sheet["file"])
    assert height == sheet["height"] * len(sheet["rows"])
    assert width >= max(row["frames"] for row in sheet["rows"].values()) * sheet["width"]


def test_every_animation_of_a_hero_has_16_to_20_frames() -> None:
    rows = layout()["sheets"]["hero"]["rows"]
    assert {16, 20} == {row["frames"] for row in rows.values()}
    assert {name: len(places) for name, places in layout()["heads"].items()} == {
        name: row["frames"] for name, row in rows.items()
    }


def test_every_cosmetic_has_a_shape_of_its_own() -> None:
    found = layout()
    names = {
        "hat": found["hats"],
        "face": found["faces"],
        "aura": list(found["sheets"]["aura"]["rows"]),
        "trail": list(found["sheets"]["trail"]["rows"]),
    }
    assert {f"{slot}-{name}" for slot, all_names in names.items() for name in all_names} == {
        one.id for one in COSMETICS
    }


def test_the_layers_of_a_biome_lie_below_each_other() -> None:
    for biome in layout()["biomes"]:
        bottoms = [layer["top"] + layer["height"] for layer in biome["layers"]]
        assert [layer["top"] for layer in biome["layers"]] == [0, *bottoms[:-1]]
        assert size(biome["file"]) == (320, bottoms[-1])
