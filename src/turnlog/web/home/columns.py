"""The columns of the list: which exist, and which ones the reader has chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

COLUMN_LABELS: Mapping[str, str] = {
    "project": "Project",
    "time": "Last activity",
    "length": "Length and size",
    "turns": "Turns",
    "tools": "Tools",
    "models": "Models",
    "cost": "Cost",
    "health": "Health",
}
"""The columns beside the session itself, in their order."""
DEFAULT_COLUMNS = ("project", "time", "turns", "cost", "health")
COLUMNS_PREFERENCE = "home.columns"


def read_chosen_columns(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns to show, from the remembered preferences."""
    chosen = values.get(COLUMNS_PREFERENCE)
    if not isinstance(chosen, list):
        return DEFAULT_COLUMNS
    return tuple(name for name in COLUMN_LABELS if name in chosen)


def list_hidden_classes(chosen: Collection[str]) -> str:
    """Return the classes of the table that hide the columns that were not chosen."""
    return " ".join(f"hide-{name}" for name in COLUMN_LABELS if name not in chosen)
