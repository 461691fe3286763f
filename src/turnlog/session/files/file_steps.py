"""Follows a session's files step by step: what each touch and each copy reveals about a file's content.

One chronological walk tracks the known content of every file. Later information corrects it: the file as an edit found
it, a copy, or another read. A change by a command or a person that was not recorded is detected only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from turnlog.session.agents import SubAgent
from turnlog.session.calls import CallDetail, read_call_detail
from turnlog.session.files.backups import FileBackup, list_file_backups
from turnlog.session.files.changes import (
    FileChange,
    build_command_change,
    build_edit_change,
    build_notebook_change,
    build_write_change,
)
from turnlog.session.files.contents import (
    FileContent,
    decode_file_content,
    is_damaged_text,
    restore_file_form,
    strip_file_form,
)
from turnlog.session.files.patches import Hunk
from turnlog.session.files.shown_lines import ShownLines, parse_read_call, parse_shown_file
from turnlog.session.files.touches import Touch, list_touches, read_changed_files, resolve_touched_path
from turnlog.session.turns import Turn

if TYPE_CHECKING:
    from turnlog.session.session import Session

Sureness = Literal["exact", "text", "rebuilt", "partial", "unknown"]
"""How well the content after a step is known.

exact: a copy, or text that was written as a whole; text: shown as a whole, with line ends and byte order mark as the
client shows them; rebuilt: a change applied to known content; partial: some lines, or bytes that are not text; unknown.
"""
COPY_SOURCE = "file-history"
DAMAGED_NOTE = "bytes that are not UTF-8 were lost"
ENCODING_NOTE = "the encoding of the file is unknown; this is UTF-8"
COPY_GONE_NOTE = "the copy no longer exists"
CHANGED_ELSEWHERE_NOTE = "changed outside the session in the meantime"


class FileStep(Struct):
    """What one touch or copy reveals about a file."""

    path: str
    action: str
    """read, write, edit, attach, change (by somebody else), or copy."""
    source: str
    """The tool, the kind of the attachment, or COPY_SOURCE."""
    place: float
    time: str | None
    turn: Turn | None
    agent: SubAgent | None = None
    call_id: str | None = None
    before: FileContent | None = None
    """The content that a write or an edit found."""
    after: FileContent | None = None
    """The content of the file after the step, if all of it is known."""
    data: bytes | None = None
    """The bytes of a copy."""
    part: ShownLines | None = None
    """The lines that were shown, if they were not the whole file."""
    sure: Sureness = "unknown"
    absent: bool = False
    """Whether the file does not exist."""
    created: bool = False
    """Whether the file did not exist before the step."""
    hunks: tuple[Hunk, ...] | None = None
    """The change that a write or an edit made; None if it can't be rebuilt."""
    rebuilt_from: str = "none"
    """Where the hunks come from: the client's `patch`, the `texts` before and after, or `none`."""
    user_modified: bool = False
    """Whether a person changed what the model had proposed."""
    note: str | None = None

    @property
    def changes_file(self) -> bool:
        return self.action in ("write", "edit", "change")


def list_file_steps(session: Session, wanted: Callable[[str], bool] = bool) -> Iterator[FileStep]:
    """Yield what a session reveals about the files whose paths `wanted` accepts, in chronological order."""
    events: list[Touch | FileBackup] = [item for item in list_file_backups(session) if wanted(item.path)]
    events += [item for item in list_touches(session) if item.outcome == "done" and wanted(item.path)]
    known_files = _KnownFiles()
    for event in sorted(events, key=lambda event: event.place):
        yield known_files.add_backup(event) if isinstance(event, FileBackup) else known_files.add_touch(event)


class _KnownFiles:
    """The currently known content of every file."""

    def __init__(self) -> None:
        self._known: dict[str, FileContent] = {}
        self._form: dict[str, FileContent] = {}
        """The latest content, even if outdated, since line ends and encoding remain the same."""
        self._absent: set[str] = set()
        self._strange: set[str] = set()
        """Files of unknown encoding."""

    def add_backup(self, copy: FileBackup) -> FileStep:
        """Build the step for a copy that the client made."""
        step = FileStep(copy.path, "copy", COPY_SOURCE, copy.place, copy.time, copy.turn)
        if copy.name is None:
            step.absent, step.sure = True, "exact"
            self._forget_content(copy.path)
            self._absent.add(copy.path)
            return step
        step.data = copy.read()
        if step.data is None:
            step.note = COPY_GONE_NOTE
            return step
        step.sure, step.after = "exact", decode_file_content(step.data)
        if step.after is not None and "\ufffd" in step.after.text:  # some versions copy all files as if they were UTF-8
            self._note_odd_text(step, step.after.text)
            step.after = None
        self._learn_content(copy.path, step.after)
        return step

    def add_touch(self, touch: Touch) -> FileStep:
        """Build the step for a call or an attachment."""
        step = FileStep(touch.path, touch.action, touch.tool, touch.place, touch.time, touch.turn, touch.agent)
        step.call_id = touch.call.id if touch.call else None
        if touch.call is None:
            self._take_attachment(step, touch.holder.read_body(touch.entry).get("attachment"))
        elif touch.action == "read":
            self._take_shown_lines(step, parse_read_call(read_call_detail(touch.holder.file, touch.call)))
        else:
            self._take_change(step, self._build_change(touch, read_call_detail(touch.holder.file, touch.call), step))
        return step

    def _take_attachment(self, step: FileStep, attachment: Any) -> None:
        if step.action == "change":
            step.note = CHANGED_ELSEWHERE_NOTE
            self._forget_content(step.path)
            return
        fields = attachment if isinstance(attachment, dict) else {}
        self._take_shown_lines(step, parse_shown_file(fields.get("content"), truncated=fields.get("truncated") is True))

    def _take_shown_lines(self, step: FileStep, lines: ShownLines | None) -> None:
        if lines is None:
            step.note = "no text was shown"
        elif is_damaged_text(lines.text):
            step.part = lines
            self._note_odd_text(step, lines.text)
        elif not lines.is_whole:
            step.part, step.sure = lines, "partial"
        else:
            known = self._known.get(step.path)
            same = known is not None and strip_file_form(known.text) == strip_file_form(lines.text)
            step.after = known if same else restore_file_form(lines.text, self._form.get(step.path))
            step.sure = "text"
            self._learn_content(step.path, step.after)

    def _build_change(self, touch: Touch, detail: CallDetail, step: FileStep) -> FileChange:
        path = touch.path
        result = detail.structured if isinstance(detail.structured, dict) else {}
        step.user_modified = result.get("userModified") is True
        known = self._known.get(path) or self._find_known_form(path, result)
        if touch.tool == "Write":
            return build_write_change(detail.input, result, known)
        if touch.tool == "NotebookEdit":
            return build_notebook_change(result, known)
        if touch.tool in ("Edit", "MultiEdit"):
            return build_edit_change(detail.input, result, known, absent=path in self._absent)
        items = read_changed_files(touch.holder.read_body(touch.entry)).items()
        item = next((item for name, item in items if resolve_touched_path(name, touch.entry.cwd) == path), {})
        return build_command_change(item, known)

    def _find_known_form(self, path: str, result: dict[str, Any]) -> FileContent | None:
        """Return the form of a file whose content is unknown, if the result itself contains the earlier text."""
        has_text = any(isinstance(result.get(name), str) for name in ("originalFile", "originalFileContents"))
        return self._form.get(path) if has_text else None

    def _take_change(self, step: FileStep, change: FileChange) -> None:
        step.before, step.after, step.hunks = change.before, change.after, change.hunks
        step.created, step.note, step.rebuilt_from = change.created, change.note, change.source
        if change.after is None:
            self._forget_content(step.path)
            return
        step.sure = "exact" if step.action == "write" else "rebuilt"
        if step.path in self._strange:
            step.note = ENCODING_NOTE
        self._learn_content(step.path, change.after)

    def _note_odd_text(self, step: FileStep, text: str) -> None:
        """Mark a step whose text the client could not decode correctly."""
        step.sure, step.note = "partial", DAMAGED_NOTE
        if "\0" in text:  # most likely UTF-16 decoded as UTF-8
            self._strange.add(step.path)

    def _learn_content(self, path: str, content: FileContent | None) -> None:
        self._absent.discard(path)
        if content is None:
            self._forget_content(path)
        else:
            self._known[path] = self._form[path] = content

    def _forget_content(self, path: str) -> None:
        self._known.pop(path, None)
