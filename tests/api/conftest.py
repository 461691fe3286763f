"""What the tests of the Python API share: a machine whose sessions are copies of the demo's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import turnlog as turnlog_command  # noqa: F401 - a fixture; `turnlog` is the package here
from turnlog.demo import config_dir

LONG_AGO = 1_700_000_000
"""No client has written anything since."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config folder with the demo's sessions, a data folder, and a working folder, all of this test alone."""
    folder = tmp_path / "claude"
    shutil.copytree(config_dir(), folder)
    for path in folder.rglob("*.jsonl"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(folder))
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "work")
    return folder
