"""Panels that only a lake has: usage by team and by person."""

from __future__ import annotations

from typing import Any

from turnlog.api.documents import to_document
from turnlog.api.usage import to_usage_amounts
from turnlog.store.lake.lake_people import PEOPLE_LABELS, list_people_usage
from turnlog.store.usage.usage_reports import UsageRequest
from turnlog.web.insights.panels import Panel, PanelCell
from turnlog.web.insights.rankings import build_cost_panel
from turnlog.web.machine import Machine

_MAX_ROWS = 15


def build_people_panels(machine: Machine, request: UsageRequest, total: dict[str, Any]) -> list[Panel]:
    """Rank teams and people by cost; `total` is the document of a report with the same request."""
    panels = []
    for label in PEOPLE_LABELS:
        found = list_people_usage(machine.store.db, request, label)
        rows = [{"name": row.name, **to_document(to_usage_amounts(row.sum))} for row in found[:_MAX_ROWS]]
        document = {**total, "rows": rows, "all_rows": len(found)}
        panels.append(build_cost_panel(label, f"By {label}", document, _build_name_cell))
    return panels


def _build_name_cell(row: Any) -> PanelCell:
    return PanelCell(row["name"] or "(unknown)")
