"""One run as a file: gzip'd lines of JSON, in the order of time, below tests/data/live_recordings.

    {"format": 1, "script": "permission_allow", "version": "2.1.325", "hooks": false, "wall": 1794841200.1, …}
    {"t": 1.25, "file": "projects/…/x.jsonl", "add": "…"}             bytes were added
    {"t": 1.25, "file": "sessions/4711.json", "set": "…"}             the file was created or replaced
    {"t": 9.75, "file": "sessions/4711.json", "gone": true}           the file was removed
    {"t": 1.50, "processes": [[pid, parent, start, name, …], …]}      the clients and all that they started
    {"t": 1.50, "io": {"4711": [reads, writes, written bytes]}}       how much each client has read and written
    {"t": 2.00, "hook": {…}, "by": [[pid, start], …]}                 what a hook received on standard input, and the
                                                                      processes that started it (in newer recordings)
    {"t": 2.00, "until": 4.5, "session": "…", "truth": "working"}     what the session did

`t` is in seconds since the start; for a file it is the time of the change. `wall` is the time of the start and `boot`
that of clock tick 0, both in seconds since 1970; `base` is the folder of the run. Files are relative to the client's
config folder. The client's own long texts (its system prompt, for example) are shortened.
"""

from __future__ import annotations

import gzip
import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.interop.live.screen import TrueState

FOLDER = Path(__file__).resolve().parents[2] / "data" / "live_recordings"
DOMAIN = "{domain}"
"""Stands for the machine that a client registers in `sessions/<pid>.json`."""
KERNEL = "6.0.0"
"""Stands for the machine's kernel, which clients mention to the model."""
_MAX_CLIENT_TEXT_CHARS = 120
_MAX_CLIENT_LIST_ITEMS = 3
_CLIENT_ENTRY_TYPES = frozenset({"attachment", "api-request", "api-request-shape", "api-request-blob"})


class ProcessSample(NamedTuple):
    """A process of a client's tree, as /proc shows it."""

    pid: int
    parent: int
    start: str
    """In clock ticks since boot, as `sessions/<pid>.json` has it."""
    name: str
    cwd: str
    command: str


class TruthInterval(NamedTuple):
    """What a session did for a while."""

    start: float
    end: float
    session_id: str
    state: TrueState


class Recording(NamedTuple):
    """A run of one or more clients."""

    script: str
    version: str
    has_hooks: bool
    wall: float
    boot: float
    base: str
    """The folder of the run; the client's home is below it."""
    steps: list[dict[str, Any]]
    """Changes of files, processes, and hook reports, in the order of time."""
    truth: list[TruthInterval]

    @property
    def name(self) -> str:
        return f"{self.version}-{self.script}{'-hooks' if self.has_hooks else ''}"

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.jsonl.gz"

    def save(self) -> None:
        """Write the recording; the same content gives the same bytes."""
        head = {"format": 1, "script": self.script, "version": self.version, "hooks": self.has_hooks}
        head |= {"wall": self.wall, "boot": self.boot, "base": self.base}
        truth = [{"t": t.start, "until": t.end, "session": t.session_id, "truth": t.state} for t in self.truth]
        rows = [head, *sorted([*map(_shorten_step, self.steps), *truth], key=lambda row: row["t"])]
        text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
        text = text.replace(platform.release(), KERNEL)
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(gzip.compress(text.encode("utf-8", "surrogateescape"), 9, mtime=0))


def load_recording(path: Path) -> Recording:
    lines = gzip.decompress(path.read_bytes()).decode("utf-8", "surrogateescape").splitlines()
    head, *rows = map(json.loads, lines)
    truth = [TruthInterval(r["t"], r["until"], r["session"], r["truth"]) for r in rows if "truth" in r]
    steps = [row for row in rows if "truth" not in row]
    times = head["wall"], head["boot"]
    return Recording(head["script"], head["version"], head["hooks"], *times, head["base"], steps, truth)


def load_recordings() -> Iterator[Recording]:
    """Load the committed recordings."""
    for path in sorted(FOLDER.glob("*.jsonl.gz")):
        yield load_recording(path)


def _shorten_step(step: dict[str, Any]) -> dict[str, Any]:
    """Shorten the client's own texts in added lines; they are long, and say nothing about what a session does."""
    key = "add" if "add" in step else "set"
    if key not in step or not str(step["file"]).endswith(".jsonl"):
        return step
    return {**step, key: "".join(_shorten_line(line) for line in step[key].splitlines(keepends=True))}


def _shorten_line(line: str) -> str:
    if not line.endswith("\n"):
        return line
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    if not isinstance(entry, dict) or entry.get("type") not in _CLIENT_ENTRY_TYPES:
        return line
    return json.dumps(_shorten_strings(entry), ensure_ascii=False, separators=(",", ":")) + "\n"


def _shorten_strings(value: Any) -> Any:
    if isinstance(value, str):
        # Notifications about background work come as attachments too, and matter.
        is_long = len(value) > _MAX_CLIENT_TEXT_CHARS and "<task-" not in value
        return value[:_MAX_CLIENT_TEXT_CHARS] + "…" if is_long else value
    if isinstance(value, list):
        return [_shorten_strings(item) for item in value[:_MAX_CLIENT_LIST_ITEMS]]
    return {key: _shorten_strings(item) for key, item in value.items()} if isinstance(value, dict) else value
