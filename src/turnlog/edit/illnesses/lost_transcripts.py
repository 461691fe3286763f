"""Finds what remains of sessions without a transcript, and builds a new session from the prompts.

Typed prompts, copies of files, sub-agents and large outputs may remain. A salvaged session contains the original
prompts, and a note in place of each answer; nothing else in it is invented.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.edit.illnesses.illness import Illness, Symptom
from turnlog.entries.agents import AgentsBySession, list_loose_agents
from turnlog.entries.belongings import Belongings, list_belongings, read_history
from turnlog.entries.layout import (
    SessionFile,
    Survey,
    is_session_id,
    list_project_folders,
    list_session_files,
    list_unfinished_ids,
    scan_folder,
)
from turnlog.entries.slug import make_slug
from turnlog.render.figures import format_count
from turnlog.session.clock import parse_timestamp, to_iso_time
from turnlog.session.session import Session
from turnlog.session.usage.prices import SYNTHETIC_MODEL

if TYPE_CHECKING:
    from turnlog.edit.whole_copies import WholeCopies, WholeCopy

Json = dict[str, Any]

_FOLDERS_BY_ID = ("file-history", "tasks", "session-env", "todos", "debug")
_ID_IN_NAME = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-agent-.*)?(?:\.\w+)?", re.IGNORECASE)
_PASTED_TEXT = re.compile(r"\[Pasted text #(\d+)[^\]]*\]")
_LIST_COMMANDS = {
    "archive": "turnlog archive restore ID (`turnlog archive list --gone` lists the ids)",
    "trash": "turnlog undelete ID (`turnlog undelete --list` lists the ids)",
}
LOST_ANSWER_NOTE = (
    "[The answer is lost. The transcript of session {session} is gone; turnlog rebuilt this one from the history of"
    " what was typed.]"
)
_COMMAND_PATTERN = re.compile(r"(?:/[a-z][\w:-]*(?:\s|$)|!)")
_MAX_TITLE_CHARS = 80
_MAX_PROMPT_CHARS = 200


# -- detection


class TypedText(NamedTuple):
    """A prompt that the user typed in a session; pasted text is filled in if it was saved."""

    text: str
    time: datetime | None


class Leftover(NamedTuple):
    """A session that has lost its transcript."""

    session_id: str
    config_dir: Path
    project: str | None
    """The working directory, if it is in the history."""
    project_dir: Path | None
    """The session's project folder, if known."""
    typed: tuple[TypedText, ...]
    """What the user typed, in the order of the history."""
    rest: Belongings

    @property
    def file_count(self) -> int:
        """The number of files that remain, apart from the prompt history."""
        rest = self.rest
        parts = (rest.subagents, rest.loose_agents, rest.tool_results, rest.workflows, rest.file_history)
        return sum(map(len, (*parts, rest.todos, rest.tasks, rest.other)))

    @property
    def last_typed_at(self) -> datetime | None:
        """The last time the user typed something in the session."""
        return max((item.time for item in self.typed if item.time), default=None)


def list_leftovers(config_dir: Path, survey: Survey | None = None) -> list[Leftover]:
    """List the sessions in a config folder that have left data behind but no transcript, newest first.

    What is in a folder that can't be listed is not known; the survey records the folder.
    """
    survey = survey or Survey()
    existing = {item.session_id.lower() for item in list_session_files(config_dir, survey)}
    # Copies that a killed turnlog left behind are not sessions: the next clone removes them.
    existing |= {
        identity.lower() for folder in list_project_folders(config_dir) for identity in list_unfinished_ids(folder)
    }
    typed = _group_history_by_session(config_dir)
    folders = _map_project_folders(config_dir)
    ids = [
        identity
        for identity in dict.fromkeys((*typed, *folders, *_list_named_ids(config_dir)))
        if identity not in existing
    ]
    loose: dict[Path, AgentsBySession] = {}
    leftovers = [
        _build_leftover(config_dir, identity, typed.get(identity, []), folders.get(identity), loose, survey)
        for identity in ids
    ]
    visible = [item for item in leftovers if (item.typed or item.file_count) and not _is_hidden(item, survey)]
    return sorted(visible, key=lambda item: item.last_typed_at or datetime.min.replace(tzinfo=UTC), reverse=True)


def describe_leftover(item: Leftover, copy: WholeCopy | None) -> Symptom:
    """Build the symptom for a session that has lost its transcript; `copy` is a whole copy of it, if there is one."""
    text = f"{format_count(len(item.typed), 'prompt')} and {format_count(item.file_count, 'file')} are left of it"
    return Symptom("transcript-gone", "error", text) if copy is None else describe_copy(copy, f"; {text} here")


def describe_copy(copy: WholeCopy, rest: str = "") -> Symptom:
    """Build the symptom for a session that is only in the trash or in the archive."""
    return Symptom("transcript-gone", "error", f"all of it is in the {copy.place}{rest}", remedy=copy.command)


def diagnose_leftovers(config_dir: Path, copies: WholeCopies) -> list[Symptom]:
    """Find prompts in a config folder that are from sessions whose transcripts are gone."""
    lost = [item for item in list_leftovers(config_dir) if item.typed]
    kept = Counter(copy.place for item in lost if (copy := copies.find_by_id(item.session_id)))
    if not lost:
        return []
    text = f"{config_dir}: {format_count(len(lost), 'session')} left typed prompts but no transcript"
    places = [f"the {place} has {count:,} of them whole" for place, count in sorted(kept.items())]
    remedies = [_LIST_COMMANDS[place] for place in sorted(kept)]
    remedies += ["turnlog salvage ID"] if kept.total() < len(lost) else []
    return [Symptom("transcript-gone", "info", "; ".join([text, *places]), remedy=", ".join(remedies) if kept else "")]


def _is_hidden(item: Leftover, survey: Survey) -> bool:
    """Return whether the transcript may exist in a folder that can't be listed."""
    place = item.project_dir or item.config_dir / "projects" / "-"
    return survey.hides(str(place / f"{item.session_id}.jsonl"))


def _build_leftover(
    config_dir: Path,
    identity: str,
    rows: list[dict[str, Any]],
    folder: Path | None,
    loose: dict[Path, AgentsBySession],
    survey: Survey,
) -> Leftover:
    project = next((row["project"] for row in rows if isinstance(row.get("project"), str)), None)
    home = folder or (config_dir / "projects" / make_slug(project) if project else None)
    if home is not None and home not in loose:
        loose[home] = list_loose_agents(home)
    place = home or config_dir / "projects" / "-"
    rest = list_belongings(config_dir, place, identity, loose=loose.get(place, {}), survey=survey)
    return Leftover(identity, config_dir, project, home, tuple(map(_read_typed_text, rows)), rest)


def _group_history_by_session(config_dir: Path) -> dict[str, list[dict[str, Any]]]:
    """Group the lines of the prompt history by session."""
    rows_by_session: dict[str, list[dict[str, Any]]] = {}
    for row in read_history(config_dir):
        identity = row.get("sessionId")
        if isinstance(identity, str) and is_session_id(identity) and isinstance(row.get("display"), str):
            rows_by_session.setdefault(identity.lower(), []).append(row)
    return rows_by_session


def _read_typed_text(row: dict[str, Any]) -> TypedText:
    pasted = row.get("pastedContents")
    texts = (
        {str(key): part.get("content") for key, part in pasted.items() if isinstance(part, dict)}
        if isinstance(pasted, dict)
        else {}
    )

    def fill_in(mark: re.Match[str]) -> str:
        text = texts.get(mark[1])
        return text if isinstance(text, str) else mark[0]

    return TypedText(_PASTED_TEXT.sub(fill_in, str(row["display"])), parse_timestamp(row.get("timestamp")))


def _map_project_folders(config_dir: Path) -> dict[str, Path]:
    """Map each session with a folder of its own, or with loose sub-agents, to its project folder."""
    folders: dict[str, Path] = {}
    for project in list_project_folders(config_dir):
        for item in scan_folder(project):
            if is_session_id(item.name) and item.is_dir(follow_symlinks=False):
                folders.setdefault(item.name.lower(), project)
        for identity, agents in list_loose_agents(project).items():
            if is_session_id(identity) and any(agent.kind != "warm-up" for agent in agents):
                folders.setdefault(identity.lower(), project)
    return folders


def _list_named_ids(config_dir: Path) -> Iterator[str]:
    """Yield the ids in the names of the client's files and folders."""
    for folder in _FOLDERS_BY_ID:
        for item in scan_folder(config_dir / folder):
            if name := _ID_IN_NAME.fullmatch(item.name):
                yield name[1].lower()


class KinSession(NamedTuple):
    """A session that contains entries copied from another session when it was forked."""

    path: Path
    entries: int


def find_kin_sessions(session_id: str, files: Iterable[SessionFile]) -> list[KinSession]:
    """Read the given files and find those that contain entries of a session or name it as their origin."""
    wanted, kin = session_id.encode(), []
    for item in files:
        try:
            if wanted not in item.path.read_bytes():
                continue
        except OSError:
            continue
        with Session.open(item.path) as session:
            count = sum(
                _is_from_session(session, entry.index, session_id) for entry in session.file.entries if entry.uuid
            )
        if count:
            kin.append(KinSession(item.path, count))
    return sorted(kin, key=lambda one: -one.entries)


def _is_from_session(session: Session, index: int, session_id: str) -> bool:
    entry = session.file.entries[index]
    if entry.session_id == session_id:
        return True
    origin = session.read_body(entry).get("forkedFrom")
    return isinstance(origin, dict) and origin.get("sessionId") == session_id


# -- salvage


class SalvageOrigin(NamedTuple):
    """The session that has lost its transcript."""

    session_id: str
    cwd: str


def select_prompts(typed: Sequence[TypedText]) -> list[TypedText]:
    """Select the prompts that were sent to the model, oldest first, without client commands or empty lines."""
    prompts = [item for item in typed if item.text.strip() and not _COMMAND_PATTERN.match(item.text)]
    return sorted(prompts, key=lambda item: item.time or datetime.min.replace(tzinfo=UTC))


def rebuild_session(
    origin: SalvageOrigin, typed: Sequence[TypedText], session_id: str, new_id: Callable[[], str]
) -> list[Json]:
    """Build the rows of the new session; return no rows if nothing was said to the model."""
    prompts = select_prompts(typed)
    rows: list[Json] = []
    parent: str | None = None
    for item, time in zip(prompts, _choose_times(prompts), strict=True):
        prompt_id, answer_id = new_id(), new_id()
        shared = {"isSidechain": False, "userType": "external", "cwd": origin.cwd, "sessionId": session_id}
        message: Json = {"role": "user", "content": item.text}
        rows.append(_build_row(shared, "user", prompt_id, parent, time, message))
        note = LOST_ANSWER_NOTE.format(session=origin.session_id)
        rows.append(
            _build_row(
                shared,
                "assistant",
                answer_id,
                prompt_id,
                time + timedelta(milliseconds=1),
                _build_answer(note, new_id()),
            )
        )
        parent = answer_id
    return rows + list(_build_tail(prompts, parent, session_id))


def _build_row(shared: Json, kind: str, uuid: str, parent: str | None, time: datetime, message: Json) -> Json:
    return {
        "parentUuid": parent,
        **shared,
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": to_iso_time(time),
    }


def _build_answer(text: str, identity: str) -> Json:
    """Build a message in the form that the client uses for messages that no model wrote."""
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "model": SYNTHETIC_MODEL,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "stop_sequence",
        "stop_sequence": "",
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def _choose_times(prompts: list[TypedText]) -> Iterator[datetime]:
    """Yield a time for each prompt, always later than the previous one, because old clients sort by time."""
    last = datetime(2025, 1, 1, tzinfo=UTC)
    for item in prompts:
        last = max(item.time or last, last + timedelta(milliseconds=2))
        yield last


def _build_tail(prompts: list[TypedText], leaf: str | None, session_id: str) -> Iterator[Json]:
    """Yield the entries that the client expects at the end of the file: a title, and the entry to continue from."""
    if leaf is not None:
        title = " ".join(prompts[0].text.split())[:_MAX_TITLE_CHARS]
        yield {"type": "custom-title", "customTitle": f"Salvaged: {title}", "sessionId": session_id}
        last = {"lastPrompt": prompts[-1].text[:_MAX_PROMPT_CHARS], "leafUuid": leaf}
        yield {"type": "last-prompt", **last, "sessionId": session_id}


TRANSCRIPT_GONE = Illness(
    "transcript-gone",
    "Prompts that you typed are in the history, but their sessions are not in any list.",
    "Claude Code deletes sessions after some weeks, and keeps other traces (#62476, #29923)",
    remedy="turnlog salvage {session}",
    alternative="`turnlog salvage` lists what is left",
)
