"""The messages of a lake that must be looked at one by one, as rows of the index.

These are the messages that several files contain, and those that took several requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnlog.store.lake.lake import Lake

FETCHED_ROWS = 10_000
INSERT_ANSWER = f"INSERT INTO answer VALUES ({','.join('?' * 18)})"
NameNumbers = dict[tuple[str, str], int]
"""The ids of names by kind and text."""
_SHARED_QUERY = """
    CREATE TABLE IF NOT EXISTS shared AS
    SELECT hash(message_id) AS key FROM usage GROUP BY 1 HAVING count(*) > 1
"""
_SHARING_QUERY = """
    CREATE TABLE IF NOT EXISTS sharing AS
    SELECT DISTINCT session_key FROM usage WHERE hash(message_id) IN (SELECT key FROM shared)
"""
_IS_SHARED = "hash(message_id) IN (SELECT key FROM shared)"
_IS_IN_SHARING_SESSION = "session_key IN (SELECT session_key FROM sharing)"
_ANSWER_QUERY = """
    SELECT message_id, usage.session_key, usage.file, model, epoch_us(time), epoch_us(usage.ended), input_tokens,
        output_tokens, cache_read_tokens, cache_write_5m_tokens + cache_write_1h_tokens, cache_write_1h_tokens,
        web_searches, lowest_output, stopped, sidechain, usage.version, terms, letters, requests
    FROM usage WHERE {condition}
"""


class ExactMessages:
    """Selects those messages; all others can be summed in groups."""

    def __init__(self, lake: Lake, *, keeps_sessions_whole: bool = False) -> None:
        """`keeps_sessions_whole` selects all messages of the sessions that share some with others."""
        self._lake, self._keeps_sessions_whole = lake, keeps_sessions_whole

    @cached_property
    def condition(self) -> str:
        """An SQL condition on the table `usage`."""
        self._lake.execute(_SHARED_QUERY)
        if self._keeps_sessions_whole:
            self._lake.execute(_SHARING_QUERY)
        return f"(requests IS NOT NULL OR {_IS_IN_SHARING_SESSION if self._keeps_sessions_whole else _IS_SHARED})"

    def iter_answer_rows(self, names: NameNumbers, files: dict[int, int]) -> Iterator[tuple[Any, ...]]:
        """Yield rows for `INSERT_ANSWER`; the models and files that have no number yet get one."""
        result = self._lake.execute(_ANSWER_QUERY.format(condition=self.condition))
        while rows := result.fetchmany(FETCHED_ROWS):
            yield from (_to_answer_row(row, names, files) for row in rows)


def _to_answer_row(row: tuple[Any, ...], names: NameNumbers, files: dict[int, int]) -> tuple[Any, ...]:
    key, _, file, model, first, last, *counts = row
    number = files.setdefault(file, len(files) + 1)
    name = None if model is None else names.setdefault(("model", model), len(names) + 1)
    return (key, number, name, format_lake_time(first), format_lake_time(last), *counts)


def build_file_path(project: str | None, name: str | None, file: int) -> str:
    """Build a name for a file of a lake; names sort in the order in which copies are charged."""
    return f"{project}/{name}\t{file}"


def format_lake_time(microseconds: int | None) -> str:
    """Format a time as Claude Code writes it; an unknown time becomes an empty text, as in the index."""
    if microseconds is None:
        return ""
    seconds, rest = divmod(microseconds, 1_000_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest // 1000:03}Z"
