"""How fast sessions are read in a browser, against a blank page of the same server.

Everything is measured in one run, in turns; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .browser import Browser, Server, served
from .conversation import conversation
from .corpora import corpus
from .measure import Cost, Program, compare
from .peers import claude_code_log
from .report import TURNLOG, Gate, Goal, Part, Report, table, task

_SMALL = 2e6


def pages(runs: int, scale: float) -> Report:
    """Sessions of 10,000 and 100,000 messages in Chromium: the first message, scrolling, memory."""
    for messages in (10_000, 100_000):
        home = conversation(int(messages * scale))
        with served(home) as server, Browser(server) as browser:
            browser.settle(server.session)
            yield from _read(messages, server, browser, runs)


def _read(messages: int, server: Server, browser: Browser, runs: int) -> Report:
    before = server.memory()
    blank, first = [], []
    for _ in range(max(runs, 5)):
        blank.append(browser.blank())
        first.append(browser.open(server.session))
    yield f"  {messages:,} messages: blank page {_middle(blank):.0f} ms, first message {_middle(first):.0f} ms"
    yield Goal("ms beyond 1.5 blank pages to the first message", _middle(first) - 1.5 * _middle(blank), 200)
    floor, frames = browser.frame_floor(), browser.scroll(seconds=4)
    yield f"         frames: {frames.p50:.1f} ms, the slowest of 20 {frames.p95:.1f} ms; floor {floor.p50:.1f} ms"
    yield Goal("of the frame floor, the slowest of 20 frames", frames.p95 / floor.p95, 1.5)
    yield Goal("MB of heap after scrolling", browser.heap(), 20)
    yield Gate("the last message can be reached", browser.reaches_the_end(server.session))
    yield Goal("MB that the server grew by", server.memory() - before, 40)


def sizes(runs: int, scale: float) -> Report:
    """A session of 200 MB and one of 2 MB, before and after their timelines are made."""
    large = next((corpus("large", scale=scale) / "projects").glob("*/*.jsonl"))
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder:
        small = _beginning(large, Path(folder) / "projects" / large.parent.name, int(_SMALL))
        with served(corpus("large", scale=scale)) as big, served(Path(folder)) as little, Browser(big) as browser:
            browser.home()
            cold = browser.open(big.page(large.stem))
            browser.settle(big.page(large.stem))
            browser.login(little)
            browser.open(little.page(small.stem))
            warm, other = [], []
            for _ in range(max(runs, 5)):
                warm.append(browser.open(big.page(large.stem)))
                other.append(browser.open(little.page(small.stem)))
    decoded = compare({"orjson": task("orjson-dropped", large)}, runs)["orjson"]
    yield f"  200 MB: first time {cold:.0f} ms, then {_middle(warm):.0f} ms; 2 MB: {_middle(other):.0f} ms"
    yield f"         one sequential decode of 200 MB: {decoded.wall * 1000:.0f} ms"
    yield Goal("of a session of 2 MB, when it is indexed", _middle(warm) / _middle(other), 1.2)
    yield Goal("of one sequential decode, before", cold / 1000 / decoded.wall, 1)


def _beginning(source: Path, folder: Path, size: int) -> Path:
    folder.mkdir(parents=True)
    path = folder / source.name
    with source.open("rb") as file, path.open("wb") as out:
        for line in file:
            if out.tell() > size:
                break
            out.write(line)
    return path


def pages_to_html(runs: int, scale: float) -> Report:
    """One session of 10,000 messages as HTML files, against claude-code-log 1.7.0."""
    peer = claude_code_log.install()
    source = next((conversation(int(10_000 * scale)) / "projects").glob("*/*.jsonl"))
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as name:
        folder = Path(name)
        ours = folder / "ours"
        words = [*TURNLOG, "export", str(source), "--format", "html", "--output", str(ours / "page.html"), "--force"]
        programs = {"turnlog export": Program(words, prepare=lambda: _empty(ours))}
        if isinstance(peer, Path):
            theirs = folder / "theirs"
            alone = folder / "source" / source.name
            programs["claude-code-log"] = claude_code_log.page(peer, alone, theirs / "page.html", folder)._replace(
                prepare=lambda: _afresh(source, alone, theirs)
            )
        costs = compare(programs, min(runs, 3))
        yield from table(costs, "turnlog export")
        yield f"         turnlog wrote {_size(ours) / 1e6:.1f} MB"
        if isinstance(peer, Path):
            yield f"         claude-code-log wrote {_size(folder / 'theirs') / 1e6:.1f} MB"
            yield from _ratios(costs)
        else:
            yield f"  left out: {peer}"


def _ratios(costs: Mapping[str, Cost]) -> Report:
    ours, theirs = costs["turnlog export"], costs["claude-code-log"]
    speed, memory = theirs.wall / ours.wall, ours.memory / theirs.memory
    yield f"         {speed:.2f} times as fast as claude-code-log, {memory:.2f} of its memory"


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _afresh(source: Path, alone: Path, output: Path) -> None:
    """Both folders as if for the first time: it keeps what it read beside the session."""
    _empty(alone.parent)
    _empty(output)
    shutil.copyfile(source, alone)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


PARTS: Mapping[str, Part] = {"pages": pages, "sizes": sizes, "html": pages_to_html}
