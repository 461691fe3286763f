"""The plans that sessions name."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from turnlog.entries.plans import find_plans_in_use, read_plan_names


def session(folder: Path, name: str, *rows: object) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    return path


def test_plans_are_named_by_entries_and_not_by_what_is_in_them(tmp_path: Path) -> None:
    path = session(
        tmp_path,
        "a",
        {"type": "user", "slug": "calm-blue-fox"},
        {"type": "user", "toolUseResult": {"slug": "a-page"}},
        {"type": "user", "slug": 7, "x": {"slug": "y"}},
        {"type": "user", "message": {"content": '"slug":"quoted"'}},
        {"type": "user", "slug": "calm-blue-fox"},
    )
    assert read_plan_names(path) == ["calm-blue-fox"]


def test_a_plan_is_in_use_if_another_session_names_it(tmp_path: Path) -> None:
    one = session(tmp_path, "a", {"slug": "calm-blue-fox"}, {"type": "mode"})
    gone = tmp_path / "gone.jsonl"
    assert find_plans_in_use(["calm-blue-fox", "red-fox"], [gone, one]) == {"calm-blue-fox"}
    assert find_plans_in_use(["red-fox"], [one]) == set()
    assert find_plans_in_use([], [one]) == set()


@pytest.mark.skipif(sys.platform == "win32", reason="a folder opens differently")
def test_a_plan_may_be_in_use_by_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").mkdir()
    assert find_plans_in_use(["red-fox"], [tmp_path / "x.jsonl"]) == {"red-fox"}
