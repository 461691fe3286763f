"""The tasks to measure, as programs: `python -m bench.tasks NAME PATH …` prints its costs and its result as JSON."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any

from . import agent_tasks, console_tasks, edit_tasks, store_floor, store_tasks

_END_BYTES = 64 << 10


def prepare_totals(root: str) -> Callable[[], Any]:
    """Prepare counting usage by day and model over all files, without an index."""
    from turnlog.session.usage.totals import count_usage, sum_by_day_and_model

    def work() -> Any:
        paths = (Path(folder) / name for folder, _, names in os.walk(Path(root) / "projects") for name in names)
        rows: dict[str, dict[str, list[int]]] = {}
        for row, numbers in sum_by_day_and_model(
            count_usage(path for path in paths if path.suffix == ".jsonl")
        ).items():
            rows.setdefault(row.day, {})[row.model] = numbers
        return rows

    return work


def prepare_meaning(path: str) -> Callable[[], Any]:
    """Prepare computing every view of one session: graph, messages, turns, calls and the usage of the main file."""
    from turnlog.session.message_usage import sum_usage
    from turnlog.session.session import Session

    def work() -> Any:
        session = Session.open(path)
        graph = session.graph
        counts = {
            "roots": len(graph.roots),
            "leaves": len(graph.leaves),
            "branches": len(graph.branches),
            "missing": len(graph.rows_missing_parent),
            "compactions": len(graph.compactions),
            "messages": len(session.messages),
            "turns": len(session.turns),
            "calls": len(session.calls),
            "orphans": len(session.orphans),
            "output": sum_usage(session.messages).output_tokens,
        }
        _kept_alive.append(session)
        return counts

    return work


def prepare_summary(path: str) -> Callable[[], Any]:
    """Prepare building the JSON document of one session that `turnlog show --json` prints."""
    import msgspec

    import turnlog

    def work() -> Any:
        return len(msgspec.json.encode(turnlog.to_document(turnlog.describe_session(Path(path)))))

    return work


def prepare_events(path: str) -> Callable[[], Any]:
    """Prepare building the events of one session and its sub-agents, each as JSON."""
    import msgspec

    import turnlog

    def work() -> Any:
        counts: dict[str, int] = {}
        encode = msgspec.json.Encoder().encode
        for event in turnlog.iter_events(Path(path)):
            encode(event)
            name = str(event.__struct_config__.tag)
            counts[name] = counts.get(name, 0) + 1
        return counts

    return work


_kept_alive: list[object] = []
"""Objects that must stay alive until the memory is measured."""


def prepare_orjson_kept(path: str) -> Callable[[], Any]:
    """Prepare decoding all lines with orjson and keeping the values."""
    import orjson

    def work() -> Any:
        with Path(path).open("rb") as file:
            values = [orjson.loads(line) for line in file]
        _kept_alive.append(values)
        return len(values)

    return work


def prepare_orjson_dropped(path: str) -> Callable[[], Any]:
    """Prepare decoding all lines with orjson and dropping each value immediately."""
    import orjson

    def work() -> Any:
        count = 0
        with Path(path).open("rb") as file:
            for line in file:
                orjson.loads(line)
                count += 1
        return count

    return work


def prepare_listing(root: str) -> Callable[[], Any]:
    """Prepare listing all sessions by the head and tail of each file, which is the basis of `turnlog ls`."""
    from turnlog.entries.layout import list_session_files
    from turnlog.entries.peek import peek_file

    return lambda: len([peek_file(file.file) for file in list_session_files(Path(root))])


def prepare_ends(root: str) -> Callable[[], Any]:
    """Prepare the lower bound for a listing: one `stat` and 64 KB from each end of every session."""

    def work() -> Any:
        count = 0
        for folder in os.scandir(Path(root) / "projects"):
            for item in os.scandir(folder):
                if item.name.endswith(".jsonl"):
                    _read_ends(item.path, item.stat().st_size)
                    count += 1
        return count

    return work


def _read_ends(path: str, size: int) -> tuple[bytes, bytes]:
    with FileIO(path) as file:
        head = file.read(_END_BYTES)
        if size > _END_BYTES:
            file.seek(max(_END_BYTES, size - _END_BYTES))
        return head, file.read(_END_BYTES)


def _measure_memory() -> float:
    """Return the peak memory of this process in MB, or 0 if it is unknown."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def main() -> None:
    """Run one task."""
    tasks: dict[str, Callable[..., Callable[[], Any]]] = {
        "totals": prepare_totals,
        "meaning": prepare_meaning,
        "summary": prepare_summary,
        "events": prepare_events,
        "orjson-kept": prepare_orjson_kept,
        "orjson-dropped": prepare_orjson_dropped,
        "listing": prepare_listing,
        "ends": prepare_ends,
        "clone": edit_tasks.prepare_clone,
        "copy": edit_tasks.prepare_copy,
        "strip": edit_tasks.prepare_strip,
        "decode": store_tasks.prepare_decode,
        "floor": store_floor.prepare_floor,
        "conversation-floor": store_floor.prepare_conversation_floor,
        "idle": store_tasks.prepare_idle,
        "search": store_tasks.prepare_search,
        "needles": store_tasks.prepare_needles,
        "turns": agent_tasks.prepare_turns,
        "rendering": console_tasks.prepare_rendering,
        "turn-memory": console_tasks.prepare_turn_memory,
    }
    work = tasks[sys.argv[1]](*sys.argv[2:])
    gc.collect()
    before, start = time.process_time(), time.perf_counter()
    result = work()
    wall, cpu = time.perf_counter() - start, time.process_time() - before
    print(json.dumps({"wall": wall, "cpu": cpu, "memory": _measure_memory(), "result": result}), flush=True)
    os._exit(0)  # freeing everything is not part of the work


if __name__ == "__main__":
    main()
