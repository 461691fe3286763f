"""`turnlog salvage`: list and save what is left of sessions whose transcripts are gone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

import click

from turnlog.cli import time_format
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, pad_to_cells, to_visible_line
from turnlog.render.figures import format_count

if TYPE_CHECKING:
    from turnlog.api.config import Config
    from turnlog.api.salvage import LostSession, RelatedSession, SessionRemains, TypedPrompt

_MAX_PROMPT_CHARS = 300
_DEFINITION = (
    "Newest first. prompts: lines in history.jsonl; files: other files with the session's id. trash, archive: the"
    " whole session still exists there, and `turnlog undelete` or `turnlog archive restore` restores it."
)


@click.command()
@click.argument("session", metavar="[ID]", required=False)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write what is left of the session to FILE, as Markdown (- for standard output).",
)
@click.option("--session", "as_session", is_flag=True, help="Create a new session from the prompts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (see docs/json.md).")
def salvage(session: str | None, output: str | None, as_session: bool, as_json: bool) -> int:
    """List what is left of sessions whose transcripts are gone: prompts, file copies, sub-agents and outputs.

    Claude Code deletes old transcripts but leaves other traces of the sessions. With an ID, the command lists what is
    left of that session. The output also shows whether the trash or the archive still contains the whole session; if
    so, restore it with `turnlog undelete` or `turnlog archive restore`. --session creates a session that contains the
    prompts, with a note in place of each lost answer. Existing files are never overwritten.

    \b
    Examples:
      turnlog salvage
      turnlog salvage 0ddba11e
      turnlog salvage 0ddba11e -o lost.md
      turnlog salvage 0ddba11e --session
    """
    from turnlog.api.config import load_config
    from turnlog.api.documents import to_document
    from turnlog.api.salvage import find_remains, list_lost_sessions
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if session is None and (output or as_session):
        raise UsageError("name a lost session; `turnlog salvage` lists all lost sessions")
    if sum((bool(output), as_session, as_json)) > 1:
        raise UsageError("use only one of -o, --session and --json")
    config = load_config()
    screen = detect_screen(config.color)
    if session is None:
        found = list_lost_sessions(config, print_remark)
        if as_json:
            print_json(to_document(found))
        elif found.sessions:
            print_lines(_render_table(found.sessions, screen))
        else:
            print_remark("Nothing to salvage: no lost session left any files or prompts.")
    elif as_session:
        _write_session(session, config)
    elif as_json:
        print_json(to_document(find_remains(session, config=config)))
    elif output:
        _write_markdown(find_remains(session, config=config), output)
    else:
        print_lines(_render_remains(find_remains(session, config=config), screen))
    return 0


def _render_table(sessions: list[LostSession], screen: TerminalScreen) -> Iterator[str]:
    """Render one line for each lost session."""
    from turnlog.api.lookup import shorten_ids

    ids = shorten_ids([session.session_id for session in sessions])
    rows = [_build_cells(session, ids[session.session_id]) for session in sessions]
    yield from render_titled_rows(rows, screen, numbers={2, 3}, spare=(3, 4))
    yield ""
    yield from screen.wrap_prose(_DEFINITION)


def _build_cells(session: LostSession, short: str) -> tuple[str, str, str, str, str, str]:
    time = time_format.format_client_time(session.last) if session.last else "–"
    typed = session.first_prompt
    first = "(no prompts)" if typed is None else to_visible_line(typed[:_MAX_PROMPT_CHARS])
    amounts = format_count(session.prompts, "prompt"), format_count(session.files, "file")
    return short, time, *amounts, session.better or "", first


def _render_remains(remains: SessionRemains, screen: TerminalScreen) -> Iterator[str]:
    """Render the parts of one lost session."""
    yield screen.paint(to_visible_line(remains.session_id), "bold")
    yield to_visible_line(f"project: {remains.project or remains.project_dir or 'unknown'}")
    if remains.restore:
        text = f"It is in the {remains.better}: `{remains.restore}` restores all of it."
        yield screen.paint(to_visible_line(text), "green")
    for typed in remains.typed:
        time = _format_typed_time(typed) or "–"
        yield f"  {pad_to_cells(time, 16)}  {to_visible_line(typed.text[:_MAX_PROMPT_CHARS])}"
    for kind, paths in _group_parts(remains):
        yield f"{kind}: {len(paths):,}"
        yield from (f"  {to_visible_line(path)}" for path in paths)
    if remains.kin:
        yield "sessions that contain entries of it:"
        yield from (f"  {to_visible_line(related.path)}  ({_count_entries(related)})" for related in remains.kin)
    count = remains.resumable_prompts
    further = f"; --session creates a session with {format_count(count, 'prompt')}" if count else ""
    yield ""
    yield f"`turnlog salvage {remains.session_id} -o FILE` writes this to a file{further}."


def _format_typed_time(typed: TypedPrompt) -> str:
    return time_format.format_client_time(typed.time) if typed.time else ""


def _group_parts(remains: SessionRemains) -> Iterator[tuple[str, list[str]]]:
    for kind, parts in groupby(remains.parts, key=lambda part: part.kind):
        yield kind, [part.path for part in parts]


def _count_entries(related: RelatedSession) -> str:
    return format_count(related.entries, "entry", "entries")


def _write_markdown(remains: SessionRemains, output: str) -> None:
    from pathlib import Path

    from turnlog.cli.output import print_lines
    from turnlog.errors import TurnlogError
    from turnlog.render.terminal import spell_controls

    lines = [spell_controls(line) for line in _render_markdown(remains)]
    if output == "-":
        print_lines(lines)
        return
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    try:
        with Path(output).open("xb") as file:
            file.write(text)
    except FileExistsError:
        raise TurnlogError(f"{output}: the file already exists; nothing was written") from None
    except OSError as error:
        raise TurnlogError(f"{output}: {error.strerror or error}; nothing was written") from None
    print_lines([to_visible_line(f"Wrote {output}: {format_count(remains.prompts, 'prompt')}")])


def _render_markdown(remains: SessionRemains) -> Iterator[str]:
    yield f"# What is left of session {remains.session_id}"
    yield ""
    project = remains.project or remains.project_dir or "unknown"
    yield f"Project: {project}. The transcript and its answers are lost."
    for number, typed in enumerate(remains.typed, 1):
        time = _format_typed_time(typed)
        yield f"\n## {number}{f' · {time}' if time else ''}\n"
        yield from (f"> {line}" for line in typed.text.splitlines())
    for kind, paths in _group_parts(remains):
        yield f"\n## {kind.capitalize()}\n"
        yield from (f"- `{path}`" for path in paths)
    if remains.kin:
        yield "\n## Sessions that contain entries of it\n"
        yield from (f"- `{related.path}` ({_count_entries(related)})" for related in remains.kin)


def _write_session(session: str, config: Config) -> None:
    from turnlog.api.salvage import salvage_session
    from turnlog.cli.output import print_lines

    salvaged = salvage_session(session, config=config)
    each = ", each" if salvaged.prompts > 1 else ""
    count = format_count(salvaged.prompts, "prompt")
    print_lines([to_visible_line(f"Wrote {salvaged.path}: {count}{each} with a note that its answer is lost.")])
    print_lines([to_visible_line(f"Resume it with: {salvaged.resume}")])
