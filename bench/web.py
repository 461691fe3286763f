"""Measure how fast sessions open in a browser, compared with a blank page from the same server.

turnlog and its reference are measured alternately in the same run; compare ratios, not seconds. See bench/README.md.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .browser import Browser, Server, run_server
from .conversation import generate_conversation
from .corpora import generate_corpus
from .measure import Cost, Program, compare_programs
from .peers import claude_code_log
from .report import TURNLOG, Gate, Goal, Part, Report, build_task, format_table

_SMALL_BYTES = 2e6


def measure_pages(runs: int, scale: float) -> Report:
    """Sessions of 10,000 and 100,000 messages in Chromium: the first message, scrolling and memory."""
    for messages in (10_000, 100_000):
        home = generate_conversation(int(messages * scale))
        with run_server(home) as server, Browser(server) as browser:
            browser.wait_until_idle(server.session)
            yield from _measure_reading(messages, server, browser, runs)


def _measure_reading(messages: int, server: Server, browser: Browser, runs: int) -> Report:
    before = server.measure_memory()
    blank, first = [], []
    for _ in range(max(runs, 5)):
        blank.append(browser.time_blank_page())
        first.append(browser.time_first_message(server.session))
    blank_ms, first_ms = _take_median(blank), _take_median(first)
    yield f"  {messages:,} messages: blank page {blank_ms:.0f} ms, first message {first_ms:.0f} ms"
    yield Goal("ms beyond 1.5 blank pages to the first message", first_ms - 1.5 * blank_ms, 200)
    floor, frames = browser.time_idle_frames(), browser.time_scroll_frames(seconds=4)
    yield f"         frames: {frames.p50:.1f} ms, the slowest of 20 {frames.p95:.1f} ms; floor {floor.p50:.1f} ms"
    yield Goal("times the frame floor, the slowest of 20 frames", frames.p95 / floor.p95, 1.5)
    yield Goal("MB of heap after scrolling", browser.measure_heap(), 20)
    yield Gate("the last message can be reached", browser.can_reach_end(server.session))
    yield Goal("MB of growth of the server", server.measure_memory() - before, 40)


def measure_sizes(runs: int, scale: float) -> Report:
    """A 200 MB session and a 2 MB session, before and after they have been indexed."""
    large = next((generate_corpus("large", scale=scale) / "projects").glob("*/*.jsonl"))
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as folder:
        small = _copy_beginning(large, Path(folder) / "projects" / large.parent.name, int(_SMALL_BYTES))
        with (
            run_server(generate_corpus("large", scale=scale)) as big,
            run_server(Path(folder)) as little,
            Browser(big) as browser,
        ):
            browser.visit_home()
            cold = browser.time_first_message(big.build_address(large.stem))
            browser.wait_until_idle(big.build_address(large.stem))
            browser.log_in(little)
            browser.time_first_message(little.build_address(small.stem))
            warm, other = [], []
            for _ in range(max(runs, 5)):
                warm.append(browser.time_first_message(big.build_address(large.stem)))
                other.append(browser.time_first_message(little.build_address(small.stem)))
    decoded = compare_programs({"orjson": build_task("orjson-dropped", large)}, runs)["orjson"]
    yield f"  200 MB: {cold:.0f} ms at first, then {_take_median(warm):.0f} ms; 2 MB: {_take_median(other):.0f} ms"
    yield f"         one sequential decode of 200 MB: {decoded.wall * 1000:.0f} ms"
    yield Goal("times a session of 2 MB, once indexed", _take_median(warm) / _take_median(other), 1.2)
    yield Goal("times one sequential decode, before indexing", cold / 1000 / decoded.wall, 1)


def _copy_beginning(source: Path, folder: Path, size: int) -> Path:
    folder.mkdir(parents=True)
    path = folder / source.name
    with source.open("rb") as file, path.open("wb") as out:
        for line in file:
            if out.tell() > size:
                break
            out.write(line)
    return path


def measure_html(runs: int, scale: float) -> Report:
    """A session of 10,000 messages as HTML, compared with claude-code-log 1.7.0."""
    peer = claude_code_log.install_program()
    source = next((generate_conversation(int(10_000 * scale)) / "projects").glob("*/*.jsonl"))
    with tempfile.TemporaryDirectory(prefix="turnlog-bench-") as name:
        folder = Path(name)
        ours = folder / "ours"
        command = [*TURNLOG, "export", str(source), "--format", "html", "--output", str(ours / "page.html"), "--force"]
        programs = {"turnlog export": Program(command, prepare=lambda: _empty_folder(ours))}
        if isinstance(peer, Path):
            theirs = folder / "theirs"
            copy = folder / "source" / source.name
            programs["claude-code-log"] = claude_code_log.build_page_command(
                peer, copy, theirs / "page.html", folder
            )._replace(prepare=lambda: _reset_folders(source, copy, theirs))
        costs = compare_programs(programs, min(runs, 3))
        yield from format_table(costs, "turnlog export")
        yield f"         turnlog wrote {_measure_size(ours) / 1e6:.1f} MB"
        if isinstance(peer, Path):
            yield f"         claude-code-log wrote {_measure_size(folder / 'theirs') / 1e6:.1f} MB"
            yield from _format_ratios(costs)
        else:
            yield f"  skipped: {peer}"


def _format_ratios(costs: Mapping[str, Cost]) -> Report:
    ours, theirs = costs["turnlog export"], costs["claude-code-log"]
    speed, memory = theirs.wall / ours.wall, ours.memory / theirs.memory
    yield f"         {speed:.2f} times as fast as claude-code-log, {memory:.2f} of its memory"


def _empty_folder(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _reset_folders(source: Path, copy: Path, output: Path) -> None:
    """Reset both folders, because the program caches what it read beside the session."""
    _empty_folder(copy.parent)
    _empty_folder(output)
    shutil.copyfile(source, copy)


def _measure_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _take_median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


PARTS: Mapping[str, Part] = {"pages": measure_pages, "sizes": measure_sizes, "html": measure_html}
