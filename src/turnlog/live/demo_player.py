"""Plays a demo session: writes it line by line into a temporary config folder, as a client would.

Nothing in the user's own folders is touched. The lines have the current time and their own session id, and pauses are
shortened. The player registers as a client would, so the session goes through the same states as a real one.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from turnlog.demo import config_dir
from turnlog.entries.agents import list_agent_files
from turnlog.entries.clients import read_process_identity
from turnlog.session.calls import TOOLS_WAITING_FOR_PERSON
from turnlog.session.clock import parse_timestamp, to_iso_time

DEMO_SESSION = "22161731-8bcf-4128-85af-0e07ad0577f4"
_MAX_PAUSE_SECONDS, _MAX_QUESTION_PAUSE_SECONDS = 2.0, 6.0
_SPEED = 2.0
_END_PAUSE_SECONDS = 5.0
"""How long the session is idle before its client exits."""


class _DemoLine(NamedTuple):
    time: float
    file: Path
    """The file of the demo that contains it."""
    body: dict[str, Any]

    @property
    def is_question(self) -> bool:
        return any(block.get("name") in TOOLS_WAITING_FOR_PERSON for block in _list_blocks(self.body))


class DemoPlayer:
    """One playback of the demo session, in a thread."""

    def __init__(self, *, speed: float = _SPEED) -> None:
        self._speed = speed
        self.session_id = str(uuid4())
        self.config_dir = Path(tempfile.mkdtemp(prefix="turnlog-demo-"))
        source = next(config_dir().glob(f"projects/*/{DEMO_SESSION}.jsonl"))
        self._source = source
        self.path = self.config_dir / "projects" / source.parent.name / f"{self.session_id}.jsonl"
        self._registration = self.config_dir / "sessions" / f"{os.getpid()}.json"
        for folder in (self.path.parent, self._registration.parent):
            folder.mkdir(parents=True)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._play, name="demo", daemon=True)

    @property
    def is_playing(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        """Start to write."""
        self._thread.start()

    def close(self) -> None:
        """Stop writing, and delete what was written."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        shutil.rmtree(self.config_dir, ignore_errors=True)

    def _play(self) -> None:
        previous: _DemoLine | None = None
        for line in _read_lines(self._source):
            if previous is not None and self._ending.wait(self._choose_pause(previous, line)):
                return
            previous = line
            self._report_status(line)
            self._write_line(line)
        if not self._ending.wait(_END_PAUSE_SECONDS / self._speed * _SPEED):
            self._registration.unlink(missing_ok=True)

    def _choose_pause(self, previous: _DemoLine, line: _DemoLine) -> float:
        longest = _MAX_QUESTION_PAUSE_SECONDS if previous.is_question else _MAX_PAUSE_SECONDS
        gap = (line.time - previous.time) / self._speed
        return max(min(gap, longest * _SPEED / self._speed), 0.0)

    def _write_line(self, line: _DemoLine) -> None:
        target = self.path
        if line.file != self._source:
            target = self.path.with_suffix("") / line.file.relative_to(self._source.with_suffix(""))
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                meta = line.file.with_suffix(".meta.json")
                if meta.exists():
                    shutil.copyfile(meta, target.with_suffix(".meta.json"))
        body = {**line.body, "sessionId": self.session_id}
        if "timestamp" in body:
            body["timestamp"] = to_iso_time(datetime.now(UTC))
        with target.open("ab") as file:
            file.write(json.dumps(body, separators=(",", ":")).encode() + b"\n")

    def _report_status(self, line: _DemoLine) -> None:
        """Report what the session is doing, as a newer client does."""
        if line.file != self._source:
            return
        is_over = line.body.get("subtype") == "turn_duration"
        status = "waiting" if line.is_question else "idle" if is_over else "busy"
        if "timestamp" not in line.body and self._registration.exists():
            return
        registration = {
            "pid": os.getpid(),
            "sessionId": self.session_id,
            "cwd": line.body.get("cwd"),
            "status": status,
            **read_process_identity(os.getpid()),
        }
        fresh = self._registration.with_suffix(".new")
        fresh.write_text(json.dumps(registration))
        fresh.replace(self._registration)


def _list_blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    content = body.get("message", {}).get("content", "")
    return content if isinstance(content, list) else []


def _read_lines(source: Path) -> Iterator[_DemoLine]:
    """Yield the lines of the demo session and its sub-agents in chronological order."""
    lines: list[_DemoLine] = []
    for file in (source, *(agent.path for agent in list_agent_files(source, {}) if agent.kind == "subagent")):
        bodies = [json.loads(raw) for raw in file.read_bytes().splitlines()]
        moments = [parse_timestamp(body.get("timestamp")) for body in bodies]
        time = next(moment.timestamp() for moment in moments if moment)  # also of lines before the first time
        for body, moment in zip(bodies, moments, strict=True):
            time = moment.timestamp() if moment else time
            lines.append(_DemoLine(time, file, body))
    yield from sorted(lines, key=lambda line: line.time)
