"""Channels: one look for everybody, and nobody who is slow or comes late misses anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

from starlette.testclient import TestClient

from tests.web.loops import run_apart
from turnlog.live.page_updates import PageUpdate
from turnlog.web.live import stream
from turnlog.web.live.stream import Channel


def event(number: int) -> PageUpdate:
    return PageUpdate("number", b"%d" % number, str(number))


class Numbers(Channel):
    """Something that happens at every look: the next number."""

    def __init__(self) -> None:
        super().__init__(threading.Event())
        self.now = 0
        self.looks = 0
        self.was_closed = False
        self.burst = 1

    def _poll_updates(self) -> Sequence[PageUpdate]:
        self.looks += 1
        first, self.now = self.now + 1, self.now + self.burst
        return [event(number) for number in range(first, self.now + 1)]

    def _read_missed_updates(self, cursor: str | None) -> Iterator[PageUpdate]:
        return iter([event(number) for number in range(int(cursor or 0) + 1, self.now + 1)])

    def _close_source(self) -> None:
        self.was_closed = True

    def _choose_pause(self) -> float:
        return 0.001


async def heard(channel: Channel, cursor: str | None, count: int, pause: float = 0) -> list[int]:
    found: list[int] = []
    events = channel.stream_updates(cursor)
    async for told in events:
        if told is not None:
            found.append(int(told.data))
            await asyncio.sleep(pause)
        if len(found) == count:
            break
    await events.aclose()  # type: ignore[attr-defined]
    return found


def test_all_who_listen_hear_the_same_from_where_they_come() -> None:
    async def run() -> None:
        channel = Numbers()
        channel.now = 12
        first, second = await asyncio.gather(heard(channel, None, 30), heard(channel, "10", 20))
        assert first == list(range(1, 31))
        assert second == list(range(11, 31))
        assert channel.looks < 60
        assert channel.listeners == 0
        channel._ending.set()

    run_apart(run())


def test_somebody_who_is_slower_than_what_is_remembered_gets_the_rest_from_the_source() -> None:
    async def run() -> None:
        channel = Numbers()
        channel.burst = 100
        found = await heard(channel, None, 1500, pause=0.0002)
        assert found == list(range(1, 1501))
        assert len(channel._updates) <= 256
        channel._ending.set()

    run_apart(run())


def test_a_channel_ends_when_the_server_does_and_everybody_is_told() -> None:
    async def run() -> None:
        channel = Numbers()
        listening = asyncio.create_task(heard(channel, None, 1_000_000))
        await asyncio.sleep(0.05)
        channel._ending.set()
        await asyncio.wait_for(listening, 60)
        assert channel.is_closed
        assert channel.was_closed

    run_apart(run())


def test_a_channel_ends_when_nobody_has_listened_for_a_while() -> None:
    async def run() -> None:
        channel = Numbers()
        await heard(channel, None, 2)
        assert not channel.is_closed
        grace, stream._GRACE_SECONDS = stream._GRACE_SECONDS, 0.0
        try:
            assert channel._task is not None
            await asyncio.wait_for(channel._task, 60)
        finally:
            stream._GRACE_SECONDS = grace
        assert channel.was_closed

    run_apart(run())


def test_the_head_of_a_stream_alone_can_be_had(client: TestClient) -> None:
    answer = client.head("/api/live/updates")
    assert (answer.status_code, answer.text) == (200, "")
