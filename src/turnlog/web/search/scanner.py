"""A search that reads the files, in a process of its own: it can be ended at any moment, whatever expression it is at.

An expression may take for ever on some texts, and the interpreter does nothing else meanwhile; so neither threads nor
limits would keep the server able to answer. As a program of one thread it also uses all cores.
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

PATIENCE = 30.0
"""Seconds after which a scan is told to show what it has."""
_GRACE = 5.0
_LOOK = 0.2


class Job(msgspec.Struct):
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


class Told(msgspec.Struct):
    """What came of it."""

    document: dict[str, Any] | None = None
    error: str | None = None
    query: str | None = None
    at: int | None = None
    """Where in the query the mistake is."""


async def scanned(job: Job, is_given_up: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> dict[str, Any]:
    """Run a scan and give its document; raises QueryError and UsageError."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-c",
        "from turnlog.web.search.scanner import main; main()",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    work = asyncio.ensure_future(process.communicate(msgspec.json.encode(job)))
    try:
        begun, is_told = asyncio.get_running_loop().time(), False
        while not work.done():
            await asyncio.wait([work], timeout=_LOOK)
            passed = asyncio.get_running_loop().time() - begun
            if work.done():
                break
            if passed > patience + _GRACE or await is_given_up():
                raise UsageError("this takes too long; look for something with more fixed letters, or in one project")
            if passed > patience and not is_told:
                is_told = True
                _signal(process.pid, signal.SIGINT)
    finally:
        if process.returncode is None:
            _signal(process.pid, None)
        out, _ = await work
    return _document(out)


def _signal(pid: int, number: int | None) -> None:
    """Send a signal to a scan and its helpers; None ends them."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, signal.SIGTERM)
        else:
            os.killpg(pid, signal.SIGKILL if number is None else number)


def _document(out: bytes) -> dict[str, Any]:
    try:
        told = Told(**json.loads(out))
    except (ValueError, TypeError):
        raise TurnlogError("the search ended before its time; the server's terminal may say more") from None
    if told.error is not None:
        if told.query is not None and told.at is not None:
            raise QueryError(told.error, told.query, told.at)
        raise UsageError(told.error)
    return told.document or {}


def main() -> None:
    """Do the job that stands on standard input."""
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    try:
        told = Told(document=_done(job))
    except QueryError as error:
        told = Told(error=str(error), query=error.query, at=error.at)
    except TurnlogError as error:
        told = Told(error=str(error))
    # Half surrogates, which texts may hold, can only be written as escapes.
    sys.stdout.write(json.dumps(msgspec.to_builtins(told)))


def _done(job: Job) -> dict[str, Any]:
    from turnlog.store.index.refresh import Refreshed
    from turnlog.store.search import needle
    from turnlog.store.search.found import Answered, document, searched
    from turnlog.store.search.places import known_sessions
    from turnlog.store.search.query import parse
    from turnlog.store.search.scanning import LookedFor
    from turnlog.store.search.scanning import scanned as look
    from turnlog.store.search.search import Wish
    from turnlog.store.search.source import Source
    from turnlog.store.store import Store

    index = Path(job.index)
    wanted = needle.substring(job.text) if job.mode == "substring" else needle.regex(job.text)
    query = parse(job.query) if job.query.strip() else None
    wish = Wish(job.limit, job.hits, context=job.context)
    with Store.open(index.parent, name=index.name) as store:
        source = Source(Path(job.data_dir))
        found, scan = look(store.db, source, LookedFor(wanted, query), wish)
        scope = searched(store.db, Refreshed(is_busy=not job.is_complete), query, source.trashed(store.db))
        sessions = known_sessions(store.db, [group.session for group in found.groups])
        return document(job.query, Answered(scope, found, sessions, scan))
