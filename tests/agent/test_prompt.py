"""The system prompt: short, in our own words, and the same bytes for every session."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from turnlog.agent.briefing.surroundings import describe_surroundings
from turnlog.agent.briefing.system_prompt import SYSTEM_GUIDE, SYSTEM_IDENTITY, build_system_prompt


def test_the_prompt_is_short() -> None:
    assert len(SYSTEM_IDENTITY) + len(SYSTEM_GUIDE) <= 4000


def test_the_prompt_holds_no_clock_and_no_path() -> None:
    text = SYSTEM_IDENTITY + SYSTEM_GUIDE
    assert not re.search(r"\b20\d\d\b|\d\d:\d\d", text)
    assert "/home" not in text
    assert str(Path.cwd()) not in text


def test_only_the_last_block_is_marked_for_the_cache() -> None:
    first, last = build_system_prompt()
    assert (first["text"], last["text"]) == (SYSTEM_IDENTITY, SYSTEM_GUIDE)
    assert "cache_control" not in first
    assert last["cache_control"] == {"type": "ephemeral"}


def test_a_person_may_replace_the_prompt_or_add_to_it() -> None:
    assert build_system_prompt("Mine.")[-1]["text"] == "Mine."
    assert build_system_prompt(None, "More.")[-1]["text"] == f"{SYSTEM_GUIDE}\n\nMore."
    assert build_system_prompt("Mine.", "More.")[-1]["text"] == "Mine.\n\nMore."


def test_an_empty_prompt_leaves_the_first_line_alone() -> None:
    (only,) = build_system_prompt("")
    assert only == {"type": "text", "text": SYSTEM_IDENTITY, "cache_control": {"type": "ephemeral"}}


def test_the_surroundings_tell_folder_branch_and_day(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/apples\n")
    told = describe_surroundings(tmp_path, [tmp_path / "further"], "claude-x", {"SHELL": "/bin/zsh"}, "2026-11-03")
    assert f"- Working folder: {tmp_path}" in told
    assert "- Git: a repository, on branch apples" in told
    assert f"- Further folders: {tmp_path / 'further'}" in told
    assert "- Shell: zsh" in told
    assert told.endswith("2026-11-03")


def test_a_folder_without_a_repository_and_a_commit_without_a_branch_are_told(tmp_path: Path) -> None:
    assert "no repository" in describe_surroundings(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("0123456789012345678901234567890123456789\n")
    assert "no branch checked out" in describe_surroundings(tmp_path)


def test_the_day_is_today(tmp_path: Path) -> None:
    today = datetime.now(UTC).astimezone().date().isoformat()
    assert today in describe_surroundings(tmp_path)
