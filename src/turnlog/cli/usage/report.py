"""What `turnlog usage` does, once its words are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from turnlog.cli.config import Config
    from turnlog.store.usage.document import Shown
    from turnlog.store.usage.reports import Request


class Words(NamedTuple):
    """The words of the call."""

    kind: str = "daily"
    since: str | None = None
    until: str | None = None
    project: str | None = None
    model: str | None = None
    timezone: str | None = None
    as_json: bool = False
    as_csv: bool = False


def print_usage(words: Words) -> None:
    """Print one report."""
    from turnlog.cli.config import load
    from turnlog.errors import UsageError
    from turnlog.store.usage.asked import asked

    if words.as_json and words.as_csv:
        raise UsageError("--json and --csv: give one of the two")
    config = load()
    shown = _shown(asked(*words[:-2]), config)
    if words.as_json:
        _print_json(shown)
    elif words.as_csv:
        from turnlog.cli.output import write_raw
        from turnlog.cli.usage.csv import csv_lines

        write_raw(csv_lines(shown))
    else:
        from turnlog.cli.output import say
        from turnlog.cli.terminal import screen
        from turnlog.cli.usage.table import table

        say(table(shown, screen(config.color)))


def _print_json(shown: Shown) -> None:
    from turnlog.cli.output import dump, write_raw
    from turnlog.cli.terminal import on_terminal
    from turnlog.store.usage.document import document

    if on_terminal():
        dump(document(shown))
        return
    import json  # to import the faster encoder takes longer than a whole report

    write_raw([json.dumps(document(shown), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"])


def _shown(request: Request, config: Config) -> Shown:
    """The report, out of the index or, where none can be kept, out of the session files themselves."""
    from turnlog.cli.config import data_dir
    from turnlog.cli.stored import store
    from turnlog.store.place import index_name
    from turnlog.store.usage.document import shown

    if not _can_keep(data_dir() / index_name(config.config_dirs)):
        return _scanned(request, config)
    with store(config) as found:
        return shown(found.db, request, is_demo=found.folder != data_dir() and not found.is_temporary)


def _can_keep(index: Path) -> bool:
    """Whether an index can be written: its file, if it is there, and the folder that it is or would be made in."""
    import os

    place = index.parent
    while not os.path.lexists(place):
        place = place.parent
    return os.access(place, os.W_OK) and (not index.exists() or os.access(index, os.W_OK))


def _scanned(request: Request, config: Config) -> Shown:
    from turnlog.cli.config import data_dir
    from turnlog.cli.named import folders
    from turnlog.cli.output import mention_unlisted, remark
    from turnlog.demo import config_dir
    from turnlog.errors import TurnlogError
    from turnlog.session.find import listing
    from turnlog.store.index.pricing import price_date
    from turnlog.store.usage.document import Shown
    from turnlog.store.usage.reports import report
    from turnlog.store.usage.scanned import scanned

    if request.kind == "tool":
        raise TurnlogError(f"{data_dir()}: can't be written to; calls by tool need the index that is kept there")
    remark(f"{data_dir()} can't be written to; without an index all session files are read, and nothing is estimated.")
    found = listing(folders(config))
    is_demo = found.is_demo
    mention_unlisted(found.survey.unlisted)
    if is_demo:
        remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    db = scanned([config_dir()] if is_demo else folders(config))
    return Shown(request, report(db, request), price_date(db), is_indexed=False, is_demo=is_demo)
