"""Round numbers for a chart's axis."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import NamedTuple

_ROUND_STEPS = (1, 2, 2.5, 5, 10)


class AxisScale(NamedTuple):
    """An axis from 0 to a round number."""

    top: float
    ticks: tuple[float, ...]

    def to_share(self, value: float) -> float:
        """Return a value's position on the axis: 0 at the bottom, 1 at the top."""
        return min(max(value / self.top, 0.0), 1.0) if self.top > 0 else 0.0


def build_axis_scale(highest: float, lines: int = 4) -> AxisScale:
    """Build a scale that covers a value with about `lines` grid lines."""
    if not 0 < highest < float("inf"):
        return AxisScale(1.0, (0.0, 1.0))
    rough = highest / lines
    unit = 10.0 ** floor(log10(rough))
    step = next(unit * factor for factor in _ROUND_STEPS if unit * factor >= rough * 0.999999)
    number = max(ceil(highest / step - 1e-9), 1)
    return AxisScale(step * number, tuple(step * place for place in range(number + 1)))


def pick_label_places(total: int, most: int) -> range:
    """Pick at most `most` evenly spaced places out of `total`."""
    return range(0, total, max(ceil(total / max(most, 1)), 1))
