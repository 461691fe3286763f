"""The tasks that `bench.tasks` runs for the index."""

from __future__ import annotations

import os
import re
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_SAMPLE_BYTES = 64_000_000
_ROUNDS = 15
_STEM = re.compile(rb"zqneedle")
_SESSION = re.compile(rb'"sessionId":"([^"]+)"')


def prepare_decode(root: str) -> Callable[[], Any]:
    """Prepare decoding a fixed sample of a collection with msgspec, which shows the machine's current speed."""
    import msgspec

    read = msgspec.json.Decoder().decode
    lines = (
        line for path in sorted((Path(root) / "projects").glob("*/*.jsonl")) for line in path.read_bytes().splitlines()
    )
    sample: list[bytes] = []
    size = 0
    for line in lines:
        with suppress(msgspec.DecodeError):
            read(line)
            sample.append(line)
            size += len(line)
        if size > _SAMPLE_BYTES:
            break

    def work() -> Any:
        for line in sample:
            read(line)
        return size

    return work


def prepare_idle(root: str, index: str) -> Callable[[], Any]:
    """Prepare refreshes that find nothing new, alternating with one `stat` per file."""
    from turnlog.store.store import Store

    store = Store.open(Path(index).parent, str, Path(index).name)
    first = store.refresh([Path(root)])
    paths = [path for (path,) in store.db.execute("SELECT path FROM file WHERE gone IS NULL")]

    def stat_files() -> None:
        look = os.stat
        for path in paths:
            look(path)

    def work() -> Any:
        times = [(_time_call(stat_files), _time_call(lambda: store.refresh([Path(root)]))) for _ in range(_ROUNDS)]
        bound, ours = (min(column) for column in zip(*times, strict=True))
        return {"files": len(paths), "stat": bound, "refresh": ours, "read": first.files}

    return work


def prepare_search(root: str, index: str, count: str) -> Callable[[], Any]:
    """Prepare running each of many queries once, as the command does, with snippets."""
    from turnlog.errors import UsageError
    from turnlog.store.search.index_source import IndexSource
    from turnlog.store.search.match_expression import plan_search
    from turnlog.store.search.query import parse_query
    from turnlog.store.search.search import SearchOptions, search_index
    from turnlog.store.store import Store

    from .queries import generate_queries

    queries = generate_queries(Path(root), int(count))
    store = Store.open(Path(index).parent, str, Path(index).name)
    read = IndexSource(Path(index).parent).read_passage

    def run_query(query: str) -> tuple[float, int]:
        start = time.perf_counter()
        try:
            plan = plan_search(store.db, parse_query(query))
            sessions = search_index(store.db, plan, SearchOptions(), read).sessions
        except UsageError:  # a small collection lacks a model or a tool
            sessions = -1
        return (time.perf_counter() - start) * 1000, sessions

    return lambda: [(*query, *run_query(query.text)) for query in queries]


def prepare_needles(root: str) -> Callable[[], Any]:
    """Prepare a plain search for the planted words: the number of lines with each, and their sessions."""
    from .corpus.truth import NEEDLES

    words = [word.encode() for word, _ in NEEDLES]

    def work() -> Any:
        lines: dict[str, int] = defaultdict(int)
        sessions: dict[str, set[str]] = defaultdict(set)
        for path in (Path(root) / "projects").rglob("*.*"):
            whole = path.read_bytes().rpartition(b"\n")[0] if path.suffix == ".jsonl" else b""
            for line in filter(_STEM.search, whole.split(b"\n")):
                for word in (word.decode() for word in words if word in line):
                    lines[word] += 1
                    sessions[word].update(name.decode() for name in _SESSION.findall(line)[:1])
            if path.suffix == ".txt":
                for word in (word.decode() for word in words if word in path.read_bytes()):
                    sessions[word].add(path.parent.parent.name)
        return {word: {"lines": lines[word], "sessions": sorted(sessions[word])} for word, _ in NEEDLES}

    return work


def _time_call(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
