"""What each session adds to a part of the usage: cost, tokens and messages, or calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from starlette.requests import Request

from turnlog.store.lake.lake_index import LAKE_TIME_ZONE
from turnlog.store.usage.tool_spend import sum_tool_slice_by_session
from turnlog.store.usage.tool_usage import CallOutcomes, count_calls_by_session
from turnlog.store.usage.usage_slices import SliceSum, sum_slice_by_session
from turnlog.web.answers import get_machine
from turnlog.web.slices.index_cache import load_tool_spend
from turnlog.web.slices.slice_address import SliceAddress


class SliceFigures(NamedTuple):
    """What a session adds to the sum."""

    usage: SliceSum | None
    """None if only calls are counted."""
    calls: CallOutcomes | None
    """None if calls are not counted."""

    @property
    def rank(self) -> tuple[float, ...]:
        usage, calls = self.usage or SliceSum(), self.calls or CallOutcomes()
        return usage.cost, usage.tokens, calls.failed, calls.calls


def load_slice_figures(request: Request, address: SliceAddress) -> dict[int, SliceFigures]:
    """Load what each session adds to a part of the usage; raise `UsageError` if the part is invalid."""
    machine = get_machine(request)
    db, wanted = machine.store.db, address.to_slice(LAKE_TIME_ZONE if machine.lake else None)
    if not (wanted.tool or address.outcome):
        return {session: SliceFigures(usage, None) for session, usage in sum_slice_by_session(db, wanted).items()}
    is_of_model = bool(wanted.model or wanted.request.model)
    calls = {} if is_of_model else count_calls_by_session(db, wanted)
    if address.outcome or machine.lake:
        is_wanted = address.outcome != "failed" or machine.lake
        return {session: SliceFigures(None, counts) for session, counts in calls.items() if counts.failed or is_wanted}
    sums = sum_tool_slice_by_session(db, wanted, load_tool_spend(request))
    return {
        session: SliceFigures(
            sums.get(session, SliceSum()), None if is_of_model else calls.get(session, CallOutcomes())
        )
        for session in {**sums, **calls}
    }


def add_slice_figures(figures: Iterable[SliceFigures]) -> SliceFigures:
    """Add up what sessions add; amounts that none of them has stay unknown."""
    rows = list(figures)
    usage = [row.usage for row in rows if row.usage is not None]
    calls = [row.calls for row in rows if row.calls is not None]
    return SliceFigures(
        SliceSum(*map(sum, zip(*usage, strict=True))) if usage else None,
        CallOutcomes(*map(sum, zip(*calls, strict=True))) if calls else None,
    )
