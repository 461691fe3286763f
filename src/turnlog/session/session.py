"""A session: opened once, with views that are computed on demand and cached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from turnlog.entries.entry import Entry
from turnlog.entries.old_names import OldName
from turnlog.entries.reader import BytesSource, Transcript
from turnlog.entries.resume_command import build_resume_command, find_resume_folder
from turnlog.entries.titles import SessionTitles
from turnlog.session import agents as agents_view
from turnlog.session import calls as calls_view
from turnlog.session import compactions as compactions_view
from turnlog.session import messages as messages_view
from turnlog.session import overview
from turnlog.session.agents import SubAgent
from turnlog.session.calls import Call, CallDetail, SessionCalls
from turnlog.session.client_totals import ClientTotals, CountedSession, compare_client_totals
from turnlog.session.compactions import Compaction
from turnlog.session.graph import Graph
from turnlog.session.message_usage import MessageFill, Usage, list_message_fills, sum_usage
from turnlog.session.messages import Message
from turnlog.session.notices import Notice, list_notices
from turnlog.session.overview import SessionEvent
from turnlog.session.prompts import holds_typed_text, parse_user_entry
from turnlog.session.resume import conversation as conversation_view
from turnlog.session.resume.attachment_faults import check_attachments
from turnlog.session.resume.conversation import Conversation
from turnlog.session.resume.resume_thread import ResumeThread, build_resume_thread, find_current_leaf
from turnlog.session.resume.rows import ResumeRows
from turnlog.session.touched_files import TouchedFile, list_touched_files
from turnlog.session.turns import RESUME_GAP, Turn, TurnIndex, find_round_type


class Session:
    """One session and its views. Every view is a function of the entries; this object only caches the views."""

    def __init__(self, file: Transcript, entries: Sequence[Entry] | None = None, gap: timedelta = RESUME_GAP) -> None:
        self.file = file
        self._part_entries = entries
        self._gap = gap

    @classmethod
    def open(cls, path: str | Path, gap: timedelta = RESUME_GAP) -> Session:
        return cls(Transcript.open(Path(path)), gap=gap)

    @classmethod
    def from_missing_file(cls, path: Path) -> Session:
        """Create a session whose own file is missing, so that only its sub-agents exist."""
        return cls(Transcript(BytesSource(b""), path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Session:
        """Create a session from bytes in memory."""
        return cls(Transcript.from_bytes(data))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the session's file and the files of its sub-agents."""
        self.close_agents()
        self.file.close()

    def close_agents(self) -> None:
        """Close the files of the sub-agents; they are reopened on demand."""
        for inner in self._agent_sessions.values():
            if inner.file is not self.file:
                inner.close()
        self._agent_sessions.clear()

    def refresh(self) -> bool:
        """Read what has been added since the last read, or all of a replaced file; return whether anything was new."""
        if (self.file.find_stale_reason() or "missing") != "missing":
            self.file.close()
            self.file = Transcript.open(self.file.path or Path())
            has_grown = True
        else:
            has_grown = self.file.grow()
        if has_grown:
            self.close_agents()
            for name in [name for name, value in vars(type(self)).items() if isinstance(value, cached_property)]:
                self.__dict__.pop(name, None)
        return has_grown

    # -- entries

    @property
    def path(self) -> Path | None:
        """The session file, or None for a session in memory."""
        return self.file.path

    @cached_property
    def session_id(self) -> str | None:
        """The session id: the file's name if it is a uuid; otherwise, the id that appears in most entries."""
        if self.path is not None and len(self.path.stem) == 36 and self.path.stem.count("-") == 4:
            return self.path.stem
        ids = Counter(entry.session_id for entry in self.entries if entry.session_id)
        return max(ids, key=ids.__getitem__) if ids else None

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """The entries of the session itself, in file order, without sidechains and without what was written again."""
        own = self.file.entries if self._part_entries is None else self._part_entries
        if self._replay_places:
            own = [entry for entry in own if entry.index not in self._replay_places]
        if self._part_entries is not None or not self.file.has_sidechains:
            return own
        main = [entry for entry in own if not entry.is_sidechain]
        talks = any(entry.type in ("user", "assistant") for entry in main)
        return main if talks or len(main) == len(own) else own

    @cached_property
    def _replay_places(self) -> frozenset[int]:
        return self.file.list_replays() if self.file.repeated else frozenset()

    @property
    def replays(self) -> list[Entry]:
        """The entries that the client wrote again, in file order; no view contains them."""
        return [self.file.entries[index] for index in sorted(self._replay_places)]

    @property
    def is_part(self) -> bool:
        """Whether this is a sub-agent inside a main file, and so only part of the file."""
        return self._part_entries is not None

    def read_body(self, entry: Entry) -> dict[str, Any]:
        """Return the whole object of an entry."""
        return self.file.read_body(entry)

    # -- views

    @cached_property
    def graph(self) -> Graph:
        """The links between the entries."""
        return Graph(self.file, self.entries)

    @cached_property
    def messages(self) -> list[Message]:
        """The assistant messages in all branches, joined by message id."""
        return messages_view.join_messages(self.entries)

    @cached_property
    def _calls(self) -> SessionCalls:
        return calls_view.pair_calls(self.entries, self.file)

    @property
    def orphans(self) -> list[Entry]:
        """Entries that contain results without a call."""
        return self._calls.orphans

    @cached_property
    def calls(self) -> list[Call]:
        """The tool calls in all branches."""
        _ = self.agents  # linking the sub-agents sets the agent ids of the calls
        return self._calls.all

    @cached_property
    def _turns(self) -> TurnIndex:
        return TurnIndex(self.file, self.entries, self.messages, self.calls, self._gap)

    @property
    def turns(self) -> list[Turn]:
        """The turns in all branches, in file order."""
        return self._turns.all

    def find_turn(self, entry: Entry) -> Turn | None:
        """Return the turn that an entry belongs to."""
        return self._turns.find_turn(entry)

    @cached_property
    def compactions(self) -> list[Compaction]:
        """The places where a summary replaced older messages."""
        return compactions_view.list_compactions(self.file, self.graph)

    @cached_property
    def agents(self) -> list[SubAgent]:
        """The sub-agents, with the calls that started them."""
        if self._part_entries is not None:
            return []
        carriers = (entry for entry in self.entries if entry.kind == "agent_progress")
        return agents_view.list_sub_agents(self.file, self._calls.all, carriers)

    @cached_property
    def _agent_sessions(self) -> dict[str, Session]:
        return {}

    def open_agent_session(self, agent: SubAgent) -> Session:
        """Return the session of a sub-agent, which is opened only once."""
        key = str(agent.path or agent.agent_id)
        if key not in self._agent_sessions:
            inner = (
                Session(self.file, agent.inside, self._gap)
                if agent.path is None
                else Session.open(agent.path, self._gap)
            )
            self._agent_sessions[key] = inner
        return self._agent_sessions[key]

    def find_parents_elsewhere(self) -> dict[str, Path]:
        """Map each parent that is missing here to the sub-agent's file that contains it."""
        wanted = {row.parent_uuid for row in self.graph.rows_missing_parent}
        found: dict[str, Path] = {}
        for agent in self.agents if wanted else []:
            if agent.path is not None:
                here = wanted & self.open_agent_session(agent).file.by_uuid.keys()
                found.update({uuid: agent.path for uuid in here if uuid})
        return found

    @cached_property
    def usage(self) -> Usage:
        """The tokens and cost of the session and its sub-agents, with each message counted once."""
        return sum_usage(self.list_all_messages())

    @cached_property
    def client_totals(self) -> ClientTotals | None:
        """The client's own totals, compared with the messages; None if the file has none."""
        inner = [message for agent in self.agents for message in self.open_agent_session(agent).messages]
        return compare_client_totals(CountedSession(self.file, self.session_id, self.entries, self.messages, inner))

    def list_all_messages(self) -> Iterator[Message]:
        """Yield the assistant messages of the session and its sub-agents."""
        yield from self.messages
        for agent in self.agents:
            yield from self.open_agent_session(agent).messages

    def build_thread(self, leaf: str | None = None) -> ResumeThread:
        """Return the entries that the newest client would resume."""
        if leaf not in self._threads:
            self._threads[leaf] = build_resume_thread(self.file, leaf)
        found = self._threads[leaf]
        return found._replace(rows=[*found.rows])

    @cached_property
    def _threads(self) -> dict[str | None, ResumeThread]:
        return {}

    def find_leaf(self) -> Entry:
        """Return the entry from which the newest client would continue."""
        return find_current_leaf(ResumeRows(self.file))

    def conversation(self, leaf: str | None = None, *, as_sent: bool = False) -> Conversation:
        """Return what the newest client would send if this leaf were resumed now."""
        thread = self.build_thread(leaf)
        check_attachments(self.file, thread.rows)
        return conversation_view.build_thread_conversation(self.file, thread, as_sent=as_sent)

    def read_content(self, message: Message) -> list[dict[str, Any]]:
        """Read the blocks of a message in their true order."""
        return messages_view.read_message_content(self.file, message)

    def read_detail(self, call: Call) -> CallDetail:
        return calls_view.read_call_detail(self.file, call)

    @cached_property
    def notices(self) -> list[Notice]:
        """The reports from background tasks."""
        return list(list_notices(self.file, self.entries))

    @cached_property
    def _latest_reports(self) -> dict[tuple[str, str | None], int]:
        """The place of the latest report about each call and each task."""
        places: dict[tuple[str, str | None], int] = {}
        for place, notice in enumerate(self.notices):
            places["call", notice.call_id] = places["task", notice.task_id] = place
        return places

    def find_report(self, call: Call) -> Notice | None:
        """Return the latest report about the background task that a call started, if there is one."""
        names = {call.agent_id, self.read_detail(call).background_id} - {None}
        keys = [("call", call.id), *(("task", name) for name in names)]
        latest = max(self._latest_reports.get(key, -1) for key in keys)
        return self.notices[latest] if latest >= 0 else None

    def find_round_type(self, entry: Entry) -> str:
        """Return how a user entry relates to what came before: new_session, new_round, resume or continue."""
        return find_round_type(entry, self._turns)

    # -- overview

    @cached_property
    def titles(self) -> SessionTitles:
        """All titles of the session."""
        return overview.read_session_titles(
            self.file, self.file.entries if self._part_entries is None else self._part_entries
        )

    @property
    def title(self) -> str | None:
        """The title to display."""
        return self.titles.best

    @cached_property
    def prompts(self) -> int:
        """The number of entries in the main conversation that contain text typed by a person."""
        main = [entry for entry in self.entries if not entry.is_sidechain]
        users = sum(parse_user_entry(self.file, entry).is_typed for entry in main if entry.type == "user")
        queued = (entry for entry in main if entry.kind == "queued_command")
        return users + sum(holds_typed_text(entry.type, self.read_body(entry)) for entry in queued)

    @cached_property
    def span(self) -> tuple[str | None, str | None]:
        """The times at which the session started and ended."""
        return overview.find_time_span(self.entries)

    @cached_property
    def versions(self) -> list[str]:
        """The client versions that wrote the session."""
        return overview.list_distinct(entry.version for entry in self.entries)

    @cached_property
    def models(self) -> list[str]:
        """The models that answered, including advisors."""
        own = (message for message in self.messages if not message.is_synthetic)
        return overview.list_distinct(
            model for message in own for model in (message.model, *(item.model for item in message.separate_requests))
        )

    @cached_property
    def folders(self) -> list[str]:
        """The working folders, in order of first use."""
        return overview.list_distinct(entry.cwd for entry in self.entries)

    @property
    def resume_command(self) -> str | None:
        """The command that resumes the session in its folder."""
        name = self.session_id
        return build_resume_command(name, find_resume_folder(self.path, self.folders)) if name else None

    @cached_property
    def files(self) -> list[TouchedFile]:
        """The files that the session's own calls read and wrote, excluding those of sub-agents."""
        return list_touched_files(self.file, self.calls)

    @cached_property
    def permission_modes(self) -> list[SessionEvent]:
        """The changes of permission mode."""
        return overview.list_permission_modes(self.file, self.entries)

    @cached_property
    def pull_requests(self) -> list[str]:
        """The pull requests that are linked to the session."""
        return overview.list_pull_requests(self.file, self.entries)

    @cached_property
    def api_errors(self) -> list[SessionEvent]:
        """The failed API requests, including retries."""
        return overview.list_api_errors(self.file, self.entries)

    @cached_property
    def context(self) -> list[MessageFill]:
        """How full the context window was at each message."""
        return list_message_fills(self.messages)

    @cached_property
    def git_branches(self) -> list[str]:
        """The git branches that were checked out."""
        return overview.list_distinct(entry.git_branch for entry in self.entries)

    agent_session = OldName("open_agent_session")
    all_messages = OldName("list_all_messages")
    body = OldName("read_body")
    content = OldName("read_content")
    detail = OldName("read_detail")
    found_elsewhere = OldName("find_parents_elsewhere")
    leaf = OldName("find_leaf")
    of = OldName("from_bytes")
    reported = OldName("find_report")
    round_type = OldName("find_round_type")
    thread = OldName("build_thread")
    turn_of = OldName("find_turn")
    without_file = OldName("from_missing_file")
