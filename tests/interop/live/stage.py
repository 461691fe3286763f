"""A run: clients that are driven by a script, and observed all the while."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path
from typing import Any, Self

from tests.interop.classify import Object
from tests.interop.live.observer import FileObserver, HookObserver, ProcessObserver
from tests.interop.live.screen import SeatFacts, TrueState, read_state
from tests.interop.live.seat import Home, Seat
from tests.interop.live.server import WatchedServer
from tests.interop.live.state_recording import Recording, TruthInterval

BASE = Path("/tmp/demo")
"""Transcripts contain the paths of their project, so these must say nothing about a machine."""
_SAMPLE_SECONDS = 0.06
_PROCESS_SECONDS = 0.2
_MIN_STATE_SECONDS = 0.25
"""A shorter state is the screen being redrawn."""
_MAX_NOTICE_SECONDS = 1.0
"""How long a client takes to notice that background work is over; it shows that it waits until then."""
_MAX_WAIT_SECONDS = 90.0


class Player:
    """A client on the stage, and what was seen of it."""

    def __init__(self, stage: Stage, seat: Seat, resumes: bool) -> None:
        self._stage, self.seat = stage, seat
        self.state: TrueState | None = "idle" if resumes else None
        self.has_session = resumes
        """Before the first prompt there is no session; a resumed one is open as soon as its client has started."""
        self.is_prompting = False
        self.samples: list[tuple[float, int, TrueState]] = []
        """Time, number of the session (0, then one more for each /clear), state."""
        self.clears: list[float] = []

    def sample(self) -> None:
        """Read the screen once."""
        server, seat = self.seat.server, self.seat
        processes = self._stage.processes.latest
        family = {seat.pid}
        for process in processes:  # parents have smaller numbers, but for a wrap
            if process.parent in family:
                family.add(process.pid)
        facts = SeatFacts(
            seat.is_alive(),
            server.is_answering("main"),
            server.is_answering("compact"),
            server.main_stop_reason,
            server.has_agents,
            any(process.name == "sleep" and process.pid in family for process in processes),
        )
        now = self._stage.clock()
        state = read_state(seat.read_screen() if facts.is_alive else "", facts)
        if state is not None:
            self.state = state
        if self.is_prompting and self.state != "idle":
            self.has_session, self.is_prompting = True, False
        if self.state is not None and self.has_session:
            self.samples.append((now, len(self.clears), self.state))

    # -- what a script does

    def prompt(self, text: str) -> None:
        """Type a prompt and press Enter."""
        self.seat.type_text(text)
        self.is_prompting = not self.has_session
        if self.state in ("idle", "interrupted", "error"):  # a new turn, which has no answer yet
            self.seat.server.main_stop_reason = ""
        self.seat.press("Enter")

    def press(self, *keys: str) -> None:
        self.seat.press(*keys)

    def wait_for(self, *states: TrueState, text: str = "") -> None:
        """Wait until the client is in one of some states, with a text on the screen."""
        end = time.monotonic() + _MAX_WAIT_SECONDS
        while self.state not in states or (text and text not in self.seat.read_screen()):
            self._stage.check()
            if time.monotonic() > end:
                raise TimeoutError(f"{self.state}, not {' or '.join(states)} {text}:\n{self.seat.read_screen()}")
            time.sleep(0.05)

    def clear(self) -> None:
        """Leave the session by /clear."""
        self.seat.type_text("/clear")
        self.seat.press("Enter")
        self.clears.append(self._stage.clock())
        time.sleep(1)


class Stage:
    """Starts clients and records what happens."""

    def __init__(
        self, script: str, version: str, has_hooks: bool, settings: dict[str, Any], folder: Path = BASE
    ) -> None:
        self._script, self._version, self._has_hooks = script, version, has_hooks
        base = folder / f"{script.replace('_', '-')}-{version.replace('.', '')}{'h' if has_hooks else ''}"
        shutil.rmtree(base, ignore_errors=True)
        self.home = Home(base, version, settings, has_hooks)
        self._wall, self._mono = time.time(), time.monotonic()
        self.players: list[Player] = []
        self._servers: list[WatchedServer] = []
        self.processes = ProcessObserver()
        self._files = FileObserver(self.home.config_dir, self._wall)
        self._hooks = HookObserver(self.home.spool, self._wall)
        self._steps: list[dict[str, Any]] = []
        self._stop, self._failure = threading.Event(), ""
        self._thread = threading.Thread(target=self._observe, daemon=True)

    def clock(self) -> float:
        """Return the seconds since the start."""
        return round(time.monotonic() - self._mono, 3)

    def check(self) -> None:
        """Raise if the observer has failed."""
        if self._failure:
            raise RuntimeError(self._failure)

    def open_client(self, conversations: list[Object], *flags: str, resume: str | None = None) -> Player:
        """Start a client and wait for its input box."""
        number = len(self.players)
        server = WatchedServer(conversations, f"{self._script}{number}")
        server.__enter__()
        self._servers.append(server)
        player = Player(self, Seat(self.home, server, number, list(flags), resume), resume is not None)
        self.players.append(player)
        player.wait_for("idle", "interrupted", text="❯")  # a resumed client shows how the session stopped
        self.stay(1.5)
        return player

    def stay(self, seconds: float) -> None:
        """Do nothing for a while."""
        time.sleep(seconds)
        self.check()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        for player in self.players:
            player.seat.close()
        for server in self._servers:
            server.__exit__()
        shutil.rmtree(self.home.base, ignore_errors=True)

    # -- observing

    def _observe(self) -> None:
        process_time = 0.0
        try:
            while not self._stop.wait(_SAMPLE_SECONDS):
                self._steps += self._files.poll(self.clock)
                self._steps += self._hooks.poll(self.clock)
                if self.clock() >= process_time:
                    process_time = self.clock() + _PROCESS_SECONDS
                    roots = [player.seat.pid for player in self.players]
                    self._steps += self.processes.poll(roots, self.clock)
                for player in list(self.players):
                    player.sample()
        except Exception as error:  # noqa: BLE001 - told to the script, which then ends
            self._failure = repr(error)

    def finish(self) -> Recording:
        """Stop observing and return what was seen."""
        self._stop.set()
        self._thread.join()
        self.check()
        truth = cut_overlaps([interval for player in self.players for interval in self._list_intervals(player)])
        steps = sorted(self._steps, key=lambda step: float(step["t"]))
        base = str(self.home.base)
        boot = round(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME), 2)
        return Recording(self._script, self._version, self._has_hooks, self._wall, boot, base, steps, truth)

    def _list_intervals(self, player: Player) -> list[TruthInterval]:
        names = [player.seat.session_id, *self._find_later_sessions(player)]
        intervals: list[TruthInterval] = []
        for number, name in enumerate(names):
            if not name:
                continue
            samples = [(at, state) for at, session, state in player.samples if session == number]
            mine = merge_samples(samples, name)
            intervals += mine
            if number < len(player.clears) and mine:
                intervals.append(TruthInterval(mine[-1].end, self.clock(), name, "left"))
        return intervals

    def _find_later_sessions(self, player: Player) -> list[str]:
        """Return the ids of the sessions that followed a /clear: the transcript that was created first after it."""
        created: dict[str, float] = {}
        for step in self._steps:
            path = Path(str(step.get("file", "")))
            if path.parts[:1] == ("projects",) and len(path.parts) == 3 and path.suffix == ".jsonl":
                created.setdefault(path.stem, step["t"])
        taken = {other.seat.session_id for other in self.players}
        found: list[str] = []
        for cleared in player.clears:
            later = [name for name, at in created.items() if at >= cleared - 0.5 and name not in taken]
            found.append(later[0] if later else "")
            taken.add(found[-1])
        return found


def cut_overlaps(intervals: list[TruthInterval]) -> list[TruthInterval]:
    """Let the state of a client that resumed a session replace that of the client which had it before."""
    cut: list[TruthInterval] = []
    for interval in intervals:
        later = [i.start for i in intervals if i.session_id == interval.session_id and i.start > interval.start]
        end = min([interval.end, *later])
        cut.append(interval._replace(end=end))
    return cut


def merge_samples(samples: list[tuple[float, TrueState]], session_id: str) -> list[TruthInterval]:
    """Turn samples into intervals: a change happened halfway between two samples.

    What was seen for an instant only belongs to what follows.
    """
    runs: list[TruthInterval] = []
    before = samples[0][0] if samples else 0.0
    for at, state in samples:
        if not runs or runs[-1].state != state:
            change = round((before + at) / 2, 3)
            if runs:
                runs[-1] = runs[-1]._replace(end=change)
            runs.append(TruthInterval(change, at, session_id, state))
        runs[-1] = runs[-1]._replace(end=at)
        before = at
    return _drop_instants(runs)


def _drop_instants(runs: list[TruthInterval]) -> list[TruthInterval]:
    intervals: list[TruthInterval] = []
    start: float | None = None
    for run in runs:
        start = run.start if start is None else start
        seconds = run.end - run.start
        if seconds < _MIN_STATE_SECONDS and run is not runs[-1]:
            continue
        if intervals and (intervals[-1].state, run.state) == ("background", "idle") and seconds < _MAX_NOTICE_SECONDS:
            run = run._replace(state="background")
        if intervals and intervals[-1].state == run.state:
            intervals[-1] = intervals[-1]._replace(end=run.end)
        else:
            intervals.append(run._replace(start=start))
        start = None
    return intervals
