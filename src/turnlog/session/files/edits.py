"""A session's files step by step: what each touch and each copy tells of a file's content.

One walk in order of time keeps what every file is known to hold. What is told later corrects it: the file that an
edit found, a copy, another look. A change by a command or a person that nobody recorded shows only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from turnlog.session.agents import Agent
from turnlog.session.calls import Detail, detail
from turnlog.session.files.backups import Backup, backups
from turnlog.session.files.changes import Change, commanded, edited, noted, written
from turnlog.session.files.contents import Content, bare, decoded, formed, is_damaged
from turnlog.session.files.patches import Hunk
from turnlog.session.files.shown import Shown, shown, shown_by_read
from turnlog.session.files.touches import Touch, changed_files, resolved, touches
from turnlog.session.turns import Turn

if TYPE_CHECKING:
    from turnlog.session.session import Session

Sure = Literal["exact", "text", "rebuilt", "partial", "unknown"]
"""How well the content after a step is known.

exact: a copy, or a text that was written whole; text: shown whole, with line ends and byte order mark as the client
shows them; rebuilt: a change applied to what was known; partial: some lines, or bytes that are no text; unknown.
"""
COPY = "file-history"
DAMAGED = "bytes that are no UTF-8 were lost"
ENCODING = "the encoding of the file is not known; this is UTF-8"
GONE = "the copy is no longer there"
ELSEWHERE = "changed by somebody else meanwhile"


class Step(Struct):
    """What one touch or copy tells of a file."""

    path: str
    action: str
    """read, write, edit, attach, change (by somebody else), or copy."""
    source: str
    """The tool, the kind of the attachment, or COPY."""
    place: float
    time: str | None
    turn: Turn | None
    agent: Agent | None = None
    call_id: str | None = None
    before: Content | None = None
    """What a write or an edit found."""
    after: Content | None = None
    """What the file holds after it, as far as that is known as a whole."""
    data: bytes | None = None
    """The bytes of a copy."""
    part: Shown | None = None
    """The lines that were shown, when that was not the whole file."""
    sure: Sure = "unknown"
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
    def changes(self) -> bool:
        """Whether the file is another one after it."""
        return self.action in ("write", "edit", "change")


def steps(session: Session, wanted: Callable[[str], bool] = bool) -> Iterator[Step]:
    """What a session tells of its files' contents, in order of time; only of files whose path is wanted."""
    events: list[Touch | Backup] = [item for item in backups(session) if wanted(item.path)]
    events += [item for item in touches(session) if item.outcome == "done" and wanted(item.path)]
    ledger = _Ledger()
    for event in sorted(events, key=lambda event: event.place):
        yield ledger.backup(event) if isinstance(event, Backup) else ledger.touch(event)


class _Ledger:
    """What every file is known to hold at the moment."""

    def __init__(self) -> None:
        self._known: dict[str, Content] = {}
        self._form: dict[str, Content] = {}
        """The last content, even if it is no longer the file's: line ends and encoding stay."""
        self._absent: set[str] = set()
        self._strange: set[str] = set()
        """Files whose encoding is not known."""

    def backup(self, copy: Backup) -> Step:
        """A copy that the client took."""
        step = Step(copy.path, "copy", COPY, copy.place, copy.time, copy.turn)
        if copy.name is None:
            step.absent, step.sure = True, "exact"
            self._forget(copy.path)
            self._absent.add(copy.path)
            return step
        step.data = copy.read()
        if step.data is None:
            step.note = GONE
            return step
        step.sure, step.after = "exact", decoded(step.data)
        if step.after is not None and "\ufffd" in step.after.text:  # some versions copy files as if all were UTF-8
            self._odd(step, step.after.text)
            step.after = None
        self._learn(copy.path, step.after)
        return step

    def touch(self, touch: Touch) -> Step:
        """A call or an attachment."""
        step = Step(touch.path, touch.action, touch.tool, touch.place, touch.time, touch.turn, touch.agent)
        step.call_id = touch.call.id if touch.call else None
        if touch.call is None:
            self._attached(step, touch.holder.body(touch.entry).get("attachment"))
        elif touch.action == "read":
            self._seen(step, shown_by_read(detail(touch.holder.file, touch.call)))
        else:
            self._changed(step, self._change(touch, detail(touch.holder.file, touch.call), step))
        return step

    def _attached(self, step: Step, attachment: Any) -> None:
        if step.action == "change":
            step.note = ELSEWHERE
            self._forget(step.path)
            return
        fields = attachment if isinstance(attachment, dict) else {}
        self._seen(step, shown(fields.get("content"), truncated=fields.get("truncated") is True))

    def _seen(self, step: Step, found: Shown | None) -> None:
        if found is None:
            step.note = "no text was shown"
        elif is_damaged(found.text):
            step.part = found
            self._odd(step, found.text)
        elif not found.is_whole:
            step.part, step.sure = found, "partial"
        else:
            known = self._known.get(step.path)
            same = known is not None and bare(known.text) == bare(found.text)
            step.after = known if same else formed(found.text, self._form.get(step.path))
            step.sure = "text"
            self._learn(step.path, step.after)

    def _change(self, touch: Touch, found: Detail, step: Step) -> Change:
        path = touch.path
        result = found.structured if isinstance(found.structured, dict) else {}
        step.user_modified = result.get("userModified") is True
        known = self._known.get(path) or self._like(path, result)
        if touch.tool == "Write":
            return written(found.input, result, known)
        if touch.tool == "NotebookEdit":
            return noted(result, known)
        if touch.tool in ("Edit", "MultiEdit"):
            return edited(found.input, result, known, absent=path in self._absent)
        items = changed_files(touch.holder.body(touch.entry)).items()
        item = next((item for name, item in items if resolved(name, touch.entry.cwd) == path), {})
        return commanded(item, known)

    def _like(self, path: str, result: dict[str, Any]) -> Content | None:
        """The form of a file that is no longer known, where the result itself tells what it held."""
        tells = (isinstance(result.get(name), str) for name in ("originalFile", "originalFileContents"))
        return self._form.get(path) if any(tells) else None

    def _changed(self, step: Step, change: Change) -> None:
        step.before, step.after, step.hunks = change.before, change.after, change.hunks
        step.created, step.note, step.rebuilt_from = change.created, change.note, change.source
        if change.after is None:
            self._forget(step.path)
            return
        step.sure = "exact" if step.action == "write" else "rebuilt"
        if step.path in self._strange:
            step.note = ENCODING
        self._learn(step.path, change.after)

    def _odd(self, step: Step, text: str) -> None:
        """Take note of a text that is not all of its file."""
        step.sure, step.note = "partial", DAMAGED
        if "\0" in text:  # most likely UTF-16 that was taken for UTF-8
            self._strange.add(step.path)

    def _learn(self, path: str, found: Content | None) -> None:
        self._absent.discard(path)
        if found is None:
            self._forget(path)
        else:
            self._known[path] = self._form[path] = found

    def _forget(self, path: str) -> None:
        self._known.pop(path, None)
