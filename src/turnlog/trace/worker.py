"""The worker: from the wakes of the hook to the backends, in the background.

Sessions are served one after the other, and a session by one worker at a time. First comes what earlier sessions of
the project never got to send; then the worker waits until the end of the transcript is written, puts what became
final into the outbox, and only then removes the wakes. What is in the outbox is delivered at the end, to all targets
side by side: one that does not answer must not hold up another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from zlib import crc32

from turnlog.errors import TurnlogError
from turnlog.store.file_lock import try_lock_file
from turnlog.trace.harvest import harvest_session
from turnlog.trace.outbox.delivery import deliver_batches
from turnlog.trace.outbox.outbox import OUTBOX_FILE_NAME, Outbox
from turnlog.trace.recovery import UnsentSession, find_unsent_sessions
from turnlog.trace.spans.span import SessionSignals
from turnlog.trace.targets.target import TraceTarget
from turnlog.trace.transcript_end import ExpectedEnd, WaitLimits, wait_for_transcript_end, wait_until_quiet
from turnlog.trace.trouble import describe_error
from turnlog.trace.wakes import Wake, announce_worker, list_waiting_wakes, remove_wakes, set_wakes_aside
from turnlog.trace.wire.poster import Poster

_LOCK_SLOTS = 256
_LOCK_TIMEOUT_SECONDS = 60.0
_GIVE_UP_AFTER_NS = 7 * 86400 * 10**9
"""A wake that could not be served for so long is set aside."""
_AFTER_END_NS = 5 * 10**9
"""A file that was written so long after its session ended is being written again."""


class WorkerJob(NamedTuple):
    """What a worker works with."""

    folder: Path
    """`trace` in turnlog's data folder."""
    surroundings: str
    """Which wakes are meant; see `hook.surroundings`."""
    targets: Callable[[Sequence[str]], list[TraceTarget]]
    """The targets of some names; of none: all that are configured."""
    patience: WaitLimits = WaitLimits()
    delivery: float = 600.0
    """How long a server that does not answer is asked again, in seconds."""


@dataclass
class WorkerReport:
    """What a worker did."""

    sessions: int = 0
    recovered: int = 0
    put: int = 0
    """Spans that were put into the outbox."""
    troubles: list[str] = field(default_factory=list)
    """What went wrong, each in one line."""


def run_worker(job: WorkerJob) -> WorkerReport:
    """Serve all wakes there are, and deliver what is in the outbox."""
    report = WorkerReport()
    used: dict[str, TraceTarget] = {}
    left: set[Path] = set()
    announce_worker(job.folder, job.surroundings)
    with Outbox.open(job.folder / OUTBOX_FILE_NAME) as outbox:
        while groups := _group_by_session(job, left):
            for path, group in groups.items():
                targets = _find_targets(job, group, report)
                used |= {target.key: target for found in targets.values() for target in found}
                _SessionService(job, outbox, path, targets, report).serve()
                # What is still there could not be served; what comes meanwhile is new.
                left |= {wake.path for wake in group}
    _deliver_all(job, list(used.values()), report)
    return report


def _group_by_session(job: WorkerJob, left: set[Path]) -> dict[Path, list[Wake]]:
    found: dict[Path, list[Wake]] = {}
    for wake in list_waiting_wakes(job.folder, job.surroundings):
        if wake.path not in left:
            found.setdefault(wake.transcript, []).append(wake)
    return found


def _find_targets(
    job: WorkerJob, group: Sequence[Wake], report: WorkerReport
) -> dict[tuple[str, ...], list[TraceTarget]]:
    """The targets by the names that the hook was given; what names none is left for when the settings are right."""
    found = {}
    for names in dict.fromkeys(wake.targets for wake in group):
        try:
            found[names] = job.targets(names)
        except TurnlogError as error:
            report.troubles.append(describe_error(error))
    return found


@dataclass
class _SessionService:
    """The work on one session."""

    job: WorkerJob
    outbox: Outbox
    path: Path
    by_names: dict[tuple[str, ...], list[TraceTarget]]
    """The targets of the wakes that are to be served: each wake has some names, or none for all."""
    report: WorkerReport

    @property
    def targets(self) -> list[TraceTarget]:
        """All of them, each once."""
        return list({target.key: target for found in self.by_names.values() for target in found}.values())

    def serve(self) -> None:
        """Send what the sessions before it and the session itself have to send."""
        since = [wake.since for wake in self._list_wakes() if wake.since is not None]
        if self.targets:
            self._recover_earlier(min(since, default=None))
        with _hold_session_lock(self.job.folder, self.path) as is_alone:
            # One that came meanwhile may want other targets; it stays.
            group = [wake for wake in self._list_wakes() if wake.targets in self.by_names] if is_alone else []
            if group and self._harvest_targets(
                self._read_signals(group) if self.path.exists() and self.targets else None
            ):
                self.report.sessions += 1
                remove_wakes(group)
            rest = self._list_wakes() if is_alone else []
            set_wakes_aside([wake for wake in rest if time.time_ns() - wake.made > _GIVE_UP_AFTER_NS], self.job.folder)

    def _list_wakes(self) -> list[Wake]:
        return [
            wake for wake in list_waiting_wakes(self.job.folder, self.job.surroundings) if wake.transcript == self.path
        ]

    def _recover_earlier(self, since: float | None) -> None:
        """Send what earlier sessions never did; whatever goes wrong there is no concern of this one."""
        try:
            config_dir = self.path.parents[min(2, len(self.path.parents) - 1)]
            for found in find_unsent_sessions(self.path, self.outbox, self.targets, config_dir, since):
                with try_lock_file(_build_lock_path(self.job.folder, found.path)) as is_alone:
                    if is_alone:
                        self._recover_session(found)
        except Exception as error:  # noqa: BLE001 - see above
            self.report.troubles.append(describe_error(error))

    def _recover_session(self, found: UnsentSession) -> None:
        for target in found.targets:
            try:
                self.report.put += harvest_session(found.path, self.outbox, target, SessionSignals(over=found.over)).put
            except Exception as error:  # noqa: BLE001 - the next one may do better
                self.report.troubles.append(describe_error(error))
        self.report.recovered += 1

    def _read_signals(self, group: Sequence[Wake]) -> SessionSignals:
        """What the client has said, once the transcript has it too."""
        patience = self.job.patience
        stop = next((wake for wake in reversed(group) if wake.event == "Stop"), None)
        at_rest = stop is not None and self._is_end_there(stop, stop.transcript)
        agents = {
            wake.agent_id
            for wake in group
            if wake.event == "SubagentStop" and wake.agent_id and self._is_end_there(wake, wake.agent_transcript)
        }
        is_over = group[-1].event == "SessionEnd" and wait_until_quiet(self.path, patience) and self._is_left(group[-1])
        return SessionSignals(at_rest, is_over, frozenset(agents))

    def _is_end_there(self, wake: Wake, path: Path | None) -> bool:
        if path is None:
            return False
        expected = ExpectedEnd(wake.answer, wake.prompt_id)
        patience = self.job.patience.deduct_elapsed(wake.made)
        return wait_for_transcript_end(path, expected, patience, self._build_end_check(wake)) == "there"

    def _build_end_check(self, wake: Wake) -> Callable[[], bool]:
        """Whether waiting for how long the turn took is of no use."""
        if wake.event != "Stop":
            return lambda: True
        return lambda: any(other.event == "SessionEnd" for other in self._list_wakes())

    def _is_left(self, wake: Wake) -> bool:
        """Whether nobody has gone on with the session since it ended."""
        return self.path.stat().st_mtime_ns < wake.made + _AFTER_END_NS

    def _harvest_targets(self, told: SessionSignals | None) -> bool:
        """Put what became final into the outbox; whether all of it is there."""
        is_done = True
        for target in self.targets if told else []:
            try:
                self.report.put += harvest_session(self.path, self.outbox, target, told or SessionSignals()).put
            except Exception as error:  # noqa: BLE001 - the wake stays, and the next worker tries again
                self.report.troubles.append(describe_error(error))
                is_done = False
        return is_done


@contextmanager
def _hold_session_lock(folder: Path, path: Path) -> Iterator[bool]:
    """Be the only worker at a session; False if that could not be had.

    The other one may be at another session with the same lock, or know other targets, so it is waited for.
    """
    deadline = time.monotonic() + _LOCK_TIMEOUT_SECONDS
    while True:
        with try_lock_file(_build_lock_path(folder, path)) as is_alone:
            if is_alone or time.monotonic() > deadline:
                yield is_alone
                return
        time.sleep(0.1)


def _build_lock_path(folder: Path, path: Path) -> Path:
    locks = folder / "locks"
    locks.mkdir(mode=0o700, exist_ok=True)
    return locks / f"{crc32(str(path).encode('utf-8', 'surrogateescape')) % _LOCK_SLOTS:02x}.lock"


def _deliver_all(job: WorkerJob, targets: Sequence[TraceTarget], report: WorkerReport) -> None:
    def send(target: TraceTarget) -> None:
        try:
            with Outbox.open(job.folder / OUTBOX_FILE_NAME) as outbox, Poster(target) as poster:
                deliver_batches(outbox, poster, patience=job.delivery)
        except Exception as error:  # noqa: BLE001 - the others go on
            report.troubles.append(describe_error(error))

    threads = [Thread(target=send, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
