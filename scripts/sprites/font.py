"""The letters of the quest: 5x7 pixels, as wide as each needs, from space to tilde; a few signs follow."""

from __future__ import annotations

from sprites.grid import Grid

HEIGHT = 8
FIRST = 32
_COLUMNS = (
    "0000000000 00005f0000 0007000700 147f147f14 242a7f2a12 2313086462 3649552250 0005030000 001c224100 0041221c00"
    " 14083e0814 08083e0808 0050300000 0808080808 0060600000 2010080402 3e5149453e 00427f4000 4261514946 2141454b31"
    " 1814127f10 2745454539 3c4a494930 0171090503 3649494936 064949291e 0036360000 0056360000 0814224100 1414141414"
    " 0041221408 0201510906 324979413e 7e1111117e 7f49494936 3e41414122 7f4141221c 7f49494941 7f09090901 3e4149497a"
    " 7f0808087f 00417f4100 2040413f01 7f08142241 7f40404040 7f020c027f 7f0408107f 3e4141413e 7f09090906 3e4151215e"
    " 7f09192946 4649494931 01017f0101 3f4040403f 1f2040201f 3f4038403f 6314081463 0708700807 6151494543 007f414100"
    " 0204081020 0041417f00 0402010204 4040404040 0001020400 2054545478 7f48444438 3844444420 384444487f 3854545418"
    " 087e090102 0c5252523e 7f08040478 00447d4000 2040443d00 7f10284400 00417f4000 7c04180478 7c08040478 3844444438"
    " 7c14141408 081414187c 7c08040408 4854545420 043f444020 3c4040207c 1c2040201c 3c4030403c 4428102844 0c5050503c"
    " 4464544c44 0008364100 00007f0000 0041360800 0804080804"
    " 10207c0202 003e1c0800 1c22222214 1c3e7f3e1c 0c1e3c1e0c 0814227f22"
)
"""Five bytes for each letter: its columns from left to right, the lowest bit on top."""
SIGNS = "✓►○•♥▲"
"""What follows the tilde."""


def list_glyphs() -> list[list[int]]:
    """Return the columns of each letter, without empty ones at its sides."""
    glyphs = []
    for word in _COLUMNS.split():
        columns = [*bytes.fromhex(word)]
        while columns and not columns[-1]:
            columns.pop()
        while columns and not columns[0]:
            columns.pop(0)
        glyphs.append(columns or [0, 0, 0])
    return glyphs


def draw_sheet() -> tuple[Grid, list[int]]:
    """Draw all letters beside each other in white, and return where each begins; the end is the last number."""
    glyphs = list_glyphs()
    places = [0]
    for columns in glyphs:
        places.append(places[-1] + len(columns))
    sheet = Grid(places[-1], HEIGHT)
    for place, columns in zip(places, glyphs, strict=False):
        for right, column in enumerate(columns):
            for down in range(HEIGHT):
                if column >> down & 1:
                    sheet.put(place + right, down, "ffffff")
    return sheet, places
