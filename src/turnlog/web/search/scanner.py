"""Searches files in a separate process, which can be stopped at any time, whatever expression it evaluates.

It does the same as `turnlog.search_sessions`, but outside the server: an expression may take forever on some text and
block the interpreter, so neither threads nor limits would keep the server responsive. The separate process has a single
thread, so it can also fork to use all cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from turnlog.errors import TurnlogError, UsageError
from turnlog.store.search.syntax import QueryError

SCAN_TIMEOUT_SECONDS = 30.0
"""After this time, the scan is asked to return what it has found."""
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.2
_READY_LINE = b"ready\n"
"""Written by the process once it can be interrupted."""


class ScanJob(msgspec.Struct):
    index: str
    data_dir: str
    mode: str
    """substring or regex."""
    text: str
    query: str = ""
    """Filters."""
    limit: int = 20
    hits: int = 3
    context: int = 0
    is_complete: bool = True


class ScanReply(msgspec.Struct):
    document: dict[str, Any] | None = None
    error: str | None = None
    query: str | None = None
    at: int | None = None
    """The position of the mistake in the query."""


async def run_scan(
    job: ScanJob, is_given_up: Callable[[], Awaitable[bool]], patience: float = SCAN_TIMEOUT_SECONDS
) -> dict[str, Any]:
    """Run a scan and return its document; raise `QueryError` or `UsageError` if the request is invalid."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        "from turnlog.web.search.scanner import run_scan_job; run_scan_job()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    clock = asyncio.get_running_loop().time
    started, is_ready, is_interrupted = clock(), False, False

    async def receive_reply() -> bytes:
        nonlocal started, is_ready
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.write(msgspec.json.encode(job))
            process.stdin.write_eof()
        # An interrupt that arrives while the process still imports would end it without a reply.
        first = await process.stdout.readline()
        is_ready, started = first == _READY_LINE, clock()
        out = b"" if is_ready else first
        out += await process.stdout.read()
        await process.wait()
        return out

    work = asyncio.ensure_future(receive_reply())
    try:
        while not work.done():
            await asyncio.wait([work], timeout=_POLL_SECONDS)
            passed = clock() - started
            if work.done():
                break
            if passed > patience + _GRACE_SECONDS or await is_given_up():
                raise UsageError("the search took too long; search for longer text, or search only one project")
            if is_ready and passed > patience and not is_interrupted:
                is_interrupted = True
                _send_signal(process.pid, signal.SIGINT)
    finally:
        if process.returncode is None:
            _send_signal(process.pid, None)
        out = await work
    return _parse_reply(out)


def _send_signal(pid: int, number: int | None) -> None:
    """Signal a scan and its child processes; if `number` is None, kill them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL if number is None else number)


def _parse_reply(out: bytes) -> dict[str, Any]:
    try:
        reply = ScanReply(**json.loads(out))
    except (ValueError, TypeError):
        raise TurnlogError("the search process ended unexpectedly; the server's terminal may show why") from None
    if reply.error is not None:
        if reply.query is not None and reply.at is not None:
            raise QueryError(reply.error, reply.query, reply.at)
        raise UsageError(reply.error)
    return reply.document or {}


def run_scan_job() -> None:
    """Read a job from standard input and write its reply to standard output."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=ScanJob)
    try:
        reply = ScanReply(document=_scan_files(job))
    except QueryError as error:
        reply = ScanReply(error=str(error), query=error.query, at=error.at)
    except TurnlogError as error:
        reply = ScanReply(error=str(error))
    # Texts may contain lone surrogates, which can only be written as escapes.
    sys.stdout.write(json.dumps(msgspec.to_builtins(reply)))


def _scan_files(job: ScanJob) -> dict[str, Any]:
    from turnlog.api.documents import to_document
    from turnlog.api.search import build_search_report
    from turnlog.store.index.refresh import RefreshResult
    from turnlog.store.search import needle
    from turnlog.store.search.filtered_scan import ScanRequest
    from turnlog.store.search.filtered_scan import scan_indexed_files as scan_files
    from turnlog.store.search.index_source import IndexSource
    from turnlog.store.search.query import parse_query
    from turnlog.store.search.search import SearchOptions
    from turnlog.store.search.search_answer import SearchAnswer, read_searched_index
    from turnlog.store.search.searched_sessions import load_searched_sessions
    from turnlog.store.store import Store

    index = Path(job.index)
    pattern = needle.build_text_needle(job.text) if job.mode == "substring" else needle.build_regex_needle(job.text)
    query = parse_query(job.query) if job.query.strip() else None
    options = SearchOptions(job.limit, job.hits, context=job.context)
    sys.stdout.buffer.write(_READY_LINE)
    sys.stdout.buffer.flush()
    with Store.open(index.parent, name=index.name) as store:
        source = IndexSource(Path(job.data_dir))
        found, scan = scan_files(store.db, source, ScanRequest(pattern, query), options)
        scope = read_searched_index(
            store.db, RefreshResult(is_busy=not job.is_complete), query, source.find_trashed(store.db)
        )
        sessions = load_searched_sessions(store.db, [group.session for group in found.groups])
        report = build_search_report(job.query, SearchAnswer(scope, found, sessions, scan))
        document: dict[str, Any] = to_document(report)
        return document
