"""`turnlog pack` and `turnlog unpack` as commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.edit.forged_package import ID, MAIN, file, forge_package, manifest, member, session
from tests.session.build import SESSION, Build

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"


def conversation(cwd: str = "/home/dana", text: str = "hello") -> bytes:
    build = Build()
    build.prompt(text, cwd=cwd)
    build.answer("hi", cwd=cwd)
    return b"".join(json.dumps(row).encode() + b"\n" for row in build.lines)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def test_a_packed_session_is_unpacked_elsewhere_with_words_how_to_go_on(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, project: Path
) -> None:
    machine.add(SESSION, conversation(), mtime=1)
    made = turnlog("pack", "1111", "-o", tmp_path / "p.tar.zst")
    assert made.status == 0
    assert made.lines[0] == f"{SESSION}  hello  (1 file, {len(conversation())} B; /home/dana)"
    assert made.lines[1].startswith(f"Packed 1 session into {tmp_path / 'p.tar.zst'}: 1 file, ")
    done = turnlog("unpack", tmp_path / "p.tar.zst", "--config", tmp_path / "there", "--project", project)
    assert done.lines == [
        f"Unpacked {SESSION}  hello  (1 file)",
        f"Resume it with: cd {project} && claude --resume {SESSION}",
    ]
    again = turnlog("unpack", tmp_path / "p.tar.zst", "--config", tmp_path / "there", "--project", project)
    assert again.lines == [f"Already here: {SESSION}  hello"]


def test_the_usual_config_folder_is_where_sessions_go(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(SESSION, conversation(), mtime=1)
    turnlog("pack", "last", "-o", tmp_path / "p")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "fresh"))
    assert turnlog("unpack", tmp_path / "p", "--project", project).status == 0
    assert [path.stem for path in (tmp_path / "fresh").rglob("*.jsonl")] == [SESSION]
    assert turnlog("ls").lines[0].startswith(SESSION[:8])


def test_a_list_shows_sessions_and_files_and_reads_no_more_than_the_manifest(
    turnlog: Turnlog, machine: Machine, tmp_path: Path
) -> None:
    machine.add(SESSION, conversation(), mtime=1)
    turnlog("pack", "last", "-o", tmp_path / "p")
    found = turnlog("unpack", tmp_path / "p", "--list")
    assert found.status == 0
    assert f"config/projects/-home-dana/{SESSION}.jsonl" in found.lines[1]
    assert found.lines[-1].startswith("1 file, ")


def test_a_dry_run_tells_every_place(turnlog: Turnlog, machine: Machine, tmp_path: Path, project: Path) -> None:
    machine.add(SESSION, conversation(), mtime=1)
    turnlog("pack", "last", "-o", tmp_path / "p")
    done = turnlog("unpack", tmp_path / "p", "--config", tmp_path / "there", "--project", project, "--dry-run")
    assert done.lines[0].startswith(f"Would unpack {SESSION}")
    assert done.lines[1].startswith("  new   ")
    assert not (tmp_path / "there").exists()


def test_without_a_project_the_remedy_is_told(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    machine.add(SESSION, conversation("/no/such/folder"), mtime=1)
    turnlog("pack", "last", "-o", tmp_path / "p")
    done = turnlog("unpack", tmp_path / "p", "--config", tmp_path / "there")
    assert (done.status, done.out) == (2, "")
    assert "/no/such/folder, which does not exist here; use --project PATH" in done.err


def test_each_of_several_projects_can_be_given_its_folder(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    other = SESSION.replace("1", "2")
    machine.add(SESSION, conversation("/srv/a"), slug="-srv-a", mtime=1)
    machine.add(other, conversation("/srv/b=c"), slug="-srv-b-c", mtime=1)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    turnlog("pack", SESSION, other, "-o", tmp_path / "p")
    words = ["unpack", tmp_path / "p", "--config", tmp_path / "there"]
    wrong = turnlog(*words, "--project", tmp_path / "a")
    assert wrong.status == 2
    assert "expected OLD=NEW, where OLD is one of the projects in the package (/srv/a, /srv/b=c)" in wrong.err
    done = turnlog(*words, "--project", f"/srv/a={tmp_path / 'a'}", "--project", f"/srv/b=c={tmp_path / 'b'}", "--json")
    assert [row["project"] for row in done.json["sessions"]] == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_a_redacted_package_counts_what_was_replaced(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    machine.add(SESSION, conversation(text=f"use {TOKEN}"), mtime=1)
    done = turnlog("pack", "last", "-o", tmp_path / "p", "--redact")
    assert (
        "Secrets replaced with placeholders: 1 time (github 1); check the package yourself before you share it"
        in done.lines
    )
    assert TOKEN not in done.out
    assert turnlog("unpack", tmp_path / "p", "--list").lines[-1].endswith("secrets replaced with placeholders")


def test_wrong_words_are_told(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    machine.add(SESSION, conversation(), mtime=1)
    assert turnlog("pack", "last").status == 2
    assert turnlog("pack", "-o", tmp_path / "p").status == 2
    missing = turnlog("pack", "last", "-o", tmp_path / "no" / "p")
    assert (missing.status, "no such folder" in missing.err) == (2, True)
    turnlog("pack", "last", "-o", tmp_path / "p")
    assert "--force" in turnlog("pack", "last", "-o", tmp_path / "p").err
    assert turnlog("pack", "last", "-o", tmp_path / "p", "--force").status == 0
    assert turnlog("unpack", tmp_path / "p", "--list", "--dry-run").status == 2
    assert turnlog("unpack", tmp_path / "none", "--list").status == 1
    assert turnlog("pack", "nothing-of-that-name", "-o", tmp_path / "q").status == 1


def test_a_session_of_the_demo_can_be_packed(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    done = turnlog("pack", "last", "-o", tmp_path / "p")
    assert done.status == 0
    assert "made-up" in done.err


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_names_and_titles_of_strangers_are_spelled_out(
    turnlog: Turnlog, machine: Machine, tmp_path: Path, project: Path
) -> None:
    hostile = HOSTILE.replace("\ud800", "")
    name = f"config/projects/-home-dana-webshop/{ID}/tool-results/a\nb{hostile}"
    told = manifest(file(name), sessions=[session(title=hostile, project="/x\n" + hostile)])
    path = forge_package(tmp_path / "p", told, member() + member(name))
    given = ["--config", tmp_path / "there", "--project", project]
    for words in (["--list"], [*given, "--dry-run"], given, given):
        done = turnlog("unpack", path, *words)
        assert done.status == 0
        assert not harmful(done.out)
    assert not harmful(turnlog("unpack", path, "--config", tmp_path / "x").err)
    assert MAIN in turnlog("unpack", path, "--list").out


def test_a_plan_that_stays_is_told(turnlog: Turnlog, machine: Machine, tmp_path: Path, project: Path) -> None:
    told = manifest(file("config/plans/x.md"))
    path = forge_package(tmp_path / "p", told, member("config/plans/x.md") + member())
    (tmp_path / "there" / "plans").mkdir(parents=True)
    (tmp_path / "there" / "plans" / "x.md").write_text("mine")
    done = turnlog("unpack", path, "--config", tmp_path / "there", "--project", project)
    assert "a different plan with that name already exists and is kept" in done.err


def test_a_line_that_is_being_written_is_told(turnlog: Turnlog, machine: Machine, tmp_path: Path) -> None:
    machine.add(SESSION, conversation() + b'{"type"')
    done = turnlog("pack", SESSION, "-o", tmp_path / "p")
    assert "still being written" in done.err
    assert turnlog("pack", SESSION, "-o", tmp_path / "q", "--json").json["sessions"][0]["bytes_left_out"] == 7
