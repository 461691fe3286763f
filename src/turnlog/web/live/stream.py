"""Server-sent events: each source is followed once and sent to everyone who listens.

While anyone listens, a channel polls its source in a thread and remembers the last updates. Listeners read them at the
pace of their connection. A listener that falls behind, or returns with a cursor older than the remembered updates, gets
the missed updates from the files. Therefore, no listener needs a queue that could fill up.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from turnlog.live.page_updates import PageUpdate

RETRY_MS = 1000
"""How long a browser waits before it reconnects."""
KEEP_ALIVE_SECONDS = 15.0
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.1, 1.0
_MAX_UPDATES = 256
_MAX_UPDATE_BYTES = 8 << 20
_GRACE_SECONDS = 20.0
"""How long a channel continues without listeners, because a page that was just sent will connect soon."""


T = TypeVar("T")


@cache
def _get_thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "live")


class JoinPoint(NamedTuple):
    """Where a new listener joins the shared updates."""

    missed: Iterator[PageUpdate]
    place: int


class Channel(ABC):
    """A source of updates that is followed once for all listeners."""

    def __init__(self, ending: threading.Event) -> None:
        self._ending = ending
        self._updates: deque[PageUpdate] = deque()
        self._bytes = 0
        self._end = 0
        """The number of updates so far; the last remembered one has the number before it."""
        self._lock = threading.Lock()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._active = time.monotonic()
        self.listeners = 0
        self.is_closed = False

    # -- for subclasses

    @abstractmethod
    def _poll_updates(self) -> Sequence[PageUpdate]:
        """Return new updates; called by one thread at a time."""

    @abstractmethod
    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        """Return the updates between a cursor and the present; called by one thread at a time, read by another."""

    @abstractmethod
    def _close_source(self) -> None:
        """Release the source."""

    def _choose_pause(self) -> float:
        """Return the seconds until the next poll: short while something happens."""
        quiet = time.monotonic() - self._active
        return min(max(quiet / 20, MIN_POLL_SECONDS), MAX_POLL_SECONDS)

    # -- following

    def start(self) -> None:
        """Start polling unless it is already running."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            await self._keep_polling()
        finally:
            self.is_closed = True
            self._wake_listeners()
            with self._lock:
                self._close_source()

    async def _keep_polling(self) -> None:
        """Poll until no one listens or the server stops, using at most a fifth of the time."""
        alone_since = time.monotonic()
        while not self._ending.is_set():
            if self.listeners:
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > _GRACE_SECONDS:
                return
            started = time.monotonic()
            if await self._run_in_thread(self.poll):
                self._wake_listeners()
            await asyncio.sleep(max(self._choose_pause(), 4 * (time.monotonic() - started)))

    async def _run_in_thread(self, function: Callable[..., T], *values: Any) -> T:
        """Call a function in one of a few threads, since each thread keeps the memory that it once needed."""
        return await asyncio.get_running_loop().run_in_executor(_get_thread_pool(), function, *values)

    def _wake_listeners(self) -> None:
        wake, self._wake = self._wake, asyncio.Event()
        wake.set()

    def poll(self) -> bool:
        """Poll once and return whether there were updates."""
        with self._lock:
            updates = self._poll_updates()
            for update in updates:
                self._remember_update(update)
        if updates:
            self._active = time.monotonic()
        return bool(updates)

    def _remember_update(self, update: PageUpdate) -> None:
        self._updates.append(update)
        self._bytes += len(update.data)
        self._end += 1
        while len(self._updates) > _MAX_UPDATES or (self._bytes > _MAX_UPDATE_BYTES and len(self._updates) > 1):
            self._bytes -= len(self._updates.popleft().data)

    def find_join_point(self, cursor: str | None) -> JoinPoint:
        with self._lock:
            begin = self._end - len(self._updates)
            for place, update in enumerate(self._updates):
                if cursor and update.cursor == cursor:
                    return JoinPoint(iter(()), begin + place + 1)
            return JoinPoint(self._read_missed_updates(cursor), self._end)

    def list_updates_after(self, place: int) -> list[PageUpdate] | None:
        """Return the updates starting at a place; None if some are no longer remembered."""
        with self._lock:
            behind = self._end - place
            return None if behind > len(self._updates) else list(self._updates)[len(self._updates) - behind :]

    # -- listening

    async def stream_updates(self, cursor: str | None) -> AsyncIterator[PageUpdate | None]:
        """Yield updates starting at a cursor, without end; yield None if nothing has happened for a while."""
        self.listeners += 1
        self.start()
        try:
            while not self.is_closed:
                missed, place = await self._run_in_thread(self.find_join_point, cursor)
                while (update := await self._run_in_thread(next, missed, None)) is not None:
                    yield update
                    cursor = update.cursor
                async for shared in self._stream_shared_updates(place):
                    yield shared
                    cursor = shared.cursor if shared else cursor
        finally:
            self.listeners -= 1

    async def _stream_shared_updates(self, place: int) -> AsyncIterator[PageUpdate | None]:
        """Yield updates starting at a place, until the listener falls behind or the channel closes."""
        while not self.is_closed:
            wake = self._wake
            updates = self.list_updates_after(place)
            if updates is None:
                return
            for update in updates:
                yield update
                place += 1
            if not updates:
                try:
                    await asyncio.wait_for(wake.wait(), KEEP_ALIVE_SECONDS)
                except TimeoutError:
                    yield None


async def encode_updates(updates: AsyncIterator[PageUpdate | None]) -> AsyncIterator[bytes]:
    yield b"retry: %d\n\n" % RETRY_MS
    async for update in updates:
        if update is None:
            yield b": still here\n\n"
        else:
            yield b"id: %s\nevent: %s\ndata: %s\n\n" % (update.cursor.encode(), update.name.encode(), update.data)


def build_stream_response(request: Request, channel: Channel, cursor: str | None) -> Response:
    """Build a response that streams updates; a HEAD request gets only the headers."""
    if request.method == "HEAD":
        return Response(media_type="text/event-stream")
    return StreamingResponse(encode_updates(channel.stream_updates(cursor)), media_type="text/event-stream")
