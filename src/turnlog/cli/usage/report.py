"""What `turnlog usage` does, once its words are understood."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli.terminal import to_visible_line
from turnlog.store.usage.usage_document import (
    USAGE_QUALITIES,
    UsageReportDetails,
    list_row_documents,
    to_all_calls_document,
    to_amounts_document,
)
from turnlog.store.usage.usage_sums import UsageSum

if TYPE_CHECKING:
    from pathlib import Path

    from turnlog.api.config import Config
    from turnlog.store.usage.usage_document import UsageReportDetails
    from turnlog.store.usage.usage_reports import UsageRequest


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
    from turnlog.api.config import load_config
    from turnlog.errors import UsageError
    from turnlog.store.usage.usage_reports import parse_usage_request

    if words.as_json and words.as_csv:
        raise UsageError("--json and --csv: give one of the two")
    config = load_config()
    shown = _load_report(parse_usage_request(*words[:-2]), config)
    if words.as_json:
        _print_json(shown)
    elif words.as_csv:
        from turnlog.cli.output import write_raw

        write_raw(render_usage_csv(shown))
    else:
        from turnlog.cli.output import print_lines
        from turnlog.cli.terminal import detect_screen
        from turnlog.cli.usage.table import render_usage_table

        print_lines(render_usage_table(shown, detect_screen(config.color)))


def _print_json(shown: UsageReportDetails) -> None:
    from turnlog.cli.output import print_json, write_raw
    from turnlog.cli.terminal import is_on_terminal
    from turnlog.store.usage.usage_document import to_usage_document

    if is_on_terminal():
        print_json(to_usage_document(shown))
        return
    import json  # to import the faster encoder takes longer than a whole report

    write_raw([json.dumps(to_usage_document(shown), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"])


def _load_report(request: UsageRequest, config: Config) -> UsageReportDetails:
    """The report, out of the index or, where none can be kept, out of the session files themselves."""
    from turnlog.api.config import data_dir
    from turnlog.cli.fresh_index import open_fresh_index
    from turnlog.store.index_file_name import build_index_name
    from turnlog.store.usage.usage_document import load_usage_report

    if not _can_keep_index(data_dir() / build_index_name(config.config_dirs)):
        return _scan_report(request, config)
    with open_fresh_index(config) as found:
        return load_usage_report(found.db, request, is_demo=found.folder != data_dir() and not found.is_temporary)


def _can_keep_index(index: Path) -> bool:
    """Whether an index can be written: its file, if it is there, and the folder that it is or would be made in."""
    import os

    place = index.parent
    while not os.path.lexists(place):
        place = place.parent
    return os.access(place, os.W_OK) and (not index.exists() or os.access(index, os.W_OK))


def _scan_report(request: UsageRequest, config: Config) -> UsageReportDetails:
    from turnlog.api.config import data_dir
    from turnlog.api.lookup import list_config_folders
    from turnlog.cli.output import mention_unlisted, print_remark
    from turnlog.demo import config_dir
    from turnlog.errors import TurnlogError
    from turnlog.session.session_lookup import list_sessions_or_demo
    from turnlog.store.index.price_mark import read_price_date
    from turnlog.store.usage.groupings import build_usage_report, find_grouping
    from turnlog.store.usage.memory_tables import build_usage_tables
    from turnlog.store.usage.usage_document import UsageReportDetails

    if find_grouping(request.kind).counts_calls:
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


def render_usage_csv(shown: UsageReportDetails) -> Iterator[bytes]:
    """A report as CSV (RFC 4180), without the total."""
    grouping = shown.get_grouping()
    amounts = to_all_calls_document(shown) if grouping.counts_calls else to_amounts_document(UsageSum())
    qualities = USAGE_QUALITIES if "quality" in amounts else ()
    names = [*grouping.keys, *(name for name in amounts if name != "quality"), *qualities]
    yield _encode_record(names)
    for row in list_row_documents(shown):
        cells = {**row, **row.get("quality", {})}
        yield _encode_record([cells[name] for name in names])


def _encode_record(cells: list[Any]) -> bytes:
    return (",".join(map(_format_cell, cells)) + "\r\n").encode("utf-8", "backslashreplace")


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.12f}".rstrip("0").rstrip(".")
    if not isinstance(value, str):
        return str(value)
    text = to_visible_line(value)
    # A spreadsheet takes such a cell for a formula, and titles and paths are what strangers wrote.
    if text.startswith(("=", "+", "-", "@")):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text
