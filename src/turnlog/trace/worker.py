"""The background worker, which turns the hook's wakes into spans and sends them to the backends.

Sessions are handled one at a time, and each session by one worker at a time. The worker first sends what earlier
sessions of the project did not send; then it waits until the transcript is complete, puts the final spans into the
outbox, and only then deletes the wakes. At the end, it delivers the outbox to all targets in parallel, so that a target
that doesn't answer can't hold up the others.
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
"""How long a wake may wait to be handled before it is set aside."""
_AFTER_END_NS = 5 * 10**9
"""If a file is written this long after its session ended, the session is in use again."""


class WorkerJob(NamedTuple):
    folder: Path
    """`trace` in turnlog's data folder."""
    surroundings: str
    """Which wakes to handle; see `hook.hash_surroundings`."""
    targets: Callable[[Sequence[str]], list[TraceTarget]]
    """Returns the targets with the given names or, without names, all configured targets."""
    patience: WaitLimits = WaitLimits()
    delivery: float = 600.0
    """How long to retry a server that doesn't answer, in seconds."""


@dataclass
class WorkerReport:
    sessions: int = 0
    recovered: int = 0
    put: int = 0
    """Spans that were put into the outbox."""
    troubles: list[str] = field(default_factory=list)
    """Errors, one line each."""


def run_worker(job: WorkerJob) -> WorkerReport:
    """Handle all waiting wakes, and deliver the outbox."""
    report = WorkerReport()
    used: dict[str, TraceTarget] = {}
    unserved: set[Path] = set()
    announce_worker(job.folder, job.surroundings)
    with Outbox.open(job.folder / OUTBOX_FILE_NAME) as outbox:
        while groups := _group_by_session(job, unserved):
            for path, group in groups.items():
                targets = _find_targets(job, group, report)
                used |= {target.key: target for found in targets.values() for target in found}
                _SessionService(job, outbox, path, targets, report).serve()
                # The remaining wakes could not be handled; later ones are new.
                unserved |= {wake.path for wake in group}
    _deliver_all(job, list(used.values()), report)
    return report


def _group_by_session(job: WorkerJob, unserved: set[Path]) -> dict[Path, list[Wake]]:
    groups: dict[Path, list[Wake]] = {}
    for wake in list_waiting_wakes(job.folder, job.surroundings):
        if wake.path not in unserved:
            groups.setdefault(wake.transcript, []).append(wake)
    return groups


def _find_targets(
    job: WorkerJob, group: Sequence[Wake], report: WorkerReport
) -> dict[tuple[str, ...], list[TraceTarget]]:
    """Return the targets named in the wakes; wakes with unknown names wait until the settings are corrected."""
    targets = {}
    for names in dict.fromkeys(wake.targets for wake in group):
        try:
            targets[names] = job.targets(names)
        except TurnlogError as error:
            report.troubles.append(describe_error(error))
    return targets


@dataclass
class _SessionService:
    job: WorkerJob
    outbox: Outbox
    path: Path
    by_names: dict[tuple[str, ...], list[TraceTarget]]
    """The targets of the wakes to handle, by the names in a wake; no names means all targets."""
    report: WorkerReport

    @property
    def targets(self) -> list[TraceTarget]:
        """All targets, without duplicates."""
        return list({target.key: target for found in self.by_names.values() for target in found}.values())

    def serve(self) -> None:
        """Send the spans of earlier sessions and of this session."""
        since = [wake.since for wake in self._list_wakes() if wake.since is not None]
        if self.targets:
            self._recover_earlier(min(since, default=None))
        with _hold_session_lock(self.job.folder, self.path) as is_alone:
            # A wake that arrived in the meantime may name other targets; it is kept.
            group = [wake for wake in self._list_wakes() if wake.targets in self.by_names] if is_alone else []
            if group and self._harvest_targets(
                self._read_signals(group) if self.path.exists() and self.targets else None
            ):
                self.report.sessions += 1
                remove_wakes(group)
            rest = self._list_wakes() if is_alone else []
            set_wakes_aside(
                [wake for wake in rest if time.time_ns() - wake.time_ns > _GIVE_UP_AFTER_NS], self.job.folder
            )

    def _list_wakes(self) -> list[Wake]:
        return [
            wake for wake in list_waiting_wakes(self.job.folder, self.job.surroundings) if wake.transcript == self.path
        ]

    def _recover_earlier(self, since: float | None) -> None:
        """Send what earlier sessions did not send; their errors must not stop this session."""
        try:
            config_dir = self.path.parents[min(2, len(self.path.parents) - 1)]
            for unsent in find_unsent_sessions(self.path, self.outbox, self.targets, config_dir, since):
                with try_lock_file(_build_lock_path(self.job.folder, unsent.path)) as is_alone:
                    if is_alone:
                        self._recover_session(unsent)
        except Exception as error:  # noqa: BLE001 - see above
            self.report.troubles.append(describe_error(error))

    def _recover_session(self, unsent: UnsentSession) -> None:
        for target in unsent.targets:
            try:
                self.report.put += harvest_session(
                    unsent.path, self.outbox, target, SessionSignals(over=unsent.over)
                ).put
            except Exception as error:  # noqa: BLE001 - the next target may work
                self.report.troubles.append(describe_error(error))
        self.report.recovered += 1

    def _read_signals(self, group: Sequence[Wake]) -> SessionSignals:
        """Read the signals from Claude Code, once the transcript has caught up with them."""
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
        patience = self.job.patience.deduct_elapsed(wake.time_ns)
        return wait_for_transcript_end(path, expected, patience, self._build_end_check(wake)) == "there"

    def _build_end_check(self, wake: Wake) -> Callable[[], bool]:
        """Return a function that checks whether waiting for the turn's duration is pointless."""
        if wake.event != "Stop":
            return lambda: True
        return lambda: any(other.event == "SessionEnd" for other in self._list_wakes())

    def _is_left(self, wake: Wake) -> bool:
        """Return whether the session has not been continued since it ended."""
        return self.path.stat().st_mtime_ns < wake.time_ns + _AFTER_END_NS

    def _harvest_targets(self, signals: SessionSignals | None) -> bool:
        """Put the final spans into the outbox; return whether all of them were stored."""
        is_done = True
        for target in self.targets if signals else []:
            try:
                self.report.put += harvest_session(self.path, self.outbox, target, signals or SessionSignals()).put
            except Exception as error:  # noqa: BLE001 - the wake stays, and the next worker tries again
                self.report.troubles.append(describe_error(error))
                is_done = False
        return is_done


@contextmanager
def _hold_session_lock(folder: Path, path: Path) -> Iterator[bool]:
    """Try to become the only worker for a session; yield False if that fails.

    Another worker may hold the same lock for a different session or for other targets, so this function waits for it.
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
        except Exception as error:  # noqa: BLE001 - the others continue
            report.troubles.append(describe_error(error))

    threads = [Thread(target=send, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
