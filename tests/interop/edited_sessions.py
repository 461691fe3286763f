"""Sessions that turnlog made or changed, and what both clients make of them.

The newest client must send what turnlog predicts; what is said must be what the source says, where the edit is not
meant to change that. The old client must resume every result, and send the same where it is in the portable form.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.interop.classify import Object
from tests.interop.clients import NEWEST, OLD, client
from tests.interop.digest import difference, digests
from tests.interop.edits import EDITS, Edit, sample
from tests.interop.place import Failed, Place
from tests.interop.reader import messages_of
from tests.interop.recordings import DATA, load
from tests.interop.resume import Resumed, scratch_folder
from turnlog.session.session import Session

SAMPLE = 3
OLD_SAMPLE = 1
"""How many of a sample the old client resumes too, which takes seconds each; of the portable form it resumes all."""
REWORDED = ("ExitPlanMode",)
"""Calls whose input 2.1.29 writes anew."""


class Outcome(NamedTuple):
    """What came of one edit of one session."""

    edit: str
    file: str
    newest: str
    """same | DIFFERENT | NOT RESUMED | NOT MADE"""
    old: str
    """same | resumed | - (not asked) | DIFFERENT | NOT RESUMED"""
    reason: str | None = None
    """Why it fails, or None."""


class Task(NamedTuple):
    """One edit of one session that is to be judged."""

    edit: Edit
    file: str
    with_old: bool


def files() -> list[str]:
    """The genuine sessions that the newest client resumes, relative to the data folder."""
    entries = load(DATA / "sessions.oracle.jsonl")
    return [f"sessions/{entry.file}" for entry in entries if entry.outcome == "sent" and entry.messages]


def tasks(edits: tuple[Edit, ...] = EDITS, size: int | None = SAMPLE) -> list[Task]:
    """What is to be judged: a sample for each edit, or everything that suits it."""
    found = []
    sessions = {file: Session.open(DATA / file) for file in files()}
    for edit in edits:
        if edit.is_there:
            fitting = [file for file, session in sessions.items() if edit.suits(session)]
            chosen = sample(edit, fitting, len(fitting) if size is None else size)
            few = sample(edit, chosen, len(chosen) if edit.portable or size is None else OLD_SAMPLE)
            found += [Task(edit, file, file in few) for file in chosen]
    for session in sessions.values():
        session.close()
    return found


def run(todo: list[Task], jobs: int, judge: Callable[[Task], Outcome] | None = None) -> list[Outcome]:
    """Carry out and judge, several at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(judge or judge_edit, todo))


def judge_edit(task: Task) -> Outcome:
    """Edit a session, and resume the result with the clients."""
    edit, file, _ = task
    with scratch_folder() as base:
        place = Place(base / "place", DATA / file)
        source = messages_of(place.session) or []
        try:
            result = edit.work(place)
        except Failed as reason:
            return Outcome(edit.name, file, "NOT MADE", "-", str(reason))
        predicted = messages_of(result)
        if predicted is None:
            return Outcome(edit.name, file, "NOT RESUMED", "-", "turnlog says that the client would refuse it")
        if edit.says_same and (changed := difference(digests(source), digests(predicted))):
            return Outcome(edit.name, file, "DIFFERENT", "-", f"it no longer says what its source says: {changed}")
        return _resume_result(task, place, result, predicted)


def _resume_result(task: Task, place: Place, result: Path, predicted: list[Object]) -> Outcome:
    edit, file, with_old = task
    word, reason = _verdict(place.resume_copy(client(NEWEST), result), predicted)
    if reason or not with_old:
        return Outcome(edit.name, file, word, "-", reason)
    got = place.resume_copy(client(OLD), result)
    if edit.portable:
        old, reason = _verdict(got, predicted, REWORDED)
    else:
        old, reason = _verdict(got, None)
    return Outcome(edit.name, file, word, old, reason and f"{OLD}: {reason}")


def _verdict(got: Resumed, predicted: list[Object] | None, reworded: tuple[str, ...] = ()) -> tuple[str, str | None]:
    """What a client's run says, and why it fails."""
    if got.outcome != "sent" or got.status != 0:
        return "NOT RESUMED", f"outcome {got.outcome}, exit status {got.status}: {got.note}"
    if predicted is None:
        return "resumed", None
    found = difference(digests(_plain(got.messages, reworded)), digests(_plain(predicted, reworded)))
    return ("DIFFERENT", found) if found else ("same", None)


def _plain(messages: list[Object], reworded: tuple[str, ...]) -> list[Object]:
    """Messages without the inputs of some calls."""
    copy: list[Object] = json.loads(json.dumps(messages))
    for message in copy:
        for block in message["content"] if isinstance(message["content"], list) else []:
            if block.get("type") == "tool_use" and block.get("name") in reworded:
                block["input"] = {}
    return copy
