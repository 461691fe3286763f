"""What `turnlog clone` does and says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from turnlog.cli.config import Config
from turnlog.cli.edits import Edited, edited, ordered
from turnlog.cli.made import made_document, tell_made
from turnlog.cli.named import located
from turnlog.cli.output import dump, say
from turnlog.cli.stripping import wanted
from turnlog.cli.terminal import visible
from turnlog.edit.clone import Made, clone
from turnlog.edit.identity import new_id
from turnlog.edit.judged import PORTABLE, must_resume
from turnlog.edit.target import target
from turnlog.entries.writer import create
from turnlog.errors import TurnlogError
from turnlog.session.session import Session


def run(name: str, config: Config, *, title: str | None, dry_run: bool, as_json: bool, options: dict[str, Any]) -> None:
    """Make a clone, or say what would be made."""
    log = options["compress_log"]
    order = ordered(options, wanted(config, options))
    path = located(name, config)
    target(path)
    if order.is_empty:
        made = None if dry_run else clone(path, title=title)
        _tell(path, made, None, as_json)
        return
    new = new_id()
    with Session.open(path) as session:
        found = edited(session, order, str(path.with_name(f"{new}.jsonl")), dry_run=dry_run)
        apart_from = PORTABLE if order.portable else ()
        if dry_run:
            must_resume(session, found.draft, apart_from)
            made = None
        else:
            made = clone(path, found.draft, title=title, new=new, apart_from=apart_from)
    if log and found.log is not None and not dry_run:
        _keep(Path(log), found.log)
    _tell(path, made, found, as_json)


def _keep(path: Path, text: str) -> None:
    try:
        create(path, text.encode(), root=path.absolute().parent, mode=0o600)
    except FileExistsError:
        raise TurnlogError(f"{path}: stands there already; the clone was made, the log was not written") from None
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}; the clone was made, the log was not written") from None


def _tell(path: Path, made: Made | None, found: Edited | None, as_json: bool) -> None:
    if as_json:
        facts = found.facts if found else {}
        dump({"made": made_document(made) if made else None, "session": str(path), "edits": facts})
        return
    if found is not None:
        say(map(visible, found.lines))
    if made is not None:
        tell_made(made)
    else:
        say(["Nothing was written: this was a dry run."])
