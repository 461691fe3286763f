"""A key, and a source with two people in two teams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.lakes import KEY


@pytest.fixture(autouse=True)
def lake_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The key that all lakes of a test are built with."""
    monkeypatch.setenv("TURNLOG_FLEET_KEY", KEY)
    return KEY


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"
