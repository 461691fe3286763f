"""Requests that the browser has abandoned: their work stops, instead of keeping a thread busy for nobody."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable

from anyio import create_task_group, to_thread
from starlette.requests import Request
from starlette.responses import Response

from turnlog.work_progress import WorkStopped, stop_work_when

_CLIENT_CLOSED_STATUS = 499
"""No standard status: nobody receives it."""


def stop_when_abandoned(handler: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a handler so that its work stops at the next step after the browser has closed the connection."""

    async def answer(request: Request) -> Response:
        gone = threading.Event()
        outcome: list[Response | Exception] = []

        def run_handler() -> Response:
            stop_work_when(gone.is_set)
            return handler(request)

        async with create_task_group() as tasks:
            tasks.start_soon(_wait_for_disconnect, request, gone)
            try:
                outcome.append(await to_thread.run_sync(run_handler))
            except Exception as error:  # noqa: BLE001 - raised below, because a task group would wrap it
                outcome.append(error)
            tasks.cancel_scope.cancel()
        if isinstance(outcome[0], WorkStopped):
            return Response(status_code=_CLIENT_CLOSED_STATUS)
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    return answer


async def _wait_for_disconnect(request: Request, gone: threading.Event) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()
