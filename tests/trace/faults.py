"""A program that runs through schedules of faults, each drawn from its number; started by `test_faults`.

    python -m tests.trace.faults FOLDER URL FIRST COUNT

Each schedule has a session that is written piece by piece, wakes as the hook leaves them, and workers in processes of
their own: killed at a random step, two at once, with another time on the clock, with a full disk. The transcript is
torn, cut, replaced, taken away. While FOLDER/moody is there, the backend at URL answers as it likes. At the end all is
calm, one more worker runs, and what was sent is to be complete: the program says what should have arrived.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

_TIME = time.time
_SHIFT = [0.0]
time.time = lambda: _TIME() + _SHIFT[0]  # before anybody keeps it: the clock of this program can be moved

from tests.session.build import Build, Line, encode_lines  # noqa: E402 - after the clock
from tests.trace.kill_steps import die_at  # noqa: E402 - after the clock
from tests.trace.test_wakes import leave  # noqa: E402 - after the clock
from turnlog.session.session import Session  # noqa: E402 - after the clock
from turnlog.trace.outbox.delivery import deliver_batches  # noqa: E402 - after the clock
from turnlog.trace.outbox.outbox import Outbox  # noqa: E402 - after the clock
from turnlog.trace.spans.span import SessionSignals  # noqa: E402 - after the clock
from turnlog.trace.spans.span_trees import build_session_traces  # noqa: E402 - after the clock
from turnlog.trace.targets.target import TraceTarget  # noqa: E402 - after the clock
from turnlog.trace.transcript_end import WaitLimits  # noqa: E402 - after the clock
from turnlog.trace.wire.poster import Poster  # noqa: E402 - after the clock
from turnlog.trace.worker import WorkerJob, run_worker  # noqa: E402 - after the clock

_HASTE = WaitLimits(answer=0.05, duration=0.0, quiet=0.0)
_AGENT = "a0b1c2d3e4f5a6b7c"


class Schedule:
    """One session and what befalls it."""

    def __init__(self, folder: Path, url: str, number: int) -> None:
        self.chance = random.Random(number)
        self.moody = folder / "moody"
        self.number = number
        self.folder = folder / str(number) / "trace"
        self.name = f"{number:08d}-0000-4000-8000-000000000000"
        self.path = folder / str(number) / "claude" / "projects" / "-home-dana" / f"{self.name}.jsonl"
        self.agent = self.path.with_suffix("") / "subagents" / f"agent-{_AGENT}.jsonl"
        self.target = TraceTarget("t", f"{url}/{number}/v1/traces", timeout=0.3)
        self.lines, inner = conversation(self.name, self.chance)
        self.agent.parent.mkdir(parents=True)
        self.agent.write_bytes(inner)
        self.written = 0
        self.made = time.time_ns()
        self.kills = 0

    def run(self) -> dict[str, object]:
        """Let it all happen, then let it be calm; what there is to say at the end."""
        self.moody.touch()
        steps = [self.append] * 4 + [self.worker] * 4 + [self.pair, self.tear, self.cut, self.replace, self.lose]
        for _ in range(self.chance.randint(6, 14)):
            self.chance.choice(steps)()
        self.moody.unlink()
        self.path.write_bytes(b"".join(self.lines))
        self.wake("SessionEnd")
        self._wait_for_child(self._child())
        return self._build_outcome()

    # -- what befalls the transcript

    def append(self) -> None:
        """The client writes on; it may say so."""
        self.written = min(self.written + self.chance.randint(1, 5), len(self.lines))
        self.path.write_bytes(b"".join(self.lines[: self.written]))
        self.wake(self.chance.choice(("Stop", "Stop", "SubagentStop", "SessionEnd")))

    def tear(self) -> None:
        """Half a line."""
        if self.written < len(self.lines):
            with self.path.open("ab") as file:
                file.write(self.lines[self.written][: self.chance.randint(1, 60)])
        self.wake("Stop")

    def cut(self) -> None:
        """Somebody takes the end of it away."""
        self.written = self.chance.randint(0, self.written)
        self.path.write_bytes(b"".join(self.lines[: self.written]))

    def replace(self) -> None:
        """Another file with the same words takes its place."""
        other = self.path.with_suffix(".new")
        other.write_bytes(b"".join(self.lines[: self.written]))
        other.replace(self.path)

    def lose(self) -> None:
        """It is gone, for as long as one worker looks."""
        self.path.unlink(missing_ok=True)
        self.worker()
        self.path.write_bytes(b"".join(self.lines[: self.written]))

    def wake(self, event: str) -> None:
        """What the hook leaves."""
        self.made += 1
        said = {"transcript_path": str(self.path), "session_id": self.name, "hook_event_name": event}
        if event == "SubagentStop":
            said |= {"agent_id": _AGENT, "agent_transcript_path": str(self.agent)}
        leave(self.folder, said, made=self.made)

    # -- workers

    def worker(self) -> None:
        """One worker, that may not live to the end."""
        self._wait_for_child(self._child(hurt=True))

    def pair(self) -> None:
        """Two hooks at once."""
        for child in (self._child(hurt=True), self._child(hurt=True)):
            self._wait_for_child(child)

    def _wait_for_child(self, child: int) -> None:
        self.kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

    def _child(self, *, hurt: bool = False) -> int:
        step = self.chance.randint(1, 900) if hurt and self.chance.random() < 0.6 else None
        shift = self.chance.choice((0, 0, 0, -86_400, 3600, 10**8)) if hurt else 0
        full = hurt and self.chance.random() < 0.1
        child = os.fork()
        if child:
            return child
        try:
            _SHIFT[0] = shift
            if full:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
            if step is not None:
                die_at(step)
            run_worker(WorkerJob(self.folder, "m", lambda _: [self.target], _HASTE, 0.0))
        finally:
            os._exit(0)

    # -- the end

    def _build_outcome(self) -> dict[str, object]:
        with Outbox.open(self.folder / "outbox.db") as outbox, Poster(self.target) as poster:
            outbox.requeue(self.target.key)
            for _ in range(20):
                outbox.end_pause(self.target.key)
                if not deliver_batches(outbox, poster).left:
                    break
            (standing,) = [item for item in outbox.list_statuses() if item.key == self.target.key]
        with Session.open(self.path) as session:
            expected = [
                node.id.hex()
                for trace in build_session_traces(session, SessionSignals(over=True))
                for node in trace.nodes
            ]
        return {
            "schedule": self.number,
            "expected": expected,
            "kills": self.kills,
            "pending": standing.pending_spans,
            "quarantined": standing.quarantined_spans,
            "repeated": standing.repeated_spans,
            "sent": standing.sent_spans,
        }


def conversation(name: str, chance: random.Random) -> tuple[list[bytes], bytes]:
    """The lines of a session of some turns, and those of its sub-agent."""
    build = Build()
    for turn in range(chance.randint(2, 5)):
        build.prompt(f"turn {turn}", f"{name}-p{turn}")
        for call in range(chance.randint(0, 3)):
            key = f"{name}-c{turn}{call}"
            build.call(key, id=f"{name}-m{turn}{call}", uuid=f"{key}-u")
            build.result(key, "x" * chance.randint(1, 3000), uuid=f"{key}-r", error=chance.random() < 0.2)
        build.answer("done", id=f"{name}-e{turn}", uuid=f"{name}-e{turn}")
    key = f"{name}-task"
    build.prompt("use a helper", f"{name}-h")
    build.call(key, "Task", {"prompt": "help"}, id=f"{name}-t", uuid=f"{name}-t")
    build.result(key, "helped", uuid=f"{name}-tr", toolUseResult={"agentId": _AGENT, "status": "completed"})
    build.answer("thanks", id=f"{name}-end", uuid=f"{name}-end")
    inner = Build()
    inner.prompt("help", f"{name}-ap", isSidechain=True, agentId=_AGENT)
    inner.answer("helped", id=f"{name}-am", uuid=f"{name}-aa", isSidechain=True, agentId=_AGENT)
    return [encode_lines([_of(name, line)]) for line in build.lines], encode_lines(
        [_of(name, line) for line in inner.lines]
    )


def _of(name: str, line: Line) -> Line:
    return {**line, "sessionId": name}


def main(folder: str, url: str, first: str, count: str) -> None:
    """Run through some schedules."""
    for number in range(int(first), int(first) + int(count)):
        print(json.dumps(Schedule(Path(folder), url, number).run()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
