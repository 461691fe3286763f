"""Insert the real output of commands into README.md, docs/tour.md and docs/commands.md.

`python scripts/generate_commands_doc.py` rewrites the files; a test fails if that would change them. Each output is
between two markers, `<!-- output: turnlog ls -->` and `<!-- end -->`; `(12 lines)` after the command truncates it. The
commands run on a machine without sessions, so they show the demo. The list of commands that write session files comes
from the command table; it is between `<!-- writers -->` and `<!-- end -->`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from turnlog.cli.table import COMMANDS
from turnlog.demo import config_dir

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "docs" / "tour.md", ROOT / "docs" / "commands.md"]
MARKED = re.compile(
    r"(<!-- output: (?P<command>turnlog.*?)(?: \((?P<lines>\d+) lines\))? -->\n).*?(<!-- end -->)", re.DOTALL
)

WRITERS = re.compile(r"(<!-- writers -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite the documents."""
    for path in DOCUMENTS:
        path.write_text(renew_document(path.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def renew_document(text: str) -> str:
    """Return a document with new output."""

    def render_output(match: re.Match[str]) -> str:
        lines = run_command(match["command"]).splitlines()
        shown_lines = lines[: int(match["lines"])] if match["lines"] else lines
        more = ["…"] if len(shown_lines) < len(lines) else []
        text = "\n".join([f"$ {match['command']}", *shown_lines, *more])
        return f"{match[1]}\n````text\n{text}\n````\n\n{match[4]}"  # answers contain fences of three

    text = WRITERS.sub(lambda match: f"{match[1]}\n{describe_writers()}\n\n{match[2]}", text)
    return MARKED.sub(render_output, text)


def describe_writers() -> str:
    """Describe which commands write session files, according to the command table."""
    changes = [row.changes for row in COMMANDS.values() if row.changes]
    additions = [row.adds for row in COMMANDS.values() if row.adds]
    return (
        f"These commands change, move or remove session files: {_join_calls(changes)}. Each keeps what\n"
        "you need to reverse it; only `delete --empty-trash` and `undo --prune` remove data permanently.\n"
        f"These commands create a new session and leave existing sessions unchanged: {_join_calls(additions)}.\n"
        "All other commands only read session files."
    )


def _join_calls(calls: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(f"`{call}`" for call in calls[:-1]), f"`{calls[-1]}`")))


@cache
def run_command(command: str) -> str:
    """Return what a command prints on a machine without sessions, in UTC."""
    with tempfile.TemporaryDirectory() as home:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("TURNLOG_", "CLAUDE_", "XDG_"))
        }
        environment |= {"HOME": home, "USERPROFILE": home, "TZ": "UTC", "COLUMNS": "80", "PYTHONUTF8": "1"}
        arguments = [sys.executable, "-m", "turnlog", *shlex.split(command)[1:]]
        process = subprocess.run(
            arguments, env=environment, cwd=home, capture_output=True, encoding="utf-8", check=True
        )
    return process.stdout.replace(str(config_dir()), "…/turnlog/demo/claude")


if __name__ == "__main__":
    main()
