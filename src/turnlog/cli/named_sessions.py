"""Finds and opens sessions by name, and prints remarks to standard error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turnlog.api import lookup
from turnlog.api.config import Config
from turnlog.cli.output import print_remark

if TYPE_CHECKING:
    from turnlog.session.session import Session


def locate_named_session(name: str, config: Config) -> Path:
    """Find a session's file by name, and print a remark if it is a demo session."""
    return lookup.locate_session(name, config, print_remark)


def open_named_session(name: str, config: Config) -> Session:
    """Open a session by name, and print a remark if it is a demo session."""
    return lookup.open_session(name, config, print_remark)
