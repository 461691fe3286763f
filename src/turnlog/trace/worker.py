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
from turnlog.store.lock import locked
from turnlog.trace.ending import Expected, Patience, awaited, settled
from turnlog.trace.harvest import harvest
from turnlog.trace.outbox.delivery import deliver
from turnlog.trace.outbox.outbox import FILE, Outbox
from turnlog.trace.recovery import Unsent, unsent
from turnlog.trace.spans.span import Told
from turnlog.trace.targets.target import Target
from turnlog.trace.trouble import in_words
from turnlog.trace.wakes import Wake, arrived, done, set_aside, waiting
from turnlog.trace.wire.post import Poster

_SLOTS = 256
_LOCK_PATIENCE = 60.0
_GIVEN_UP_NS = 7 * 86400 * 10**9
"""A wake that could not be served for so long is set aside."""
_AFTER_END_NS = 5 * 10**9
"""A file that was written so long after its session ended is being written again."""


class Job(NamedTuple):
    """What a worker works with."""

    folder: Path
    """`trace` in turnlog's data folder."""
    surroundings: str
    """Which wakes are meant; see `hook.surroundings`."""
    targets: Callable[[Sequence[str]], list[Target]]
    """The targets of some names; of none: all that are configured."""
    patience: Patience = Patience()
    delivery: float = 600.0
    """How long a server that does not answer is asked again, in seconds."""


@dataclass
class Report:
    """What a worker did."""

    sessions: int = 0
    recovered: int = 0
    put: int = 0
    """Spans that were put into the outbox."""
    troubles: list[str] = field(default_factory=list)
    """What went wrong, each in one line."""


def work(job: Job) -> Report:
    """Serve all wakes there are, and deliver what is in the outbox."""
    report = Report()
    used: dict[str, Target] = {}
    left: set[Path] = set()
    arrived(job.folder, job.surroundings)
    with Outbox.open(job.folder / FILE) as outbox:
        while groups := _by_session(job, left):
            for path, group in groups.items():
                targets = _targets(job, group, report)
                used |= {target.key: target for found in targets.values() for target in found}
                _Service(job, outbox, path, targets, report).serve()
                # What is still there could not be served; what comes meanwhile is new.
                left |= {wake.path for wake in group}
    _deliver(job, list(used.values()), report)
    return report


def _by_session(job: Job, left: set[Path]) -> dict[Path, list[Wake]]:
    found: dict[Path, list[Wake]] = {}
    for wake in waiting(job.folder, job.surroundings):
        if wake.path not in left:
            found.setdefault(wake.transcript, []).append(wake)
    return found


def _targets(job: Job, group: Sequence[Wake], report: Report) -> dict[tuple[str, ...], list[Target]]:
    """The targets by the names that the hook was given; what names none is left for when the settings are right."""
    found = {}
    for names in dict.fromkeys(wake.targets for wake in group):
        try:
            found[names] = job.targets(names)
        except TurnlogError as error:
            report.troubles.append(in_words(error))
    return found


@dataclass
class _Service:
    """The work on one session."""

    job: Job
    outbox: Outbox
    path: Path
    by_names: dict[tuple[str, ...], list[Target]]
    """The targets of the wakes that are to be served: each wake has some names, or none for all."""
    report: Report

    @property
    def targets(self) -> list[Target]:
        """All of them, each once."""
        return list({target.key: target for found in self.by_names.values() for target in found}.values())

    def serve(self) -> None:
        """Send what the sessions before it and the session itself have to send."""
        since = [wake.since for wake in self._wakes() if wake.since is not None]
        if self.targets:
            self._recover(min(since, default=None))
        with _alone(self.job.folder, self.path) as is_alone:
            # One that came meanwhile may want other targets; it stays.
            group = [wake for wake in self._wakes() if wake.targets in self.by_names] if is_alone else []
            if group and self._harvested(self._told(group) if self.path.exists() and self.targets else None):
                self.report.sessions += 1
                done(group)
            rest = self._wakes() if is_alone else []
            set_aside([wake for wake in rest if time.time_ns() - wake.made > _GIVEN_UP_NS], self.job.folder)

    def _wakes(self) -> list[Wake]:
        return [wake for wake in waiting(self.job.folder, self.job.surroundings) if wake.transcript == self.path]

    def _recover(self, since: float | None) -> None:
        """Send what earlier sessions never did; whatever goes wrong there is no concern of this one."""
        try:
            config_dir = self.path.parents[min(2, len(self.path.parents) - 1)]
            for found in unsent(self.path, self.outbox, self.targets, config_dir, since):
                with locked(_slot(self.job.folder, found.path)) as is_alone:
                    if is_alone:
                        self._recover_one(found)
        except Exception as error:  # noqa: BLE001 - see above
            self.report.troubles.append(in_words(error))

    def _recover_one(self, found: Unsent) -> None:
        for target in found.targets:
            try:
                self.report.put += harvest(found.path, self.outbox, target, Told(over=found.over)).put
            except Exception as error:  # noqa: BLE001 - the next one may do better
                self.report.troubles.append(in_words(error))
        self.report.recovered += 1

    def _told(self, group: Sequence[Wake]) -> Told:
        """What the client has said, once the transcript has it too."""
        patience = self.job.patience
        stop = next((wake for wake in reversed(group) if wake.event == "Stop"), None)
        at_rest = stop is not None and self._is_there(stop, stop.transcript)
        agents = {
            wake.agent_id
            for wake in group
            if wake.event == "SubagentStop" and wake.agent_id and self._is_there(wake, wake.agent_transcript)
        }
        is_over = group[-1].event == "SessionEnd" and settled(self.path, patience) and self._is_left(group[-1])
        return Told(at_rest, is_over, frozenset(agents))

    def _is_there(self, wake: Wake, path: Path | None) -> bool:
        if path is None:
            return False
        expected = Expected(wake.answer, wake.prompt_id)
        patience = self.job.patience.since(wake.made)
        return awaited(path, expected, patience, self._is_ending(wake)) == "there"

    def _is_ending(self, wake: Wake) -> Callable[[], bool]:
        """Whether waiting for how long the turn took is of no use."""
        if wake.event != "Stop":
            return lambda: True
        return lambda: any(other.event == "SessionEnd" for other in self._wakes())

    def _is_left(self, wake: Wake) -> bool:
        """Whether nobody has gone on with the session since it ended."""
        return self.path.stat().st_mtime_ns < wake.made + _AFTER_END_NS

    def _harvested(self, told: Told | None) -> bool:
        """Put what became final into the outbox; whether all of it is there."""
        is_done = True
        for target in self.targets if told else []:
            try:
                self.report.put += harvest(self.path, self.outbox, target, told or Told()).put
            except Exception as error:  # noqa: BLE001 - the wake stays, and the next worker tries again
                self.report.troubles.append(in_words(error))
                is_done = False
        return is_done


@contextmanager
def _alone(folder: Path, path: Path) -> Iterator[bool]:
    """Be the only worker at a session; False if that could not be had.

    The other one may be at another session with the same lock, or know other targets, so it is waited for.
    """
    deadline = time.monotonic() + _LOCK_PATIENCE
    while True:
        with locked(_slot(folder, path)) as is_alone:
            if is_alone or time.monotonic() > deadline:
                yield is_alone
                return
        time.sleep(0.1)


def _slot(folder: Path, path: Path) -> Path:
    locks = folder / "locks"
    locks.mkdir(mode=0o700, exist_ok=True)
    return locks / f"{crc32(str(path).encode('utf-8', 'surrogateescape')) % _SLOTS:02x}.lock"


def _deliver(job: Job, targets: Sequence[Target], report: Report) -> None:
    def send(target: Target) -> None:
        try:
            with Outbox.open(job.folder / FILE) as outbox, Poster(target) as poster:
                deliver(outbox, poster, patience=job.delivery)
        except Exception as error:  # noqa: BLE001 - the others go on
            report.troubles.append(in_words(error))

    threads = [Thread(target=send, args=(target,)) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
