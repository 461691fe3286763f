"""`turnlog index`: the index of all sessions, for those who want to see or renew it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from turnlog.cli.config import Config
    from turnlog.store.index.refresh import Refreshed
    from turnlog.store.store import Status, Store

ACTIONS = ("status", "rebuild", "verify", "vacuum")


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), required=False)
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
    from turnlog.cli.config import load

    config = load()
    if action == "verify":
        return _verify(config, as_json)
    _report(config, action, as_json)
    return 0


def _report(config: Config, action: str | None, as_json: bool) -> None:
    from turnlog.cli.output import dump, say
    from turnlog.cli.stored import adopted, opened, refreshed
    from turnlog.store.index.changes import read_others

    with opened(config, fresh=action is None) as (store, done):
        if action == "rebuild":
            places = _places(config)
            _emptied(store, places)
            done = refreshed(store, places)
            adopted(store, places)
        elif action == "vacuum":
            from turnlog.store.index.upkeep import tidy

            _without_others(store, lambda: tidy(store.db))
        status, others = store.status(), read_others(store.db)
    if as_json:
        dump(_document(status, done))
    else:
        say(_lines(status, done, others))


def _places(config: Config) -> list[Path]:
    from turnlog.cli.named import folders

    return [folder.absolute() for folder in folders(config)]


def _emptied(store: Store, places: list[Path]) -> None:
    import apsw

    from turnlog.store.index.upkeep import empty

    try:
        _without_others(store, lambda: empty(store.db, places))
    except apsw.Error as error:
        if not store.shows_damage(error):
            raise
        store.begin_again(error)


def _without_others(store: Store, act: Any) -> None:
    from turnlog.errors import TurnlogError
    from turnlog.store.lock import locked

    with locked(store.lock) as is_ours:
        if not is_ours:
            raise TurnlogError(f"{store.path}: another turnlog is bringing the index up to date; try again later")
        act()


def _verify(config: Config, as_json: bool) -> int:
    from turnlog.cli.output import dump, say
    from turnlog.cli.stored import opened
    from turnlog.cli.terminal import line
    from turnlog.render.figures import count
    from turnlog.store.damage import DAMAGED
    from turnlog.store.index.upkeep import Difference, compare_with_disk, verify
    from turnlog.store.index.write import count_cut_texts

    with opened(config, fresh=False) as (store, _):
        faults = list(verify(store.db))
        path, disk, cut_texts = str(store.path), Difference([], [], 0), 0
        with suppress(*DAMAGED):  # `verify` has said so
            disk, cut_texts = compare_with_disk(store.db, _places(config)), count_cut_texts(store.db)
    faults += disk.faults
    if as_json:
        dump(
            {"path": path, "faults": faults, "unlisted": disk.unlisted, "waiting": disk.waiting, "cut_texts": cut_texts}
        )
    else:
        say(map(line, faults))
        say(line(f"{place}; its files were not compared") for place in disk.unlisted)
        if disk.waiting:
            say([f"{disk.waiting:,} files came or went since the last command; the next one reads them."])
        if cut_texts:
            say([f"{count(cut_texts, 'text')} longer than 32 million characters: the index has the beginning."])
        say(["`turnlog index rebuild` makes it again."] if faults else [])
        if not faults and not disk.unlisted:
            say([line(f"{path}: nothing wrong")])
    return 1 if faults or disk.unlisted else 0


def _document(status: Status, done: Refreshed) -> dict[str, Any]:
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


def _lines(status: Status, done: Refreshed, others: int) -> list[str]:
    from turnlog.cli import when
    from turnlog.cli.terminal import line
    from turnlog.render.figures import count

    gone = f", {status.gone} of them deleted since" if status.gone else ""
    uncounted = []
    if status.without_conversation:
        uncounted.append(f"{count(status.without_conversation, 'file')} without a conversation")
    if status.without_transcript:
        uncounted.append(f"{count(status.without_transcript, 'session')} of which only sub-agents are there")
    found = [
        line(status.path),
        f"{status.sessions:,} sessions in {status.files:,} files{gone}; {when.size(status.read)} of text and data",
        f"{status.texts:,} texts, {status.messages:,} answers, {status.calls:,} calls",
        f"{when.size(status.size)} on disk",
    ]
    found[2:2] = [f"not counted: {words}" for words in uncounted]
    if not status.files:
        found.append("nothing is in it yet; `turnlog index` reads the sessions of this machine")
    elif status.unread and not done.left:
        found.append(f"{count(status.unread, 'file')} not in it yet; `turnlog index` goes on with what is missing")
    if others:
        found.append(
            f"{count(others, '.jsonl file')} not in it: the name is not a session id; `turnlog ls --other` lists them"
        )
    if done.files:
        found.append(f"read {done.files:,} files, {when.size(done.bytes)}, in {done.seconds:.1f} s")
    return found
