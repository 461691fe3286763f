"""Opens a session, new or resumed: its record, its conversation and its copies of files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.agent.actor import EventWatcher
from turnlog.agent.conversation import AgentConversation
from turnlog.agent.loop import AgentLoop
from turnlog.agent.person import Person
from turnlog.agent.record.record import SessionRecord
from turnlog.agent.settings import Settings
from turnlog.agent.setup import AgentSetup
from turnlog.agent.shared_state import SharedState
from turnlog.agent.start_options import StartOptions
from turnlog.agent.tools.seen_files import is_unwritten_since
from turnlog.entries.layout import find_config_dirs
from turnlog.errors import NotFound, Refused

if TYPE_CHECKING:
    from turnlog.agent.file_history.history import FileHistory
    from turnlog.agent.resume.resume import ResumableSession
    from turnlog.agent.resume.tool_state import SeenFile


def find_resumed_session(options: StartOptions, cwd: Path, environ: Mapping[str, str]) -> ResumableSession | None:
    """Load the session to resume, if the options name one."""
    if options.resume is None and not options.is_continued:
        return None
    from turnlog.agent.resume.choices import find_latest_session
    from turnlog.agent.resume.resume import load_resumable_session
    from turnlog.api.lookup import find_existing_session
    from turnlog.demo import is_demo

    folders = find_config_dirs(environ)
    path = find_existing_session(options.resume, folders) if options.resume else find_latest_session(folders, cwd)
    if is_demo(path):
        raise NotFound(f"{options.resume}: demo sessions can't be resumed")
    try:
        return load_resumable_session(path, options.leaf, options.dropped_prompt)
    except Refused as error:
        is_complete = str(path) in str(error) or options.dropped_prompt is not None  # programs look at its first words
        raise Refused(str(error) if is_complete else f"{path}: {error}") from None


def list_remarks(found: ResumableSession | None, cwd: Path) -> Iterator[str]:
    """Yield remarks about a resumed session."""
    if found is None:
        return
    yield from found.warnings
    if found.cwd is not None and os.path.realpath(found.cwd) != str(cwd):
        yield f"the session ran in {found.cwd}; it continues in {cwd}"


def open_record(
    options: StartOptions, mode: str, found: ResumableSession | None, config_dir: Path, cwd: Path
) -> SessionRecord:
    if found is None:
        return SessionRecord.create_session(config_dir, cwd, options.session_id, mode=mode)
    from turnlog.agent.resume.resume import continue_in_fork, continue_in_place

    if options.is_forked or options.is_ephemeral:
        same = None if options.is_forked else found.session_id
        record = continue_in_fork(found, config_dir, cwd, options.session_id or same)
    else:
        record = continue_in_place(found, cwd)
    record.mode = mode
    return record


def build_loop(
    setup: AgentSetup,
    record: SessionRecord,
    found: ResumableSession | None,
    watch: EventWatcher,
    person: Person,
) -> AgentLoop:
    shared = SharedState(record.folder)
    messages, thought_by = (found.messages, found.thought_by) if found else ([], None)
    conversation = AgentConversation(messages, setup.preface, thought_by)
    conversation.used = found.used if found else 0
    for seen in found.files if found else ():
        _recall_seen_file(shared, seen)
    if found:
        shared.todos[:] = found.todos
    return AgentLoop(setup, record, conversation, watch, person, shared=shared)


def _recall_seen_file(shared: SharedState, seen: SeenFile) -> None:
    """Record that the model has seen a file, and its content if the model saw all of it and the file is unchanged."""
    path = Path(seen.path)
    try:
        status = path.stat()
        is_same = is_unwritten_since(status, seen.time) and status.st_size < 1 << 20
        text = path.read_text(encoding="utf-8") if seen.is_whole and is_same else None
    except (OSError, ValueError):
        return
    shared.files.recall_seen(path, seen.time, text)


def build_history(loop: AgentLoop, found: ResumableSession | None) -> FileHistory | None:
    """Return the history of files, or None if the session is not in a config folder, where copies belong."""
    from turnlog.agent.events import WarningIssued
    from turnlog.agent.file_history.forked_copies import find_copies_folder
    from turnlog.agent.file_history.history import FileHistory

    folder = find_copies_folder(loop.record.path)
    if folder is None:
        return None
    return FileHistory(
        folder,
        loop.setup.place.root,
        loop.record.write_file_history,
        lambda text: loop.tell(WarningIssued(text)),
        found.snapshots if found else None,
    )


def may_copy_files(settings: Settings, environ: Mapping[str, str]) -> bool:
    """Return whether the settings and the environment let the client copy the files that it changes."""
    is_disabled = environ.get("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING", "").lower() in ("1", "true", "yes", "on")
    return not is_disabled and settings.get_value("fileCheckpointingEnabled", bool) is not False
