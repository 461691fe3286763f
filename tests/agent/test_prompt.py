"""The system prompt: short, in our own words, and the same bytes for every session."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from turnlog.agent.briefing.prompt import GUIDE, IDENTITY, system
from turnlog.agent.briefing.surroundings import surroundings


def test_the_prompt_is_short() -> None:
    assert len(IDENTITY) + len(GUIDE) <= 4000


def test_the_prompt_holds_no_clock_and_no_path() -> None:
    text = IDENTITY + GUIDE
    assert not re.search(r"\b20\d\d\b|\d\d:\d\d", text)
    assert "/home" not in text
    assert str(Path.cwd()) not in text


def test_only_the_last_block_is_marked_for_the_cache() -> None:
    first, last = system()
    assert (first["text"], last["text"]) == (IDENTITY, GUIDE)
    assert "cache_control" not in first
    assert last["cache_control"] == {"type": "ephemeral"}


def test_a_person_may_replace_the_prompt_or_add_to_it() -> None:
    assert system("Mine.")[-1]["text"] == "Mine."
    assert system(None, "More.")[-1]["text"] == f"{GUIDE}\n\nMore."
    assert system("Mine.", "More.")[-1]["text"] == "Mine.\n\nMore."


def test_an_empty_prompt_leaves_the_first_line_alone() -> None:
    (only,) = system("")
    assert only == {"type": "text", "text": IDENTITY, "cache_control": {"type": "ephemeral"}}


def test_the_surroundings_tell_folder_branch_and_day(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/apples\n")
    told = surroundings(tmp_path, [tmp_path / "further"], "claude-x", {"SHELL": "/bin/zsh"}, "2026-11-03")
    assert f"- Working folder: {tmp_path}" in told
    assert "- Git: a repository, on branch apples" in told
    assert f"- Further folders: {tmp_path / 'further'}" in told
    assert "- Shell: zsh" in told
    assert told.endswith("2026-11-03")


def test_a_folder_without_a_repository_and_a_commit_without_a_branch_are_told(tmp_path: Path) -> None:
    assert "no repository" in surroundings(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("0123456789012345678901234567890123456789\n")
    assert "no branch checked out" in surroundings(tmp_path)


def test_the_day_is_today(tmp_path: Path) -> None:
    today = datetime.now(UTC).astimezone().date().isoformat()
    assert today in surroundings(tmp_path)
