"""The notifications that open pages show, as a stream; a page listens only after its user has asked for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import TurnlogError
from turnlog.live.page_updates import PageUpdate, build_page_update
from turnlog.notify.queue import QUEUE_FILE_NAME, NotifyQueue, PageNotification
from turnlog.web.answers import get_machine
from turnlog.web.live.stream import Channel, build_stream_response
from turnlog.web.machine import Machine

_POLL_SECONDS = 1.0
_MAX_AGE_SECONDS = 600.0
"""Older messages are not sent to a page that reconnects."""


class NotificationChannel(Channel):
    """The messages that a notifier leaves for pages, from this process or another one."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine.ending)
        self._machine = machine
        self._queue: NotifyQueue | None = None
        self._last = self._find_last()

    def _poll_updates(self) -> Sequence[PageUpdate]:
        if self.listeners:
            self._machine.listened = time.monotonic()
        found = self._list_after(self._last)
        self._last = max([self._last, *(item.id for item in found)])
        return [_to_update(item) for item in found]

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        missed: list[PageNotification] = []
        if cursor and cursor.isdecimal() and len(cursor) < 19:
            now = time.time()
            found = self._list_after(int(cursor))
            missed = [item for item in found if item.id <= self._last and now - item.created < _MAX_AGE_SECONDS]
        # The page needs a cursor to come back with, even if there is no message yet.
        return iter([*map(_to_update, missed), build_page_update("ready", str(self._last))])

    def _close_source(self) -> None:
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _choose_pause(self) -> float:
        return _POLL_SECONDS

    def _find_last(self) -> int:
        try:
            queue = self._open_queue()
            return queue.find_last_page_notice() if queue else 0
        except TurnlogError:
            return 0

    def _list_after(self, number: int) -> list[PageNotification]:
        try:
            queue = self._open_queue()
            return queue.list_page_notices(number) if queue else []
        except TurnlogError:
            return []  # the notifier reports what is wrong with the queue

    def _open_queue(self) -> NotifyQueue | None:
        """Open the queue if there is one; a page never creates it."""
        if self._queue is None and (self._machine.data_dir / QUEUE_FILE_NAME).exists():
            self._queue = NotifyQueue(self._machine.data_dir)
        return self._queue


def _to_update(item: PageNotification) -> PageUpdate:
    notice = item.notice
    return build_page_update(
        "notification", str(item.id), id=notice.id, kind=notice.kind, headline=notice.headline, body=notice.body
    )


async def stream_notifications(request: Request) -> Response:
    """GET /api/notifications/updates."""
    state = request.app.state
    if not hasattr(state, "notifications") or state.notifications.is_closed:
        state.notifications = await asyncio.to_thread(NotificationChannel, get_machine(request))
    return build_stream_response(request, state.notifications, request.headers.get("last-event-id"))


routes: list[BaseRoute] = [Route("/api/notifications/updates", stream_notifications)]
