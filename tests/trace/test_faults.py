"""Whatever befalls servers, workers, disks, clocks and transcripts: every final span arrives, and repeats are counted.

`TURNLOG_FAULTS=500 pytest tests/trace/test_faults.py` runs through so many schedules; `make full` does.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.trace.recorder import Answer, Received, Recorder

ROOT = Path(__file__).parents[2]
SCHEDULES = int(os.environ.get("TURNLOG_FAULTS", "12"))
MOODS: list[Answer] = [200, 200, 200, 503, 429, 500, ("retry-after", 1), ("hang", 1), "cut", "lost", 413, 400]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork, SIGKILL and limits of a process"),
]


class Moody(Recorder):
    """A backend that answers as it likes while a file is there."""

    def __init__(self, sign: Path) -> None:
        super().__init__()
        self._sign = sign
        self._chance = random.Random(7)

    def take(self, request: Received) -> Answer:
        self.default = self._chance.choice(MOODS) if self._sign.exists() else 200
        return super().take(request)


def test_every_final_span_arrives_and_only_counted_ones_twice(tmp_path: Path) -> None:
    with Moody(tmp_path / "moody") as recorder:
        words = [sys.executable, "-m", "tests.trace.faults", str(tmp_path), recorder.url, "0", str(SCHEDULES)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [run["schedule"] for run in runs] == [*range(SCHEDULES)]
    assert recorder.changed_spans == [], "a repeat says what was said before"
    arrived: dict[int, Counter[str]] = {}
    for request in recorder.requests:
        if request.answer in (200, "lost"):
            times = arrived.setdefault(int(request.path.split("/")[1]), Counter())
            times.update(span["span"] for span in request.spans)
    for run in runs:
        times = arrived[run["schedule"]]
        assert set(run["expected"]) <= times.keys(), run["schedule"]
        assert (run["pending"], run["quarantined"]) == (0, 0)
        assert times.total() - len(times) <= run["repeated"], run["schedule"]
    assert sum(run["kills"] for run in runs) > SCHEDULES / 2, "workers were killed"
    print({name: sum(run[name] for run in runs) for name in ("kills", "sent", "repeated")}, len(recorder.requests))
