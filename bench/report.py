"""What the benchmarks print: tables of costs, and goals that were met or missed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .measure import Cost, Program, compare_programs

Report = Iterator[object]
Part = Callable[[int, float], Report]
"""A benchmark; its arguments are the number of runs and the scale of the collections."""


class Goal(NamedTuple):
    """A number that we want to reach."""

    label: str
    value: float
    limit: float
    is_minimum: bool = False

    def __str__(self) -> str:
        met = self.value >= self.limit if self.is_minimum else self.value <= self.limit
        sign = ">=" if self.is_minimum else "<="
        return f"  {_format_verdict(met)} {self.label}: {self.value:.2f} ({sign} {self.limit:g})"


class Gate(NamedTuple):
    """A condition without which the numbers are meaningless."""

    label: str
    is_right: bool

    def __str__(self) -> str:
        return f"  {_format_verdict(self.is_right)} {self.label}"


def _format_verdict(is_met: bool) -> str:
    return "met   " if is_met else "MISSED"


def format_table(costs: Mapping[str, Cost], base: str) -> Iterator[str]:
    """Format the costs of some programs, with their ratios to the costs of the `base` program."""
    yield f"  {'':30}{'wall s':>9}{'CPU s':>9}{'MB':>7}{'wall':>9}{'CPU':>8}   (times {base})"
    for name, cost in costs.items():
        memory = f"{cost.memory:.0f}" if cost.memory else ""
        ratios = f"{cost.wall / costs[base].wall:9.2f}{cost.cpu / (costs[base].cpu or 1):8.2f}"
        yield f"  {name:30}{cost.wall:9.3f}{cost.cpu:9.3f}{memory:>7}{ratios}"


def build_task(name: str, *arguments: object) -> Program:
    """Build the program that runs one of `bench.tasks`."""
    return Program([sys.executable, "-m", "bench.tasks", name, *map(str, arguments)], prints_costs=True)


def warm_up(programs: Mapping[str, Program]) -> Mapping[str, Program]:
    """Run each program once, so that the files it reads are in the page cache."""
    compare_programs(programs, 1)
    return programs


def _find_turnlog() -> list[str]:
    installed = Path(sys.executable).with_name("turnlog.exe" if sys.platform == "win32" else "turnlog")
    return [str(installed)] if installed.exists() else [sys.executable, "-c", _SCRIPT]


_SCRIPT = "import sys; from turnlog.__main__ import main; sys.exit(main())"
"""The code of the installed command."""
TURNLOG = _find_turnlog()
BARE = Program([sys.executable, "-c", "pass"])
"""The interpreter alone."""
