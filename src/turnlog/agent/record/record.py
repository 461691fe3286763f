"""A session on its way to disk: what is said, done and told in a turn, as lines of its chain.

Every method writes before it returns. Results of parallel calls stand one behind the other, each with its own call as
`sourceToolAssistantUUID`, so that clients which only walk up the chain lose none of them.
"""

from __future__ import annotations

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
    """Writes one session, or one sub-agent's part of it; may be called by several threads."""

    def __init__(self, ledger: SessionAppender, session_id: str, cwd: Path, **chain: Any) -> None:
        super().__init__(ledger, session_id, cwd, **chain)
        self._calls: dict[str, str] = {}
        """The lines of calls that have no result yet."""
        self._answers: set[str] = set()
        self._steps = 0
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
        """A new session of a folder; its file appears with the first line."""
        name = session_id or create_record_id()
        if not is_session_id(name):
            raise UsageError(f"{name!r} is no session id: that is a UUID")
        path = find_project_dir(config_dir, cwd) / f"{name}.jsonl"
        if path.exists():
            raise UsageError(f"the session id {name} is in use; resume that session, or take another id")
        made = cls(SessionAppender(path, config_dir / "projects"), name, cwd, since=since)
        made.mode = mode
        return made

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
        """A session that goes on behind a link of its chain; `resume.taken_up` knows all that is asked for here.

        `size` is how far the file was read: what was added since is looked at before the first line is written.
        """
        root = path.parent.parent if path.parent.parent.name == "projects" else path.parent
        ledger = SessionAppender(path, root, size)
        return cls(ledger, path.stem, cwd, last=leaf, since=since, is_branch=is_branch)

    def begin_with_copies(self, copies: bytes, leaf: str, prompt: str) -> None:
        """Begin with lines of another session, as they are, and go on behind one of them."""
        with self._lock:
            self.last, self._said = leaf, prompt
            self._ledger.append_bytes(copies)
            self._write_lines(self._build_description_lines())

    # -- what is said

    def write_prompt(self, content: LineContent, *, meta: bool = False, typed: bool = True, **fields: Any) -> str:
        """What a person said, which begins a turn; or, with `meta`, what the client says to the model."""
        with self._lock:
            if meta:
                return self._write_client_content(content, fields)
            self._prompt_id, self._branch, self._links = create_record_id(), read_git_branch(self.cwd), 0
            self._said = line_bodies.extract_content_text(content)
            origin = {"origin": {"kind": "human"}} if typed and not self._agent_id else {}
            source = {"permissionMode": self.mode, **origin, "promptSource": "typed" if typed else "sdk"}
            before, own, behind = line_bodies.split_prompt(content)
            self._write_client_content(before, {"turnCompanion": True})
            prompt = self._write_link(line_bodies.build_user_line(own, self._prompt_id, **{**source, **fields}))
            self._write_client_content(behind, {"turnCompanion": True})
            return prompt

    def _write_client_content(self, content: LineContent, fields: LineBody) -> str:
        """A line for each block: 2.1.29 writes a session anew, and so twice, in which a line has several."""
        parts = [content] if isinstance(content, str) else [[block] for block in content]
        uuids = [
            self._write_link(line_bodies.build_user_line(part, self._prompt_id, isMeta=True, **fields))
            for part in parts
        ]
        return uuids[-1] if uuids else str(self.last)

    def write_answer(self, answer: ModelAnswer, *, goes_on: bool = False) -> str:
        """An answer, block by block; lines of one id are one answer, so it gets an id that no other has.

        Gives the id; under it another one may say that it `goes_on`.
        """
        if not goes_on and (not answer.id or answer.id in self._answers):
            answer = replace(answer, id=f"msg_{create_record_id()}")
        cut = {"isAbortedMidStream": True} if answer.stop_reason is None else {}
        with self._lock:
            self._answers.add(answer.id)
            for index, block in enumerate(answer.content):
                uuid = self._write_link(
                    {**line_bodies.build_assistant_line(answer, block), "apiBlockIndex": index, **cut}
                )
                if block.get("type") == "tool_use":
                    self._calls[str(block.get("id"))] = uuid
        return answer.id

    def write_result(self, call: str, result: CallResult, source: str | None = None, **fields: Any) -> str:
        """What came of a call; `source` is the line of the call, if it was not written by this record."""
        with self._lock:
            told = line_bodies.build_structured_result(result)
            more = {} if told is None else {"toolUseResult": told}
            caller = source or self._calls.pop(call, None)
            if caller:
                more["sourceToolAssistantUUID"] = caller
            return self._write_link(
                line_bodies.build_user_line(
                    [line_bodies.build_result_block(call, result)], self._prompt_id, **more, **fields
                )
            )

    def write_addition(self, content: LineContent) -> str:
        """More that was said under the same prompt: what came of a command of the person's own."""
        return self._write_link(line_bodies.build_user_line(content, self._prompt_id))

    def write_interruption(self, *, for_tool: bool = False) -> str:
        """A person stopped the turn."""
        text = line_bodies.INTERRUPTED_CALL_TEXT if for_tool else line_bodies.INTERRUPTED_TEXT
        return self._write_link(line_bodies.build_user_line([{"type": "text", "text": text}], self._prompt_id))

    def write_synthetic_answer(self, text: str) -> str:
        """An answer in the place of one that the model did not give."""
        return self._write_link(line_bodies.build_synthetic_line(text, create_record_id()))

    def write_failure(
        self, text: str, error: str = "unknown", status: int | None = None, kind: str | None = None
    ) -> str:
        """A request failed for good: people see it, the model does not."""
        known = {"apiErrorStatus": status, "apiErrorType": kind}
        fields = {key: value for key, value in known.items() if value is not None}
        return self._write_link(
            line_bodies.build_synthetic_line(text, create_record_id(), error=error, isApiErrorMessage=True, **fields)
        )

    def write_local_command(self, name: str, args: str = "", stdout: str = "", *, is_sent: bool = True) -> str:
        """A command that the client carried out itself; what is not sent is kept for people alone."""
        with self._lock:
            said = [line_bodies.format_command(name, args), line_bodies.format_command_output(stdout)]
            if not is_sent:
                shown = {"level": "info", "isMeta": False, "isDisplayOnly": True}
                return [
                    self._write_link(line_bodies.build_system_line("local_command", content=text, **shown))
                    for text in said
                ][-1]
            self.write_prompt(line_bodies.LOCAL_COMMAND_CAVEAT, meta=True)
            return [self._write_link(line_bodies.build_user_line(text, self._prompt_id)) for text in said][-1]

    # -- what the client tells of itself

    def write_retry(self, event: RetryStarted) -> str:
        """A request failed and is tried again; the first attempt is no retry."""
        status = {} if event.status is None else {"status": event.status}
        error = {"message": event.reason, "formatted": event.reason, **status}
        counts = {"retryAttempt": event.attempt - 1, "maxRetries": event.attempts - 1}
        return self._write_link(
            line_bodies.build_system_line(
                "api_error", level="error", error=error, retryInMs=round(event.wait * 1000), **counts
            )
        )

    def write_turn_end(self, milliseconds: int) -> None:
        """The model has come to rest; what was written is safe from a power failure from here on."""
        with self._lock:
            counts = {"durationMs": milliseconds, "messageCount": self._links, "isMeta": False}
            self._write_link(
                line_bodies.build_system_line("turn_duration", **counts),
                flush=True,
                behind=self._build_description_lines,
            )

    def write_compaction(self, trigger: str, before: int, summary: str, milliseconds: int) -> str:
        """A summary takes the place of all that was said; both lines come in one write, so none is alone.

        Gives the text that stands there: that is what the model is told from now on.
        """
        from turnlog.edit.compress.compact import (
            render_summary_text,  # knows all of a session; most end without a summary
        )

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
        """How a call gets on."""
        with self._lock:
            self._run_before_first_write()
            before, self._steps = self.last, self._steps + 1
            body = self._place_line(line_bodies.build_progress_line(call, self._steps - 1, data))
            self.last = before
            self._write_lines([body])

    # -- what describes the session

    def write_title(self, text: str, *, by_model: bool = False) -> None:
        """Name the session; it is said again behind every turn, where lists of sessions look."""
        with self._lock:
            self.titles = line_bodies.build_title_lines(text, self.session_id, by_model=by_model)
            if self._ledger.file_exists:
                self._write_lines(self.titles)

    def write_queue_operation(self, operation: str, content: str | None = None, **fields: Any) -> None:
        """A prompt waits for its turn (`enqueue`), gets it (`dequeue`), or goes (`remove`)."""
        with self._lock:
            said = {} if content is None else {"content": content}
            body = {"type": "queue-operation", "operation": operation, "timestamp": self._next_timestamp()}
            self._write_lines([{**body, "sessionId": self.session_id, **said, **fields}])

    def write_permission_mode(self, mode: str) -> None:
        """Another permission mode holds from now on."""
        with self._lock:
            self.mode = mode
            if self._ledger.file_exists:
                self._write_lines([{"type": "permission-mode", "permissionMode": mode, "sessionId": self.session_id}])

    # -- sub-agents

    def create_agent_record(
        self,
        call: str,
        agent_id: str,
        agent_type: str,
        prompt: str,
        *,
        description: str = "",
    ) -> SessionRecord:
        """The record of a sub-agent, which begins with its prompt: a file of its own in the session's folder."""
        path = self.folder / "subagents" / f"agent-{agent_id}.jsonl"
        resolve_inside(path, self._ledger.root)
        made = SessionRecord(SessionAppender(path, self._ledger.root), self.session_id, self.cwd, agent_id=agent_id)
        made.mode, made.slug, made._branch, made._prompt_id = self.mode, self.slug, self._branch, self._prompt_id
        made._depth = self._depth + 1
        above = {"parentAgentId": self._agent_id} if self._agent_id else {}
        known = {"description": description} if description else {}
        made._meta = {"agentType": agent_type, **known, "toolUseId": call, "spawnDepth": made._depth, **above}
        made._write_agent_meta()
        made._write_link(line_bodies.build_user_line(prompt, self._prompt_id))
        return made

    def finish_agent(self) -> None:
        """The sub-agent has come to its end."""
        self._meta["finished"] = True
        self._write_agent_meta()

    def _write_agent_meta(self) -> None:
        """Write the file beside a sub-agent's, which says whose it is."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.path.with_suffix(".meta.json"), encode_json_line(self._meta), root=self._ledger.root)


def find_project_dir(config_dir: Path, cwd: Path) -> Path:
    """The folder with the sessions of a working folder, which is named as it really is."""
    return config_dir / "projects" / make_slug(normalize("NFC", str(cwd.resolve())))
