"""The commands by name, and where each one lives.

The table is data, so that `turnlog --help` and the check of the documentation import no command.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One command: where to find it, and what it does in one line."""

    target: str
    help: str


COMMANDS: dict[str, Row] = {
    "ls": Row("turnlog.cli.ls:ls", "List the sessions of this machine."),
    "show": Row("turnlog.cli.show:show", "Show one session: its turns, calls and sub-agents."),
    "messages": Row("turnlog.cli.messages:messages", "Print what the API would be sent if a session were resumed."),
    "check": Row("turnlog.cli.check:check", "Say what is broken, unusual or new in session files."),
    "cat": Row("turnlog.cli.cat:cat", "Write the entries of a file back, byte for byte."),
}

DEFAULT = "ls"
