"""Write man/turnlog.1 from the command table and the help of every command.

`python scripts/generate_man_page.py` writes the page; a test fails if that would change it. The wheel installs it
into `share/man`, where `man turnlog` finds it if the program is on the PATH.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from turnlog._version import __version__
from turnlog.cli.table import COMMANDS

PAGE = Path(__file__).resolve().parent.parent / "man" / "turnlog.1"

UNFILLED = "\b"
"""click's marker before a paragraph whose line breaks are kept."""
_EXIT_STATUS = {
    "0": "Done.",
    "1": "The command failed: no such session, a file that can't be read or written, or errors found by check.",
    "2": "The command line is invalid, or a name matches several sessions.",
    "130": "Interrupted by the keyboard.",
    "141": "The program that read the output has ended.",
}
_ENVIRONMENT = {
    "CLAUDE_CONFIG_DIR": "Claude Code's config folder (default: ~/.claude).",
    "TURNLOG_CONFIG_DIRS": "Additional Claude Code config folders, separated as in PATH.",
    "TURNLOG_CONFIG": "turnlog's settings file (default: ~/.config/turnlog/config.toml).",
    "TURNLOG_HOME": "turnlog's data folder, which contains the index, the archive and the trash.",
    "TURNLOG_DEBUG": "If set to 1, internal errors are printed with a traceback.",
    "NO_COLOR": "If set, the output has no colours.",
}


def main() -> None:
    """Write the page."""
    PAGE.write_text(render_page(), encoding="utf-8", newline="\n")


def render_page() -> str:
    """Render the whole page as roff."""
    return "\n".join(_build_lines()) + "\n"


def _build_lines() -> Iterator[str]:
    yield f'.TH TURNLOG 1 "" "turnlog {__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"turnlog \- read, search, follow, count, trace, share, keep and edit the sessions that Claude Code writes"
    yield ".SH SYNOPSIS"
    yield r"\fBturnlog\fR [\fICOMMAND\fR] [\fIOPTIONS\fR] [\fISESSION\fR]"
    yield ".SH DESCRIPTION"
    yield _escape_text(
        "Claude Code keeps each session in a file below ~/.claude/projects. turnlog reads these files without loss."
        " Only commands whose purpose is to change sessions write to them, and each keeps what you need to reverse it."
    )
    yield ".PP"
    yield _escape_text(
        "SESSION is a path, an id, an id prefix, a title, or `last` (the session with the most recent message). Without"
        " a command, turnlog opens the web app or, in a pipe, lists the sessions."
    )
    yield ".SH COMMANDS"
    for name, row in COMMANDS.items():
        if not row.is_hidden:
            yield from _build_command_lines(f"turnlog {name}", row.load())
    yield from _build_section("EXIT STATUS", _EXIT_STATUS)
    yield from _build_section("ENVIRONMENT", _ENVIRONMENT)
    yield ".SH SEE ALSO"
    yield r"\fBclaude\fR(1)"


def _build_command_lines(path: str, command: click.Command) -> Iterator[str]:
    settings = {"help_option_names": ["-h", "--help"], **command.context_settings}
    context = click.Context(command, info_name=path, **settings)
    yield rf".SS {_escape_text(' '.join([path, *command.collect_usage_pieces(context)]))}"
    yield from _build_help_lines(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record and "--help" not in parameter.opts:
            yield ".TP"
            yield rf"\fB{_escape_text(record[0])}\fR"
            yield _escape_text(record[1])
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) is not None and not inner.hidden:
                yield from _build_command_lines(f"{path} {name}", inner)


def _build_help_lines(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        if (lines := inspect.cleandoc(paragraph).splitlines())[0] == UNFILLED:
            yield ".nf"
            yield from map(_escape_text, lines[1:])
            yield ".fi"
        else:
            yield _escape_text(" ".join(paragraph.split()))


def _build_section(title: str, rows: dict[str, str]) -> Iterator[str]:
    yield f".SH {title}"
    for name, text in rows.items():
        yield ".TP"
        yield rf"\fB{_escape_text(name)}\fR"
        yield _escape_text(text)


def _escape_text(text: str) -> str:
    """Escape text so that roff prints it unchanged."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    main()
