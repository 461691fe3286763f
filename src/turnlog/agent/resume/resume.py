"""Resumes a session: reads its conversation and state, and continues it.

    load_resumable_session  reads a session without changing anything
    continue_in_place       continues the session in the same file
    continue_in_fork        continues it in a new file that starts with copies of its lines (`--fork-session`)

Missing results and answers at the end are written before the first new line, in Claude Code's words, so that the file
matches the messages that are sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.agent.file_history.forked_copies import find_copies_folder, find_snapshot_lines, link_copies
from turnlog.agent.file_history.snapshots import Snapshots, read_snapshots
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
from turnlog.session.prompts import parse_user_entry
from turnlog.session.resume.additions import INTERRUPTED_RESULT_TEXT
from turnlog.session.resume.conversation import build_thread_conversation
from turnlog.session.resume.resume_thread import ResumeThread, build_resume_thread
from turnlog.session.resume.rows import ResumeRows
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

Json = dict[str, Any]
_MAX_SEARCHED_ENTRIES = 1000
"""The maximum number of entries to search for a value that may not exist."""
_MAX_TITLE_CHARS = 500
_PLAN_NAME_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+){0,9}", re.ASCII)
_TIMESTAMP_PATTERN = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII)


class ResumableSession(NamedTuple):
    """The state of a session that is needed to continue it."""

    path: Path
    messages: list[Json]
    """The messages to send before the next prompt, with all thinking; each model accepts only its own thinking."""
    leaf: str
    model: str | None
    """The model that wrote the last answer."""
    cwd: Path | None
    mode: str | None
    """The last permission mode; the person, not the transcript, decides whether it applies again."""
    todos: list[Json]
    files: tuple[SeenFile, ...]
    warnings: tuple[str, ...]
    open_calls: tuple[tuple[str, str], ...]
    """Calls at the end without a result: their ids and entries."""
    is_unanswered: bool
    """Whether the last message has no answer."""
    size: int
    """The size up to which the file has been read."""
    since: datetime | None
    """The newest time in the session; new lines must be newer."""
    is_branch: bool
    """Whether the session continues from a point other than the one that a client would choose."""
    last_prompt: str
    titles: tuple[Json, ...]
    slug: str | None
    thought_by: Mapping[str, str]
    """The model of each thinking block, by signature."""
    used: int
    """The tokens in the last request and its answer, which show how full the window is."""
    snapshots: Snapshots
    """The copies of files that the session names."""

    @property
    def session_id(self) -> str:
        return self.path.stem


_CLIENT_KINDS = frozenset({"meta", "interrupt", "summary", "command-output", "bash-output", "empty"})
"""User entries that the client wrote itself."""


def load_resumable_session(path: Path, leaf: str | None = None, dropped_prompt: str | None = None) -> ResumableSession:
    """Read a session in order to continue it after its last entry or `leaf`; raise Refused if that is not possible.

    With `dropped_prompt`, it is not possible if more than the turn of this prompt comes after `leaf`.
    """
    with Session.open(path) as session:
        file, thread = session.file, session.build_thread(leaf)
        if dropped_prompt is not None and (reason := _find_further_loss(session, thread, dropped_prompt)):
            raise Refused(f"Resume rejected by --resume-drops-turn: {reason}")
        if not thread.leaf.uuid:
            raise Refused(
                f"{path}: the last entry has no uuid, so the session can't be continued; run `turnlog repair`"
            )
        messages = build_thread_conversation(file, thread, as_sent=True, without=CLIENT_ONLY_ATTACHMENTS).messages
        bare = build_thread_conversation(file, thread).messages
        calls = [call for call in pair_calls(session.entries, file).all if call.line.index <= thread.leaf.index]
        open_calls = tuple(_find_open_calls(calls, bare))
        answer = _find_last_answer(session, thread.rows)
        usage = answer.get("usage")
        return ResumableSession(
            path=path,
            messages=_add_missing_results(clean_messages(messages), open_calls),
            leaf=thread.leaf.uuid,
            model=answer.get("model"),
            cwd=_find_cwd(session, thread.leaf),
            mode=_find_last_value(session, ("permission-mode", "user"), "permissionMode"),
            todos=find_last_todos(session, calls),
            files=tuple(find_seen_files(session, calls)),
            warnings=(
                *_list_warnings(session, len(open_calls)),
                *(_warn_of_side_messages(session, thread) if leaf is None else ()),
            ),
            open_calls=open_calls,
            is_unanswered=bool(open_calls) or (bool(bare) and bare[-1]["role"] != "assistant"),
            size=_find_file_end(file),
            since=_find_newest_time(session),
            is_branch=leaf is not None and thread.leaf is not session.find_leaf(),
            last_prompt=_find_last_value(session, ("last-prompt",), "lastPrompt") or "",
            titles=tuple(_build_titles(session)),
            slug=_find_plan_name(session),
            thought_by=map_thinking_to_models(file, thread.rows),
            used=count_window_tokens(usage) if isinstance(usage, dict) else 0,
            snapshots=read_snapshots(session),
        )


def _find_further_loss(session: Session, thread: ResumeThread, dropped_prompt: str) -> str:
    """Return what else than the turn of a prompt comes after the end of the thread, or ""."""
    is_dropped = False
    for row in session.build_thread(None).rows:
        if row.index <= thread.leaf.index or row.type not in ("user", "assistant") or row.is_meta:
            continue
        kind = parse_user_entry(session.file, row).kind if row.type == "user" else ""
        if kind in _CLIENT_KINDS:
            continue
        if not is_dropped and row.uuid == dropped_prompt:
            is_dropped = True
        elif not is_dropped:
            return f"the entry {row.uuid} comes before this prompt and after the last entry to keep"
        elif kind not in ("", "result"):
            return f"the prompt {row.uuid} comes after this turn"
    return "" if is_dropped else f"{dropped_prompt}: no such prompt after the last entry to keep"


def continue_in_place(found: ResumableSession, cwd: Path) -> SessionRecord:
    """Continue a session in its own file."""
    record = SessionRecord.continue_session(
        found.path, found.leaf, cwd=cwd, size=found.size, since=found.since, is_branch=found.is_branch
    )
    record.titles = [*found.titles]
    record.slug, record.before = found.slug, lambda: write_missing_results(record, found)
    return record


def continue_in_fork(
    found: ResumableSession, config_dir: Path, cwd: Path, session_id: str | None = None
) -> SessionRecord:
    """Continue a session in a new file; its lines keep their ids and times, as in Claude Code."""
    record = SessionRecord.create_session(config_dir, cwd, session_id, since=found.since)
    record.slug, record.before = found.slug, lambda: _write_copied_lines(record, found)
    return record


def write_missing_results(record: SessionRecord, found: ResumableSession) -> None:
    """Write the results and the answer that are missing at the end."""
    for call, line in found.open_calls:
        record.write_result(call, CallResult(INTERRUPTED_RESULT_TEXT, is_error=True), line)
    if found.is_unanswered:
        record.write_synthetic_answer(FILLER_TEXT)


def _write_copied_lines(record: SessionRecord, found: ResumableSession) -> None:
    with Session.open(found.path) as session:
        rows = {row.index: row for row in build_resume_thread(session.file, found.leaf).rows}
        rows |= {row.index: row for row in _find_boundaries(session, rows)}
        snapshots = {row.index: row for row in find_snapshot_lines(session, {row.uuid for row in rows.values()})}
        changed = {"sessionId": record.session_id}
        copies = []
        for at in sorted({**rows, **snapshots}):
            raw = session.file.read_raw(rows.get(at) or snapshots[at]).strip() + b"\n"
            copies.append(patch_entry(raw, changed) if at in rows else raw)
    source, target = find_copies_folder(found.path), find_copies_folder(record.path)
    if source is not None and target is not None:
        link_copies(source, target, found.snapshots)
    record.begin_with_copies(b"".join(copies), found.leaf, found.last_prompt)
    write_missing_results(record, found)


def _find_boundaries(session: Session, rows: dict[int, Entry]) -> Iterator[Entry]:
    """Yield the compaction boundary that a conversation starts with, since the summary needs it as its parent."""
    parents = {row.parent_uuid for row in rows.values()}
    yield from (row for row in ResumeRows(session.file).rows.values() if is_boundary(row) and row.uuid in parents)


# -- values from the transcript


def _find_open_calls(calls: list[Call], messages: list[Json]) -> Iterator[tuple[str, str]]:
    """Yield the calls in the last answer that have no result."""
    position = next(
        (position for position in reversed(range(len(messages))) if messages[position]["role"] == "assistant"),
        len(messages),
    )
    later_blocks = [block for message in messages[position + 1 :] for block in message["content"]]
    answered = {block.get("tool_use_id") for block in later_blocks if block["type"] == "tool_result"}
    places = {call.id: call.line.uuid for call in calls}
    for block in messages[position]["content"] if position < len(messages) else ():
        name = block.get("id")
        if (
            block["type"] == "tool_use"
            and isinstance(name, str)
            and name not in answered
            and (line := places.get(name))
        ):
            yield name, line


def _add_missing_results(messages: list[Json], open_calls: tuple[tuple[str, str], ...]) -> list[Json]:
    """Add the missing results as `write_missing_results` writes them: after the others, and with the same text."""
    missing = {call for call, _ in open_calls}
    for message in messages[-2:] if missing else ():
        blocks = [
            {**block, "content": INTERRUPTED_RESULT_TEXT} if _answers_call(block, missing) else block
            for block in message["content"]
        ]
        message["content"] = sorted(
            blocks, key=lambda block: (block["type"] != "tool_result", _answers_call(block, missing))
        )
    return messages


def _answers_call(block: Json, calls: set[str]) -> bool:
    return block["type"] == "tool_result" and block.get("tool_use_id") in calls


def _find_file_end(file: Transcript) -> int:
    last: list[EntryOrScrap] = [*file.entries[-1:], *file.scraps[-1:]]
    return max(item.end for item in last)


def _find_last_answer(session: Session, rows: list[Entry]) -> Json:
    """Return the last answer from a model; an answer before a summary does not count."""
    for row in reversed(rows):
        if row.type == "assistant" and row.message and row.message.model not in (None, SYNTHETIC_MODEL):
            message: Json = session.read_body(row)["message"]
            return message
    return {}


def _find_cwd(session: Session, end: Entry) -> Path | None:
    folder = end.cwd or next((row.cwd for row in reversed(session.entries) if row.cwd), None)
    return Path(folder) if folder else None


def _find_last_value(session: Session, kinds: tuple[str, ...], key: str) -> str | None:
    """Return the last value of a key in entries of the given types."""
    rows = (row for row in reversed(session.entries) if row.type in kinds)
    bodies = (session.read_body(row) for row in islice(rows, _MAX_SEARCHED_ENTRIES))
    return next((value for body in bodies if isinstance(value := body.get(key), str) and value), None)


def _list_warnings(session: Session, open_calls: int) -> Iterator[str]:
    if scraps := len(session.file.scraps):
        lines, them = ("line was", "it") if scraps == 1 else ("lines were", "them")
        yield f"{scraps} damaged {lines} skipped; `turnlog check` lists {them}"
    if open_calls:
        calls = "call was" if open_calls == 1 else "calls were"
        yield f"{open_calls} {calls} cut off when the session ended; the result is unknown"


def _warn_of_side_messages(session: Session, thread: ResumeThread) -> Iterator[str]:
    """Warn about later messages that are not part of the conversation because an older client branched off."""
    included = {row.index for row in thread.rows}
    later = (row for row in session.entries if row.index > thread.leaf.index and row.index not in included)
    messages = [row for row in later if row.type in ("user", "assistant") and not row.is_sidechain and not row.is_meta]
    if messages:
        yield (
            f"{len(messages)} later {'message is' if len(messages) == 1 else 'messages are'} on a branch that newer "
            "versions of Claude Code ignore, and so does turnlog; "
            f"`turnlog fork {session.session_id} --at {messages[-1].uuid}` continues from there"
        )


def _find_newest_time(session: Session) -> datetime | None:
    """Return the newest time in the clients' format, in which times can be compared as text."""
    times = (row.timestamp for row in session.entries)
    return parse_timestamp(max((time for time in times if time and _TIMESTAMP_PATTERN.fullmatch(time)), default=None))


def _build_titles(session: Session) -> Iterator[Json]:
    """Yield the title lines; a title from a person takes precedence over one from a model."""
    custom_title = _find_last_value(session, ("custom-title",), "customTitle")
    title = custom_title or _find_last_value(session, ("ai-title",), "aiTitle")
    if title and len(title) <= _MAX_TITLE_CHARS:
        yield from line_bodies.build_title_lines(title, str(session.session_id), by_model=custom_title is None)


def _find_plan_name(session: Session) -> str | None:
    """Return the name of the session's plan if it is safe to use as a file name."""
    name = _find_last_value(session, ("user", "assistant"), "slug") or ""
    return name if _PLAN_NAME_PATTERN.fullmatch(name) else None
