"""The index of all sessions, up to date, for the commands that need it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from turnlog.cli.config import Config, data_dir
from turnlog.cli.output import mention_unlisted, remark
from turnlog.errors import TurnlogError
from turnlog.store.index.changes import Lister, archive_changed
from turnlog.store.index.refresh import Refreshed
from turnlog.store.place import index_name
from turnlog.store.store import Store

_PATIENCE = 0.4
"""What takes less time than this is done before anybody wonders."""


@contextmanager
def store(config: Config, *, fresh: bool = True) -> Iterator[Store]:
    """Open the index and bring it up to date; on a machine without sessions, that of the demo."""
    with opened(config, fresh=fresh) as (found, _):
        yield found


@contextmanager
def opened(config: Config, *, fresh: bool = True) -> Iterator[tuple[Store, Refreshed]]:
    """The same, with what was done to bring it up to date."""
    from turnlog.cli.named import folders

    with Store.open(data_dir(), remark, index_name(config.config_dirs)) as found:
        places = [folder.absolute() for folder in folders(config)]
        done = refreshed(found, places) if fresh else Refreshed()
        if fresh:
            adopted(found, places)
        if (
            not fresh
            or done.known
            or done.unlisted
            or found.db.execute("SELECT EXISTS (SELECT 1 FROM file)").get
            or done.is_busy
        ):
            with _healed(found):
                yield found, done
            return
    with _demo() as pair:
        yield pair


@contextmanager
def opened_others(config: Config) -> Iterator[tuple[Store, Refreshed]]:
    """The index of the `.jsonl` files whose names are no session's, up to date; it is a file of its own."""
    from turnlog.cli.named import folders
    from turnlog.entries.transcripts import other_transcripts

    name = index_name(config.config_dirs).replace("index", "others", 1)
    with Store.open(data_dir(), remark, name) as found:
        done = refreshed(found, [folder.absolute() for folder in folders(config)], other_transcripts)
        with _healed(found):
            yield found, done


@contextmanager
def _healed(found: Store) -> Iterator[None]:
    """Put an index aside that turns out to be damaged while it is read: the next command makes it again."""
    try:
        yield
    except apsw.Error as error:
        if not found.shows_damage(error):
            raise
        found.begin_again(error)
        raise TurnlogError("the index was damaged where the answer stood; give the command again") from error


@contextmanager
def _demo() -> Iterator[tuple[Store, Refreshed]]:
    from tempfile import TemporaryDirectory

    from turnlog.demo import config_dir

    remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    with TemporaryDirectory(prefix="turnlog-demo-") as folder, Store.open(Path(folder), remark) as found:
        yield found, found.refresh([config_dir()])


def adopted(found: Store, places: list[Path]) -> None:
    """Take in what only the archive has."""
    if not archive_changed(found.db, data_dir() / "archive"):
        return
    from turnlog.store.archive.archive import Archive
    from turnlog.store.index.adopt import adopt
    from turnlog.store.lock import locked

    with locked(found.lock) as is_ours:
        done = adopt(found.db, Archive(data_dir()), places) if is_ours else None
    if done and done.files:
        remark(f"Deleted files that were read from the archive: {done.files}.")
    for reason in done.unread[:3] if done else ():
        remark(f"Not in the index: {reason}; `turnlog archive verify` tells more.")


def refreshed(found: Store, folders: list[Path], lister: Lister | None = None) -> Refreshed:
    """Bring an index up to date, with a bar if it takes a while; says what is not in it."""
    bar = _Bar()
    done = found.refresh(folders, bar.show, lister)
    bar.clear()
    if done.is_busy:
        remark("Another turnlog is bringing the index up to date; this is what it holds so far.")
    if done.left:
        remark(f"Interrupted: {done.left} files are not in the index yet; the next command goes on with them.")
    for reason in done.unread[:3]:
        remark(f"Not in the index: {reason}")
    mention_unlisted(done.unlisted)
    if len(done.unread) > 3:
        remark(f"… and {len(done.unread) - 3} more files that can't be read.")
    return done


class _Bar:
    """How far the work is, on a terminal."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.shown = 0.0

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.start < _PATIENCE or now - self.shown < 0.1 or not self._stream_is_terminal():
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
    def _stream_is_terminal() -> bool:
        return sys.stderr is not None and sys.stderr.isatty()
