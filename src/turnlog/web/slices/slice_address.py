"""The addresses of the sessions behind a figure: /insights/sessions with the page's filter and what the figure adds."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request

from turnlog.errors import UsageError
from turnlog.store.usage.usage_reports import parse_usage_request
from turnlog.store.usage.usage_slices import UsageSlice, parse_block, parse_week_hour
from turnlog.web import amounts

SESSIONS_PATH = "/insights/sessions"
_OUTCOME_NAMES = {"called": "calls", "failed": "failed calls"}
_EXACT_NAMES = ("folder", "by_model", "by_tool")
"""The parts that charts fill with names from transcripts, which may be long, and begin or end with a space."""
_MAX_VALUE_CHARS = 1000


class SliceAddress(NamedTuple):
    """The parts of the usage that a figure adds up, as the query string of an address."""

    since: str = ""
    until: str = ""
    project: str = ""
    """A project with the folders below it, or a part of a name: the page's filter."""
    model: str = ""
    """A model, or a part of a name: the page's filter."""
    folder: str = ""
    """The exact folder of a project."""
    by_model: str = ""
    """The exact name of a model."""
    by_tool: str = ""
    """The exact name of a tool, or NO_TOOL."""
    outcome: str = ""
    """`called`: only sessions with a call (to the tool), with their numbers of calls; `failed`: only those in which
    one failed."""
    hour: str = ""
    """An hour of the week: `Wed-14`."""
    block: str = ""
    """The first hour of a five-hour block in UTC: `2026-11-03T14`."""

    def build(self, **changes: str) -> str:
        """Return the address with some changes."""
        values = self._replace(**changes)._asdict()
        return f"{SESSIONS_PATH}?" + urlencode({name: value for name, value in values.items() if value})

    def to_slice(self, zone: str | None) -> UsageSlice:
        """Convert the address to a slice; raise `UsageError` if it is invalid."""
        request = parse_usage_request(
            "daily", *(value or None for value in (self.since, self.until, self.project, self.model, zone))
        )
        if self.outcome not in ("", *_OUTCOME_NAMES):
            raise UsageError(f"outcome {self.outcome!r}: choose one of {', '.join(_OUTCOME_NAMES)}")
        hours = parse_week_hour(self.hour), parse_block(self.block)
        return UsageSlice(request, self.folder, self.by_model, self.by_tool, *hours)

    def describe(self) -> str:
        """Describe the parts in words."""
        days = self.since if self.since == self.until else " to ".join(day for day in (self.since, self.until) if day)
        parts = [days or ("" if self.block else "all time")]
        parts += [amounts.folder_name(path) for path in (self.folder or self.project,) if path]
        parts += [amounts.model_name(name) for name in (self.by_model or self.model,) if name]
        parts += [self.by_tool, _OUTCOME_NAMES.get(self.outcome, "")]
        week_hour = parse_week_hour(self.hour)
        parts += [f"{week_hour.label}"] if week_hour else []
        parts += [f"five-hour block from {self.block.replace('T', ' ')}:00 UTC"] if self.block else []
        return " · ".join(part for part in parts if part)


def parse_slice_address(request: Request) -> SliceAddress:
    params = request.query_params
    values = {name: params.get(name, "") for name in SliceAddress._fields}
    typed = {name: value.strip()[:_MAX_VALUE_CHARS] for name, value in values.items() if name not in _EXACT_NAMES}
    return SliceAddress(**values | typed)
