"""Sends the messages in the queue through their channels, one after another.

If a channel can't accept a message now, it is paused. The pause doubles with each failure, up to five minutes, and is
at least as long as the server asks. A message that the server refuses is dropped, and `turnlog notify status` shows the
reason. After a burst of messages, a channel pauses, and what is waiting by then is sent as one message.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable

from turnlog.notify.channels import NotifyChannel
from turnlog.notify.notification import Notification
from turnlog.notify.outcome import SendOutcome
from turnlog.notify.queue import NotifyQueue

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 2.0, 300.0
LOCAL_MAX_AGE_SECONDS = 600.0
"""When to give up on a channel of this machine: nobody wants yesterday's messages at the next login."""

MAX_BURST_MESSAGES, BURST_SECONDS = 3, 10.0
"""How many urgent messages, and how many others, a channel sends within how many seconds, at most."""

SendNotification = Callable[[NotifyChannel, Notification, int], SendOutcome]
"""Sends a message through a channel; the last argument is how many times it was sent before."""


def send_through_channel(channel: NotifyChannel, notice: Notification, tries: int = 0) -> SendOutcome:
    """Send a message through a channel once."""
    if channel.kind == "desktop":
        from turnlog.notify.desktop import show_on_desktop

        return show_on_desktop(notice)
    if channel.kind == "terminal":
        from turnlog.notify.terminal_signal import signal_terminal

        return signal_terminal(notice, channel.style)
    from turnlog.notify.server_sender import post_to_server

    return post_to_server(channel, notice, tries)


def deliver_next(
    queue: NotifyQueue,
    channel: NotifyChannel,
    send: SendNotification = send_through_channel,
    chance: Callable[[], float] = random.random,
    *,
    is_urgent: bool | None = None,
) -> SendOutcome | None:
    """Send the next message that is due through a channel, and record the outcome; None if nothing is due."""
    queued = queue.begin_delivery(channel.name, is_urgent=is_urgent)
    if queued is None:
        return None
    outcome = send(channel, queued.notice, queued.tries)
    if outcome.result == "sent":
        queue.mark_sent(queued)
    elif outcome.result == "refused":
        queue.drop_message(queued, outcome.reason)
    else:
        pause = _choose_pause(queue.count_fails(channel.name), outcome.after, chance())
        queue.postpone_message(queued, outcome.reason, pause)
    return outcome


class BurstLimit:
    """Keeps a channel from sending many messages in a row; those that wait meanwhile are combined."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent: deque[float] = deque(maxlen=MAX_BURST_MESSAGES)

    def add_message(self) -> None:
        """Note that a message was sent."""
        self._sent.append(self._clock())

    def compute_pause(self) -> float:
        """Return how many seconds to wait before the next message."""
        if len(self._sent) < MAX_BURST_MESSAGES:
            return 0.0
        return max(self._sent[0] + BURST_SECONDS - self._clock(), 0.0)


def _choose_pause(fails: int, requested: float | None, chance: float) -> float:
    """Return how long to pause a channel; this is random, so that many machines don't try again at the same moment."""
    own = min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(fails, 20)) * (0.5 + chance / 2)
    return own if requested is None else max(requested, own)
