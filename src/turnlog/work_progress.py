"""Reports how far long work has come to the program that listens, such as a command with a terminal.

Only the outermost step is reported: reading the files of sub-agents is part of exporting them. Other threads are not
listened to, so the work of a server's requests is never mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Generic, TypeVar

Item = TypeVar("Item")
Sized = TypeVar("Sized", bytes, str)
_REPORTS_PER_STEP = 200


class WorkListener:
    """Receives reports from the work of this thread."""

    def __init__(self, receive: Callable[[str, int, int], None]) -> None:
        self.receive = receive
        """Called with what is being done, the finished amount and the total; the last call has equal amounts."""
        self.is_in_step = False


class WorkStopped(Exception):
    """The work was stopped because nobody waits for its result."""


_should_stop: ContextVar[Callable[[], bool] | None] = ContextVar("should_stop", default=None)


def stop_work_when(condition: Callable[[], bool]) -> None:
    """Stop the further work of this thread at the next step after a condition has become true."""
    _should_stop.set(condition)


def check_for_stop() -> None:
    """Raise `WorkStopped` if nobody waits for the work of this thread any more."""
    condition = _should_stop.get()
    if condition is not None and condition():
        raise WorkStopped("stopped: nobody waits for the result")


_listener: ContextVar[WorkListener | None] = ContextVar("work_listener", default=None)


def listen_to_work(receive: Callable[[str, int, int], None]) -> None:
    """Send all further reports of this thread to a function."""
    _listener.set(WorkListener(receive))


def stop_listening() -> None:
    _listener.set(None)


def report_items(step: str, items: Sequence[Item]) -> Iterable[Item]:
    """Return the items to iterate over, and report how many of them are done."""
    return _follow(step, items, len(items), lambda _: 1)


def report_chunks(step: str, chunks: Iterable[Sized], total: int) -> Iterable[Sized]:
    """Return the lines or blocks to iterate over, and report how much of the total size is done."""
    return _follow(step, chunks, total, len)


def _follow(step: str, items: Iterable[Item], total: int, measure: Callable[[Item], int]) -> Iterable[Item]:
    listener = _listener.get()
    if listener is None or listener.is_in_step or total < 1:
        return items
    return _FollowedItems(listener, step, items, total, measure)


class _FollowedItems(Generic[Item]):
    def __init__(
        self, listener: WorkListener, step: str, items: Iterable[Item], total: int, measure: Callable[[Item], int]
    ) -> None:
        self._listener, self._step, self._items, self._total = listener, step, items, total
        self._measure = measure

    def __iter__(self) -> Iterator[Item]:
        listener, step, total, measure = self._listener, self._step, self._total, self._measure
        if listener.is_in_step:
            yield from self._items
            return
        done, due = 0, 0
        listener.is_in_step = True
        try:
            for item in self._items:
                if done >= due:
                    listener.receive(step, min(done, total - 1), total)
                    due = done + max(total // _REPORTS_PER_STEP, 1)
                yield item
                done += measure(item)
        finally:
            listener.is_in_step = False
            listener.receive(step, total, total)
