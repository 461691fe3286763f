"""A session's files step by step: what each touch and each copy tells of a file's content.

One walk in order of time keeps what every file is known to hold. What is told later corrects it: the file that an
edit found, a copy, another look. A change by a command or a person that nobody recorded shows only then.
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

exact: a copy, or a text that was written whole; text: shown whole, with line ends and byte order mark as the client
shows them; rebuilt: a change applied to what was known; partial: some lines, or bytes that are no text; unknown.
"""
COPY_SOURCE = "file-history"
DAMAGED_NOTE = "bytes that are no UTF-8 were lost"
ENCODING_NOTE = "the encoding of the file is not known; this is UTF-8"
COPY_GONE_NOTE = "the copy is no longer there"
CHANGED_ELSEWHERE_NOTE = "changed by somebody else meanwhile"


class FileStep(Struct):
    """What one touch or copy tells of a file."""

    path: str
    action: str
    """read, write, edit, attach, change (by somebody else), or copy."""
    source: str
    """The tool, the kind of the attachment, or COPY."""
    place: float
    time: str | None
    turn: Turn | None
    agent: SubAgent | None = None
    call_id: str | None = None
    before: FileContent | None = None
    """What a write or an edit found."""
    after: FileContent | None = None
    """What the file holds after it, as far as that is known as a whole."""
    data: bytes | None = None
    """The bytes of a copy."""
    part: ShownLines | None = None
    """The lines that were shown, when that was not the whole file."""
    sure: Sureness = "unknown"
    absent: bool = False
    """There is no such file."""
    created: bool = False
    """There was no such file before."""
    hunks: tuple[Hunk, ...] | None = None
    """What a write or an edit changed; None when that can't be rebuilt."""
    rebuilt_from: str = "none"
    """Where the hunks come from: the client's `patch`, the `texts` before and after, or `none`."""
    user_modified: bool = False
    """A person changed what the model had proposed."""
    note: str | None = None

    @property
    def changes_file(self) -> bool:
        """Whether the file is another one after it."""
        return self.action in ("write", "edit", "change")


def list_file_steps(session: Session, wanted: Callable[[str], bool] = bool) -> Iterator[FileStep]:
    """What a session tells of its files' contents, in order of time; only of files whose path is wanted."""
    events: list[Touch | FileBackup] = [item for item in list_file_backups(session) if wanted(item.path)]
    events += [item for item in list_touches(session) if item.outcome == "done" and wanted(item.path)]
    ledger = _KnownFiles()
    for event in sorted(events, key=lambda event: event.place):
        yield ledger.add_backup(event) if isinstance(event, FileBackup) else ledger.add_touch(event)


class _KnownFiles:
    """What every file is known to hold at the moment."""

    def __init__(self) -> None:
        self._known: dict[str, FileContent] = {}
        self._form: dict[str, FileContent] = {}
        """The last content, even if it is no longer the file's: line ends and encoding stay."""
        self._absent: set[str] = set()
        self._strange: set[str] = set()
        """Files whose encoding is not known."""

    def add_backup(self, copy: FileBackup) -> FileStep:
        """A copy that the client took."""
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
        if step.after is not None and "\ufffd" in step.after.text:  # some versions copy files as if all were UTF-8
            self._note_odd_text(step, step.after.text)
            step.after = None
        self._learn_content(copy.path, step.after)
        return step

    def add_touch(self, touch: Touch) -> FileStep:
        """A call or an attachment."""
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

    def _take_shown_lines(self, step: FileStep, found: ShownLines | None) -> None:
        if found is None:
            step.note = "no text was shown"
        elif is_damaged_text(found.text):
            step.part = found
            self._note_odd_text(step, found.text)
        elif not found.is_whole:
            step.part, step.sure = found, "partial"
        else:
            known = self._known.get(step.path)
            same = known is not None and strip_file_form(known.text) == strip_file_form(found.text)
            step.after = known if same else restore_file_form(found.text, self._form.get(step.path))
            step.sure = "text"
            self._learn_content(step.path, step.after)

    def _build_change(self, touch: Touch, found: CallDetail, step: FileStep) -> FileChange:
        path = touch.path
        result = found.structured if isinstance(found.structured, dict) else {}
        step.user_modified = result.get("userModified") is True
        known = self._known.get(path) or self._find_known_form(path, result)
        if touch.tool == "Write":
            return build_write_change(found.input, result, known)
        if touch.tool == "NotebookEdit":
            return build_notebook_change(result, known)
        if touch.tool in ("Edit", "MultiEdit"):
            return build_edit_change(found.input, result, known, absent=path in self._absent)
        items = read_changed_files(touch.holder.read_body(touch.entry)).items()
        item = next((item for name, item in items if resolve_touched_path(name, touch.entry.cwd) == path), {})
        return build_command_change(item, known)

    def _find_known_form(self, path: str, result: dict[str, Any]) -> FileContent | None:
        """The form of a file that is no longer known, where the result itself tells what it held."""
        tells = (isinstance(result.get(name), str) for name in ("originalFile", "originalFileContents"))
        return self._form.get(path) if any(tells) else None

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
        """Take note of a text that is not all of its file."""
        step.sure, step.note = "partial", DAMAGED_NOTE
        if "\0" in text:  # most likely UTF-16 that was taken for UTF-8
            self._strange.add(step.path)

    def _learn_content(self, path: str, found: FileContent | None) -> None:
        self._absent.discard(path)
        if found is None:
            self._forget_content(path)
        else:
            self._known[path] = self._form[path] = found

    def _forget_content(self, path: str) -> None:
        self._known.pop(path, None)
