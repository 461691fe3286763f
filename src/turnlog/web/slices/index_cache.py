"""What pages have computed from the index, while it is unchanged."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import date
from typing import Any

from starlette.requests import Request

from turnlog.store.insight.catalog import read_catalog_state
from turnlog.store.usage.tool_spend import ToolSpendRow, list_tool_spend
from turnlog.web.answers import get_app_state, get_machine
from turnlog.web.machine import Machine

_MAX_REMEMBERED = 64


class IndexCache:
    """Results that are reused while the index is unchanged."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, tuple[Any, Any]] = OrderedDict()

    def get_or_make(self, machine: Machine, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result for a key, computing it if needed."""
        # The index of a lake never changes; a new snapshot has another one.
        content = () if machine.lake else read_catalog_state(machine.store.db)
        state = (machine.index, *content, date.today())  # noqa: DTZ011 - local days
        known = self._known.get(key)
        if known is None or known[0] != state:
            known = self._known[key] = state, make()
            while len(self._known) > _MAX_REMEMBERED:
                self._known.popitem(last=False)
        return known[1]


def load_tool_spend(request: Request) -> list[ToolSpendRow]:
    """Return all usage divided by tool."""
    machine = get_machine(request)
    rows: list[ToolSpendRow] = get_app_state(request, "memory", IndexCache).get_or_make(
        machine, "tool spend", lambda: list_tool_spend(machine.store.db)
    )
    return rows
