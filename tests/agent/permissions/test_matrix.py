"""The permission matrix, row by row; `matrix.json` also holds what the real clients did (see interop)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .machine import Group, build_input, furnish, groups, guard, place

GROUPS = groups()
ORDINARY = {"allow rules", "read-only", "everyday commands", "accept edits", "files by default", "paths allowed"}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.name)
def test_each_call_is_decided_as_the_matrix_says(group: Group, tmp_path: Path) -> None:
    cwd = furnish(tmp_path.resolve())
    judge = guard(cwd, group)

    found = {
        (row.tool, row.given): judge.decide(row.tool, build_input(row, cwd), place(cwd)).verdict for row in group.rows
    }

    assert found == {(row.tool, row.given): row.verdict for row in group.rows}


def test_nothing_is_allowed_that_stops_the_newest_client_but_for_what_does_no_harm() -> None:
    found = {row.given for group in GROUPS for row in group.rows if row.newest == "stops" and row.verdict == "allow"}
    assert found == {"sort -k2 -n a.txt", "sort -t, -k2 a.txt", "echo $?", "pwd -P"}


def test_not_much_is_asked_of_everyday_commands_that_the_newest_client_runs() -> None:
    runs = [row for group in GROUPS if group.name in ORDINARY for row in group.rows if row.newest == "runs"]
    assert len([row for row in runs if row.verdict != "allow"]) <= len(runs) * 0.1


def test_the_matrix_is_large_and_says_all_there_is_to_say() -> None:
    rows = [row for group in GROUPS for row in group.rows]
    assert len(rows) >= 900
    assert {row.verdict for row in rows} == {"allow", "ask", "deny"}
    assert len([row for row in rows if row.newest and row.old]) >= 750


def test_whatever_is_not_allowed_says_why(tmp_path: Path) -> None:
    for group in GROUPS:
        cwd = furnish(tmp_path.resolve() / "here")
        judge = guard(cwd, group)
        decisions = [judge.decide(row.tool, build_input(row, cwd), place(cwd)) for row in group.rows]
        assert [one for one in decisions if one.verdict != "allow" and not one.reason] == []
        shutil.rmtree(tmp_path / "here")
