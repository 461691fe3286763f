"""Records a session: the messages, results and notices of each turn, as lines of its chain.

Every method writes to the file before it returns. Results from parallel calls are chained one after another, each with
its own call as `sourceToolAssistantUUID`, so clients that only walk up the chain don't lose any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import normalize

from msgspec.structs import replace

from turnlog.agent.record import line_bodies
from turnlog.agent.record.appender import SessionAppender
from turnlog.agent.record.chain import EntryChain, create_record_id
from turnlog.agent.record.git_branch import read_git_branch
from turnlog.agent.record.line_bodies import LineBody, LineContent, Object
from turnlog.agent.tools.call_result import CallResult
from turnlog.entries.atomic_file import replace_file, resolve_inside
from turnlog.entries.layout import is_session_id
from turnlog.entries.patch import encode_json_line
from turnlog.entries.slug import make_slug
from turnlog.errors import UsageError
from turnlog.model.answer import ModelAnswer
from turnlog.model.events import RetryStarted


class SessionRecord(EntryChain):
    """Writes one session, or one sub-agent's part of a session; safe to use from several threads."""

    def __init__(self, ledger: SessionAppender, session_id: str, cwd: Path, **chain: Any) -> None:
        super().__init__(ledger, session_id, cwd, **chain)
        self._calls: dict[str, str] = {}
        """The entries of calls that have no result yet."""
        self._answers: set[str] = set()
        self._steps = 0
        self._is_announced = False
        """Whether the id of the next prompt has been chosen."""
        self._depth = 0
        self._meta: LineBody = {}

    @classmethod
    def create_session(
        cls,
        config_dir: Path,
        cwd: Path,
        session_id: str | None = None,
        *,
        mode: str = "default",
        since: datetime | None = None,
    ) -> SessionRecord:
        """Create a session in a folder; its file is created with the first line."""
        name = session_id or create_record_id()
        if not is_session_id(name):
            raise UsageError(f"{name!r} is not a session id; it must be a UUID")
        path = find_project_dir(config_dir, cwd) / f"{name}.jsonl"
        if path.exists():
            raise UsageError(f"the session id {name} is in use; resume that session, or choose a different id")
        record = cls(SessionAppender(path, config_dir / "projects"), name, cwd, since=since)
        record.mode = mode
        return record

    @classmethod
    def continue_session(
        cls,
        path: Path,
        leaf: str | None,
        *,
        cwd: Path,
        size: int,
        since: datetime | None = None,
        is_branch: bool = False,
    ) -> SessionRecord:
        """Continue a session after an entry of its chain; `resume` provides the arguments.

        `size` is how far the file has been read; anything added since then is checked before the first write.
        """
        root = path.parent.parent if path.parent.parent.name == "projects" else path.parent
        ledger = SessionAppender(path, root, size)
        return cls(ledger, path.stem, cwd, last=leaf, since=since, is_branch=is_branch)

    def begin_with_copies(self, copies: bytes, leaf: str, prompt: str) -> None:
        """Start with unchanged lines from a different session, and continue after one of them."""
        with self._lock:
            self.last, self._last_prompt = leaf, prompt
            self._ledger.append_bytes(copies)
            self._write_lines(self._build_description_lines())

    # -- messages

    def write_prompt(
        self,
        content: LineContent,
        *,
        meta: bool = False,
        typed: bool = True,
        uuid: str | None = None,
        **fields: Any,
    ) -> str:
        """Write a person's prompt, which starts a turn, or, with `meta`, a message from the client to the model.

        `uuid` is the id that a program gave its prompt; the session must not contain it yet.
        """
        with self._lock:
            if meta:
                return self._write_client_content(content, fields)
            self._branch, self._entry_count = read_git_branch(self.cwd), 0
            self._prompt_id, self._is_announced = self.announce_prompt(), False
            if "origin" not in fields:  # session lists show what a person asked for
                self._last_prompt = line_bodies.extract_content_text(content)
            origin = {"origin": {"kind": "human"}} if typed and not self._agent_id else {}
            source = {"permissionMode": self.mode, **origin, "promptSource": "typed" if typed else "sdk"}
            before, main, after = line_bodies.split_prompt(content)
            self._write_client_content(before, {"turnCompanion": True})
            line = line_bodies.build_user_line(main, self._prompt_id, **{**source, **fields})
            prompt = self._write_entry(line, uuid=uuid)
            self._write_client_content(after, {"turnCompanion": True})
            return prompt

    @property
    def agent_id(self) -> str | None:
        """The id of the sub-agent whose record this is."""
        return self._agent_id

    @property
    def prompt_id(self) -> str | None:
        return self._prompt_id

    def announce_prompt(self) -> str:
        """Choose the id of the next prompt, so that hooks can be told about it before it is written."""
        if not self._is_announced:
            self._prompt_id, self._is_announced = create_record_id(), True
        return str(self._prompt_id)

    def _write_client_content(self, content: LineContent, fields: LineBody) -> str:
        """Write one line per block: 2.1.29 rewrites, and so duplicates, a session with several blocks in a line."""
        parts = [content] if isinstance(content, str) else [[block] for block in content]
        uuids = [
            self._write_entry(line_bodies.build_user_line(part, self._prompt_id, isMeta=True, **fields))
            for part in parts
        ]
        return uuids[-1] if uuids else str(self.last)

    def write_answer(self, answer: ModelAnswer, *, goes_on: bool = False) -> str:
        """Write an answer block by block under an id that is unique among the answers, and return the id.

        With `goes_on`, the answer continues the one that has the same id.
        """
        if not goes_on and (not answer.id or answer.id in self._answers):
            answer = replace(answer, id=f"msg_{create_record_id()}")
        extra: LineBody = {"isAbortedMidStream": True} if answer.stop_reason is None else {}
        if self._agent_id:
            extra["attributionAgent"] = self._meta.get("agentType")
        with self._lock:
            self._answers.add(answer.id)
            for index, block in enumerate(answer.content):
                uuid = self._write_entry(
                    {**line_bodies.build_assistant_line(answer, block), "apiBlockIndex": index, **extra}
                )
                if block.get("type") == "tool_use":
                    self._calls[str(block.get("id"))] = uuid
        return answer.id

    def write_result(self, call: str, result: CallResult, source: str | None = None, **fields: Any) -> str:
        """Write the result of a call; `source` is the entry of the call if this record did not write that entry."""
        with self._lock:
            structured = line_bodies.build_structured_result(result)
            links = {} if structured is None else {"toolUseResult": structured}
            caller = source or self._calls.pop(call, None)
            if caller:
                links["sourceToolAssistantUUID"] = caller
            return self._write_entry(
                line_bodies.build_user_line(
                    [line_bodies.build_result_block(call, result)], self._prompt_id, **links, **fields
                )
            )

    def write_addition(self, content: LineContent) -> str:
        """Write another message under the same prompt: the output of a command that the person ran."""
        return self._write_entry(line_bodies.build_user_line(content, self._prompt_id))

    def write_interruption(self, *, for_tool: bool = False) -> str:
        """Record that the person stopped the turn."""
        text = line_bodies.INTERRUPTED_CALL_TEXT if for_tool else line_bodies.INTERRUPTED_TEXT
        return self._write_entry(line_bodies.build_user_line([{"type": "text", "text": text}], self._prompt_id))

    def write_synthetic_answer(self, text: str) -> str:
        """Write an answer in place of a missing one."""
        return self._write_entry(line_bodies.build_synthetic_line(text, create_record_id()))

    def write_failure(
        self, text: str, error: str = "unknown", status: int | None = None, kind: str | None = None
    ) -> str:
        """Record that a request failed after all retries; the failure is shown to people but not sent to the model."""
        known = {"apiErrorStatus": status, "apiErrorType": kind}
        fields = {key: value for key, value in known.items() if value is not None}
        return self._write_entry(
            line_bodies.build_synthetic_line(text, create_record_id(), error=error, isApiErrorMessage=True, **fields)
        )

    def write_local_command(self, name: str, args: str = "", stdout: str = "", *, is_sent: bool = True) -> str:
        """Write a command that the client ran itself; if it is not sent, only people see it."""
        with self._lock:
            texts = [line_bodies.format_command(name, args), line_bodies.format_command_output(stdout)]
            if not is_sent:
                display = {"level": "info", "isMeta": False, "isDisplayOnly": True}
                return [
                    self._write_entry(line_bodies.build_system_line("local_command", content=text, **display))
                    for text in texts
                ][-1]
            self.write_prompt(line_bodies.LOCAL_COMMAND_CAVEAT, meta=True)
            return [self._write_entry(line_bodies.build_user_line(text, self._prompt_id)) for text in texts][-1]

    # -- notices from the client

    def write_attachment(self, attachment: LineBody, text: str = "", *, is_link: bool = True) -> None:
        """Write an entry beside the messages; if it has text, the text is sent to the model as a reminder.

        Without `is_link`, the next entry does not follow it: 2.1.45 takes a turn that ends with one for interrupted.
        """
        with self._lock:
            before = self.last
            self._write_entry(line_bodies.build_attachment_line(attachment, [text] if text else []))
            self.last = self.last if is_link else before

    def write_attached_file(self, attachment: LineBody, texts: Sequence[str]) -> None:
        """Write an entry about a file that a prompt mentions."""
        self._write_entry(line_bodies.build_attachment_line(attachment, texts, "user"))

    def write_notice(self, text: str, level: str, **fields: Any) -> str:
        """Write a notice for people."""
        return self._write_entry(
            line_bodies.build_system_line("informational", content=text, isMeta=False, level=level, **fields)
        )

    def write_stop_summary(self, facts: LineBody) -> str:
        """Write what hooks said when the model stopped."""
        return self._write_entry(line_bodies.build_system_line("stop_hook_summary", **facts))

    def write_retry(self, event: RetryStarted) -> str:
        """Record that a request failed and will be retried; the first attempt does not count as a retry."""
        status = {} if event.status is None else {"status": event.status}
        error = {"message": event.reason, "formatted": event.reason, **status}
        counts = {"retryAttempt": event.attempt - 1, "maxRetries": event.attempts - 1}
        return self._write_entry(
            line_bodies.build_system_line(
                "api_error", level="error", error=error, retryInMs=round(event.wait * 1000), **counts
            )
        )

    def write_turn_end(self, milliseconds: int) -> None:
        """Record the end of a turn and flush the file so that it survives a power failure."""
        with self._lock:
            counts = {"durationMs": milliseconds, "messageCount": self._entry_count, "isMeta": False}
            self._write_entry(
                line_bodies.build_system_line("turn_duration", **counts),
                flush=True,
                build_following=self._build_description_lines,
            )

    def write_compaction(self, trigger: str, before: int, summary: str, milliseconds: int) -> str:
        """Replace the conversation so far with a summary, in a single write so that the change is never incomplete.

        Return the text of the summary message, which is sent to the model from now on.
        """
        # Imports the whole session package, and most sessions don't need a summary.
        from turnlog.edit.compress.compact import render_summary_text

        with self._lock:
            self._run_before_first_write()
            content = render_summary_text(summary, (), self.path, kept=False)
            fields = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
            with self._restore_on_failure():
                above, self.last = {"logicalParentUuid": self.last}, None
                first = self._place_line(line_bodies.build_boundary_line(trigger, before, milliseconds), above)
                second = self._place_line(
                    line_bodies.build_user_line(content, self._prompt_id or create_record_id(), **fields)
                )
                self._write_lines([first, second, *self._build_description_lines()], flush=True)
            self._notify_watcher(first, second)
            return content

    def write_progress(self, call: str, data: Object) -> None:
        with self._lock:
            self._run_before_first_write()
            before, self._steps = self.last, self._steps + 1
            body = self._place_line(line_bodies.build_progress_line(call, self._steps - 1, data))
            self.last = before
            self._write_lines([body])

    # -- lines about the session

    def write_title(self, text: str, *, by_model: bool = False) -> None:
        """Write the session's title; it is repeated after every turn, because session lists look for it at the end."""
        with self._lock:
            self.titles = line_bodies.build_title_lines(text, self.session_id, by_model=by_model)
            if self._ledger.file_exists:
                self._write_lines(self.titles)

    def write_queue_operation(self, operation: str, content: str | None = None, **fields: Any) -> None:
        """Record that a prompt was queued (`enqueue`), sent (`dequeue`) or dropped (`remove`)."""
        with self._lock:
            text = {} if content is None else {"content": content}
            body = {"type": "queue-operation", "operation": operation, "timestamp": self._next_timestamp()}
            self._write_lines([{**body, "sessionId": self.session_id, **text, **fields}])

    def write_permission_mode(self, mode: str) -> None:
        with self._lock:
            self.mode = mode
            if self._ledger.file_exists:
                self._write_lines([{"type": "permission-mode", "permissionMode": mode, "sessionId": self.session_id}])

    # -- the history of files, and going back

    def is_unused_id(self, uuid: str) -> bool:
        """Return whether the session's file does not mention an id."""
        return not self._ledger.file_exists or uuid.encode() not in self.path.read_bytes()

    def write_file_history(self, body: Object) -> None:
        """Name the copies of files in the session, outside the chain."""
        with self._lock:
            self._write_lines([dict(body)])

    def get_call_entry(self, call: str) -> str | None:
        """Return the entry of a call that has no result yet."""
        return self._calls.get(call)

    def rewind(self, leaf: str | None) -> None:
        """Continue after an earlier entry, or from the start; the entries after it stay in the file as a branch."""
        with self._lock:
            self._run_before_first_write()
            self.last, self._branches_off = leaf, True
            self._calls.clear()

    # -- sub-agents

    def create_agent_record(
        self,
        call: str,
        agent_id: str,
        agent_type: str,
        prompt: str,
        *,
        description: str = "",
        is_meta: bool = False,
    ) -> SessionRecord:
        """Create a sub-agent's record, which starts with its prompt, as a file in the session's folder."""
        path = self.folder / "subagents" / f"agent-{agent_id}.jsonl"
        resolve_inside(path, self._ledger.root)
        record = SessionRecord(SessionAppender(path, self._ledger.root), self.session_id, self.cwd, agent_id=agent_id)
        record.mirror_lines(self._ledger.mirror)
        record.mode, record.slug, record._branch, record._prompt_id = (
            self.mode,
            self.slug,
            self._branch,
            self._prompt_id,
        )
        record._depth = self._depth + 1
        above = {"parentAgentId": self._agent_id} if self._agent_id else {}
        known = {"description": description} if description else {}
        record._meta = {"agentType": agent_type, **known, "toolUseId": call, "spawnDepth": record._depth, **above}
        record._write_agent_meta()
        meta = {"isMeta": True} if is_meta else {}
        record._write_entry(line_bodies.build_user_line(prompt, self._prompt_id, **meta))
        return record

    def finish_agent(self) -> None:
        self._meta["finished"] = True
        self._write_agent_meta()

    def _write_agent_meta(self) -> None:
        """Write the file that names a sub-agent's call, next to the sub-agent's transcript."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.path.with_suffix(".meta.json"), encode_json_line(self._meta), root=self._ledger.root)


def find_project_dir(config_dir: Path, cwd: Path) -> Path:
    """Return the folder that contains the sessions of a working folder, with links resolved."""
    return config_dir / "projects" / make_slug(normalize("NFC", str(cwd.resolve())))
