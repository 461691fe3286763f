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

from turnlog.entries.entry import Entry
from turnlog.errors import Busy, NotFound, TurnlogError, UsageError
from turnlog.web.actions.downloads import Downloads
from turnlog.web.actions.verbs import VERBS, Verb, build_arguments
from turnlog.web.answers import build_json_response, get_machine
from turnlog.web.machine import IndexedSession, Machine


def find_fork_point(place: Machine, known: IndexedSession, key: object) -> str:
    """The uuid of the last line of an item: a message is kept whole."""
    if not isinstance(key, str) or len(key) > 100:
        raise UsageError("item: must be the key of an item")
    kept = place.timelines.get_timeline(known.path)
    for branch in kept.head.branches:
        at = kept.find_position(branch.leaf, key)
        if at is None:
            continue
        (item,) = kept.read_items(branch.leaf, at, 1)
        excerpt = kept.read_excerpt([item])
        entries = [excerpt.find_item_at(line.offset) for line in item.lines]
        uuids = [entry.uuid for entry in entries if isinstance(entry, Entry)]
        if found := next((uuid for uuid in reversed(uuids) if uuid), None):
            return found
    raise UsageError("item: no conversation can go on from there")


RUN_TIMEOUT_SECONDS = 600
_MAX_OUTPUT_CHARS = 100_000


class ActionRequest(Struct, forbid_unknown_fields=True):
    """What a page asks for; without a word on it nothing is written."""

    options: dict[str, Any] = {}
    dry_run: bool = True


class ProgramResult(NamedTuple):
    """How the program ended."""

    status: int
    out: str
    err: str


async def run_action(request: Request) -> Response:
    """Do it, or say what would be done."""
    verb = VERBS.get(request.path_params["verb"])
    if verb is None:
        raise NotFound(f"there is no such action; there are {', '.join(VERBS)}")
    order = _parse_action_request(await request.body())
    return await run_in_threadpool(_carry_out_action, request, request.path_params["ref"], verb, order)


def _parse_action_request(body: bytes) -> ActionRequest:
    try:
        return msgspec.json.decode(body or b"{}", type=ActionRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body: {error}") from None


def _carry_out_action(request: Request, ref: str, verb: Verb, order: ActionRequest) -> Response:
    place = get_machine(request)
    known = place.find_session(ref)
    if known.is_gone:
        raise NotFound("the file of this session was deleted; `turnlog archive restore` may bring it back")
    options = dict(order.options)
    if verb.command == "fork" and (key := options.pop("item", None)) is not None:
        options["at"] = find_fork_point(place, known, key)
    flags, behind = build_arguments(verb, options)
    name = known.uuid if known.ref == known.uuid else str(known.path)
    shown = ["turnlog", verb.command, *flags, *(["--"] if _has_dashed_word(behind) else []), name, *behind]
    if order.dry_run and verb.rehearsal is None:
        return build_json_response(_build_answer(shown, ProgramResult(0, verb.plain, "")))
    if verb.command == "export":
        return build_json_response(_run_export(request.app.state.downloads, known, shown, [*flags, *behind]))
    further = (verb.rehearsal or ()) if order.dry_run else verb.real
    ended = _run_program([verb.command, *flags, *further, "--", str(known.path), *behind])
    shown[2:2] = [word for word in further if word != "--json"]
    return build_json_response(_build_answer(shown, ended, None if order.dry_run else place))


def _has_dashed_word(words: list[str]) -> bool:
    return any(word.startswith("-") for word in words)


def _run_program(arguments: list[str], folder: Path | None = None) -> ProgramResult:
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
            timeout=RUN_TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise Busy(f"it took longer than {RUN_TIMEOUT_SECONDS // 60} minutes and was stopped") from None
    if done.returncode not in (0, 1) or not done.stdout.strip():
        reason = done.stderr.strip().removeprefix("turnlog: ").partition("\nTry '")[0]
        if done.returncode:
            raise UsageError(reason) if done.returncode == 2 else HTTPException(409, reason or "it was not done")
    return ProgramResult(done.returncode, done.stdout[:_MAX_OUTPUT_CHARS], done.stderr[:_MAX_OUTPUT_CHARS])


def _build_answer(shown: list[str], ended: ProgramResult, place: Machine | None = None) -> dict[str, Any]:
    """What a page is told: the command, its words or its document, and the new session."""
    found = _parse_document(ended.out)
    return {
        "command": shlex.join(shown),
        "status": ended.status,
        "words": "" if found else ended.out.rstrip(),
        "notes": ended.err.rstrip(),
        "document": found,
        "made": _describe_new_session(place, found) if place is not None and found else None,
        "download": None,
    }


def _parse_document(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _describe_new_session(place: Machine, found: dict[str, Any]) -> dict[str, Any] | None:
    """The new session, by the reference that leads to it."""
    made = found.get("made")
    if not isinstance(made, dict):
        return None
    if not place.state.is_busy:  # else it comes in its turn
        place.store.refresh(place.config_dirs)
    return {"ref": place.find_ref(made["path"]) or made["session_id"], "title": made["title"]}


def _run_export(kept: Downloads, known: IndexedSession, shown: list[str], flags: list[str]) -> dict[str, Any]:
    folder = kept.make_folder()
    ended = _run_program(["export", *flags, "--", str(known.path)], folder)
    found = kept.offer_folder(folder)
    if found is None:
        raise TurnlogError("the export wrote nothing")
    return {**_build_answer(shown, ended), "download": f"/api/downloads/{found}"}


def send_download(request: Request) -> Response:
    """Send what an export has made."""
    kept: Downloads = request.app.state.downloads
    return kept.send_file(request.path_params["name"])


routes: list[BaseRoute] = [
    Route("/api/s/{ref}/actions/{verb}", run_action, methods=["POST"]),
    Route("/api/downloads/{name}", send_download),
]
