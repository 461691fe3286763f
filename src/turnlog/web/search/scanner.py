"""A search that reads the files, in a process of its own: it can be ended at any moment, whatever expression it is at.

It does what `turnlog.search_sessions` does, but not in the server: an expression may take forever on some texts, and
the interpreter does nothing else meanwhile, so neither threads nor limits would keep the server able to answer. As a
program with one thread it also uses all cores.
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
"""Seconds after which a scan is told to show what it has."""
_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.2


class ScanJob(msgspec.Struct):
    """What to look for, and where."""

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
    """What came of it."""

    document: dict[str, Any] | None = None
    error: str | None = None
    query: str | None = None
    at: int | None = None
    """Where in the query the mistake is."""


async def run_scan(
    job: ScanJob, is_given_up: Callable[[], Awaitable[bool]], patience: float = SCAN_TIMEOUT_SECONDS
) -> dict[str, Any]:
    """Run a scan and give its document; raises QueryError and UsageError."""
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
    work = asyncio.ensure_future(process.communicate(msgspec.json.encode(job)))
    try:
        begun, is_told = asyncio.get_running_loop().time(), False
        while not work.done():
            await asyncio.wait([work], timeout=_POLL_SECONDS)
            passed = asyncio.get_running_loop().time() - begun
            if work.done():
                break
            if passed > patience + _GRACE_SECONDS or await is_given_up():
                raise UsageError("this takes too long; look for something with more fixed letters, or in one project")
            if passed > patience and not is_told:
                is_told = True
                _send_signal(process.pid, signal.SIGINT)
    finally:
        if process.returncode is None:
            _send_signal(process.pid, None)
        out, _ = await work
    return _parse_reply(out)


def _send_signal(pid: int, number: int | None) -> None:
    """Send a signal to a scan and its helpers; None ends them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL if number is None else number)


def _parse_reply(out: bytes) -> dict[str, Any]:
    try:
        told = ScanReply(**json.loads(out))
    except (ValueError, TypeError):
        raise TurnlogError("the search ended before its time; the server's terminal may say more") from None
    if told.error is not None:
        if told.query is not None and told.at is not None:
            raise QueryError(told.error, told.query, told.at)
        raise UsageError(told.error)
    return told.document or {}


def run_scan_job() -> None:
    """Do the job that stands on standard input."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=ScanJob)
    try:
        told = ScanReply(document=_scan_files(job))
    except QueryError as error:
        told = ScanReply(error=str(error), query=error.query, at=error.at)
    except TurnlogError as error:
        told = ScanReply(error=str(error))
    # Half surrogates, which texts may hold, can only be written as escapes.
    sys.stdout.write(json.dumps(msgspec.to_builtins(told)))


def _scan_files(job: ScanJob) -> dict[str, Any]:
    from turnlog.api.documents import to_document
    from turnlog.api.search import build_search_report
    from turnlog.store.index.refresh import RefreshResult
    from turnlog.store.search import needle
    from turnlog.store.search.filtered_scan import ScanRequest
    from turnlog.store.search.filtered_scan import scan_indexed_files as look
    from turnlog.store.search.index_source import IndexSource
    from turnlog.store.search.query import parse_query
    from turnlog.store.search.search import SearchOptions
    from turnlog.store.search.search_answer import SearchAnswer, read_searched_index
    from turnlog.store.search.searched_sessions import load_searched_sessions
    from turnlog.store.store import Store

    index = Path(job.index)
    wanted = needle.build_text_needle(job.text) if job.mode == "substring" else needle.build_regex_needle(job.text)
    query = parse_query(job.query) if job.query.strip() else None
    wish = SearchOptions(job.limit, job.hits, context=job.context)
    with Store.open(index.parent, name=index.name) as store:
        source = IndexSource(Path(job.data_dir))
        found, scan = look(store.db, source, ScanRequest(wanted, query), wish)
        scope = read_searched_index(
            store.db, RefreshResult(is_busy=not job.is_complete), query, source.find_trashed(store.db)
        )
        sessions = load_searched_sessions(store.db, [group.session for group in found.groups])
        report = build_search_report(job.query, SearchAnswer(scope, found, sessions, scan))
        document: dict[str, Any] = to_document(report)
        return document
