"""Draw the sprites of the quest into src/turnlog/quest/sheets (`make sprites`).

    python scripts/draw_sprites.py [folder]

The sheets are committed; drawing them again gives the same bytes. `sheets.json` tells where everything is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sprites import auras, chest, companion, enemy, faces, font, hats, hero, kingdom, library, puppet, wilds
from sprites.grid import Grid
from sprites.poses import POSES
from sprites.tile import Tile
from sprites.variants import COMPANION_COLOURS, COMPANION_VARIANTS, HERO_COLOURS, VARIANTS, list_swaps

FOLDER = Path(__file__).resolve().parent.parent / "src" / "turnlog" / "quest" / "sheets"
FRAMES_PER_SECOND = 24
GROUND = 150
"""The row of the screen where the ground begins."""
LAYERS = ("far", "mid", "near", "ground", "front")
FACTORS = {"far": 0.1, "mid": 0.25, "near": 0.5, "ground": 1, "front": 1.5}
"""How fast each layer goes by, compared with the ground."""
SKIES = {
    "day": (("4f9fe8", "8cc6f4", "e4f4f4"), "", 0),
    "dusk": (("3b2f7a", "c85a7a", "ffc27a"), "ff8a5a", 0.22),
    "night": (("0b0a26", "1d1b4e", "46407e"), "2a2a78", 0.55),
    "dawn": (("5a6ab8", "e08aa0", "ffd9a0"), "ff9a8a", 0.16),
}
"""The colours of the sky from the top down, and the colour and share of the light that everything is tinted with."""
BIOMES = {
    "forest": ("Enchanted Forest", wilds.draw_forest, "leaves", None),
    "mountain": ("Mountain Journey", wilds.draw_mountain, "snow", None),
    "midnight": ("Midnight Quest", wilds.draw_midnight, "fireflies", "night"),
    "kingdom": ("Kingdom Road", kingdom.draw_kingdom, "seeds", None),
    "library": ("Wizard's Library", library.draw_library, "motes", None),
}
"""Name, painter, what floats in the air, and the only time of day."""


def main() -> int:
    """Draw everything into the folder, and print how large it is."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    for name, data in draw_files().items():
        (folder / name).write_bytes(data)
        total += len(data)
        print(f"{name}: {len(data):,} bytes")
    print(f"all: {total:,} bytes")
    return 0


def draw_files() -> dict[str, bytes]:
    """Draw all sheets; the layout comes last."""
    files: dict[str, bytes] = {}
    hero_sheet, heads = hero.draw_sheet()
    font_sheet, letters = font.draw_sheet()
    sheets: dict[str, tuple[Grid, int, int, tuple[str, ...]]] = {
        "hero": (hero_sheet, puppet.SIZE, puppet.SIZE, tuple(POSES)),
        "companion": (companion.draw_sheet(), companion.SIZE, companion.SIZE, tuple(POSES)),
        "enemy": (enemy.draw_sheet(), enemy.SIZE, enemy.SIZE, tuple(enemy.KINDS)),
        "chest": (chest.draw_sheet(), chest.SIZE, chest.SIZE, chest.ROWS),
        "hat": (hats.draw_sheet(), hats.WIDTH, hats.HEIGHT, ()),
        "face": (faces.draw_sheet(), faces.WIDTH, faces.HEIGHT, ()),
        "aura": (auras.draw_aura_sheet(), auras.AURA, auras.AURA, tuple(auras.AURAS)),
        "trail": (auras.draw_trail_sheet(), auras.TRAIL, auras.TRAIL, tuple(auras.TRAILS)),
    }
    for name, (grid, *_) in sheets.items():
        files[f"{name}.png"] = grid.encode_png()
    files["font.png"] = font_sheet.encode_png()
    biomes = []
    for key, (title, draw, air, only) in BIOMES.items():
        layers = draw()
        files[f"{key}.png"] = stack_layers(layers).encode_png()
        biomes.append(
            {"key": key, "title": title, "file": f"{key}.png", "air": air, "only": only, "layers": place_layers(layers)}
        )
    layout = {
        "fps": FRAMES_PER_SECOND,
        "ground": GROUND,
        "sheets": {name: describe_sheet(name, *sheet[1:]) for name, sheet in sheets.items()},
        "font": {
            "file": "font.png",
            "height": font.HEIGHT,
            "first": font.FIRST,
            "signs": font.SIGNS,
            "places": letters,
        },
        "hats": list(hats.HATS),
        "faces": list(faces.FACES),
        "heads": heads,
        "biomes": biomes,
        "skies": {name: {"sky": sky, "tint": tint, "share": share} for name, (sky, tint, share) in SKIES.items()},
        "variants": {
            "hero": list_swaps(HERO_COLOURS, VARIANTS),
            "companion": list_swaps(COMPANION_COLOURS, COMPANION_VARIANTS),
        },
    }
    files["sheets.json"] = encode_layout(layout)
    return files


def encode_layout(layout: Mapping[str, Any]) -> bytes:
    """Encode the layout with one line for each of its parts."""
    rows = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in layout.items()]
    return ("{" + ",\n".join(rows) + "}\n").encode()


def describe_sheet(name: str, width: int, height: int, rows: Sequence[str]) -> dict[str, Any]:
    """Describe a sheet: the size of its frames, and how many frames each row has."""
    counts = {row: POSES[row][0] if row in POSES else enemy.FRAMES for row in rows}
    places = {row: {"row": number, "frames": counts[row]} for number, row in enumerate(rows)}
    return {"file": f"{name}.png", "width": width, "height": height, "rows": places}


def stack_layers(layers: Sequence[Tile]) -> Grid:
    """Put the layers of a biome below each other."""
    sheet = Grid(layers[0].width, sum(layer.height for layer in layers))
    top = 0
    for layer in layers:
        sheet.paste(layer, 0, top)
        top += layer.height
    return sheet


def place_layers(layers: Sequence[Tile]) -> list[dict[str, Any]]:
    """Tell where each layer lies in its sheet and on the screen, and how fast it goes by."""
    places, top = [], 0
    for name, layer in zip(LAYERS, layers, strict=True):
        bottom = 200 if name in ("ground", "front") else GROUND + (2 if name == "near" else 0)
        places.append(
            {"name": name, "top": top, "height": layer.height, "y": bottom - layer.height, "factor": FACTORS[name]}
        )
        top += layer.height
    return places


if __name__ == "__main__":
    sys.exit(main())
