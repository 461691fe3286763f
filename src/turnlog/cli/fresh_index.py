"""The index of all sessions, up to date, for the commands that need it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from turnlog.cli.config import Config, data_dir
from turnlog.cli.output import mention_unlisted, print_remark
from turnlog.errors import TurnlogError
from turnlog.store.index.file_changes import TranscriptLister, has_archive_changed
from turnlog.store.index.refresh import RefreshResult
from turnlog.store.index_file_name import build_index_name
from turnlog.store.store import Store

_BAR_DELAY_SECONDS = 0.4
"""What takes less time than this is done before anybody wonders."""


@contextmanager
def open_index(config: Config, *, fresh: bool = True) -> Iterator[Store]:
    """Open the index and bring it up to date; on a machine without sessions, that of the demo."""
    with open_refreshed_index(config, fresh=fresh) as (found, _):
        yield found


@contextmanager
def open_refreshed_index(config: Config, *, fresh: bool = True) -> Iterator[tuple[Store, RefreshResult]]:
    """The same, with what was done to bring it up to date."""
    from turnlog.cli.named_sessions import list_config_folders

    with Store.open(data_dir(), print_remark, build_index_name(config.config_dirs)) as found:
        places = [folder.absolute() for folder in list_config_folders(config)]
        done = refresh_index_with_bar(found, places) if fresh else RefreshResult()
        if fresh:
            adopt_archived_sessions(found, places)
        if (
            not fresh
            or done.known
            or done.unlisted
            or found.db.execute("SELECT EXISTS (SELECT 1 FROM file)").get
            or done.is_busy
        ):
            with _replace_damaged_index(found):
                yield found, done
            return
    with _open_demo_index() as pair:
        yield pair


@contextmanager
def opened_others(config: Config) -> Iterator[tuple[Store, RefreshResult]]:
    """The index of the `.jsonl` files whose names are no session's, up to date; it is a file of its own."""
    from turnlog.cli.named_sessions import list_config_folders
    from turnlog.entries.transcript_files import other_transcripts

    name = build_index_name(config.config_dirs).replace("index", "others", 1)
    with Store.open(data_dir(), print_remark, name) as found:
        done = refresh_index_with_bar(
            found, [folder.absolute() for folder in list_config_folders(config)], other_transcripts
        )
        with _replace_damaged_index(found):
            yield found, done


@contextmanager
def _replace_damaged_index(found: Store) -> Iterator[None]:
    """Put an index aside that turns out to be damaged while it is read: the next command makes it again."""
    try:
        yield
    except apsw.Error as error:
        if not found.shows_damage(error):
            raise
        found.recreate_index(error)
        raise TurnlogError("the index was damaged where the answer stood; give the command again") from error


@contextmanager
def _open_demo_index() -> Iterator[tuple[Store, RefreshResult]]:
    from tempfile import TemporaryDirectory

    from turnlog.demo import config_dir

    print_remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    with TemporaryDirectory(prefix="turnlog-demo-") as folder, Store.open(Path(folder), print_remark) as found:
        yield found, found.refresh([config_dir()])


def adopt_archived_sessions(found: Store, places: list[Path]) -> None:
    """Take in what only the archive has."""
    if not has_archive_changed(found.db, data_dir() / "archive"):
        return
    from turnlog.store.archive.archive import Archive
    from turnlog.store.file_lock import try_lock_file
    from turnlog.store.index.adoption import adopt_from_archive

    with try_lock_file(found.lock) as is_ours:
        done = adopt_from_archive(found.db, Archive(data_dir()), places) if is_ours else None
    if done and done.files:
        print_remark(f"Deleted files that were read from the archive: {done.files}.")
    for reason in done.unread[:3] if done else ():
        print_remark(f"Not in the index: {reason}; `turnlog archive verify` tells more.")


def refresh_index_with_bar(found: Store, folders: list[Path], lister: TranscriptLister | None = None) -> RefreshResult:
    """Bring an index up to date, with a bar if it takes a while; says what is not in it."""
    bar = _IndexBar()
    done = found.refresh(folders, bar.show, lister)
    bar.clear()
    if done.is_busy:
        print_remark("Another turnlog is bringing the index up to date; this is what it holds so far.")
    if done.left:
        print_remark(f"Interrupted: {done.left} files are not in the index yet; the next command goes on with them.")
    for reason in done.unread[:3]:
        print_remark(f"Not in the index: {reason}")
    mention_unlisted(done.unlisted)
    if len(done.unread) > 3:
        print_remark(f"… and {len(done.unread) - 3} more files that can't be read.")
    return done


class _IndexBar:
    """How far the work is, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0.0

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.start < _BAR_DELAY_SECONDS or now - self.shown < 0.1 or not self._is_stderr_terminal():
            return
        self.shown = now
        share = min(done / total, 1) if total else 1
        filled = int(share * 24)
        words = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB"
        sys.stderr.write(f"\r\x1b[2KIndexing [{'#' * filled}{'.' * (24 - filled)}] {words}  (Ctrl-C stops here)")
        sys.stderr.flush()

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    @staticmethod
    def _is_stderr_terminal() -> bool:
        return sys.stderr is not None and sys.stderr.isatty()
