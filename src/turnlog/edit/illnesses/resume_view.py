"""The part of a session that would be shown on resume, and the reason why the rest is not shown."""

from __future__ import annotations

from functools import cached_property

from turnlog.entries.entry import Entry
from turnlog.errors import Refused
from turnlog.session.graph import get_message_id, is_boundary, is_said
from turnlog.session.resume.attachment_faults import AttachmentFault, list_attachment_faults
from turnlog.session.resume.resume_thread import build_resume_thread, find_current_leaf
from turnlog.session.resume.row_chain import add_side_rows
from turnlog.session.resume.rows import ResumeRows
from turnlog.session.session import Session


class ResumeView:
    """A session, and the part of it that the newest client would show."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.rows = ResumeRows(session.file)
        self.refusal: str | None = None
        """The reason why the client would not resume the session."""
        self.chain: list[Entry] = []
        """The entries from the root to the leaf, following only parents."""
        self.thread: list[Entry] = []
        """The entries that would be resumed, in order."""
        try:
            self._fill_thread()
        except Refused as reason:
            self.refusal = str(reason)

    def _fill_thread(self) -> None:
        """Build the same thread as `build_resume_thread`, but also store the rows and the chain."""
        chain = self.rows.build_chain(find_current_leaf(self.rows).uuid)
        rows = add_side_rows(self.rows, chain)
        if not any(row.message and row.message.content for row in rows):
            build_resume_thread(self.session.file)  # raises Refused if nothing can be resumed
        self.chain, self.thread = chain, rows

    @cached_property
    def attachment_faults(self) -> list[AttachmentFault]:
        """The attachments because of which the client would not resume the session."""
        return list(list_attachment_faults(self.session.file, self.thread))

    @property
    def is_resumed(self) -> bool:
        """Whether the client would resume the session."""
        return self.refusal is None and not self.attachment_faults

    @cached_property
    def members(self) -> frozenset[int]:
        """The indexes of the entries that would be resumed."""
        return frozenset(row.index for row in self.thread)

    @cached_property
    def walk_end(self) -> str:
        """Where the chain of parents ends: root, compaction, missing (the parent can't be found), cycle or nothing."""
        if not self.chain:
            return "nothing"
        parent = self.rows.up[self.chain[0].uuid]
        if parent is None:
            return "root"
        above = self.rows.rows.get(parent)
        if above is None:  # in a large file, the client does not even read what comes before a compaction
            return "compaction" if parent in self.session.file.by_uuid else "missing"
        return "compaction" if is_boundary(above) else "cycle"

    @cached_property
    def hidden_before(self) -> list[Entry]:
        """Prompts and answers since the last compaction that precede the first shown entry and are not shown."""
        if self.walk_end not in ("root", "missing"):
            return []
        top = self.chain[0]
        since = max((row.index for row in self.session.graph.compactions if row.index < top.index), default=-1)
        return [row for row in self._hidden_rows if since < row.index < top.index]

    @cached_property
    def hidden_after(self) -> list[Entry]:
        """Prompts and answers after the last entry that is shown."""
        last = max(self.members, default=-1)
        return [row for row in self._hidden_rows if row.index > last >= 0]

    @cached_property
    def _hidden_rows(self) -> list[Entry]:
        """Prompts and answers that are not shown, except further lines of messages that are shown."""
        shown = {get_message_id(row) for row in self.thread} - {None}
        return [
            row
            for row in self.session.graph.rows
            if row.index not in self.members
            and not row.is_lost
            and is_said(row)
            and not row.is_api_error_message
            and get_message_id(row) not in shown
        ]
