"""Imports the packages of the `fleet` extra, which the base installation doesn't have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from turnlog.errors import TurnlogError


def import_package(name: str, extra: str = "fleet") -> Any:
    """Import a module, or fail with the command that installs it."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise TurnlogError(f"a lake requires {package}; run `pip install 'turnlog[{extra}]'`") from None
