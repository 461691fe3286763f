"""What `turnlog delete` asks, does and says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import click

from turnlog.cli.config import Config, data_dir
from turnlog.cli.edit.doubts import can_ask
from turnlog.cli.named import locate_session
from turnlog.cli.output import print_lines, print_remark
from turnlog.cli.terminal import to_visible_line
from turnlog.cli.when import format_size
from turnlog.edit.trash.delete import DeletionPlan, delete_session, plan_deletion, refuse_busy_deletion
from turnlog.edit.trash.trash import Trash
from turnlog.errors import UsageError
from turnlog.render.figures import format_count

_MAX_TITLE_CHARS = 200


class DeleteOptions(NamedTuple):
    """How to delete."""

    yes: bool = False
    dry_run: bool = False
    history: bool = False
    force: bool = False


def open_trash() -> Trash:
    """The trash of this machine."""
    return Trash(data_dir() / "trash")


def delete_sessions(names: tuple[str, ...], wish: DeleteOptions, config: Config) -> int:
    """Delete sessions, after everything about all of them was found in order."""
    paths = list(dict.fromkeys(locate_session(name, config) for name in names))
    found = [plan_deletion(path) for path in paths]
    if wish.dry_run:
        print_lines(text for item in found for text in _list_paths(item, wish))
        return 0
    asks = not wish.yes and can_ask()
    doubts = [sign.words for item in found for sign in refuse_busy_deletion(item, force=wish.force, asked=asks)]
    remarks = [_format_summary(item, wish) for item in found]
    perhaps = [f"Perhaps it is open: {words}." for words in dict.fromkeys(doubts)]
    if not _ask_agreement([*remarks, *perhaps], "Delete?", wish):
        print_remark("Nothing was deleted.")
        return 1
    for path, words in zip(paths, remarks, strict=True):
        delete_session(path, open_trash(), history=wish.history, force=wish.force, asked=asks)
        print_lines([f"Deleted {words}"])
    print_remark("`turnlog undelete` brings it back." if len(paths) == 1 else "`turnlog undelete` brings them back.")
    return 0


def purge_trash(days: float, wish: DeleteOptions) -> int:
    """Remove for good what was deleted."""
    place, age = open_trash(), timedelta(days=min(days, 36500))
    what = "the trash" if not days else f"from the trash what was deleted {days:g} days ago or earlier"
    if wish.dry_run:
        print_lines(
            f"{entry.name}  {to_visible_line(entry.manifest.title or '')[:_MAX_TITLE_CHARS]}"
            for entry in place.list_ripe(age)
        )
        return 0
    if not _ask_agreement([f"{'Empties' if not days else 'Removes'} {what}, for good."], "Go on?", wish):
        print_remark("Nothing was removed.")
        return 1
    gone = place.empty(age)
    print_lines(
        [
            (
                f"Removed {format_count(len(gone), 'session')} for good, "
                f"{format_size(sum(entry.manifest.size for entry in gone))}"
            )
        ]
    )
    return 0


def _ask_agreement(words: list[str], question: str, wish: DeleteOptions) -> bool:
    """Whether the user wants it, asked where that is possible."""
    if wish.yes:
        return True
    if not can_ask():
        raise UsageError("nobody can be asked here; say --yes, or --dry-run to see what would go")
    for text in words:
        print_remark(text)
    return click.confirm(question, default=False, err=True)


def _format_summary(found: DeletionPlan, wish: DeleteOptions) -> str:
    """A session in one line: id, title, and how much goes with it."""
    files = [path for path in found.paths if path.is_symlink() or not path.is_dir()]
    amount = f"{format_count(len(files), 'file')}, {format_size(sum(path.lstat().st_size for path in files))}"
    if wish.history:
        amount += f", {format_count(found.history_lines, 'line')} of history.jsonl"
    return to_visible_line(f"{found.target.session_id}  {(found.title or '(no title)')[:_MAX_TITLE_CHARS]}  ({amount})")


def _list_paths(found: DeletionPlan, wish: DeleteOptions) -> Iterator[str]:
    yield _format_summary(found, wish)
    for path in found.paths:
        yield "  " + to_visible_line(str(path))
    for path in found.shared_plans:
        yield "  " + to_visible_line(f"{path} stays: another session uses it")
