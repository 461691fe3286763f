"""The commands by name, and where each one lives.

The table is data, so that `turnlog --help` and the check of the documentation import no command.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple


class CommandRow(NamedTuple):
    """One command: where to find it, and what it does in one line."""

    module: str
    """Where it lives, seen from here; the command has the name of its module."""
    help: str
    is_hidden: bool = False
    """Nobody calls it by hand."""
    changes: str = ""
    """How to call it so that it changes, moves or removes session files; empty: it never does."""
    adds: str = ""
    """How to call it so that it writes a new session beside the others; empty: it never does."""

    def load(self) -> Any:
        """Import the command."""
        return getattr(import_module(self.module, __package__), self.module.rpartition(".")[2])


COMMANDS: dict[str, CommandRow] = {
    "web": CommandRow(".web.web", "Show the sessions of this machine in a browser.", changes="web"),
    "chat": CommandRow(
        ".chat.chat",
        "Talk to a model that works in this folder; Claude Code can go on with it.",
        changes="chat",
        adds="chat",
    ),
    "ls": CommandRow(".sessions.ls", "List the sessions of this machine."),
    "show": CommandRow(".show.show", "Show one session: its turns, calls and sub-agents."),
    "search": CommandRow(".search.search", "Find texts in all sessions."),
    "messages": CommandRow(".show.messages", "Print what the API would be sent if a session were resumed."),
    "context": CommandRow(".usage.context", "Show what fills the context window of a session."),
    "statusline": CommandRow(".statusline.statusline", "Print a status line for the client."),
    "files": CommandRow(".files.files", "Say which files were read and changed, and rebuild the changes."),
    "restore": CommandRow(".files.restore", "Write a version of a file that a session knows of."),
    "tools": CommandRow(".usage.tools", "Count calls by tool: how many, how they ended, how long they took."),
    "usage": CommandRow(".usage.usage", "Add up tokens and cost by day, session, project, model, tool or block."),
    "check": CommandRow(".health.check", "Say what is broken, unusual or new in session files."),
    "doctor": CommandRow(".health.doctor", "Say what ails a session, in your words, and the remedy."),
    "repair": CommandRow(
        ".health.repair",
        "Repair what ails a session, as a new one or in its place.",
        changes="repair --in-place",
        adds="repair",
    ),
    "salvage": CommandRow(
        ".health.salvage", "List what is left of sessions whose transcript is gone.", adds="salvage --session"
    ),
    "cat": CommandRow(".show.cat", "Write the entries of a file back, byte for byte."),
    "archive": CommandRow(".archive.archive", "Keep sessions that the client would delete.", changes="archive restore"),
    "pack": CommandRow(".edit.pack", "Pack sessions with all that belongs to them into one file."),
    "unpack": CommandRow(".edit.unpack", "Put the sessions of a package into their places.", adds="unpack"),
    "clone": CommandRow(".edit.clone", "Make a new session from another, as it is or edited on the way.", adds="clone"),
    "strip": CommandRow(".edit.strip", "Say what stripping a session would save."),
    "fork": CommandRow(".edit.fork", "Make a new session that goes on from any point of another.", adds="fork"),
    "tree": CommandRow(".sessions.tree", "Show projects, sessions, and what came from what."),
    "export": CommandRow(".export.export", "Write sessions for others: HTML, Markdown, text, PDF, JSON, Parquet."),
    "trace": CommandRow(".trace.trace", "Send sessions to tracing backends: Langfuse, Phoenix, MLflow and others."),
    "hook": CommandRow(".trace.hook", "Have the client send each turn to a tracing backend when it ends."),
    "redact": CommandRow(
        ".edit.redact", "Find secrets in a session, and make a copy without them.", adds="redact --clone"
    ),
    "rename": CommandRow(".edit.rename", "Give a session a title.", changes="rename"),
    "tag": CommandRow(".edit.tag", "Give a session a tag, or take it away.", changes="tag"),
    "delete": CommandRow(".edit.delete", "Move sessions into the trash, or empty it.", changes="delete"),
    "undelete": CommandRow(".edit.undelete", "Bring a deleted session back.", changes="undelete"),
    "move": CommandRow(
        ".edit.move", "Let the sessions of a project follow when its folder was renamed.", changes="move"
    ),
    "undo": CommandRow(".edit.undo", "Take back what turnlog has changed, byte for byte.", changes="undo"),
    "index": CommandRow(".sessions.index", "Bring the index of all sessions up to date, or look after it."),
    "completion": CommandRow(".shell.completion", "Print a script that completes commands and sessions in your shell."),
}

DEFAULT_COMMAND = "web"
PIPED_COMMAND = "ls"
"""What no words mean where standard output is no terminal."""
