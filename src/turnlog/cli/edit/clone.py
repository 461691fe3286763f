"""`turnlog clone`: a new session from another, as it stands or edited on the way."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from turnlog.api.config import Config
from turnlog.cli.edit.edits import CloneEdits, EditedSession, apply_clone_edits, parse_clone_edits
from turnlog.cli.edit.new_session import describe_file_count, print_new_session, to_new_session_document
from turnlog.cli.edit.strip_options import add_strip_options, parse_strip_options
from turnlog.cli.named_sessions import locate_named_session
from turnlog.cli.output import print_json, print_lines
from turnlog.cli.terminal import make_visible, to_visible_line
from turnlog.cli.time_format import format_size
from turnlog.demo import is_demo
from turnlog.edit.carried_files import list_carried_files
from turnlog.edit.clone import ClonedSession, clone_session
from turnlog.edit.closing_entries import compose_copy_title
from turnlog.edit.id_renewal import create_uuid
from turnlog.edit.illnesses.verdict import PORTABLE_LOSSES, check_resumes
from turnlog.edit.session_target import find_target
from turnlog.entries.atomic_file import create_file
from turnlog.entries.peek import read_best_title
from turnlog.errors import TurnlogError, UsageError
from turnlog.session.session import Session


@click.command()
@click.argument("session")
@click.option("--title", help="The title of the new session; else `Clone of …`.")
@add_strip_options
@click.option(
    "--for-model",
    metavar="MODEL",
    help="Leave out what this model would refuse; other-provider: any that is not Anthropic's.",
)
@click.option("--compress", multiple=True, metavar="TURNS", help="Make texts shorter: turns=A..B, oldest=P%, offline.")
@click.option("--to", "to", metavar="PERCENT", help="How short --compress makes them; 35% if not given.")
@click.option("--prompts", is_flag=True, help="--compress also makes your own prompts shorter.")
@click.option("--compress-log", metavar="FILE", help="Write each text before and after into a Markdown file.")
@click.option(
    "--compact",
    is_flag=False,
    flag_value="model",
    metavar="[offline]",
    help="Put a summary in the place of older turns, as /compact does; goes behind SESSION.",
)
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="--compact keeps the last N turns; 2 if not given."
)
@click.option("--with-model", metavar="MODEL", help="The model that --compress and --compact ask.")
@click.option("--portable", is_flag=True, help="Write it so that every version of the client resumes all of it.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would be made; no model is asked.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def clone(session: str, title: str | None, dry_run: bool, as_json: bool, **options: Any) -> None:
    """Make a new session from another: to try another way, or to get context back.

    Everything gets new ids and all that belongs to the session is copied; branches stay branches, and the client
    resumes the clone like any other session. With options it is edited on the way: calls, results, thinking, images and
    noise stripped (docs/strip.md), older turns made shorter or summed up (docs/compress.md). The session itself is not
    changed. SESSION is a path, an id or the start of one, a title, or `last`.

    Only --compress and --compact ask a model, at ANTHROPIC_BASE_URL with ANTHROPIC_API_KEY; with `offline` they
    don't.

    \b
    Examples:
      turnlog clone last
      turnlog clone last --preset standard
      turnlog clone last --tools keep=5 --thinking remove --dry-run
      turnlog clone bee7dbd3 --compress oldest=50% --to 35% --compress-log before-and-after.md
      turnlog clone bee7dbd3 --compact offline --keep 3
    """
    from turnlog.api.config import load_config

    run_clone(session, load_config(), title=title, dry_run=dry_run, as_json=as_json, options=options)


def run_clone(
    name: str, config: Config, *, title: str | None, dry_run: bool, as_json: bool, options: dict[str, Any]
) -> None:
    """Make a clone, or say what would be made."""
    log = _check_log_path(options["compress_log"])
    order = parse_clone_edits(options, parse_strip_options(config, options))
    path = locate_named_session(name, config)
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
