"""What `turnlog delete` asks, does and says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import click

from turnlog.cli.config import Config, data_dir
from turnlog.cli.edit.doubts import can_ask
from turnlog.cli.named import located
from turnlog.cli.output import remark, say
from turnlog.cli.terminal import line
from turnlog.cli.when import size
from turnlog.edit.trash.delete import Doomed, delete, doomed, refuse_busy
from turnlog.edit.trash.trash import Trash
from turnlog.errors import UsageError
from turnlog.render.figures import count

_LONGEST = 200


class Wish(NamedTuple):
    """How to delete."""

    yes: bool = False
    dry_run: bool = False
    history: bool = False
    force: bool = False


def trash() -> Trash:
    """The trash of this machine."""
    return Trash(data_dir() / "trash")


def remove(names: tuple[str, ...], wish: Wish, config: Config) -> int:
    """Delete sessions, after everything about all of them was found in order."""
    paths = list(dict.fromkeys(located(name, config) for name in names))
    found = [doomed(path) for path in paths]
    if wish.dry_run:
        say(text for item in found for text in _listed(item, wish))
        return 0
    asks = not wish.yes and can_ask()
    doubts = [sign.words for item in found for sign in refuse_busy(item, force=wish.force, asked=asks)]
    remarks = [_summary(item, wish) for item in found]
    perhaps = [f"Perhaps it is open: {words}." for words in dict.fromkeys(doubts)]
    if not _agreed([*remarks, *perhaps], "Delete?", wish):
        remark("Nothing was deleted.")
        return 1
    for path, words in zip(paths, remarks, strict=True):
        delete(path, trash(), history=wish.history, force=wish.force, asked=asks)
        say([f"Deleted {words}"])
    remark("`turnlog undelete` brings it back." if len(paths) == 1 else "`turnlog undelete` brings them back.")
    return 0


def empty(days: float, wish: Wish) -> int:
    """Remove for good what was deleted."""
    place, age = trash(), timedelta(days=min(days, 36500))
    what = "the trash" if not days else f"from the trash what was deleted {days:g} days ago or earlier"
    if wish.dry_run:
        say(f"{entry.name}  {line(entry.manifest.title or '')[:_LONGEST]}" for entry in place.ripe(age))
        return 0
    if not _agreed([f"{'Empties' if not days else 'Removes'} {what}, for good."], "Go on?", wish):
        remark("Nothing was removed.")
        return 1
    gone = place.empty(age)
    say([f"Removed {count(len(gone), 'session')} for good, {size(sum(entry.manifest.size for entry in gone))}"])
    return 0


def _agreed(words: list[str], question: str, wish: Wish) -> bool:
    """Whether the user wants it, asked where that is possible."""
    if wish.yes:
        return True
    if not can_ask():
        raise UsageError("nobody can be asked here; say --yes, or --dry-run to see what would go")
    for text in words:
        remark(text)
    return click.confirm(question, default=False, err=True)


def _summary(found: Doomed, wish: Wish) -> str:
    """A session in one line: id, title, and how much goes with it."""
    files = [path for path in found.paths if path.is_symlink() or not path.is_dir()]
    amount = f"{count(len(files), 'file')}, {size(sum(path.lstat().st_size for path in files))}"
    if wish.history:
        amount += f", {count(found.history_lines, 'line')} of history.jsonl"
    return line(f"{found.target.session_id}  {(found.title or '(no title)')[:_LONGEST]}  ({amount})")


def _listed(found: Doomed, wish: Wish) -> Iterator[str]:
    yield _summary(found, wish)
    for path in found.paths:
        yield "  " + line(str(path))
    for path in found.shared_plans:
        yield "  " + line(f"{path} stays: another session uses it")
