"""The report of `turnlog usage`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from turnlog.cli.terminal import to_visible_line

if TYPE_CHECKING:
    from turnlog.api.usage import UsageTable


class UsageOptions(NamedTuple):
    kind: str = "daily"
    since: str | None = None
    until: str | None = None
    project: str | None = None
    model: str | None = None
    timezone: str | None = None
    as_json: bool = False
    as_csv: bool = False


def print_usage(words: UsageOptions) -> None:
    from turnlog.api.config import load_config
    from turnlog.api.usage import build_usage_table, load_usage_details
    from turnlog.cli.index_bar import show_index_bar
    from turnlog.errors import UsageError
    from turnlog.store.usage.usage_reports import parse_usage_request

    if words.as_json and words.as_csv:
        raise UsageError("use --json or --csv, not both")
    config = load_config()
    with show_index_bar() as bar:
        details = load_usage_details(parse_usage_request(*words[:-2]), config, bar.notify, bar.show)
    if words.as_json:
        _print_json(build_usage_table(details))
    elif words.as_csv:
        from turnlog.cli.output import write_raw

        write_raw(render_usage_csv(build_usage_table(details)))
    else:
        from turnlog.cli.output import print_lines
        from turnlog.cli.terminal import detect_screen
        from turnlog.cli.usage.table import render_usage_table

        print_lines(render_usage_table(details, detect_screen(config.color)))


def _print_json(table: UsageTable) -> None:
    from turnlog.api.documents import to_document
    from turnlog.cli.output import print_json, write_raw
    from turnlog.cli.terminal import is_on_terminal

    if is_on_terminal():
        print_json(to_document(table))
        return
    import json  # importing the faster encoder takes longer than a whole report

    from turnlog.render.json_line_breaks import escape_line_breaks

    document = json.dumps(to_document(table), ensure_ascii=False, separators=(",", ":")).encode()
    write_raw([escape_line_breaks(document) + b"\n"])


def render_usage_csv(table: UsageTable) -> Iterator[bytes]:
    """Render a report as CSV (RFC 4180), without the total."""
    from turnlog.api.documents import to_document
    from turnlog.api.usage import CallAmounts, UsageAmounts, UsageQuality
    from turnlog.store.usage.groupings import find_grouping

    grouping = find_grouping(table.kind)
    if grouping.counts_calls:
        amounts = CallAmounts.__struct_fields__
    else:
        plain = (name for name in UsageAmounts.__struct_fields__ if name != "quality")
        amounts = (*plain, *UsageQuality.__struct_fields__)
    names = [*grouping.keys, *amounts]
    yield _encode_record(names)
    for row in table.rows:
        cells = to_document(row)
        cells |= cells.get("quality", {})
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
    # Spreadsheets run such cells as formulas, and titles and paths are untrusted.
    if text.startswith(("=", "+", "-", "@")):
        text = "'" + text
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"') else text
