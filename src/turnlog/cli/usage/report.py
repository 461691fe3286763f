"""What `turnlog usage` does, once its words are understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from turnlog.cli.config import Config
    from turnlog.store.usage.document import UsageReportDetails
    from turnlog.store.usage.reports import UsageRequest


class UsageOptions(NamedTuple):
    """The words of the call."""

    kind: str = "daily"
    since: str | None = None
    until: str | None = None
    project: str | None = None
    model: str | None = None
    timezone: str | None = None
    as_json: bool = False
    as_csv: bool = False


def print_usage(words: UsageOptions) -> None:
    """Print one report."""
    from turnlog.cli.config import load_config
    from turnlog.errors import UsageError
    from turnlog.store.usage.asked import parse_usage_request

    if words.as_json and words.as_csv:
        raise UsageError("--json and --csv: give one of the two")
    config = load_config()
    shown = _load_report(parse_usage_request(*words[:-2]), config)
    if words.as_json:
        _print_json(shown)
    elif words.as_csv:
        from turnlog.cli.output import write_raw
        from turnlog.cli.usage.csv import render_usage_csv

        write_raw(render_usage_csv(shown))
    else:
        from turnlog.cli.output import print_lines
        from turnlog.cli.terminal import detect_screen
        from turnlog.cli.usage.table import render_usage_table

        print_lines(render_usage_table(shown, detect_screen(config.color)))


def _print_json(shown: UsageReportDetails) -> None:
    from turnlog.cli.output import print_json, write_raw
    from turnlog.cli.terminal import is_on_terminal
    from turnlog.store.usage.document import to_usage_document

    if is_on_terminal():
        print_json(to_usage_document(shown))
        return
    import json  # to import the faster encoder takes longer than a whole report

    write_raw([json.dumps(to_usage_document(shown), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"])


def _load_report(request: UsageRequest, config: Config) -> UsageReportDetails:
    """The report, out of the index or, where none can be kept, out of the session files themselves."""
    from turnlog.cli.config import data_dir
    from turnlog.cli.stored import open_index
    from turnlog.store.place import build_index_name
    from turnlog.store.usage.document import load_usage_report

    if not _can_keep_index(data_dir() / build_index_name(config.config_dirs)):
        return _scan_report(request, config)
    with open_index(config) as found:
        return load_usage_report(found.db, request, is_demo=found.folder != data_dir() and not found.is_temporary)


def _can_keep_index(index: Path) -> bool:
    """Whether an index can be written: its file, if it is there, and the folder that it is or would be made in."""
    import os

    place = index.parent
    while not os.path.lexists(place):
        place = place.parent
    return os.access(place, os.W_OK) and (not index.exists() or os.access(index, os.W_OK))


def _scan_report(request: UsageRequest, config: Config) -> UsageReportDetails:
    from turnlog.cli.config import data_dir
    from turnlog.cli.named import list_config_folders
    from turnlog.cli.output import mention_unlisted, print_remark
    from turnlog.demo import config_dir
    from turnlog.errors import TurnlogError
    from turnlog.session.find import list_sessions_or_demo
    from turnlog.store.index.pricing import read_price_date
    from turnlog.store.usage.document import UsageReportDetails
    from turnlog.store.usage.reports import build_usage_report
    from turnlog.store.usage.scanned import build_usage_tables

    if request.kind == "tool":
        raise TurnlogError(f"{data_dir()}: can't be written to; calls by tool need the index that is kept there")
    print_remark(
        f"{data_dir()} can't be written to; without an index all session files are read, and nothing is estimated."
    )
    found = list_sessions_or_demo(list_config_folders(config))
    is_demo = found.is_demo
    mention_unlisted(found.survey.unlisted)
    if is_demo:
        print_remark("There are no Claude Code sessions on this machine; these are made-up ones (demo).")
    db = build_usage_tables([config_dir()] if is_demo else list_config_folders(config))
    return UsageReportDetails(
        request, build_usage_report(db, request), read_price_date(db), is_indexed=False, is_demo=is_demo
    )
