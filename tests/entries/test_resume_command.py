"""The command that resumes a session: in the folder in which the client finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from turnlog.entries.resume_command import build_resume_command, find_resume_folder

PROJECT = Path("/home/dana/.claude/projects/-home-dana-webshop")


@pytest.mark.parametrize(
    ("folders", "wanted"),
    [
        (["/home/dana/webshop"], "/home/dana/webshop"),
        (["/tmp", "/home/dana/webshop", "/home/dana/webshop/src"], "/home/dana/webshop"),
        (["/home/dana/other", "/tmp"], "/home/dana/other"),  # the project was moved by hand
        ([], None),
    ],
)
def test_the_folder_is_the_one_that_the_project_is_named_after(folders: list[str], wanted: str | None) -> None:
    assert find_resume_folder(PROJECT / "x.jsonl", folders) == wanted


def test_without_a_path_the_first_folder_is_taken() -> None:
    assert find_resume_folder(None, ["/a", "/b"]) == "/a"


@pytest.mark.parametrize("name", ["web shop", "it's", "$(touch pwned)", "a;touch pwned", "-rf", "new\nline"])
def test_a_shell_runs_the_command_in_its_folder_for_every_folder_name(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    client = tmp_path / "claude"
    client.write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$CLAUDE_CONFIG_DIR" "$@"\n')
    client.chmod(0o755)
    command = build_resume_command("aaaa; touch pwned", str(folder), f"{tmp_path}/con fig")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{folder}|{tmp_path}/con fig|--resume|aaaa; touch pwned|"
    assert not list(tmp_path.rglob("pwned"))


def test_without_a_folder_it_is_the_client_alone() -> None:
    assert build_resume_command("bee7dbd3", None) == "claude --resume bee7dbd3"
