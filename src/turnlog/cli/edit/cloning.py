"""What `turnlog clone` does and says."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from turnlog.cli.config import Config
from turnlog.cli.edit.edits import Edited, Order, edited, ordered
from turnlog.cli.edit.made import made_document, tell_made, with_files
from turnlog.cli.edit.strip_options import wanted
from turnlog.cli.named import located
from turnlog.cli.output import dump, say
from turnlog.cli.terminal import line, visible
from turnlog.cli.when import size
from turnlog.demo import is_demo
from turnlog.edit.carried import carried
from turnlog.edit.clone import Made, clone
from turnlog.edit.ending import title_of_made
from turnlog.edit.identity import new_id
from turnlog.edit.judged import PORTABLE, must_resume
from turnlog.edit.target import target
from turnlog.entries.peeks import title_of
from turnlog.entries.writer import create
from turnlog.errors import TurnlogError, UsageError
from turnlog.session.session import Session


def run(name: str, config: Config, *, title: str | None, dry_run: bool, as_json: bool, options: dict[str, Any]) -> None:
    """Make a clone, or say what would be made."""
    log = _log(options["compress_log"])
    order = ordered(options, wanted(config, options))
    path = located(name, config)
    if not (dry_run and is_demo(path)):
        target(path)
    if dry_run:
        _rehearse(path, order, title, as_json)
        return
    if order.is_empty:
        _tell(path, clone(path, title=title), None, as_json)
        return
    new = new_id()
    with Session.open(path) as session:
        found = edited(session, order, _transcript(path, new), dry_run=False)
        made = clone(path, found.draft, title=title, new=new, apart_from=_apart_from(order))
    _tell(path, made, found, as_json)
    if log is not None and found.log is not None:
        _keep(log, found.log)


def _rehearse(path: Path, order: Order, title: str | None, as_json: bool) -> None:
    """Do all of it but the writing, and say what would be made."""
    with Session.open(path) as session:
        found = edited(session, order, _transcript(path, new_id()), dry_run=True)
        must_resume(session, found.draft, _apart_from(order))
        amount = sum(map(len, found.draft.lines()))
    _tell(path, None, found, as_json)
    if not as_json:
        say(_planned(path, title, amount))


def _transcript(path: Path, new: str) -> str:
    return str(path.with_name(f"{new}.jsonl"))


def _apart_from(order: Order) -> Collection[str]:
    return PORTABLE if order.portable else ()


def _log(name: str | None) -> Path | None:
    """Where the log goes; what is wrong with that is told before a model is asked."""
    if name is None:
        return None
    goal = Path(name)
    if goal.exists():
        raise UsageError(f"{goal}: stands there already; name another file for --compress-log")
    if not goal.absolute().parent.is_dir():
        raise UsageError(f"{goal.parent}: no such folder; --compress-log is written into it")
    return goal


def _keep(path: Path, text: str) -> None:
    try:
        create(path, text.encode(), root=path.absolute().parent, mode=0o600)
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}; the clone was made, the log was not written") from None


def _tell(path: Path, made: Made | None, found: Edited | None, as_json: bool) -> None:
    if as_json:
        facts = found.facts if found else {}
        document = made_document(made) if made else None
        dump({"session": str(path), "dry_run": made is None, "edits": facts, "made": document})
        return
    if found is not None:
        say(map(visible, found.lines))
    if made is not None:
        tell_made(made)


def _planned(path: Path, title: str | None, amount: int) -> list[str]:
    name = title or title_of_made("clone", title_of(path), path.stem)
    files = 0 if is_demo(path) else len(carried(target(path), path.stem))
    return [
        f"Would make: {line(name)}  ({size(amount)}{with_files(files)})",
        "Nothing was written: this was a dry run.",
    ]
