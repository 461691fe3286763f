"""`turnlog salvage`: what is left of sessions whose transcript is gone, and what can be made of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from turnlog.api.config import data_dir
from turnlog.api.lookup import shorten_ids
from turnlog.cli import time_format
from turnlog.cli.output import encode_json, print_lines, print_remark, write_raw
from turnlog.cli.rows import render_titled_rows
from turnlog.cli.terminal import TerminalScreen, pad_to_cells, to_visible_line
from turnlog.edit.apply import create_transcript
from turnlog.edit.illnesses.lost_transcripts import (
    KinSession,
    Leftover,
    SalvageOrigin,
    find_kin_sessions,
    list_leftovers,
    rebuild_session,
    select_prompts,
)
from turnlog.edit.trash.trash import Trash
from turnlog.entries.layout import list_session_files
from turnlog.errors import Ambiguous, NotFound, TurnlogError
from turnlog.render.figures import format_count
from turnlog.session.clock import to_iso_time
from turnlog.store.archive.archive import Archive


@click.command()
@click.argument("session", metavar="[ID]", required=False)
@click.option("-o", "--output", metavar="FILE", help="Write what is left as Markdown; - for standard output.")
@click.option("--session", "as_session", is_flag=True, help="Write a new session with the prompts that were typed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def salvage(session: str | None, output: str | None, as_session: bool, as_json: bool) -> int:
    """List what is left of sessions whose transcript is gone: prompts, copies of files, sub-agents, outputs.

    The client deletes transcripts after some weeks and keeps other traces. With an ID, the parts of one session are
    shown. If the trash or the archive still has the transcript, that is said: then `turnlog undelete` or `turnlog
    archive restore` brings back all of it. A session made with --session holds the prompts and, in place of each
    answer, a note that it is lost. Nothing is ever overwritten.

    \b
    Examples:
      turnlog salvage
      turnlog salvage 0ddba11e
      turnlog salvage 0ddba11e -o lost.md
      turnlog salvage 0ddba11e --session
    """
    from turnlog.api.config import load_config
    from turnlog.api.lookup import list_config_folders
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import detect_screen
    from turnlog.errors import UsageError

    if session is None and (output or as_session):
        raise UsageError("name the session that is gone; `turnlog salvage` lists them")
    if sum((bool(output), as_session, as_json)) > 1:
        raise UsageError("give one of -o, --session and --json")
    config = load_config()
    places = list_config_folders(config)
    if session is None:
        found = find_all_remains(places)
        if as_json:
            print_json(to_salvage_list_document(found))
        else:
            print_lines(render_salvage_table(found, detect_screen(config.color)))
        return 0
    remains = find_remains(session, places)
    if as_json:
        print_json(to_remains_document(remains))
    elif output:
        write_remains_markdown(remains, output)
    elif as_session:
        write_salvaged_session(remains)
    else:
        print_lines(render_remains(remains, detect_screen(config.color)))
    return 0


_MAX_PROMPT_CHARS = 300
_DEFINITION = (
    "Newest first. Prompts: lines of history.jsonl; files: what else carries the session's id. trash, archive: the"
    " whole session is still there, and `turnlog undelete` or `turnlog archive restore` brings it back."
)


class WholeCopies(NamedTuple):
    """Where whole sessions are still to be had."""

    trash: set[str]
    archive: set[str]

    def find_place(self, session_id: str) -> str | None:
        """trash, archive or None."""
        return "trash" if session_id in self.trash else "archive" if session_id in self.archive else None


class SessionRemains(NamedTuple):
    """All that is known of one session that is gone."""

    item: Leftover
    better: str | None
    kin: list[KinSession]


class AllRemains(NamedTuple):
    """All sessions that are gone."""

    items: list[Leftover]
    better: WholeCopies


def find_all_remains(places: list[Path]) -> AllRemains:
    """The sessions of this machine of which something is left but the transcript."""
    return AllRemains([item for folder in places for item in list_leftovers(folder)], _find_whole_copies())


def find_remains(name: str, places: list[Path]) -> SessionRemains:
    """What is left of the one session that the start of an id means."""
    found, better = find_all_remains(places)
    meant = [item for item in found if name and item.session_id.startswith(name.lower())]
    if not meant:
        raise NotFound(f"nothing is left of a session {name!r} whose transcript is gone; `turnlog salvage` lists them")
    if len({item.session_id for item in meant}) > 1:
        ids = ", ".join(item.session_id for item in meant[:5])
        raise Ambiguous(f"{name!r} fits {len(meant)} sessions: {ids}; give more of the id")
    one = meant[0]
    files = [item for folder in places for item in list_session_files(folder)]
    return SessionRemains(one, better.find_place(one.session_id), find_kin_sessions(one.session_id, files))


def _find_whole_copies() -> WholeCopies:
    trash = {entry.manifest.session_id.lower() for entry in Trash(data_dir() / "trash").list_entries().entries}
    return WholeCopies(trash, {identity.lower() for identity in Archive(data_dir()).list_ids()})


# -- for people


def render_salvage_table(found: AllRemains, screen: TerminalScreen) -> Iterator[str]:
    """The sessions that are gone, one a line."""
    ids = shorten_ids([item.session_id for item in found.items])
    rows = [_build_cells(item, ids[item.session_id], found.better) for item in found.items]
    yield from render_titled_rows(rows, screen, numbers={2, 3}, spare=(3, 4))
    if rows:
        yield ""
        yield from screen.wrap_prose(_DEFINITION)
    else:
        print_remark("No session is gone that left anything behind.")


def _build_cells(item: Leftover, short: str, better: WholeCopies) -> tuple[str, str, str, str, str, str]:
    time = time_format.format_epoch_time(item.last_typed_at.timestamp()) if item.last_typed_at else "–"
    first = to_visible_line(item.typed[0].text[:_MAX_PROMPT_CHARS]) if item.typed else "(nothing that was typed)"
    amounts = format_count(len(item.typed), "prompt"), format_count(item.file_count, "file")
    return short, time, *amounts, better.find_place(item.session_id) or "", first


def render_remains(found: SessionRemains, screen: TerminalScreen) -> Iterator[str]:
    """The parts of one session that is gone."""
    item = found.item
    yield screen.paint(to_visible_line(item.session_id), "bold")
    yield to_visible_line(f"project: {item.project or item.project_dir or 'not known'}")
    if words := _suggest_whole_copy(found):
        yield screen.paint(to_visible_line(words), "green")
    for typed in item.typed:
        time = time_format.format_epoch_time(typed.time.timestamp()) if typed.time else "–"
        yield f"  {pad_to_cells(time, 16)}  {to_visible_line(typed.text[:_MAX_PROMPT_CHARS])}"
    for name, paths in _group_files(item).items():
        yield f"{name}: {len(paths):,}"
        yield from (f"  {to_visible_line(str(path))}" for path in paths)
    if found.kin:
        yield "sessions with entries of it:"
        yield from (f"  {to_visible_line(str(one.path))}  ({_count_entries(one)})" for one in found.kin)
    can = len(select_prompts(item.typed))
    too = f"; --session makes a session of {format_count(can, 'prompt')}" if can else ""
    yield ""
    yield f"`turnlog salvage {item.session_id} -o FILE` writes this down{too}."


def _count_entries(one: KinSession) -> str:
    return "1 entry" if one.entries == 1 else f"{one.entries:,} entries"


def _suggest_whole_copy(found: SessionRemains) -> str | None:
    """What is better than salvaging."""
    name = found.item.session_id
    if found.better == "trash":
        return f"It is in the trash: `turnlog undelete {name}` brings all of it back."
    if found.better == "archive":
        return f"It is in the archive: `turnlog archive restore {name}` brings all of it back."
    return None


def _group_files(item: Leftover) -> dict[str, tuple[Path, ...]]:
    """The files that are left, by what they are."""
    rest = item.rest
    found = {
        "sub-agents": rest.subagents + rest.loose_agents,
        "outputs": rest.tool_results,
        "copies of files": rest.file_history,
        "to-dos and tasks": rest.todos + rest.tasks,
        "workflows": rest.workflows,
        "other": rest.other + tuple(path for path in (rest.session_env, rest.debug, rest.custom_title) if path),
    }
    return {name: paths for name, paths in found.items() if paths}


# -- for programs


def to_salvage_list_document(found: AllRemains) -> dict[str, Any]:
    """The sessions that are gone as a JSON document."""
    return {"sessions": [_to_summary_document(item, found.better.find_place(item.session_id)) for item in found.items]}


def to_remains_document(found: SessionRemains) -> dict[str, Any]:
    """One session that is gone as a JSON document."""
    item = found.item
    typed = [{"text": one.text, "time": to_iso_time(one.time) if one.time else None} for one in item.typed]
    parts = [{"kind": name, "path": str(path)} for name, paths in _group_files(item).items() for path in paths]
    related = [{"path": str(one.path), "entries": one.entries} for one in found.kin]
    return {**_to_summary_document(item, found.better), "typed": typed, "parts": parts, "kin": related}


def _to_summary_document(item: Leftover, better: str | None) -> dict[str, Any]:
    return {
        "session_id": item.session_id,
        "config_dir": str(item.config_dir),
        "project": item.project,
        "last": to_iso_time(item.last_typed_at) if item.last_typed_at else None,
        "prompts": len(item.typed),
        "files": item.file_count,
        "better": better,
    }


# -- writing


def write_remains_markdown(found: SessionRemains, output: str) -> None:
    """Write down what is left."""
    text = "".join(f"{part}\n" for part in _render_markdown(found)).encode("utf-8", "replace")
    if output == "-":
        write_raw(text.splitlines(keepends=True))
        return
    try:
        with Path(output).open("xb") as file:
            file.write(text)
    except FileExistsError:
        raise TurnlogError(f"{output}: stands there already; nothing was written") from None
    except OSError as error:
        raise TurnlogError(f"{output}: {error.strerror or error}; nothing was written") from None
    print_lines([to_visible_line(f"Wrote {output}: {format_count(len(found.item.typed), 'prompt')}")])


def _render_markdown(found: SessionRemains) -> Iterator[str]:
    item = found.item
    yield f"# What is left of session {item.session_id}"
    yield ""
    project = item.project or item.project_dir or "not known"
    yield f"Project: {project}. The transcript is gone, and with it the answers."
    for number, typed in enumerate(item.typed, 1):
        time = f" · {time_format.format_epoch_time(typed.time.timestamp())}" if typed.time else ""
        yield f"\n## {number}{time}\n"
        yield from (f"> {part}" for part in typed.text.splitlines())
    for name, paths in _group_files(item).items():
        yield f"\n## {name.capitalize()}\n"
        yield from (f"- `{path}`" for path in paths)
    if found.kin:
        yield "\n## Sessions with entries of it\n"
        yield from (f"- `{one.path}` ({_count_entries(one)})" for one in found.kin)


def write_salvaged_session(found: SessionRemains) -> None:
    """Write a new session with what was typed."""
    item = found.item
    if words := _suggest_whole_copy(found):
        raise TurnlogError(f"{words} Nothing was written.")
    if item.project_dir is None or item.project is None:
        raise TurnlogError(f"{item.session_id}: nothing says which project it was of; -o writes down what is left")
    name = str(uuid.uuid4())
    rows = rebuild_session(SalvageOrigin(item.session_id, item.project), item.typed, name, lambda: str(uuid.uuid4()))
    if not rows:
        raise TurnlogError(f"{item.session_id}: nothing that was said to the model is left; -o writes down the rest")
    item.project_dir.mkdir(parents=True, exist_ok=True)
    path = item.project_dir / f"{name}.jsonl"
    create_transcript(path, (encode_json(row) + b"\n" for row in rows), root=item.config_dir / "projects")
    said = len(select_prompts(item.typed))
    each = ", each" if said > 1 else ""
    print_lines(
        [to_visible_line(f"Wrote {path}: {format_count(said, 'prompt')}{each} with a note that its answer is lost.")]
    )
    print_lines([to_visible_line(f"Resume it with: claude --resume {name}")])
