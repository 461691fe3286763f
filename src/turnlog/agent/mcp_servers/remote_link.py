"""Connections through the `mcp` package: servers that run as a process or answer over HTTP.

The package is asynchronous. One thread runs its event loop for all servers of a session, and each connection is a task
in it. If a connection breaks, the next request connects again; a request that was cut off is not repeated, because the
server may have carried it out.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from turnlog._version import __version__
from turnlog.agent.mcp_servers.headers_helper import fetch_headers
from turnlog.agent.mcp_servers.server_config import ServerConfig
from turnlog.agent.mcp_servers.server_link import Object, QuestionAsker, ServerFailure
from turnlog.model.cancel import Cancel

CLOSE_TIMEOUT_SECONDS = 5.0
_LOST_SESSION_TEXTS = ("Session terminated", "Server returned an error response")
"""What the package says if a server over HTTP refuses a request, which one does that has been started again."""


class ServerLoop:
    """The thread in which all connections of a session live."""

    def __init__(self) -> None:
        # Without a handler, warnings of the package would appear in the middle of the screen.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True, name="mcp")
        self._thread.start()

    def submit(self, work: Awaitable[Any]) -> Future[Any]:
        async def run() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(run(), self.loop)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CLOSE_TIMEOUT_SECONDS)
        if not self._thread.is_alive():
            self.loop.close()


class RemoteLink:
    """A connection to one server."""

    def __init__(
        self,
        config: ServerConfig,
        loop: ServerLoop,
        root: Path,
        environ: Mapping[str, str],
        seconds: float,
        ask: QuestionAsker | None = None,
    ) -> None:
        self.config = config
        self._ask = ask
        self.instructions = ""
        self.has_new_tools = False
        self._loop = loop
        self._root = root
        self._environ = dict(environ)
        self._seconds = seconds
        self._client: Client | None = None
        self._stop: asyncio.Event | None = None
        self._task: Future[Any] | None = None

    def connect(self) -> None:
        """Connect; raise ServerFailure if that fails or takes too long."""
        ready: Future[None] = Future()
        self._task = self._loop.submit(self._serve(ready))
        try:
            ready.result(self._seconds)
        except FutureTimeout:
            self.close()
            raise ServerFailure(f"it did not answer within {self._seconds:g} seconds") from None
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in a server must not end the session
            raise ServerFailure(_describe_error(error)) from None

    async def _serve(self, ready: Future[None]) -> None:
        """Hold the connection open until it is closed; everything is entered and left in this task."""
        self._stop = asyncio.Event()
        try:
            async with AsyncExitStack() as opened:
                transport = await self._open_transport(opened)
                client = await opened.enter_async_context(
                    Client(
                        transport,
                        mode="legacy",
                        read_timeout_seconds=None,
                        client_info=_describe_client(),
                        elicitation_callback=self._answer_question,
                        list_roots_callback=self._list_roots,
                        message_handler=self._note_message,
                    )
                )
                self._client, self.instructions = client, str(client.instructions or "")
                ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error if isinstance(error, Exception) else ConnectionError("it was closed"))
            if not isinstance(error, Exception):
                raise
        finally:
            self._client = None

    async def _list_roots(self, context: Any) -> Any:
        """Tell the server which folder the session works in; some servers open only what lies in it."""
        from mcp.types import ListRootsResult, Root

        return ListRootsResult(roots=[Root.model_validate({"uri": self._root.absolute().as_uri()})])

    async def _note_message(self, message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            self.has_new_tools = True

    async def _answer_question(self, context: Any, params: Any) -> Any:
        """Pass a question of the server on to the person, who takes their time in another thread.

        Without a person, the question is cancelled: a server that could ask nobody would hide the tools that ask.
        """
        from mcp.types import ElicitResult

        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Object] = loop.create_future()
        question = {**_to_object(params), "server": self.config.name}

        def settle(answer: Object) -> None:
            if not answered.done():
                answered.set_result(answer)

        def ask() -> None:
            answer: Object = {"action": "cancel"}
            with suppress(Exception):  # the person has left or ended the turn
                answer = self._ask(question) if self._ask is not None else answer
            with suppress(RuntimeError):  # the loop has ended in the meantime
                loop.call_soon_threadsafe(settle, answer)

        threading.Thread(
            target=ask, name="mcp question", daemon=True
        ).start()  # the end of the client waits for no answer
        return ElicitResult.model_validate(await answered)

    async def _open_transport(self, opened: AsyncExitStack) -> Any:
        config = self.config
        if config.kind == "stdio":
            null = opened.enter_context(Path(os.devnull).open("w"))  # noqa: SIM115 - the stack closes it
            environ = {**self._environ, **config.env}
            return stdio_client(
                StdioServerParameters(command=config.command, args=list(config.args), env=environ, cwd=self._root), null
            )
        headers = await asyncio.to_thread(fetch_headers, config, self._root, self._environ)
        if config.kind == "sse":
            return sse_client(config.url, headers=headers)
        timeout = httpx2.Timeout(self._seconds, read=None)
        client = await opened.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=timeout))
        return streamable_http_client(config.url, http_client=client)

    def send(self, method: str, params: Object, cancel: Cancel | None = None, seconds: float | None = None) -> Object:
        """Send a request; connect first if the connection has broken."""
        if self._client is None:
            self.connect()
        client = self._client
        if client is None:
            raise ServerFailure("the connection was closed")
        future = self._loop.submit(_build_request(client, method, params)())
        try:
            if cancel is None:
                return _to_object(future.result(seconds))
            with cancel.on_cancel(future.cancel):
                result = future.result(seconds)
        except FutureCancelled:
            if cancel is not None:
                cancel.check()
            raise ServerFailure("the connection was closed") from None
        except FutureTimeout:
            future.cancel()
            raise ServerFailure(f"it did not answer within {seconds:g} seconds") from None
        except Exception as error:  # noqa: BLE001 - as above
            if _is_broken(error):
                self.close()
            raise ServerFailure(_describe_error(error)) from None
        return _to_object(result)

    def close(self) -> None:
        """End the connection, and the server's process."""
        stop, task = self._stop, self._task
        if stop is not None:
            self._loop.loop.call_soon_threadsafe(stop.set)
        if task is not None:
            with suppress(Exception):
                task.result(CLOSE_TIMEOUT_SECONDS)
            task.cancel()
        self._client = self._task = None


def _build_request(client: Client, method: str, params: Object) -> Callable[[], Awaitable[Any]]:
    cursor = params.get("cursor")
    requests: dict[str, Callable[[], Awaitable[Any]]] = {
        "tools/list": lambda: client.list_tools(cursor=cursor),
        "tools/call": lambda: client.call_tool(str(params["name"]), dict(params.get("arguments") or {})),
        "prompts/list": lambda: client.list_prompts(cursor=cursor),
        "prompts/get": lambda: client.get_prompt(str(params["name"]), dict(params.get("arguments") or {})),
        "resources/list": lambda: client.list_resources(cursor=cursor),
        "resources/read": lambda: client.read_resource(str(params["uri"])),
    }
    return requests[method]


def _to_object(result: Any) -> Object:
    found: Object = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _describe_client() -> Any:
    from mcp import Implementation

    return Implementation(name="turnlog", version=__version__)


def _is_broken(error: BaseException) -> bool:
    names = {"ClosedResourceError", "BrokenResourceError", "EndOfStream", "ConnectError", "ReadError"}
    return type(error).__name__ in names or "closed" in str(error).lower() or str(error) in _LOST_SESSION_TEXTS


def _describe_error(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
