"""How often the board is right about recorded sessions; `score` prints it.

Every recording is played to the board, which is read every 0.2 s. For each moment in which a session has a transcript,
what the board says is compared with what the client's screen showed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.interop.live.replay import replay
from tests.interop.live.screen import TrueState
from tests.interop.live.state_recording import Recording, TruthInterval, load_recording
from turnlog.live.board import BoardRow
from turnlog.live.states import BoardColumn

ABSENT = "absent"
"""The board does not show the session."""

STATE_OF_KIND = {
    "answering": "working",  # a request to the model is open
    "running": "tool",  # a call runs; see `read_board` for those without a call
    "compacting": "compacting",
    "permission": "permission",
    "finished": "idle",  # the turn is over; with background work see `read_board`
    "empty": "idle",  # a session without a message, as after /clear
    "interrupted": "interrupted",
    "error": "error",
    "silent": "silent",  # never true: it says that the board does not know
    # Names that say what they mean.
    "retrying": "retrying",
    "shell": "shell",
    "background": "background",
    "question": "question",
    "plan": "plan",
    "ended": "ended",
    "left": "left",
    "idle": "idle",
    "working": "working",
}
"""What a kind of state on the board means in terms of the truth."""

COLUMNS_OF_STATE: dict[TrueState, tuple[BoardColumn, ...]] = {
    "working": ("working",),
    "tool": ("working",),
    "compacting": ("working",),
    "retrying": ("working",),
    "shell": ("working",),
    "background": ("working", "idle"),  # something goes on, but the turn is over and the person can type
    "permission": ("needs",),
    "question": ("needs",),
    "plan": ("needs",),
    "error": ("needs",),
    "idle": ("idle",),
    "interrupted": ("idle",),
    "ended": ("ended",),
    "left": ("ended",),
}
"""In which columns a session may be."""

ALSO_RIGHT: dict[TrueState, frozenset[str]] = {
    "left": frozenset({"ended"}),  # nobody is in it any more, either way
}
"""What the board may say besides the true state."""


def read_board(row: BoardRow | None) -> str:
    """Return what the board says about a session, in terms of the truth."""
    if row is None:
        return ABSENT
    state = row.state
    kind = str(state.kind)
    if row.column == "ended":
        return "left" if kind == "left" else "ended"
    if kind == "waiting":
        return _read_waiting(state.words)
    if kind == "answering" and "retrying" in state.words:
        return "retrying"
    if kind == "running" and not state.tools:
        return "background" if state.agents else "shell"
    if kind in ("finished", "idle") and (state.agents or state.tasks):
        return "background"
    return STATE_OF_KIND.get(kind, kind)


def _read_waiting(words: str) -> str:
    """Return what a person is asked for; newer clients say it in their own words."""
    if "plan" in words:
        return "plan"
    return "permission" if "permission" in words else "question"


class Stretch(NamedTuple):
    """A time in which the board said the same thing about a session in one true state."""

    start: float
    end: float
    told: str
    words: str
    column: str

    @property
    def seconds(self) -> float:
        return self.end - self.start


class JudgedInterval(NamedTuple):
    """A true state, and what the board said meanwhile."""

    recording: str
    version: str
    has_hooks: bool
    truth: TruthInterval
    stretches: tuple[Stretch, ...]
    changes: tuple[float, ...] = ()
    """When anything changed that the board can see, apart from the screen."""

    @property
    def seconds(self) -> float:
        return self.truth.end - self.truth.start

    def is_right(self, stretch: Stretch) -> bool:
        return stretch.told == self.truth.state or stretch.told in ALSO_RIGHT.get(self.truth.state, ())

    @property
    def right_seconds(self) -> float:
        return sum(stretch.seconds for stretch in self.stretches if self.is_right(stretch))

    @property
    def column_seconds(self) -> float:
        """How long the session was in the right column."""
        columns = COLUMNS_OF_STATE[self.truth.state]
        return sum(stretch.seconds for stretch in self.stretches if stretch.column in columns)

    @property
    def latency(self) -> float:
        """Seconds until the board was right; infinite if it never was."""
        return next((s.start - self.truth.start for s in self.stretches if self.is_right(s)), math.inf)

    @property
    def misses(self) -> list[Stretch]:
        return [stretch for stretch in self.stretches if not self.is_right(stretch)]


def judge(recording: Recording) -> list[JudgedInterval]:
    """Play a recording and compare."""
    readings = [
        (reading.seconds, {name: _describe_row(row) for name, row in reading.rows.items()})
        for reading in replay(recording)
    ]
    changes = tuple(step["t"] for step in recording.steps if "io" not in step)
    judged: list[JudgedInterval] = []
    for truth in clip_truth(recording):
        times = [(at, rows.get(truth.session_id, _describe_row(None))) for at, rows in readings]
        stretches = tuple(_list_stretches(truth, times))
        group = recording.version, recording.has_hooks
        judged.append(JudgedInterval(recording.name, *group, truth, stretches, changes))
    return judged


def clip_truth(recording: Recording) -> Iterator[TruthInterval]:
    """Give the true states from the moment in which the session has a transcript."""
    created: dict[str, float] = {}
    for step in recording.steps:
        if str(step.get("file", "")).endswith(".jsonl"):
            created.setdefault(Path(step["file"]).stem, step["t"])
    for truth in recording.truth:
        start = max(truth.start, created.get(truth.session_id, math.inf))
        if start < truth.end:
            yield truth._replace(start=start)


def _describe_row(row: BoardRow | None) -> tuple[str, str, str]:
    return read_board(row), row.state.words if row else "", row.column if row else ""


def _list_stretches(truth: TruthInterval, times: list[tuple[float, tuple[str, str, str]]]) -> Iterator[Stretch]:
    """Give what the board said during a true state; the same for a while is one stretch."""
    current: Stretch | None = None
    for at, (told, words, column) in times:
        start = max(at, truth.start)
        if at >= truth.end:
            break
        if current is not None and start > current.start and (told, column) != (current.told, current.column):
            yield current._replace(end=start)
            current = None
        if current is None or start <= truth.start:
            current = Stretch(start, truth.end, told, words, column)
    if current is not None:
        yield current


def judge_all(paths: Iterable[Path]) -> list[JudgedInterval]:
    """Judge several recordings, on all cores."""
    with ProcessPoolExecutor() as pool:
        return [interval for found in pool.map(_judge_path, paths) for interval in found]


def _judge_path(path: Path) -> list[JudgedInterval]:
    return judge(load_recording(path))


def measure_share(intervals: Iterable[JudgedInterval]) -> float:
    """Return the share of time in which the board was right, from 0 to 1."""
    listed = list(intervals)
    return sum(i.right_seconds for i in listed) / max(sum(i.seconds for i in listed), 1e-9)
