"""What `turnlog salvage` finds, shows and writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from turnlog.cli import when
from turnlog.cli.config import data_dir
from turnlog.cli.named import short_ids
from turnlog.cli.output import encode, remark, say, write_raw
from turnlog.cli.rows import titled_rows
from turnlog.cli.terminal import Screen, line, pad
from turnlog.edit.salvage import Origin, prompts, rebuilt
from turnlog.edit.trash.trash import Trash
from turnlog.entries.layout import session_files
from turnlog.entries.writer import create
from turnlog.errors import Ambiguous, NotFound, TurnlogError
from turnlog.render.figures import count
from turnlog.session.clock import iso
from turnlog.session.health.leftovers import Kin, Leftover, kin, leftovers
from turnlog.store.archive.archive import Archive

_LONGEST = 300
_DEFINITION = (
    "Newest first. Prompts: lines of history.jsonl; files: what else carries the session's id. trash, archive: the"
    " whole session is still there, and `turnlog undelete` or `turnlog archive restore` brings it back."
)


class Better(NamedTuple):
    """Where whole sessions are still to be had."""

    trash: set[str]
    archive: set[str]

    def place(self, session_id: str) -> str | None:
        """trash, archive or None."""
        return "trash" if session_id in self.trash else "archive" if session_id in self.archive else None


class Remains(NamedTuple):
    """All that is known of one session that is gone."""

    item: Leftover
    better: str | None
    kin: list[Kin]


class Everything(NamedTuple):
    """All sessions that are gone."""

    items: list[Leftover]
    better: Better


def everything(places: list[Path]) -> Everything:
    """The sessions of this machine of which something is left but the transcript."""
    return Everything([item for folder in places for item in leftovers(folder)], _better())


def remains(name: str, places: list[Path]) -> Remains:
    """What is left of the one session that the start of an id means."""
    found, better = everything(places)
    meant = [item for item in found if name and item.session_id.startswith(name.lower())]
    if not meant:
        raise NotFound(f"nothing is left of a session {name!r} whose transcript is gone; `turnlog salvage` lists them")
    if len({item.session_id for item in meant}) > 1:
        ids = ", ".join(item.session_id for item in meant[:5])
        raise Ambiguous(f"{name!r} fits {len(meant)} sessions: {ids}; give more of the id")
    one = meant[0]
    files = [item for folder in places for item in session_files(folder)]
    return Remains(one, better.place(one.session_id), kin(one.session_id, files))


def _better() -> Better:
    trash = {entry.manifest.session_id.lower() for entry in Trash(data_dir() / "trash").listed().entries}
    return Better(trash, {identity.lower() for identity in Archive(data_dir()).ids()})


# -- for people


def table(found: Everything, screen: Screen) -> Iterator[str]:
    """The sessions that are gone, one a line."""
    ids = short_ids([item.session_id for item in found.items])
    rows = [_cells(item, ids[item.session_id], found.better) for item in found.items]
    yield from titled_rows(rows, screen, numbers={2, 3}, spare=(3, 4))
    if rows:
        yield ""
        yield from screen.prose(_DEFINITION)
    else:
        remark("No session is gone that left anything behind.")


def _cells(item: Leftover, short: str, better: Better) -> tuple[str, str, str, str, str, str]:
    time = when.absolute(item.last.timestamp()) if item.last else "–"
    first = line(item.typed[0].text[:_LONGEST]) if item.typed else "(nothing that was typed)"
    amounts = count(len(item.typed), "prompt"), count(item.files, "file")
    return short, time, *amounts, better.place(item.session_id) or "", first


def shown(found: Remains, screen: Screen) -> Iterator[str]:
    """The parts of one session that is gone."""
    item = found.item
    yield screen.paint(line(item.session_id), "bold")
    yield line(f"project: {item.project or item.project_dir or 'not known'}")
    if words := _advice(found):
        yield screen.paint(line(words), "green")
    for typed in item.typed:
        time = when.absolute(typed.time.timestamp()) if typed.time else "–"
        yield f"  {pad(time, 16)}  {line(typed.text[:_LONGEST])}"
    for name, paths in _parts(item).items():
        yield f"{name}: {len(paths):,}"
        yield from (f"  {line(str(path))}" for path in paths)
    if found.kin:
        yield "sessions with entries of it:"
        yield from (f"  {line(str(one.path))}  ({_entries(one)})" for one in found.kin)
    can = len(prompts(item.typed))
    too = f"; --session makes a session of {count(can, 'prompt')}" if can else ""
    yield ""
    yield f"`turnlog salvage {item.session_id} -o FILE` writes this down{too}."


def _entries(one: Kin) -> str:
    return "1 entry" if one.entries == 1 else f"{one.entries:,} entries"


def _advice(found: Remains) -> str | None:
    """What is better than salvaging."""
    name = found.item.session_id
    if found.better == "trash":
        return f"It is in the trash: `turnlog undelete {name}` brings all of it back."
    if found.better == "archive":
        return f"It is in the archive: `turnlog archive restore {name}` brings all of it back."
    return None


def _parts(item: Leftover) -> dict[str, tuple[Path, ...]]:
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


def list_document(found: Everything) -> dict[str, Any]:
    """The sessions that are gone as a JSON document."""
    return {"sessions": [_summary(item, found.better.place(item.session_id)) for item in found.items]}


def document(found: Remains) -> dict[str, Any]:
    """One session that is gone as a JSON document."""
    item = found.item
    typed = [{"text": one.text, "time": iso(one.time) if one.time else None} for one in item.typed]
    parts = [{"kind": name, "path": str(path)} for name, paths in _parts(item).items() for path in paths]
    related = [{"path": str(one.path), "entries": one.entries} for one in found.kin]
    return {**_summary(item, found.better), "typed": typed, "parts": parts, "kin": related}


def _summary(item: Leftover, better: str | None) -> dict[str, Any]:
    return {
        "session_id": item.session_id,
        "config_dir": str(item.config_dir),
        "project": item.project,
        "last": iso(item.last) if item.last else None,
        "prompts": len(item.typed),
        "files": item.files,
        "better": better,
    }


# -- writing


def write_markdown(found: Remains, output: str) -> None:
    """Write down what is left."""
    text = "".join(f"{part}\n" for part in _markdown(found)).encode("utf-8", "replace")
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
    say([line(f"Wrote {output}: {count(len(found.item.typed), 'prompt')}")])


def _markdown(found: Remains) -> Iterator[str]:
    item = found.item
    yield f"# What is left of session {item.session_id}"
    yield ""
    project = item.project or item.project_dir or "not known"
    yield f"Project: {project}. The transcript is gone, and with it the answers."
    for number, typed in enumerate(item.typed, 1):
        time = f" · {when.absolute(typed.time.timestamp())}" if typed.time else ""
        yield f"\n## {number}{time}\n"
        yield from (f"> {part}" for part in typed.text.splitlines())
    for name, paths in _parts(item).items():
        yield f"\n## {name.capitalize()}\n"
        yield from (f"- `{path}`" for path in paths)
    if found.kin:
        yield "\n## Sessions with entries of it\n"
        yield from (f"- `{one.path}` ({_entries(one)})" for one in found.kin)


def write_session(found: Remains) -> None:
    """Write a new session with what was typed."""
    item = found.item
    if words := _advice(found):
        raise TurnlogError(f"{words} Nothing was written.")
    if item.project_dir is None or item.project is None:
        raise TurnlogError(f"{item.session_id}: nothing says which project it was of; -o writes down what is left")
    name = str(uuid.uuid4())
    rows = rebuilt(Origin(item.session_id, item.project), item.typed, name, lambda: str(uuid.uuid4()))
    if not rows:
        raise TurnlogError(f"{item.session_id}: nothing that was said to the model is left; -o writes down the rest")
    item.project_dir.mkdir(parents=True, exist_ok=True)
    path = item.project_dir / f"{name}.jsonl"
    create(path, b"".join(encode(row) + b"\n" for row in rows), root=item.config_dir / "projects")
    said = len(prompts(item.typed))
    each = ", each" if said > 1 else ""
    say([line(f"Wrote {path}: {count(said, 'prompt')}{each} with a note that its answer is lost.")])
    say([line(f"Resume it with: claude --resume {name}")])
