"""What `turnlog clone` does and says."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from turnlog.cli.config import Config
from turnlog.cli.edit.edits import CloneEdits, EditedSession, apply_clone_edits, parse_clone_edits
from turnlog.cli.edit.made import describe_file_count, print_new_session, to_new_session_document
from turnlog.cli.edit.strip_options import parse_strip_options
from turnlog.cli.named import locate_session
from turnlog.cli.output import print_json, print_lines
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.cli.when import format_size
from turnlog.demo import is_demo
from turnlog.edit.carried import list_carried_files
from turnlog.edit.clone import ClonedSession, clone_session
from turnlog.edit.ending import compose_copy_title
from turnlog.edit.identity import create_uuid
from turnlog.edit.judged import PORTABLE_LOSSES, check_resumes
from turnlog.edit.target import find_target
from turnlog.entries.peeks import read_best_title
from turnlog.entries.writer import create_file
from turnlog.errors import TurnlogError, UsageError
from turnlog.session.session import Session


def run_clone(
    name: str, config: Config, *, title: str | None, dry_run: bool, as_json: bool, options: dict[str, Any]
) -> None:
    """Make a clone, or say what would be made."""
    log = _check_log_path(options["compress_log"])
    order = parse_clone_edits(options, parse_strip_options(config, options))
    path = locate_session(name, config)
    if not (dry_run and is_demo(path)):
        find_target(path)
    if dry_run:
        _preview_clone(path, order, title, as_json)
        return
    if order.is_empty:
        _print_result(path, clone_session(path, title=title), None, as_json)
        return
    new = create_uuid()
    with Session.open(path) as session:
        found = apply_clone_edits(session, order, _build_transcript_path(path, new), dry_run=False)
        made = clone_session(path, found.draft, title=title, new=new, apart_from=_choose_exemptions(order))
    _print_result(path, made, found, as_json)
    if log is not None and found.log is not None:
        _write_log(log, found.log)


def _preview_clone(path: Path, order: CloneEdits, title: str | None, as_json: bool) -> None:
    """Do all of it but the writing, and say what would be made."""
    with Session.open(path) as session:
        found = apply_clone_edits(session, order, _build_transcript_path(path, create_uuid()), dry_run=True)
        check_resumes(session, found.draft, _choose_exemptions(order))
        amount = sum(map(len, found.draft.iterate_lines()))
    _print_result(path, None, found, as_json)
    if not as_json:
        print_lines(_describe_plan(path, title, amount))


def _build_transcript_path(path: Path, new: str) -> str:
    return str(path.with_name(f"{new}.jsonl"))


def _choose_exemptions(order: CloneEdits) -> Collection[str]:
    return PORTABLE_LOSSES if order.portable else ()


def _check_log_path(name: str | None) -> Path | None:
    """Where the log goes; what is wrong with that is told before a model is asked."""
    if name is None:
        return None
    goal = Path(name)
    if goal.exists():
        raise UsageError(f"{goal}: stands there already; name another file for --compress-log")
    if not goal.absolute().parent.is_dir():
        raise UsageError(f"{goal.parent}: no such folder; --compress-log is written into it")
    return goal


def _write_log(path: Path, text: str) -> None:
    try:
        create_file(path, text.encode(), root=path.absolute().parent, mode=0o600)
    except OSError as error:
        raise TurnlogError(f"{path}: {error.strerror or error}; the clone was made, the log was not written") from None


def _print_result(path: Path, made: ClonedSession | None, found: EditedSession | None, as_json: bool) -> None:
    if as_json:
        facts = found.facts if found else {}
        document = to_new_session_document(made) if made else None
        print_json({"session": str(path), "dry_run": made is None, "edits": facts, "made": document})
        return
    if found is not None:
        print_lines(map(make_visible, found.lines))
    if made is not None:
        print_new_session(made)


def _describe_plan(path: Path, title: str | None, amount: int) -> list[str]:
    name = title or compose_copy_title("clone", read_best_title(path), path.stem)
    files = 0 if is_demo(path) else len(list_carried_files(find_target(path), path.stem))
    return [
        f"Would make: {to_visible_line(name)}  ({format_size(amount)}{describe_file_count(files)})",
        "Nothing was written: this was a dry run.",
    ]
