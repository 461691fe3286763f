"""POST /api/s/{ref}/actions/{verb}: run an action on a session, or preview it.

Like the command line, actions call the functions of the Python API; they run in a thread of this process, and the page
shows the equivalent command. A child process would add no safety: edits write atomically and can be undone, and only
PDF runs another program, Chromium, which has its own process and timeout. A thread can't be stopped, so an action that
takes too long continues in the background while the request ends with an error.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from anyio import CapacityLimiter, fail_after, to_thread
from anyio.lowlevel import RunVar
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from turnlog.entries.entry import Entry
from turnlog.errors import Ambiguous, Busy, NotFound, TurnlogError, UsageError
from turnlog.web.actions.calls import CALLS, ActionCall, ActionOutcome
from turnlog.web.actions.downloads import Downloads
from turnlog.web.actions.verbs import VERBS, Verb, build_arguments
from turnlog.web.answers import build_json_response, get_machine
from turnlog.web.machine import IndexedSession, Machine

ANSWER_TIMEOUT_SECONDS = 600
MAX_RUNNING_ACTIONS = 4
"""Maximum number of concurrent actions; others wait in a queue, so that pages always find a free thread."""
_MAX_WORDS_CHARS = 100_000
_limiter: RunVar[CapacityLimiter] = RunVar("actions")


class ActionRequest(Struct, forbid_unknown_fields=True):
    """A request from a page; by default, nothing is written."""

    options: dict[str, Any] = {}
    dry_run: bool = True


async def run_action(request: Request) -> Response:
    """Run or preview the action in a request."""
    verb = VERBS.get(request.path_params["verb"])
    if verb is None:
        raise NotFound(f"unknown action; use one of {', '.join(VERBS)}")
    action = _parse_action_request(await request.body())
    answer = await wait_for_thread(
        partial(_carry_out_action, request, request.path_params["ref"], verb, action), ANSWER_TIMEOUT_SECONDS
    )
    return build_json_response(answer)


async def wait_for_thread(work: Callable[[], Any], seconds: float) -> Any:
    """Run work in a thread; if it takes longer than `seconds`, raise `Busy` while the thread continues.

    Work that still waits for a thread by then is never started, and the error says so.
    """
    decision = threading.Lock()  # taken by the thread that starts the work or by the timeout, whichever comes first

    def start_work() -> Any:
        return work() if decision.acquire(blocking=False) else None

    limiter = _limiter.get(None)
    if limiter is None:
        limiter = CapacityLimiter(MAX_RUNNING_ACTIONS)
        _limiter.set(limiter)
    try:
        with fail_after(seconds):
            return await to_thread.run_sync(start_work, abandon_on_cancel=True, limiter=limiter)
    except TimeoutError:
        if decision.acquire(blocking=False):
            raise Busy("too many actions are running, so this one was not started; try again later") from None
        raise Busy(
            f"the action takes longer than {seconds / 60:g} minutes and continues in the background; check again later"
        ) from None


def _parse_action_request(body: bytes) -> ActionRequest:
    try:
        return msgspec.json.decode(body or b"{}", type=ActionRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"invalid request body: {error}") from None


def _carry_out_action(request: Request, ref: str, verb: Verb, action: ActionRequest) -> dict[str, Any]:
    place = get_machine(request)
    known = place.find_session(ref)
    if known.is_gone:
        raise NotFound("this session's file was deleted; `turnlog archive restore` may be able to restore it")
    options = dict(action.options)
    if verb.command == "fork" and (key := options.pop("item", None)) is not None:
        options["at"] = find_fork_point(place, known, key)
    flags, behind = build_arguments(verb, options)
    name = _name_subject(known, verb)
    group = verb.subcommand
    command = ["turnlog", verb.command, *group, *flags, *(["--"] if _has_dashed_word(behind) else []), name, *behind]
    if action.dry_run and verb.rehearsal is None:
        return _build_answer(command, ActionOutcome(verb.plain), [])
    at = 2 + len(group)
    command[at:at] = (verb.rehearsal or ()) if action.dry_run else verb.real
    downloads: Downloads = request.app.state.downloads
    folder = downloads.make_folder() if verb.makes_file else None
    notes: list[str] = []
    outcome = _perform(verb, ActionCall(known.path, options, action.dry_run, folder, notes.append, known.cwd))
    answer = _build_answer(command, outcome, notes)
    if not action.dry_run and verb.command in ("delete", "move") and not place.state.is_busy:
        place.store.refresh(place.config_dirs)
    if not action.dry_run and outcome.document:
        answer["made"] = _describe_new_session(place, outcome.document)
    if folder is not None:
        file = downloads.offer_folder(folder)
        if file is None:
            raise TurnlogError(f"{verb.command}: no file was written")
        answer["download"] = f"/api/downloads/{file}"
    return answer


def _name_subject(known: IndexedSession, verb: Verb) -> str:
    """Return what the command names: the session's id, its file if several have this id, or its project's folder."""
    if verb.is_of_project:
        if known.cwd is None:
            raise UsageError("no entry of this session names its folder")
        return known.cwd
    return known.uuid if known.ref == known.uuid else str(known.path)


def _perform(verb: Verb, call: ActionCall) -> ActionOutcome:
    """Call the function of a verb; its errors are reported as conflicts (409), not as server failures."""
    try:
        return CALLS[verb.command](call)
    except (UsageError, Busy):
        raise
    except Ambiguous as error:
        raise UsageError(str(error)) from None
    except TurnlogError as error:
        raise HTTPException(409, str(error)) from None


def _has_dashed_word(words: list[str]) -> bool:
    return any(word.startswith("-") for word in words)


def _build_answer(command: list[str], outcome: ActionOutcome, notes: list[str]) -> dict[str, Any]:
    return {
        "command": shlex.join(command),
        "status": int(outcome.has_findings),
        "words": outcome.words[:_MAX_WORDS_CHARS],
        "notes": "\n".join(notes)[:_MAX_WORDS_CHARS],
        "document": outcome.document,
        "made": None,
        "download": None,
    }


def _describe_new_session(place: Machine, document: dict[str, Any]) -> dict[str, Any] | None:
    """Return the reference and title of the new session."""
    made = document.get("made")
    if made is None:
        return None
    if not place.state.is_busy:  # a running refresh finds the session too
        place.store.refresh(place.config_dirs, is_whole=False)
    return {"ref": place.find_ref(made["path"]) or made["session_id"], "title": made["title"]}


def find_fork_point(place: Machine, known: IndexedSession, key: object) -> str:
    """Find the uuid of the last line of an item, so that the fork keeps the whole message."""
    if not isinstance(key, str) or len(key) > 100:
        raise UsageError("item must be the key of an item")
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
    raise UsageError("item: a conversation can't continue from this item")


def send_download(request: Request) -> Response:
    """Send the files of an export."""
    kept: Downloads = request.app.state.downloads
    return kept.send_file(request.path_params["name"])


routes: list[BaseRoute] = [
    Route("/api/s/{ref}/actions/{verb}", run_action, methods=["POST"]),
    Route("/api/downloads/{name}", send_download),
]
