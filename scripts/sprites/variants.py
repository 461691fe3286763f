"""The colours of each hero of a party and of each type of companion: what a variant replaces with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sprites import colours, companion

Swaps = Mapping[str, Sequence[str]]
VARIANTS: tuple[Swaps, ...] = (
    {},
    {
        "hair": ("2d2a3a", "1b1928", "4b4860"),
        "tunic": ("9a4fc0", "6b3390", "c07ae0"),
        "cape": ("2f8a6a", "1f5f4a", "4fb08a"),
    },
    {
        "hair": ("e8b04a", "b07a2a", "ffd98a"),
        "tunic": ("3f9a5a", "2a6b40", "6cc47e"),
        "cape": ("8a4fb8", "5f338a", "ab74d8"),
    },
    {
        "hair": ("c8503a", "8f3424", "ea7a5a"),
        "tunic": ("d8a43a", "a27524", "f0c86a"),
        "cape": ("34508f", "22356a", "5272b8"),
    },
    {
        "hair": ("d8d8e8", "9a9ab0", "ffffff"),
        "tunic": ("c84a5a", "933040", "e87a86"),
        "cape": ("3a3a4e", "26263a", "585872"),
    },
    {
        "hair": ("5a3a8a", "3f2768", "7f5ab8"),
        "tunic": ("2fa0a8", "1f7078", "5accd0"),
        "cape": ("d88a3a", "a26424", "f0ac64"),
    },
    {
        "hair": ("3a6a4a", "254a34", "5a9068"),
        "tunic": ("7a5a40", "553c2a", "a07c5c"),
        "cape": ("c8c04a", "958e30", "e8e07a"),
    },
    {
        "hair": ("e87ab0", "b04f80", "ffa8d0"),
        "tunic": ("4a4a6a", "30304a", "6c6c90"),
        "cape": ("e85a7a", "b03a58", "ff8aa0"),
    },
)
"""The clothes of the heroes of a party; the first one's are as drawn."""
HERO_COLOURS = {
    "hair": (colours.HAIR, colours.HAIR_SHADE, colours.HAIR_LIGHT),
    "tunic": (colours.TUNIC, colours.TUNIC_SHADE, colours.TUNIC_LIGHT),
    "cape": (colours.CAPE, colours.CAPE_SHADE, colours.CAPE_LIGHT),
}
COMPANION_VARIANTS: tuple[Swaps, ...] = (
    {},
    {"body": ("e8884a", "b05c2a", "ffb98a"), "leaf": ("6cc46a", "3f8f46")},
    {"body": ("5a9af0", "3566b0", "9cc8ff"), "leaf": ("ff8ab0", "c85a80")},
    {"body": ("b06ae0", "7a42a8", "d8a0ff"), "leaf": ("7ef2ff", "2aa9d8")},
    {"body": ("f0d05a", "b89830", "fff09a"), "leaf": ("e8505b", "a8323e")},
    {"body": ("e86a8a", "a84060", "ffa0b8"), "leaf": ("9be89a", "4f9a5a")},
)
COMPANION_COLOURS = {
    "body": (companion.BODY, companion.BODY_SHADE, companion.BODY_LIGHT),
    "leaf": (companion.LEAF, companion.LEAF_SHADE),
}


def list_swaps(
    originals: Mapping[str, Sequence[str]], variants: Sequence[Mapping[str, Sequence[str]]]
) -> list[list[tuple[str, str]]]:
    """List which colours each variant replaces with which."""
    return [
        [pair for part, colours in variant.items() for pair in zip(originals[part], colours, strict=True)]
        for variant in variants
    ]
