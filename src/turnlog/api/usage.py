"""Reports the tokens, cost and calls of all sessions by day, session, project, model, tool or five-hour block."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import UNSET, Struct, UnsetType

from turnlog.api.config import Config, data_dir, load_config
from turnlog.api.lookup import DEMO_NOTICE, Notify, list_config_folders, mention_unlisted
from turnlog.errors import Unreadable
from turnlog.store.usage.time_zones import format_client_time
from turnlog.store.usage.usage_sums import PICO_PER_DOLLAR, ToolUsageRow, UsageSum

if TYPE_CHECKING:
    from turnlog.api.index import Progress
    from turnlog.entries.layout import Survey
    from turnlog.store.store import Store
    from turnlog.store.usage.groupings import UsageGrouping
    from turnlog.store.usage.usage_document import UsageReportDetails
    from turnlog.store.usage.usage_reports import UsageReportRow, UsageRequest


class UsageQuality(Struct, frozen=True):
    """The number of messages, by the reliability of their output token counts."""

    final: int
    partial: int
    """Messages whose tokens were counted before the answer was complete."""
    placeholder: int
    missing: int


class UsageAmounts(Struct, frozen=True):
    """The tokens and cost of a set of messages."""

    messages: int
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int
    cache_creation_input_tokens: int
    cache_creation_5m: int
    cache_creation_1h: int
    web_searches: int
    cost_usd: float
    """At list prices, excluding unpriced tokens."""
    cache_saved_usd: float
    unpriced_tokens: int
    """Tokens from models without a known price."""
    quality: UsageQuality
    estimated_further_output_tokens: int | None
    """None if unknown: only the index knows how long the texts are."""
    first: str | None
    last: str | None


class CallAmounts(Struct, frozen=True):
    """The number of calls, and the size of their inputs and results."""

    calls: int
    failed: int
    unanswered: int
    input_characters: int
    result_characters: int
    estimated_tokens: int


class UsageTableRow(Struct, frozen=True):
    """One row of a report."""

    __flat_fields__: ClassVar = ("labels", "amounts")
    labels: dict[str, Any]
    """What identifies the row, by kind of report: its `day`, or its `session_id`, `project`, `title` and so on."""
    amounts: UsageAmounts | CallAmounts
    """`CallAmounts` in the report by tool."""
    whole: UsageAmounts | UnsetType = UNSET
    """In the report by session: the session's entire usage, including messages counted towards another session."""


class UsageTotal(Struct, frozen=True):
    """The sum of all rows."""

    __flat_fields__: ClassVar = ("amounts",)
    amounts: UsageAmounts
    calls: CallAmounts | UnsetType = UNSET
    """In the report by tool."""


class UsageTable(Struct, frozen=True):
    """A usage report."""

    kind: str
    definition: str
    """What is counted, in words."""
    timezone: str
    since: str | None
    until: str | None
    project: str | None
    model: str | None
    prices: str | None
    """The date of the price table."""
    sessions: int
    gone_sessions: int
    sessions_with_usage: int
    demo: bool
    rows: list[UsageTableRow]
    total: UsageTotal


def report_usage(
    kind: str = "daily",
    *,
    since: str | date | None = None,
    until: str | date | None = None,
    project: str | None = None,
    model: str | None = None,
    timezone: str | None = None,
    config: Config | None = None,
    notify: Notify | None = None,
    progress: Progress | None = None,
) -> UsageTable:
    """Report the tokens and cost of all sessions and their sub-agents, counting each message once (docs/usage.md).

    `kind` is daily, weekly, monthly, session, project, model, tool or blocks. Days are dates or expressions such as
    `yesterday` or `30d`; `timezone` is their time zone, such as `Europe/Berlin`.
    """
    from turnlog.store.usage.usage_reports import parse_usage_request

    request = parse_usage_request(kind, _to_day_text(since), _to_day_text(until), project, model, timezone)
    return build_usage_table(load_usage_details(request, config or load_config(), notify, progress))


def _to_day_text(day: str | date | None) -> str | None:
    return day.isoformat() if isinstance(day, date) else day


def load_usage_details(
    request: UsageRequest, config: Config, notify: Notify | None = None, progress: Progress | None = None
) -> UsageReportDetails:
    """Load a report from the index or, if the index can't be stored, from the session files."""
    from turnlog.store.index_file_name import build_index_name

    index = data_dir() / build_index_name(config.config_dirs)
    if not _can_keep_index(index):
        return _scan_read_only(request, config, notify, progress)
    from turnlog.api.index import open_index
    from turnlog.store.usage.groupings import find_grouping
    from turnlog.store.usage.usage_document import load_usage_report

    counts_calls = find_grouping(request.kind).counts_calls
    may_scan = config.index_in_background and not counts_calls
    accepts_gaps = not may_scan
    while True:
        if may_scan and _is_index_missing(index, config, notify):
            with suppress(Unreadable):  # the index leaves out files that can't be read
                return _scan_before_indexing(request, config, index, notify, progress)
        remarks: list[str] = []
        has_gaps = False
        try:
            with open_index(config, is_whole=counts_calls, notify=remarks.append, progress=progress) as (found, done):
                has_gaps = done.is_busy and not accepts_gaps and _measure_unread_files(found) != 0
                if not has_gaps:
                    is_demo = found.folder != data_dir() and not found.is_temporary
                    return load_usage_report(found.db, request, is_demo=is_demo)
        finally:
            if notify and not has_gaps:
                for remark in remarks:
                    notify(remark)
        accepts_gaps = True  # another process has just started to read these files; look again


def _can_keep_index(index: Path) -> bool:
    """Return whether the index's folder is writable, and so are its file and its locks if they exist."""
    import os

    place = index.parent
    while not os.path.lexists(place):
        place = place.parent
    files = [index, *(index.with_suffix(ending) for ending in (".lock", ".filler", ".wanted"))]
    return os.access(place, os.W_OK) and all(os.access(file, os.W_OK) or not file.exists() for file in files)


def _is_index_missing(index: Path, config: Config, notify: Notify | None) -> bool:
    """Return whether much has yet to be indexed for the first time, so that a scan of the files is faster."""
    from turnlog.entries.transcript_files import list_transcripts
    from turnlog.store.filler import read_pause_reason
    from turnlog.store.index.fill_lock import is_filler_running, is_index_locked, wait_for_index_lock
    from turnlog.store.index.refresh import MAX_WHOLE_BYTES

    lock, is_in_use = index.with_suffix(".lock"), False
    if index.exists() and not is_filler_running(lock):
        is_in_use = is_index_locked(lock)
        if not is_in_use:
            return False  # the usual case costs nothing
    if not is_in_use and read_pause_reason(index) is not None:
        return False
    unread = None
    if index.exists():
        from turnlog.store.store import Store

        with Store.open(index.parent, notify or str, index.name) as store:
            unread = _measure_unread_files(store)
    if unread is None:
        folders = list_config_folders(config)
        unread = 0
        for size in (item.size for folder in folders for item in list_transcripts(folder)):
            unread += size
            if unread > MAX_WHOLE_BYTES:
                return True
    if is_in_use and 0 < unread <= MAX_WHOLE_BYTES:
        wait_for_index_lock(lock)  # the other process has nearly finished; without its last files, sums would be wrong
    return unread > MAX_WHOLE_BYTES


def _measure_unread_files(store: Store) -> int | None:
    """Return the size of the files that were never read completely; None if the index doesn't list any files yet."""
    from turnlog.entries.worker_processes import read_file_size

    known: list[Any] = store.db.execute("SELECT path, offset, head_hash = '' FROM file WHERE gone IS NULL").fetchall()
    if not known:
        return None
    rest = [(read_file_size(Path(path)) - offset, is_new) for path, offset, is_new in known]
    return sum(size for size, _ in rest) if any(is_new for _, is_new in rest) else 0


def _scan_before_indexing(
    request: UsageRequest, config: Config, index: Path, notify: Notify | None, progress: Progress | None
) -> UsageReportDetails:
    """Answer from the session files, and let a background process build the index."""
    from turnlog.entries.layout import Survey
    from turnlog.store.filler import start_filler

    survey = Survey()
    details = _scan_session_files(request, config, survey=survey, progress=progress)
    index.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    start_filler(index, [folder.absolute() for folder in list_config_folders(config)])
    if notify:
        notify(
            "The index is being built in the background. This report comes from the session files and doesn't estimate"
            " missing token counts."
        )
        mention_unlisted(survey.unlisted, notify)
    return details


def _scan_read_only(
    request: UsageRequest, config: Config, notify: Notify | None, progress: Progress | None
) -> UsageReportDetails:
    """Answer from the session files, because turnlog's data folder is not writable."""
    from turnlog.errors import TurnlogError
    from turnlog.session.session_lookup import list_sessions_or_demo
    from turnlog.store.usage.groupings import find_grouping

    if find_grouping(request.kind).counts_calls:
        raise TurnlogError(f"{data_dir()}: not writable; counting calls by tool requires the index in this folder")
    found = list_sessions_or_demo(list_config_folders(config))
    if notify:
        notify(
            f"{data_dir()}: not writable; without an index, turnlog reads all session files and doesn't estimate"
            " missing token counts."
        )
        mention_unlisted(found.survey.unlisted, notify)
        if found.is_demo:
            notify(DEMO_NOTICE)
    return _scan_session_files(request, config, is_demo=found.is_demo, progress=progress)


def _scan_session_files(
    request: UsageRequest,
    config: Config,
    *,
    is_demo: bool = False,
    survey: Survey | None = None,
    progress: Progress | None = None,
) -> UsageReportDetails:
    from turnlog.demo import config_dir
    from turnlog.store.index.price_mark import read_price_date
    from turnlog.store.usage.groupings import build_usage_report, find_grouping
    from turnlog.store.usage.memory_tables import build_usage_tables, needs_answers
    from turnlog.store.usage.usage_document import UsageReportDetails

    folders = [config_dir()] if is_demo else list_config_folders(config)
    with_titles = "title" in find_grouping(request.kind).keys
    with_answers = needs_answers(request)
    db = build_usage_tables(folders, survey, progress, with_titles=with_titles, with_answers=with_answers)
    report = build_usage_report(db, request)
    return UsageReportDetails(request, report, read_price_date(db), is_indexed=False, is_demo=is_demo)


def build_usage_table(details: UsageReportDetails) -> UsageTable:
    """Convert a report to the fields of its JSON document."""
    from turnlog.store.usage.usage_document import describe_usage_counting

    request, report = details.request, details.report
    grouping = details.get_grouping()
    return UsageTable(
        request.kind,
        describe_usage_counting(details),
        request.zone.name,
        _to_day_text(request.since),
        _to_day_text(request.until),
        request.project,
        request.model,
        details.prices,
        report.sessions,
        report.gone,
        report.with_usage,
        details.is_demo,
        [_to_tool_row(row) for row in report.tools]
        if grouping.counts_calls
        else [_to_table_row(row, grouping, details.is_indexed) for row in report.rows],
        UsageTotal(
            to_usage_amounts(report.total, details.is_indexed),
            _sum_calls(report.tools) if grouping.counts_calls else UNSET,
        ),
    )


def _to_table_row(row: UsageReportRow, grouping: UsageGrouping, has_estimate: bool) -> UsageTableRow:
    whole = UNSET if row.whole is None else to_usage_amounts(row.whole, has_estimate)
    return UsageTableRow(grouping.to_document(row.labels), to_usage_amounts(row.sum, has_estimate), whole)


def to_usage_amounts(found: UsageSum, has_estimate: bool = True) -> UsageAmounts:
    """Convert a sum to a value with the API's field names; without an estimate, more tokens are unknown, not 0."""
    return UsageAmounts(
        found.messages,
        found.input,
        found.output,
        found.cache_read,
        found.cache_write,
        found.cache_write_5m,
        found.cache_write_1h,
        found.searches,
        found.cost / PICO_PER_DOLLAR,
        found.saved / PICO_PER_DOLLAR,
        found.unpriced,
        UsageQuality(found.final, found.partial, found.placeholder, found.missing),
        found.estimate if has_estimate or not found.doubtful_messages else None,
        None if found.first is None else format_client_time(found.first),
        None if found.last is None else format_client_time(found.last),
    )


def _to_tool_row(row: ToolUsageRow) -> UsageTableRow:
    return UsageTableRow({"tool": row.tool}, _to_call_amounts(row))


def _sum_calls(rows: tuple[ToolUsageRow, ...]) -> CallAmounts:
    from turnlog.store.usage.tool_usage import sum_tool_usage

    return _to_call_amounts(sum_tool_usage(rows))


def _to_call_amounts(row: ToolUsageRow) -> CallAmounts:
    return CallAmounts(row.calls, row.failed, row.unanswered, row.given, row.got, row.tokens)
