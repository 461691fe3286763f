"""What the tests of writing verbs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.edit.furnished import furnish
from turnlog.edit.trash.trash import Trash


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session with all that can belong to one, long untouched."""
    return furnish(tmp_path / "claude")


@pytest.fixture
def config(session: Path) -> Path:
    """The config folder of the session."""
    return session.parents[2]


@pytest.fixture
def trash(tmp_path: Path) -> Trash:
    """An empty trash."""
    return Trash(tmp_path / "data" / "trash")
