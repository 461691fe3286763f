"""Measure how the CPU time of each command and page grows when one thing in the sessions grows.

    python -m bench growth                                  # every command and page, every shape
    python -m bench.growth -n 1000 --shapes calls,rewinds --commands doctor,page

Each cell is the exponent between n and 4n: 1 is linear, 2 is quadratic. See bench/README.md.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from typing import NamedTuple

from .browser import Server, run_server
from .growth_shapes import SHAPES
from .measure import build_environ
from .report import TURNLOG, Part, Report

_N = 500
_GROWTH = 4
_MAX_CPU_SECONDS = 60
_MIN_MEASURED_SECONDS = 0.15
"""A command that takes less than this beyond its start says nothing about its growth."""
_MAX_EXPONENT = 1.4
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "ls": ("ls", "--json"),
    "show": ("show", "{path}"),
    "show-json": ("show", "{path}", "--json"),
    "tree": ("tree", "--json"),
    "prompts": ("prompts", "--json"),
    "messages": ("messages", "{path}"),
    "context": ("context", "{path}"),
    "files": ("files", "{path}", "--diff"),
    "tools": ("tools", "--json"),
    "usage": ("usage", "--json"),
    "usage-session": ("usage", "session", "--json"),
    "blocks": ("usage", "blocks", "--json"),
    "search": ("search", "cart"),
    "regex": ("search", "--regex", "cart.*tot"),
    "board": ("board", "--json"),
    "check": ("check", "{path}"),
    "check-folder": ("check", "{folder}"),
    "resumable": ("check", "--resumable", "{path}"),
    "doctor": ("doctor", "{path}"),
    "doctor-all": ("doctor", "--all", "--fresh"),
    "repair": ("repair", "{path}"),
    "salvage": ("salvage",),
    "compare": ("compare", "{path}", "{path}"),
    "strip": ("strip", "{path}"),
    "clone": ("clone", "{path}"),
    "clone-heavy": ("clone", "{path}", "--preset", "heavy"),
    "compress": ("clone", "{path}", "--compress", "oldest=50%", "--compress", "offline", "--to", "35%"),
    "compact": ("clone", "{path}", "--compact", "offline"),
    "fork": ("fork", "{path}", "--at", "leaf:1", "--dry-run"),
    "rename": ("rename", "{path}", "Cart"),
    "move": ("move", "/home/dana/webshop", "{home}/shop", "--merge", "--force"),
    "delete": ("delete", "{path}", "--yes", "--force"),
    "redact": ("redact", "{path}"),
    "pack": ("pack", "{path}", "-o", "{home}/out.tar.zst"),
    "trace-show": ("trace", "show", "{path}"),
    "backfill": ("trace", "backfill", "{path}", "--dry-run"),
    "backfill-all": ("trace", "backfill", "--all", "--dry-run"),
    "replay": ("replay", "{path}", "--json"),
    "record": ("replay", "{path}", "--record", "{home}/out.cast"),
    "quest": ("quest", "profile", "--rebuild"),
    "md": ("export", "{path}", "-f", "md", "-o", "-"),
    "txt": ("export", "{path}", "-f", "txt", "-o", "-"),
    "html": ("export", "{path}", "-f", "html", "-o", "{home}/out.html"),
    "share": ("export", "{path}", "--share", "-f", "html", "-o", "{home}/out.html"),
    "json": ("export", "{path}", "-f", "json", "-o", "-"),
    "openai": ("export", "{path}", "-f", "openai", "-o", "-"),
    "all-branches": ("export", "{path}", "--branch", "all", "-f", "md", "-o", "-"),
    "export-all": ("export", "--all", "-f", "md", "-o", "{home}/out"),
    "archive": ("archive", "run"),
    "index": ("index", "--wait"),
}
"""The measured commands; all but `index` run without an index."""

PAGES: Mapping[str, str] = {
    "page": "/s/{session}",
    "page-outline": "/api/s/{session}",
    "page-context": "/s/{session}/context",
    "page-find": "/api/s/{session}/find?q=cart",
    "page-agents": "/s/{session}/agents",
    "page-replay": "/api/s/{session}/replay",
    "page-quest": "/quest/replay/{session}",
    "page-home": "/",
    "page-rows": "/rows",
    "page-dashboard": "/dashboard",
    "page-prompts": "/prompts",
    "page-live": "/live/{session}",
    "page-board": "/live",
    "page-insights": "/insights",
    "page-health": "/api/s/{session}/health",
    "page-compare": "/compare?a={session}&b={session}",
}
"""The measured pages of the web app; each is opened in a new server."""


class GrowthCell(NamedTuple):
    """What a command costs with n and with 4n of something, without its start."""

    small: float
    large: float

    @property
    def exponent(self) -> float | None:
        """The exponent of the growth, or None if the command is too fast to tell."""
        if self.large < _MIN_MEASURED_SECONDS:
            return None
        return math.log(self.large / max(self.small, 0.01), _GROWTH)

    @property
    def is_steep(self) -> bool:
        return self.exponent is not None and self.exponent > _MAX_EXPONENT


def measure_growth(_runs: int, scale: float) -> Report:
    """The exponent of the CPU time of every command and page, for each thing that can grow."""
    yield from print_growth(int(_N * scale), [*SHAPES], [*COMMANDS, *PAGES])


def print_growth(n: int, shapes: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each shape with the commands that grow faster than they should, and the slowest one."""
    starts = {name: _measure_cost("turns", 1, name) for name in names}
    for shape in shapes:
        cells = {name: _measure_cell(shape, n, name, starts[name]) for name in names}
        yield f"  {shape}: {SHAPES[shape].__doc__}"
        steep = {name: cell for name, cell in cells.items() if cell.is_steep or cell.large >= _MAX_CPU_SECONDS}
        for name, cell in steep.items():
            words = "did not end" if cell.large >= _MAX_CPU_SECONDS else f"exponent {cell.exponent or 0:.1f}"
            yield f"    MISSED {name}: {words} ({cell.small:.2f} s -> {cell.large:.2f} s)"
        slowest = max(cells, key=lambda name: cells[name].large)
        yield f"    {len(cells) - len(steep)} linear; the slowest is {slowest}, {cells[slowest].large:.2f} s"


def _measure_cell(shape: str, n: int, name: str, start: float) -> GrowthCell:
    large = max(_measure_cost(shape, n * _GROWTH, name) - start, 0)
    if large < _MIN_MEASURED_SECONDS:
        return GrowthCell(0, large)
    return GrowthCell(max(_measure_cost(shape, n, name) - start, 0), large)


def _measure_cost(shape: str, n: int, name: str) -> float:
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-", ignore_cleanup_errors=True) as folder:
        config = Path(folder) / "home" / ".claude"
        path = SHAPES[shape](config, n)
        if name in PAGES:
            return _measure_page(config, path, PAGES[name])
        return _measure_command(config, path, COMMANDS[name])


def _measure_command(config: Path, path: Path, words: Sequence[str]) -> float:
    home = config.parent
    places = {"path": path, "folder": path.parent, "home": home}
    environ = {**build_environ(), "HOME": str(home), "CLAUDE_CONFIG_DIR": str(config), "TURNLOG_HOME": f"{home}/data"}
    if words[0] != "index":
        subprocess.run([*TURNLOG, "index", "stop"], env=environ, check=False, capture_output=True)
    limited = ["sh", "-c", f'ulimit -t {_MAX_CPU_SECONDS}; exec "$@"', "sh"]
    command = [*limited, *TURNLOG, *(word.format(**places) for word in words)]
    before = os.times()
    done = subprocess.run(command, env=environ, check=False, capture_output=True, cwd=home)
    after = os.times()
    if done.returncode > 1 or b"Traceback" in done.stderr:
        print(f"    {' '.join(words)}: status {done.returncode}, {done.stderr[-200:]!r}", file=sys.stderr)
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return _MAX_CPU_SECONDS * 2 if done.returncode < 0 else cpu


def _measure_page(config: Path, path: Path, address: str) -> float:
    with run_server(config) as server:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        opener.open(server.login_address, timeout=60).read()
        before = _read_cpu(server)
        try:
            opener.open(server.root + address.format(session=path.stem), timeout=_MAX_CPU_SECONDS * 2).read()
        except urllib.request.HTTPError as error:
            print(f"    {address}: {error}", file=sys.stderr)
        except OSError:
            return _MAX_CPU_SECONDS * 2
        return _read_cpu(server) - before


def _read_cpu(server: Server) -> float:
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


PARTS: dict[str, Part] = {"growth": measure_growth}


def main() -> None:
    """Measure some commands and shapes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=_N)
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--commands", default=",".join([*COMMANDS, *PAGES]))
    arguments = parser.parse_args()
    for line in print_growth(arguments.n, arguments.shapes.split(","), arguments.commands.split(",")):
        print(line, flush=True)


if __name__ == "__main__":
    main()
