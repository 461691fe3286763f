"""The catalogue of what can ail a session: for each kind what a person notices, where it comes from, and the remedy.

The names are stable: `turnlog repair --only KIND` and programs go by them. Numbers in brackets are issues of
anthropics/claude-code in which people described it.
"""

from __future__ import annotations

from typing import NamedTuple

REPAIR_COMMAND = "turnlog repair {session} --only {kind}"


class Illness(NamedTuple):
    """One kind of trouble."""

    notice: str
    """What you would notice."""
    cause: str
    """Where it comes from, as far as that is known."""
    remedy: str = REPAIR_COMMAND
    """A command, or what to do; {session}, {kind}, {project} and {path} are filled in."""

    def describe_cure(self, kind: str, session: str, path: str = "", project: str = "") -> str:
        """The remedy for one session."""
        named = {"session": session, "kind": kind, "path": path, "project": project}
        return self.remedy.format(**named)


_LOST_LINK_CAUSE = "the client named an entry that it never wrote, or a tool removed it (#21617, #22526, #46603)"

ILLNESSES: dict[str, Illness] = {
    # -- lines
    "torn-line": Illness(
        "The last thing that was said is missing, and an old client may swallow the next one too.",
        "the client or the machine stopped in the middle of a line; clients up to 2.1.45 write behind it",
    ),
    "broken-line": Illness(
        "A part of the conversation is missing without a word.",
        "a line was cut, overwritten or edited by hand; clients pass over what is no JSON",
    ),
    "glued-line": Illness(
        "A prompt or answer is missing, and what followed from it hangs in the air.",
        "two entries share a line, because the line before was torn or two processes wrote at once (#52387)",
    ),
    "control-bytes": Illness(
        "A part of the conversation is missing, or editors call the file binary.",
        "a crash of the machine left NUL bytes, or control characters were written unescaped",
    ),
    # -- links
    "missing-parent": Illness(
        "Resume shows only the last few messages though the file is whole.",
        _LOST_LINK_CAUSE,
    ),
    "parent-in-agent": Illness(
        "Resume shows only the last few messages though the file is whole.",
        "some clients (2.1.23 – 2.1.45) wrote lines of the conversation into the file of a sub-agent only (#23375)",
    ),
    "snapshot-id": Illness(
        "Resume shows only the last message though the file is whole.",
        "a snapshot of files was written for a message that itself never was (#24304, #36583)",
    ),
    "duplicate-uuid": Illness(
        "Messages appear in the wrong order, twice, or not at all.",
        "a hook's or a tool's lines were written again under the same ids",
    ),
    "cycle": Illness(
        "Resuming hangs, or shows the same few messages.",
        "ids that were written twice, or an edit, made entries their own ancestors",
    ),
    "several-roots": Illness(
        "Resume shows only what came after some point.",
        "a rewind to the beginning or a cleared context, which is fine; or a link that was written empty",
    ),
    "other-session": Illness(
        "Texts of another conversation turn up in this one.",
        "another session's lines were written into this file (#26964, #30802)",
    ),
    "two-writers": Illness(
        "Every resume shows one half of the conversation, now this one, now the other.",
        "two clients had the session open at the same time (#39151, #80427)",
    ),
    # -- what a resume shows
    "refused": Illness(
        "“No conversation found with session ID …”",
        "nothing in the file is a prompt or answer with a time, outside of sub-agents",
    ),
    "unreadable": Illness(
        "The client says nothing, and does not list it.",
        "the file or its folder may not be read, or is none",
        "see to it that {path} can be read",
    ),
    "no-session": Illness(
        "The client does not know the file at all.",
        "another program wrote it",
        "none: it is no session of Claude Code",
    ),
    "hidden-tail": Illness(
        "Resume shows only the tail of the conversation though the file is whole.",
        _LOST_LINK_CAUSE,
    ),
    "hidden-end": Illness(
        "Resume goes back: what was said last is not shown.",
        "something was added to the file without telling the client where to go on (`last-prompt`)",
    ),
    "hidden-answer": Illness(
        "An answer that you have read is gone after a resume, and the model does not know of it.",
        "a line of the client was hung beside the answer, a moment later, and all else below that line (#88597)",
    ),
    "stale-parent": Illness(
        "After a resume the model remembers what was compacted, and has forgotten what came after.",
        "the client went on from an entry before the last compaction",
    ),
    "lost-preserved": Illness(
        "After a resume the messages that the last compaction kept are gone.",
        "one of them was removed from the file; the client then keeps none",
    ),
    "lost-leaf": Illness(
        "Nothing, as long as the last line of the file is where you want to go on.",
        "the entry that the client's mark names was removed",
    ),
    # -- what the API refuses
    "unanswered-call": Illness(
        "“API Error: 400 … `tool_use` ids were found without `tool_result` blocks immediately after”",
        "the client ended while a tool ran (#9346, #1894, #45286); new clients leave the call and its text out",
    ),
    "orphan-result": Illness(
        "“API Error: 400 … unexpected `tool_use_id` found in `tool_result` blocks”",
        "the call was never written, or removed; client 2.0.76 sends the result all the same",
    ),
    "late-result": Illness(
        "“API Error: 400 … `tool_use` ids were found without `tool_result` blocks immediately after”, "
        "or the model says that a result is missing",
        "something else was written between a call and its result",
    ),
    "bad-thinking": Illness(
        "“API Error: 400 … Invalid `signature` in `thinking` block”",
        "another provider's model, a proxy or an edit wrote thinking without a valid signature (#21726, #10199)",
    ),
    "bad-image": Illness(
        "“API Error: 400 … Could not process image”, and every further prompt fails in the same way.",
        "an image that is too large, damaged, or not of the kind it says (#13480, #16173, #34025, #55200)",
    ),
    "long-tool-name": Illness(
        "“API Error: 400 … tool_use.name: String should have at most 200 characters”",
        "the model wrote something else in the place of a tool's name",
    ),
    # -- size
    "giant-result": Illness(
        "Resuming takes long or hangs; the context is full at once.",
        "a tool gave megabytes, and the client kept them (#24118, #21120)",
    ),
    "progress-bloat": Illness(
        "Resuming takes long though little was said.",
        "clients from 2.1.11 to 2.1.81 wrote every step of sub-agents and hooks into the file (#23373, #24457)",
    ),
    # -- around the file
    "not-in-picker": Illness(
        "The client's list of sessions does not have it.",
        "the list only has sessions of people, by their folder and name",
    ),
    "stale-index": Illness(
        "The list of sessions of clients around 2.1.30 does not have it, or shows old titles.",
        "the project's sessions-index.json was not kept up to date (#25032, #21610)",
        "move {project}/sessions-index.json away; the client writes it anew",
    ),
    "missing-cwd": Illness(
        "The session can't be resumed from the list: its folder does not exist.",
        "the project was moved, renamed or deleted, or its git worktree removed (#83146, #84209, #76446)",
        "turnlog move OLD NEW, if the project has a new place",
    ),
    "title-not-in-tail": Illness(
        "The title that you gave is not shown in the client's list.",
        "the list looks at both ends of a file only, and the title stands between (#28249, #47550)",
        "turnlog rename {session} TITLE",
    ),
    # -- the machine
    "broken-state-file": Illness(
        "The client asks for sign-in and trust again, or does not start.",
        "its state file was cut while two clients wrote it (#3117, #28888)",
        "take the newest copy from the client's backups folder: {path}",
    ),
    "transcript-gone": Illness(
        "Prompts that you typed are in the history, but their sessions are not in any list.",
        "the client deletes sessions after some weeks, and keeps other traces (#62476, #29923)",
        "turnlog salvage {session}",
    ),
}
"""The kinds by name."""
