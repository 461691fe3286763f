"""The commands by name, and where each one lives.

The table is data, so that `turnlog --help` and the check of the documentation import no command.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One command: where to find it, and what it does in one line."""

    target: str
    help: str
    is_hidden: bool = False
    """Nobody calls it by hand."""


COMMANDS: dict[str, Row] = {
    "web": Row("turnlog.cli.web.web:web", "Show the sessions of this machine in a browser."),
    "chat": Row(
        "turnlog.cli.chat.chat:chat", "Talk to a model that works in this folder; Claude Code can go on with it."
    ),
    "ls": Row("turnlog.cli.sessions.ls:ls", "List the sessions of this machine."),
    "show": Row("turnlog.cli.show.show:show", "Show one session: its turns, calls and sub-agents."),
    "search": Row("turnlog.cli.search.search:search", "Find texts in all sessions."),
    "messages": Row(
        "turnlog.cli.show.messages:messages", "Print what the API would be sent if a session were resumed."
    ),
    "context": Row("turnlog.cli.usage.context:context", "Show what fills the context window of a session."),
    "statusline": Row("turnlog.cli.statusline.statusline:statusline", "Print a status line for the client."),
    "files": Row("turnlog.cli.files.files:files", "Say which files were read and changed, and rebuild the changes."),
    "restore": Row("turnlog.cli.files.restore:restore", "Write a version of a file that a session knows of."),
    "tools": Row("turnlog.cli.usage.tools:tools", "Count calls by tool: how many, how they ended, how long they took."),
    "usage": Row(
        "turnlog.cli.usage.usage:usage", "Add up tokens and cost by day, session, project, model, tool or block."
    ),
    "check": Row("turnlog.cli.health.check:check", "Say what is broken, unusual or new in session files."),
    "doctor": Row("turnlog.cli.health.doctor:doctor", "Say what ails a session, in your words, and the remedy."),
    "repair": Row("turnlog.cli.health.repair:repair", "Repair what ails a session, as a new one or in its place."),
    "salvage": Row("turnlog.cli.health.salvage:salvage", "List what is left of sessions whose transcript is gone."),
    "cat": Row("turnlog.cli.show.cat:cat", "Write the entries of a file back, byte for byte."),
    "archive": Row("turnlog.cli.archive.archive:archive", "Keep sessions that the client would delete."),
    "pack": Row("turnlog.cli.edit.pack:pack", "Pack sessions with all that belongs to them into one file."),
    "unpack": Row("turnlog.cli.edit.unpack:unpack", "Put the sessions of a package into their places."),
    "clone": Row("turnlog.cli.edit.clone:clone", "Make a new session from another, as it is or edited on the way."),
    "strip": Row("turnlog.cli.edit.strip:strip", "Say what stripping a session would save."),
    "fork": Row("turnlog.cli.edit.fork:fork", "Make a new session that goes on from any point of another."),
    "tree": Row("turnlog.cli.sessions.tree:tree", "Show projects, sessions, and what came from what."),
    "export": Row(
        "turnlog.cli.export.export:export", "Write sessions for others: HTML, Markdown, text, PDF, JSON, Parquet."
    ),
    "trace": Row(
        "turnlog.cli.trace.trace:trace", "Send sessions to tracing backends: Langfuse, Phoenix, MLflow and others."
    ),
    "hook": Row("turnlog.cli.trace.hook:hook", "Have the client send each turn to a tracing backend when it ends."),
    "redact": Row("turnlog.cli.edit.redact:redact", "Find secrets in a session, and make a copy without them."),
    "rename": Row("turnlog.cli.edit.rename:rename", "Give a session a title."),
    "tag": Row("turnlog.cli.edit.tag:tag", "Give a session a tag, or take it away."),
    "delete": Row("turnlog.cli.edit.delete:delete", "Move sessions into the trash, or empty it."),
    "undelete": Row("turnlog.cli.edit.undelete:undelete", "Bring a deleted session back."),
    "move": Row("turnlog.cli.edit.move:move", "Let the sessions of a project follow when its folder was renamed."),
    "undo": Row("turnlog.cli.edit.undo:undo", "Take back what turnlog has changed, byte for byte."),
    "index": Row("turnlog.cli.index:index", "Bring the index of all sessions up to date, or look after it."),
}

DEFAULT = "web"
PIPED = "ls"
"""What no words mean where standard output is no terminal."""
