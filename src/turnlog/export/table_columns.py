"""The columns of the tables: the same for an export and for a lake (docs/export.md, docs/fleet.md).

Every table begins with the ids of the session and the sub-agent. `TABLE_FORMAT_VERSION` increases when a column
changes its meaning or disappears; a new column at the end of a table does not change it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from turnlog.render.html_escape import replace_unencodable
from turnlog.session.clock import parse_timestamp

TABLE_FORMAT_VERSION = 2
TableRow = dict[str, Any]
_MAX_INTEGER = 2**63 - 1


def _parse_columns(names: str) -> dict[str, str]:
    """Parse column names, each with an optional type after a colon; the default is text."""
    pairs = (name.partition(":") for name in f"session_id agent_id {names}".split())
    return {name: kind or "text" for name, _, kind in pairs}


TABLE_COLUMNS: dict[str, dict[str, str]] = {
    "sessions": _parse_columns(
        "kind file_name title tag started:time ended:time cwd git_branch version is_session:truth forked_from made_by"
        " size:number entries:number broken:number prompts:number turns:number messages:number calls:number"
        " compactions:number entry_types unknown"
    ),
    "turns": _parse_columns(
        "turn:number kind speaker outcome round prompt_id time:time ended:time duration_ms:number messages:number"
        " calls:number failed_calls:number"
    ),
    "messages": _parse_columns(
        "message_id role kind turn:number time:time ended:time model stop_reason is_error:truth text thinking"
        " calls:number"
    ),
    "calls": _parse_columns(
        "call_id message_id turn:number tool family time:time ended:time duration_ms:number outcome is_error:truth"
        " input result started_agent_id failed:truth input_chars:number result_chars:number path"
    ),
    "usage": _parse_columns(
        "message_id turn:number time:time model input_tokens:number output_tokens:number cache_read_tokens:number"
        " cache_write_5m_tokens:number cache_write_1h_tokens:number web_searches:number cost_usd:real quality request"
        " ended:time lowest_output:number stopped:truth sidechain:number version terms letters:number requests"
    ),
    "entries": _parse_columns(
        "offset:number size:number type subtype kind uuid parent_uuid time:time cwd git_branch version"
        " is_sidechain:truth is_meta:truth message_id json"
    ),
}
"""The columns of each table, with their types."""
ENTRY_TABLE = "entries"
"""The table with one row for each line, which can be built from any part of a file."""


def fit_column_value(kind: str, value: Any) -> Any:
    """Convert a value to a type that its column can store; return None if that is impossible."""
    match kind:
        case "text" if isinstance(value, str):
            return replace_unencodable(value)
        case "number" if isinstance(value, int):
            return value if -_MAX_INTEGER <= value <= _MAX_INTEGER else None
        case "real" if isinstance(value, int | float):
            return float(value)
        case "truth" if isinstance(value, bool):
            return value
        case "time":
            return _fit_time(parse_timestamp(value))
    return None


def _fit_time(time: datetime | None) -> datetime | None:
    return time if time is not None and 1 < time.year < 9999 else None


def build_arrow_schema(arrow: Any, table: str, extra: dict[str, str] | None = None) -> Any:
    """Build the Arrow schema of a table; `extra` are columns that come before its own."""
    columns = {**(extra or {}), **TABLE_COLUMNS[table]}
    fields = [(name, _to_arrow_type(arrow, kind)) for name, kind in columns.items()]
    about = {"turnlog.table": table, "turnlog.format": str(TABLE_FORMAT_VERSION)}
    return arrow.schema(fields, metadata=about)


def _to_arrow_type(arrow: Any, kind: str) -> Any:
    types = {"text": arrow.large_string(), "number": arrow.int64(), "real": arrow.float64(), "truth": arrow.bool_()}
    return types.get(kind) or arrow.timestamp("us", tz="UTC")
