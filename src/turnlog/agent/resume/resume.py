"""A session that is taken up again: what was said, where it goes on, and what the client has to know for that.

    resumed     reads a session and changes nothing
    taken_up    goes on with it in the same file
    forked      goes on in a new file, which begins with copies of its lines (`--fork-session`)

What is missing at the end (results of calls, an answer) is written down before the first new line, in the words of the
real client: what was sent and what stands in the file are the same from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.record import line_bodies
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.resume.message_cleanup import CLIENT_ONLY_ATTACHMENTS, clean_messages, map_thinking_to_models
from turnlog.agent.resume.tool_state import SeenFile, find_last_todos, find_seen_files
from turnlog.agent.spending_tally import count_window_tokens
from turnlog.agent.tools.call_result import CallResult
from turnlog.entries.entry import Entry, EntryOrScrap
from turnlog.entries.patch import patch_entry
from turnlog.entries.reader import Transcript
from turnlog.errors import Refused
from turnlog.session.calls import Call, pair_calls
from turnlog.session.clock import parse_timestamp
from turnlog.session.graph import is_boundary
from turnlog.session.messages import FILLER_TEXT
from turnlog.session.resume.additions import INTERRUPTED_RESULT_TEXT
from turnlog.session.resume.conversation import build_thread_conversation
from turnlog.session.resume.resume_thread import ResumeThread, build_resume_thread
from turnlog.session.resume.rows import ResumeRows
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

Json = dict[str, Any]
_MAX_SEARCHED_ENTRIES = 1000
"""So many entries are read in search of something that may not be there at all."""
_MAX_TITLE_CHARS = 500
_PLAN_NAME_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){0,9}", re.ASCII)
_TIMESTAMP_PATTERN = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII)


class ResumableSession(NamedTuple):
    """A session as it stands, read for going on with it."""

    path: Path
    messages: list[Json]
    """What is to be sent, but for the next prompt; with thinking, of which each model takes only its own."""
    leaf: str
    model: str | None
    """The model that answered last."""
    cwd: Path | None
    mode: str | None
    """The permission mode that held; whether it holds again is a person's decision, not the transcript's."""
    todos: list[Json]
    files: tuple[SeenFile, ...]
    warnings: tuple[str, ...]
    open_calls: tuple[tuple[str, str], ...]
    """Calls at the end that have no result: their ids, and the lines that they stand in."""
    is_unanswered: bool
    """Whether it ends with something that was not answered."""
    size: int
    """How far the file was read."""
    since: datetime | None
    """The newest time in it; what is written must be newer."""
    is_branch: bool
    """Whether it goes on elsewhere than where a client would."""
    last_prompt: str
    titles: tuple[Json, ...]
    slug: str | None
    thought_by: Mapping[str, str]
    """Which model signed the thinking in it, by signature."""
    used: int
    """Tokens that its last request and the answer took: how full the window is."""

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.path.stem


def load_resumable_session(path: Path, leaf: str | None = None) -> ResumableSession:
    """Read a session for going on with it, behind its last line or behind another; Refused if nothing is there."""
    with Session.open(path) as session:
        file, found = session.file, session.build_thread(leaf)
        if not found.leaf.uuid:
            raise Refused(f"{path}: nothing can hang below its last entry, which has no uuid; `turnlog repair` helps")
        sent = build_thread_conversation(file, found, as_sent=True, without=CLIENT_ONLY_ATTACHMENTS).messages
        bare = build_thread_conversation(file, found).messages
        calls = [call for call in pair_calls(session.entries, file).all if call.line.index <= found.leaf.index]
        open_calls = tuple(_find_open_calls(calls, bare))
        answer = _find_last_answer(session, found.rows)
        usage = answer.get("usage")
        return ResumableSession(
            path=path,
            messages=_add_missing_results(clean_messages(sent), open_calls),
            leaf=found.leaf.uuid,
            model=answer.get("model"),
            cwd=_find_cwd(session, found.leaf),
            mode=_find_last_value(session, ("permission-mode", "user"), "permissionMode"),
            todos=find_last_todos(session, calls),
            files=tuple(find_seen_files(session, calls)),
            warnings=(
                *_list_warnings(session, len(open_calls)),
                *(_warn_of_side_messages(session, found) if leaf is None else ()),
            ),
            open_calls=open_calls,
            is_unanswered=bool(open_calls) or (bool(bare) and bare[-1]["role"] != "assistant"),
            size=_find_file_end(file),
            since=_find_newest_time(session),
            is_branch=leaf is not None and found.leaf is not session.find_leaf(),
            last_prompt=_find_last_value(session, ("last-prompt",), "lastPrompt") or "",
            titles=tuple(_build_titles(session)),
            slug=_find_plan_name(session),
            thought_by=map_thinking_to_models(file, found.rows),
            used=count_window_tokens(usage) if isinstance(usage, dict) else 0,
        )


def continue_in_place(found: ResumableSession, cwd: Path) -> SessionRecord:
    """Go on with a session in its own file."""
    record = SessionRecord.continue_session(
        found.path, found.leaf, cwd=cwd, size=found.size, since=found.since, is_branch=found.is_branch
    )
    record.titles = [*found.titles]
    record.slug, record.before = found.slug, lambda: _write_missing_results(record, found)
    return record


def continue_in_fork(
    found: ResumableSession, config_dir: Path, cwd: Path, session_id: str | None = None
) -> SessionRecord:
    """Go on with a session in a new file: its lines keep their ids and times, as the real client does it."""
    record = SessionRecord.create_session(config_dir, cwd, session_id, since=found.since)
    record.slug, record.before = found.slug, lambda: _write_copied_lines(record, found)
    return record


def _write_missing_results(record: SessionRecord, found: ResumableSession) -> None:
    """Write what is missing at the end."""
    for call, line in found.open_calls:
        record.write_result(call, CallResult(INTERRUPTED_RESULT_TEXT, is_error=True), line)
    if found.is_unanswered:
        record.write_synthetic_answer(FILLER_TEXT)


def _write_copied_lines(record: SessionRecord, found: ResumableSession) -> None:
    with Session.open(found.path) as session:
        rows = {row.index: row for row in build_resume_thread(session.file, found.leaf).rows}
        rows |= {row.index: row for row in _find_boundaries(session, rows)}
        changed = {"sessionId": record.session_id}
        copies = [patch_entry(session.file.read_raw(rows[at]).strip() + b"\n", changed) for at in sorted(rows)]
    record.begin_with_copies(b"".join(copies), found.leaf, found.last_prompt)
    _write_missing_results(record, found)


def _find_boundaries(session: Session, rows: dict[int, Entry]) -> Iterator[Entry]:
    """The compaction that a conversation begins with: without it, its summary would hang in the air."""
    parents = {row.parent_uuid for row in rows.values()}
    yield from (row for row in ResumeRows(session.file).rows.values() if is_boundary(row) and row.uuid in parents)


# -- what a session says


def _find_open_calls(calls: list[Call], messages: list[Json]) -> Iterator[tuple[str, str]]:
    """The calls of the last answer that nothing answers."""
    at = next((at for at in reversed(range(len(messages))) if messages[at]["role"] == "assistant"), len(messages))
    behind = [block for message in messages[at + 1 :] for block in message["content"]]
    answered = {block.get("tool_use_id") for block in behind if block["type"] == "tool_result"}
    places = {call.id: call.line.uuid for call in calls}
    for block in messages[at]["content"] if at < len(messages) else ():
        name = block.get("id")
        if (
            block["type"] == "tool_use"
            and isinstance(name, str)
            and name not in answered
            and (line := places.get(name))
        ):
            yield name, line


def _add_missing_results(messages: list[Json], open_calls: tuple[tuple[str, str], ...]) -> list[Json]:
    """Messages with the made-up results as `_completed` writes them: behind the others, and in the same words."""
    late = {call for call, _ in open_calls}
    for message in messages[-2:] if late else ():
        given = [
            {**block, "content": INTERRUPTED_RESULT_TEXT} if _answers_call(block, late) else block
            for block in message["content"]
        ]
        message["content"] = sorted(
            given, key=lambda block: (block["type"] != "tool_result", _answers_call(block, late))
        )
    return messages


def _answers_call(block: Json, calls: set[str]) -> bool:
    return block["type"] == "tool_result" and block.get("tool_use_id") in calls


def _find_file_end(file: Transcript) -> int:
    last: list[EntryOrScrap] = [*file.entries[-1:], *file.scraps[-1:]]
    return max(item.end for item in last)


def _find_last_answer(session: Session, rows: list[Entry]) -> Json:
    """The last message that a model gave; none before a summary counts."""
    for row in reversed(rows):
        if row.type == "assistant" and row.message and row.message.model not in (None, SYNTHETIC_MODEL):
            message: Json = session.read_body(row)["message"]
            return message
    return {}


def _find_cwd(session: Session, end: Entry) -> Path | None:
    folder = end.cwd or next((row.cwd for row in reversed(session.entries) if row.cwd), None)
    return Path(folder) if folder else None


def _find_last_value(session: Session, kinds: tuple[str, ...], key: str) -> str | None:
    """What entries of some kinds said last under a key."""
    rows = (row for row in reversed(session.entries) if row.type in kinds)
    bodies = (session.read_body(row) for row in islice(rows, _MAX_SEARCHED_ENTRIES))
    return next((value for body in bodies if isinstance(value := body.get(key), str) and value), None)


def _list_warnings(session: Session, open_calls: int) -> Iterator[str]:
    if scraps := len(session.file.scraps):
        yield f"{scraps} damaged {'line is' if scraps == 1 else 'lines are'} left out; `turnlog check` tells which"
    if open_calls:
        ended = "call was" if open_calls == 1 else "calls were"
        yield f"{open_calls} {ended} cut off when the session ended; what came of it is not known"


def _warn_of_side_messages(session: Session, found: ResumeThread) -> Iterator[str]:
    """Tell of messages behind those that are taken up: an older client hung them where newer ones do not go on."""
    taken = {row.index for row in found.rows}
    later = (row for row in session.entries if row.index > found.leaf.index and row.index not in taken)
    said = [row for row in later if row.type in ("user", "assistant") and not row.is_sidechain and not row.is_meta]
    if said:
        yield (
            f"{len(said)} later {'message stands' if len(said) == 1 else 'messages stand'} on a branch that newer "
            "clients leave out, and so it is here; "
            f"`turnlog fork {session.session_id} --at {said[-1].uuid}` goes on from there"
        )


def _find_newest_time(session: Session) -> datetime | None:
    """The newest time, of those in the form in which clients write them: these can be compared as they stand."""
    times = (row.timestamp for row in session.entries)
    return parse_timestamp(max((time for time in times if time and _TIMESTAMP_PATTERN.fullmatch(time)), default=None))


def _build_titles(session: Session) -> Iterator[Json]:
    """The lines that name it; what a person called it stands before what a model did."""
    own = _find_last_value(session, ("custom-title",), "customTitle")
    title = own or _find_last_value(session, ("ai-title",), "aiTitle")
    if title and len(title) <= _MAX_TITLE_CHARS:
        yield from line_bodies.build_title_lines(title, str(session.session_id), by_model=own is None)


def _find_plan_name(session: Session) -> str | None:
    """The name of its plan; a file is named by it, so it may be nothing but words."""
    found = _find_last_value(session, ("user", "assistant"), "slug") or ""
    return found if _PLAN_NAME_PATTERN.fullmatch(found) else None
