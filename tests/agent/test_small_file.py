"""Files that come with a checkout: a link to a device, a pipe or a huge file neither holds up nor fills the client."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from turnlog.agent.briefing.agents import load_agent_types
from turnlog.agent.briefing.memory import load_memory_files
from turnlog.agent.record.git_branch import DETACHED_HEAD, read_git_branch
from turnlog.agent.settings import load_settings
from turnlog.agent.small_file import read_small_file
from turnlog.errors import UsageError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs pipes and devices with names")
Trap = Callable[[Path], None]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


@pytest.mark.parametrize("trap", [pipe, endless, huge])
def test_what_is_no_small_file_is_not_read(tmp_path: Path, trap: Trap) -> None:
    trap(tmp_path / "file")
    with pytest.raises(OSError, match=r"not a regular file|too large"):
        read_small_file(tmp_path / "file", 100)


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 100)
    assert read_small_file(tmp_path / "file", 100) == b"x" * 100


@pytest.mark.parametrize("trap", [pipe, endless, huge])
def test_a_checkout_can_not_hold_up_the_start(tmp_path: Path, trap: Trap) -> None:
    cwd, config = tmp_path / "project", tmp_path / "config"
    for folder in (cwd / ".claude" / "agents", cwd / ".git", config):
        folder.mkdir(parents=True)
    for name in (".claude/settings.json", ".claude/agents/a.md", "CLAUDE.md", ".git/HEAD"):
        trap(cwd / name)
    with pytest.raises(UsageError, match=r"settings\.json: .*fix it or move it aside"):
        load_settings(cwd, config, is_trusted=False)
    assert load_agent_types(cwd, config).keys() == load_agent_types(config, config).keys()
    assert list(load_memory_files(cwd, config)) == []
    assert read_git_branch(cwd) == DETACHED_HEAD
