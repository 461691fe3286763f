"""The colours that the sprites share."""

from __future__ import annotations

SKIN, SKIN_SHADE, BLUSH = "f6c9a0", "d99a72", "ef9a86"
HAIR, HAIR_SHADE, HAIR_LIGHT = "8a4b2a", "5f3019", "b26a3c"
TUNIC, TUNIC_SHADE, TUNIC_LIGHT = "2f7fd0", "1f5596", "5aa8ee"
CAPE, CAPE_SHADE, CAPE_LIGHT = "c8364a", "8d1f38", "ea5a66"
BOOT, BOOT_SHADE = "6a4630", "462c1f"
GOLD, STEEL, STEEL_SHADE, WOOD = "f5c542", "dfe8f2", "93a3b8", "8b5e34"
WHITE, CYAN, CYAN_SHADE, YELLOW, ORANGE, RED = "ffffff", "7ef2ff", "2aa9d8", "ffe36e", "ff9d3b", "ff4d57"
PAPER, PAPER_SHADE, COVER = "fbf3dc", "d8c8a2", "7a3fa0"
EYE = "2a1c34"
BLANKET, BLANKET_SHADE = "4e9a67", "33694a"
