"""The table of commands and their modules.

The table is plain data, so that `turnlog --help` and the documentation check don't import any command.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

COMPLETION_VARIABLE = "_TURNLOG_COMPLETE"
"""If this environment variable is set, the program prints completions instead of running a command."""


class CommandRow(NamedTuple):
    """One command: its module and one line of help."""

    module: str
    """Its module, relative to this package; the command has the name of its module."""
    help: str
    is_hidden: bool = False
    """Whether it is hidden, because users never run it."""
    changes: str = ""
    """How to call it so that it changes, moves or removes session files; empty if it never does."""
    adds: str = ""
    """How to call it so that it writes a new session next to the others; empty if it never does."""

    def load(self) -> Any:
        """Import the command."""
        return getattr(import_module(self.module, __package__), self.module.rpartition(".")[2])


_SECTIONS: dict[str, dict[str, CommandRow]] = {
    "Read": {
        "web": CommandRow(".web.web", "Show the sessions on this machine in a browser.", changes="web"),
        "ls": CommandRow(".sessions.ls", "List the sessions on this machine."),
        "show": CommandRow(".show.show", "Show a session: its turns, calls and sub-agents."),
        "search": CommandRow(".search.search", "Find text in all sessions."),
        "prompts": CommandRow(".search.prompts", "List everything you typed, in all sessions."),
        "compare": CommandRow(".show.compare", "Show where two sessions part and how they differ."),
        "tree": CommandRow(".sessions.tree", "Show a tree of projects, sessions, forks and copies."),
        "files": CommandRow(".files.files", "List the files that a session read or changed."),
        "messages": CommandRow(".show.messages", "Print the messages that resuming a session would send."),
        "cat": CommandRow(".show.cat", "Print the entries of a session file, byte for byte."),
    },
    "Watch": {
        "watch": CommandRow(".live.watch", "Show what sessions are doing while they work."),
        "board": CommandRow(".live.board", "List which sessions need you, are working, are idle or ended today."),
        "replay": CommandRow(".live.replay", "Play back a session in the terminal, or record it for asciinema."),
        "notify": CommandRow(".notify.notify", "Send a message when a session needs you, finishes or fails."),
        "quest": CommandRow(".quest.quest", "Show the sessions as a pixel-art adventure.", changes="quest"),
    },
    "Count": {
        "usage": CommandRow(".usage.usage", "Show tokens and cost by day, session, project, model or tool."),
        "context": CommandRow(".usage.context", "Show what fills a session's context window."),
        "tools": CommandRow(".usage.tools", "Count calls by tool, with their outcomes and durations."),
        "fleet": CommandRow(".fleet.fleet", "Collect the sessions of many people in a lake, and report on it."),
        "statusline": CommandRow(".statusline.statusline", "Print a status line for Claude Code."),
    },
    "Edit": {
        "clone": CommandRow(".edit.clone", "Create a copy of a session, unchanged or edited.", adds="clone"),
        "strip": CommandRow(".edit.strip", "Show what stripping a session would save."),
        "fork": CommandRow(".edit.fork", "Create a session that continues from any point in another.", adds="fork"),
        "rename": CommandRow(".edit.rename", "Give a session a title.", changes="rename"),
        "tag": CommandRow(".edit.tag", "Give a session a tag, or remove its tag.", changes="tag"),
        "move": CommandRow(".edit.move", "Move a project's sessions after its folder was renamed.", changes="move"),
        "delete": CommandRow(".edit.delete", "Move sessions to the trash, or empty the trash.", changes="delete"),
        "undelete": CommandRow(".edit.undelete", "Restore a deleted session.", changes="undelete"),
        "undo": CommandRow(".edit.undo", "Undo a change that turnlog made to your files.", changes="undo"),
    },
    "Keep and repair": {
        "archive": CommandRow(
            ".archive.archive", "Keep sessions that Claude Code would delete.", changes="archive restore"
        ),
        "check": CommandRow(".health.check", "List what is damaged, unusual or new in session files."),
        "doctor": CommandRow(".health.doctor", "Explain what is wrong with a session and how to fix it."),
        "repair": CommandRow(
            ".health.repair",
            "Repair a session, in a copy or in place.",
            changes="repair --in-place",
            adds="repair",
        ),
        "salvage": CommandRow(
            ".health.salvage", "List what is left of sessions whose transcripts are gone.", adds="salvage --session"
        ),
        "restore": CommandRow(".files.restore", "Restore an earlier version of a file from a session."),
    },
    "Share": {
        "export": CommandRow(".export.export", "Export sessions as HTML, Markdown, text, PDF, JSON or Parquet."),
        "redact": CommandRow(
            ".edit.redact",
            "Find secrets in a session, and create a copy without them.",
            adds="redact --clone",
            changes="redact --all --in-place",
        ),
        "pack": CommandRow(".edit.pack", "Pack sessions and everything that belongs to them into one file."),
        "unpack": CommandRow(".edit.unpack", "Unpack the sessions from a package.", adds="unpack"),
        "trace": CommandRow(".trace.trace", "Send sessions to tracing backends (OpenTelemetry)."),
        "hook": CommandRow(".trace.hook", "Install a Claude Code hook for tracing and live views."),
    },
    "Work": {
        "chat": CommandRow(
            ".chat.chat",
            "Work with a model in this folder, in a Claude Code session.",
            changes="chat",
            adds="chat",
        ),
        "mcp": CommandRow(".mcp.mcp", "Let an agent search and read past sessions (MCP server)."),
    },
    "Maintain": {
        "index": CommandRow(".sessions.index", "Update, check or rebuild the index of all sessions."),
        "plugins": CommandRow(".health.plugins", "List plugins from other packages and report their problems."),
        "completion": CommandRow(".shell.completion", "Print a completion script for your shell."),
    },
}
COMMANDS: dict[str, CommandRow] = {name: row for section in _SECTIONS.values() for name, row in section.items()}
COMMAND_SECTIONS: dict[str, tuple[str, ...]] = {title: tuple(rows) for title, rows in _SECTIONS.items()}
"""The names of commands by purpose, in the recommended order for learning them."""

DEFAULT_COMMAND = "web"
PIPED_COMMAND = "ls"
"""The default command if standard output is not a terminal."""
