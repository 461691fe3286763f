"""`turnlog index`: the index of all sessions, for those who want to see or renew it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from turnlog.api.config import Config
    from turnlog.store.index.refresh import RefreshResult
    from turnlog.store.store import IndexStatus, Store

INDEX_ACTIONS = ("status", "rebuild", "verify", "vacuum")


@click.command()
@click.argument("action", type=click.Choice(INDEX_ACTIONS), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/json.md).")
def index(action: str | None, as_json: bool) -> int:
    """Bring the index of all sessions up to date, and say what it holds.

    Commands that need the index bring it up to date by themselves; nothing has to be done for it. It lies in
    turnlog's own data folder and holds no texts, only where they stand. Sessions that the client has deleted stay
    counted.

    \b
    status     say what it holds, without reading anything new
    rebuild    empty it and read all sessions again
    verify     check it against itself and the files; exit status 1 if something is wrong
    vacuum     merge its pieces and give unused space back

    \b
    Examples:
      turnlog index
      turnlog index verify
      turnlog index status --json | jq .size
    """
    from turnlog.api.config import load_config

    config = load_config()
    if action == "verify":
        return _verify_index(config, as_json)
    _print_report(config, action, as_json)
    return 0


def _print_report(config: Config, action: str | None, as_json: bool) -> None:
    from turnlog.api.index import adopt_archived_sessions
    from turnlog.cli.fresh_index import open_refreshed_index, refresh_index_with_bar
    from turnlog.cli.output import print_json, print_lines, print_remark
    from turnlog.store.index.file_changes import read_other_file_count

    with open_refreshed_index(config, fresh=action is None) as (store, done):
        if action == "rebuild":
            places = _places(config)
            _empty_index(store, places)
            done = refresh_index_with_bar(store, places)
            adopt_archived_sessions(store, places, print_remark)
        elif action == "vacuum":
            from turnlog.store.index.upkeep import tidy_index

            _run_locked(store, lambda: tidy_index(store.db))
        status, others = store.status(), read_other_file_count(store.db)
    if as_json:
        print_json(_to_status_document(status, done))
    else:
        print_lines(_render_status(status, done, others))


def _places(config: Config) -> list[Path]:
    from turnlog.api.lookup import list_config_folders

    return [folder.absolute() for folder in list_config_folders(config)]


def _empty_index(store: Store, places: list[Path]) -> None:
    import apsw

    from turnlog.store.index.upkeep import empty_index

    try:
        _run_locked(store, lambda: empty_index(store.db, places))
    except apsw.Error as error:
        if not store.shows_damage(error):
            raise
        store.recreate_index(error)


def _run_locked(store: Store, act: Any) -> None:
    from turnlog.errors import TurnlogError
    from turnlog.store.file_lock import try_lock_file

    with try_lock_file(store.lock) as is_ours:
        if not is_ours:
            raise TurnlogError(f"{store.path}: another turnlog is bringing the index up to date; try again later")
        act()


def _verify_index(config: Config, as_json: bool) -> int:
    from turnlog.cli.fresh_index import open_refreshed_index
    from turnlog.cli.output import print_json, print_lines
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count
    from turnlog.store.database_damage import DAMAGE_ERRORS
    from turnlog.store.index.batch_writer import count_cut_texts
    from turnlog.store.index.upkeep import DiskDifference, compare_with_disk, verify_index

    with open_refreshed_index(config, fresh=False) as (store, _):
        faults = list(verify_index(store.db))
        path, disk, cut_texts = str(store.path), DiskDifference([], [], 0), 0
        with suppress(*DAMAGE_ERRORS):  # `verify` has said so
            disk, cut_texts = compare_with_disk(store.db, _places(config)), count_cut_texts(store.db)
    faults += disk.faults
    if as_json:
        print_json(
            {"path": path, "faults": faults, "unlisted": disk.unlisted, "waiting": disk.waiting, "cut_texts": cut_texts}
        )
    else:
        print_lines(map(to_visible_line, faults))
        print_lines(to_visible_line(f"{place}; its files were not compared") for place in disk.unlisted)
        if disk.waiting:
            print_lines([f"{disk.waiting:,} files came or went since the last command; the next one reads them."])
        if cut_texts:
            print_lines(
                [f"{format_count(cut_texts, 'text')} longer than 32 million characters: the index has the beginning."]
            )
        print_lines(["`turnlog index rebuild` makes it again."] if faults else [])
        if not faults and not disk.unlisted:
            print_lines([to_visible_line(f"{path}: nothing wrong")])
    return 1 if faults or disk.unlisted else 0


def _to_status_document(status: IndexStatus, done: RefreshResult) -> dict[str, Any]:
    return status._asdict() | {
        "refreshed": {
            "files": done.files,
            "bytes": done.bytes,
            "seconds": done.seconds,
            "left": done.left,
            "busy": done.is_busy,
            "unread": list(done.unread),
            "unlisted": list(done.unlisted),
            "others": done.others,
        }
    }


def _render_status(status: IndexStatus, done: RefreshResult, others: int) -> list[str]:
    from turnlog.cli import time_format
    from turnlog.cli.terminal import to_visible_line
    from turnlog.render.figures import format_count

    gone = f", {status.gone} of them deleted since" if status.gone else ""
    uncounted = []
    if status.without_conversation:
        uncounted.append(f"{format_count(status.without_conversation, 'file')} without a conversation")
    if status.without_transcript:
        uncounted.append(f"{format_count(status.without_transcript, 'session')} of which only sub-agents are there")
    found = [
        to_visible_line(status.path),
        (
            f"{status.sessions:,} sessions in {status.files:,} files{gone}; "
            f"{time_format.format_size(status.read)} of text "
            f"and data"
        ),
        f"{status.texts:,} texts, {status.messages:,} answers, {status.calls:,} calls",
        f"{time_format.format_size(status.size)} on disk",
    ]
    found[2:2] = [f"not counted: {words}" for words in uncounted]
    if not status.files:
        found.append("nothing is in it yet; `turnlog index` reads the sessions of this machine")
    elif status.unread and not done.left:
        found.append(
            f"{format_count(status.unread, 'file')} not in it yet; `turnlog index` goes on with what is missing"
        )
    if others:
        found.append(
            f"{format_count(others, '.jsonl file')} not in it: the name is not a session id; `turnlog ls "
            f"--other` lists them"
        )
    if done.files:
        found.append(f"read {done.files:,} files, {time_format.format_size(done.bytes)}, in {done.seconds:.1f} s")
    return found
