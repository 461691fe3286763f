"""A process to be killed: it stores messages about sessions, or delivers stored ones, as fast as it can.

python -m tests.notify.kill_steps watch FOLDER SESSIONS
python -m tests.notify.kill_steps deliver FOLDER URL
"""

from __future__ import annotations

import sys
from pathlib import Path

from turnlog.notify.channels import NotifyChannel
from turnlog.notify.delivery import deliver_next
from turnlog.notify.queue import NotifyQueue
from turnlog.notify.runner import SessionNotifier
from turnlog.notify.settings import NotifyConfig
from turnlog.notify.triggers import SessionSnapshot


class WaitingSessions:
    """Sessions that wait for a person, one more at each look; all of them still wait after a restart."""

    def __init__(self, count: int) -> None:
        self._left = list(range(count))

    def poll(self) -> list[SessionSnapshot | str]:
        if not self._left:
            return []
        number = self._left.pop(0)
        return [
            SessionSnapshot(
                f"/{number}.jsonl", str(number), f"session {number}", "/code", "needs", "waiting", "asks", "t", True
            )
        ]


def watch(folder: Path, count: int) -> None:
    config = NotifyConfig(channels=(NotifyChannel("hook", "webhook"),))
    with NotifyQueue(folder) as queue:
        notifier = SessionNotifier(config, queue, WaitingSessions(count), redact=str)
        for _ in range(count):
            notifier.run_round()


def deliver(folder: Path, url: str) -> None:
    channel = NotifyChannel("hook", "webhook", url=url, timeout=5.0)
    with NotifyQueue(folder) as queue:
        while queue.compute_wait("hook") is not None:
            deliver_next(queue, channel)


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        watch(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        deliver(Path(sys.argv[2]), sys.argv[3])
