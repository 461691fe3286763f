"""POST /api/s/{ref}/actions/{verb}: do something to a session, or say what would be done.

The program itself does it, as a child process with the words of the table in `verbs`: what a page does and what the
command line does is one and the same, and the page shows the command to learn from.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.errors import Busy, NotFound, TurnlogError, UsageError
from turnlog.web.actions.downloads import Downloads
from turnlog.web.actions.fork_point import fork_point
from turnlog.web.actions.verbs import VERBS, Verb, words
from turnlog.web.answers import document, place_of
from turnlog.web.place import Known, Place

TIMEOUT = 600
_MOST_WORDS = 100_000


class Order(Struct, forbid_unknown_fields=True):
    """What a page asks for; without a word on it nothing is written."""

    options: dict[str, Any] = {}
    dry_run: bool = True


class Ended(NamedTuple):
    """How the program ended."""

    status: int
    out: str
    err: str


async def act(request: Request) -> Response:
    """Do it, or say what would be done."""
    verb = VERBS.get(request.path_params["verb"])
    if verb is None:
        raise NotFound(f"there is no such action; there are {', '.join(VERBS)}")
    order = _order(await request.body())
    return await run_in_threadpool(_done, request, request.path_params["ref"], verb, order)


def _order(body: bytes) -> Order:
    try:
        return msgspec.json.decode(body or b"{}", type=Order)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body: {error}") from None


def _done(request: Request, ref: str, verb: Verb, order: Order) -> Response:
    place = place_of(request)
    known = place.session(ref)
    if known.is_gone:
        raise NotFound("the file of this session was deleted; `turnlog archive restore` may bring it back")
    options = dict(order.options)
    if verb.command == "fork" and (key := options.pop("item", None)) is not None:
        options["at"] = fork_point(place, known, key)
    flags, behind = words(verb, options)
    name = known.uuid if known.ref == known.uuid else str(known.path)
    shown = ["turnlog", verb.command, *flags, *(["--"] if _is_odd(behind) else []), name, *behind]
    if order.dry_run and verb.rehearsal is None:
        return document(_answer(shown, Ended(0, verb.plain, "")))
    if verb.command == "export":
        return document(_exported(request.app.state.downloads, known, shown, [*flags, *behind]))
    further = (verb.rehearsal or ()) if order.dry_run else verb.real
    ended = _run([verb.command, *flags, *further, "--", str(known.path), *behind])
    shown[2:2] = [word for word in further if word != "--json"]
    return document(_answer(shown, ended, None if order.dry_run else place))


def _is_odd(words: list[str]) -> bool:
    return any(word.startswith("-") for word in words)


def _run(arguments: list[str], folder: Path | None = None) -> Ended:
    """Run the program, in a folder; raises what it says when it does not do it."""
    environment = {name: value for name, value in os.environ.items() if name not in ("TURNLOG_DEBUG", "FORCE_COLOR")}
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-X", "utf8", "-m", "turnlog", *arguments],  # -P: nothing of this folder is run
            cwd=folder,
            env={**environment, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        raise Busy(f"it took longer than {TIMEOUT // 60} minutes and was stopped") from None
    if done.returncode not in (0, 1) or not done.stdout.strip():
        reason = done.stderr.strip().removeprefix("turnlog: ").partition("\nTry '")[0]
        if done.returncode:
            raise UsageError(reason) if done.returncode == 2 else HTTPException(409, reason or "it was not done")
    return Ended(done.returncode, done.stdout[:_MOST_WORDS], done.stderr[:_MOST_WORDS])


def _answer(shown: list[str], ended: Ended, place: Place | None = None) -> dict[str, Any]:
    """What a page is told: the command, its words or its document, and the new session."""
    found = _document(ended.out)
    return {
        "command": shlex.join(shown),
        "status": ended.status,
        "words": "" if found else ended.out.rstrip(),
        "notes": ended.err.rstrip(),
        "document": found,
        "made": _made(place, found) if place is not None and found else None,
        "download": None,
    }


def _document(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _made(place: Place, found: dict[str, Any]) -> dict[str, Any] | None:
    """The new session, by the reference that leads to it."""
    made = found.get("made")
    if not isinstance(made, dict):
        return None
    if not place.state.is_busy:  # else it comes in its turn
        place.store.refresh(place.config_dirs)
    return {"ref": place.ref_of(made["path"]) or made["session_id"], "title": made["title"]}


def _exported(kept: Downloads, known: Known, shown: list[str], flags: list[str]) -> dict[str, Any]:
    folder = kept.folder()
    ended = _run(["export", *flags, "--", str(known.path)], folder)
    found = kept.keep(folder)
    if found is None:
        raise TurnlogError("the export wrote nothing")
    return {**_answer(shown, ended), "download": f"/api/downloads/{found}"}


def download(request: Request) -> Response:
    """Send what an export has made."""
    kept: Downloads = request.app.state.downloads
    return kept.answer(request.path_params["name"])


routes: list[BaseRoute] = [
    Route("/api/s/{ref}/actions/{verb}", act, methods=["POST"]),
    Route("/api/downloads/{name}", download),
]
