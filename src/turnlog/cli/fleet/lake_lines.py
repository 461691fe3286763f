"""What `turnlog fleet` prints for people."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from turnlog.cli.rows import format_table_number, render_table_rows
from turnlog.cli.terminal import TerminalScreen, to_visible_line

if TYPE_CHECKING:
    from turnlog.api.lakes import LakeQueryResult, LakeSummary, LakeUsageRow
    from turnlog.fleet.build import LakeBuild
    from turnlog.fleet.forget import ForgottenPerson

_MAX_CELL_CHARS = 200
_USAGE_HEAD = (
    *("sessions", "people", "messages", "input", "output", "cache write", "cache read", "cache hits"),
    "cost $",
)
_SPARE_COLUMNS = ("people", "messages", "input", "cache write", "cache read")


def describe_build(done: LakeBuild) -> Iterator[str]:
    """Describe what a build did."""
    yield (
        f"Read {done.files_read:,} new or changed files ({done.bytes_read / 1e6:,.1f} MB);"
        f" {done.files_unchanged:,} were up to date."
    )
    if done.files_deleted:
        yield f"{done.files_deleted:,} files are no longer in the source; their rows are kept and marked."
    if done.secrets_replaced:
        yield f"Replaced {done.secrets_replaced:,} secrets, email addresses and names."
    rows = ", ".join(f"{count:,} {table}" for table, count in done.rows.items())
    yield f"{to_visible_line(done.lake)}: snapshot {done.snapshot}, {done.parts:,} parts; {rows or 'no rows'}."


def describe_forgotten(done: ForgottenPerson) -> Iterator[str]:
    """Describe what was erased."""
    yield (
        f"Erased {done.person} from {to_visible_line(done.lake)}: {done.files:,} session files, {done.parts:,} parts"
        f" written again, {done.deleted_files:,} old files deleted. Later builds skip this person."
    )
    if "://" in done.lake:
        yield "If the bucket keeps versions of deleted objects, delete those too; turnlog can't see them."


def render_lake_report(found: LakeSummary, screen: TerminalScreen) -> Iterator[str]:
    """Render all tables of a report."""
    period = f", {found.since or 'the beginning'} to {found.until or 'now'}" if found.since or found.until else ""
    yield (
        f"{to_visible_line(found.lake)}, snapshot {found.snapshot} of {found.created}{period}: {found.sessions:,}"
        f" sessions, {found.people:,} people, {found.files:,} files"
    )
    if found.deleted_files or found.failed_files:
        yield f"{found.deleted_files:,} files were deleted from the source; {found.failed_files:,} can't be read."
    for title, rows in (
        ("month", found.months),
        ("team", found.teams),
        ("person", found.persons),
        ("project", found.projects),
        ("model", found.models),
    ):
        yield ""
        yield from _render_usage(title, rows, found.total if title == "month" else None, screen)
    yield ""
    yield from _render_tools(found, screen)
    yield ""
    yield from _render_adoption(found, screen)
    yield ""
    yield from _render_versions(found, screen)
    yield ""
    yield from screen.wrap_prose(
        "Counted: every message once in the whole lake, sub-agents included. Cost: at list prices. Cache hits: the"
        " share of the prompt that came from the cache. Calls take from their line to their result, including any wait"
        " for permission."
    )


def _render_usage(
    title: str, rows: Sequence[LakeUsageRow], total: LakeUsageRow | None, screen: TerminalScreen
) -> Iterator[str]:
    cells = [(_format_name(row.name), *_format_usage(row)) for row in rows]
    if total is not None:
        cells.append(("total", *_format_usage(total)))
    yield from render_table_rows(
        (title, *_USAGE_HEAD), cells, screen, range(1, len(_USAGE_HEAD) + 1), spare=_SPARE_COLUMNS
    )


def _format_usage(row: LakeUsageRow) -> tuple[str, ...]:
    amounts = row.amounts
    return (
        "" if row.sessions is None else format_table_number(row.sessions),
        "" if row.people is None else format_table_number(row.people),
        format_table_number(amounts.messages),
        format_table_number(amounts.input_tokens),
        format_table_number(amounts.output_tokens),
        format_table_number(amounts.cache_creation_input_tokens),
        format_table_number(amounts.cache_read_input_tokens),
        "" if row.cache_hit_rate is None else f"{row.cache_hit_rate:.0%}",
        f"{amounts.cost_usd:,.2f}",
    )


def _render_tools(found: LakeSummary, screen: TerminalScreen) -> Iterator[str]:
    cells = [
        (
            _format_name(row.tool),
            f"{row.calls:,}",
            format_table_number(row.failed),
            "" if row.failure_rate is None else f"{row.failure_rate:.1%}",
            *(_format_seconds(value) for value in (row.median_seconds, row.p95_seconds, row.max_seconds)),
            f"{row.total_seconds / 3600:,.1f}",
        )
        for row in found.tools
    ]
    head = ("tool", "calls", "failed", "failure rate", "median s", "p95 s", "max s", "total h")
    yield from render_table_rows(head, cells, screen, range(1, len(head)))


def _render_adoption(found: LakeSummary, screen: TerminalScreen) -> Iterator[str]:
    cells = [
        (_format_name(row.month), *map(format_table_number, (row.people, row.sessions, row.prompts, row.turns)))
        for row in found.adoption
    ]
    yield from render_table_rows(("started in", "people", "sessions", "prompts", "turns"), cells, screen, range(1, 5))


def _render_versions(found: LakeSummary, screen: TerminalScreen) -> Iterator[str]:
    cells = [
        (
            _format_name(row.version),
            format_table_number(row.sessions),
            (row.first or "")[:10],
            (row.last or "")[:10],
            format_table_number(row.broken),
            format_table_number(row.files_with_unknown),
        )
        for row in found.versions
    ]
    head = ("version", "sessions", "first", "last", "broken lines", "files with unknown data")
    yield from render_table_rows(head, cells, screen, range(4, 6))
    if found.unknown:
        yield ""
        unknown = [(to_visible_line(row.name), f"{row.count:,}", _format_name(row.version)) for row in found.unknown]
        yield from render_table_rows(("unknown to this turnlog", "times", "version"), unknown, screen, range(1, 2))


def _format_name(name: str | None) -> str:
    return to_visible_line((name or "(unknown)")[:_MAX_CELL_CHARS])


def _format_seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"


def render_query_result(found: LakeQueryResult, screen: TerminalScreen) -> Iterator[str]:
    """Render the answer to a query as a table."""
    cells = [tuple(_format_cell(value) for value in row) for row in found.rows]
    if not cells:
        yield "No rows."
        return
    numbers = [
        place
        for place in range(len(found.columns))
        if all(isinstance(row[place], int | float | None) and not isinstance(row[place], bool) for row in found.rows)
    ]
    width = len(found.columns)
    first = next((place for place in range(width) if set(range(place, width)) <= set(numbers)), width)
    head = tuple(to_visible_line(name) for name in found.columns)
    yield from render_table_rows(head, cells, screen, range(first, width))


def _format_cell(value: Any) -> str:
    if value is None:
        return ""
    return to_visible_line(str(value)[:_MAX_CELL_CHARS])


def to_csv_lines(found: LakeQueryResult) -> Iterator[str]:
    """Format the answer to a query as CSV."""
    for row in (found.columns, *found.rows):
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(row)
        yield text.getvalue()
