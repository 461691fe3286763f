"""`turnlog mcp`: how the server gets into Claude Code's configuration and out again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Machine, Turnlog, harmful


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project to stand in."""
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "da ta"))
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def read_entry(path: Path, *keys: str) -> object:
    found = json.loads(path.read_text())
    for key in (*keys, "mcpServers", "turnlog"):
        found = found[key]
    return found


def test_it_is_installed_for_the_user_and_taken_out_again(machine: Machine, turnlog: Turnlog, place: Path) -> None:
    path = machine.folder / ".claude.json"
    before = b'{"numStartups": 3,\n "mcpServers": {"db": {"command": "db"}}, "big": 12345678901234567890.5}'
    path.write_bytes(before)
    path.chmod(0o600)
    done = turnlog("mcp", "install")
    assert done.lines == [
        f"{path}: MCP server installed.",
        f"The previous settings are in {path}.before-turnlog.",
    ]
    entry = {
        "type": "stdio",
        "command": sys.executable,
        "args": ["-P", "-m", "turnlog", "mcp"],
        "env": {"TURNLOG_HOME": str(place.parent / "da ta")},
    }
    assert read_entry(path) == entry
    assert b'{"numStartups": 3,\n "mcpServers": {"db": {"command": "db"}' in path.read_bytes()
    assert b"12345678901234567890.5" in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert turnlog("mcp", "install").err == f"{path}: nothing to do.\n"
    assert turnlog("mcp", "uninstall").lines == [f"{path}: MCP server removed."]
    assert path.read_bytes() == before
    assert {item.name for item in machine.folder.iterdir()} == {"projects", ".claude.json"}
    assert turnlog("mcp", "uninstall").err == f"{path}: nothing to do.\n"


def test_what_the_client_wrote_meanwhile_is_kept(machine: Machine, turnlog: Turnlog, place: Path) -> None:
    path = machine.folder / ".claude.json"
    path.write_text('{"numStartups": 3}')
    turnlog("mcp", "install", "--all-projects", "--no-redact")
    settings = json.loads(path.read_text())
    assert settings["mcpServers"]["turnlog"]["args"][-2:] == ["--all-projects", "--no-redact"]
    path.write_text(json.dumps({**settings, "numStartups": 4}, indent=2))
    turnlog("mcp", "install")
    assert read_entry(path)["args"][-1] == "mcp"  # type: ignore[index]
    turnlog("mcp", "uninstall")
    assert json.loads(path.read_text()) == {"numStartups": 4}


def test_it_is_installed_for_everyone_in_a_project_without_paths_of_this_machine(
    machine: Machine, turnlog: Turnlog, place: Path
) -> None:
    turnlog("mcp", "install", "--scope", "project")
    assert read_entry(place / ".mcp.json") == {"type": "stdio", "command": "turnlog", "args": ["mcp"]}
    turnlog("mcp", "uninstall", "--scope", "project")
    assert not (place / ".mcp.json").exists()


def test_local_settings_belong_to_the_root_of_the_repository(
    machine: Machine, turnlog: Turnlog, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = machine.folder / ".claude.json"
    before = json.dumps({"projects": {str(place): {"mcpServers": {}, "allowedTools": ["x"]}, "/other": {}}}, indent=4)
    path.write_text(before)
    (place / "below").mkdir()
    monkeypatch.chdir(place / "below")
    turnlog("mcp", "install", "-s", "local")
    assert read_entry(path, "projects", str(place))
    assert json.loads(path.read_text())["projects"]["/other"] == {}
    turnlog("mcp", "uninstall", "-s", "local")
    assert path.read_text() == before


def test_broken_settings_are_refused_with_their_line(machine: Machine, turnlog: Turnlog, place: Path) -> None:
    path = machine.folder / ".claude.json"
    for text, problem in (
        ("{\n// mine\n}", "line 2: not valid JSON"),
        ("[]", "not valid Claude Code settings"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
    ):
        path.write_text(text)
        done = turnlog("mcp", "install")
        assert done.status == 1
        assert done.err.startswith(f"turnlog: {path}: {problem}"), done.err
        assert path.read_text() == text
    path.write_bytes(b'{\n"a": "\xff"}')
    assert "line 2: not UTF-8" in turnlog("mcp", "install").err


def test_a_link_to_the_configuration_stays_a_link(machine: Machine, turnlog: Turnlog, place: Path) -> None:
    real, path = place / "dotfiles.json", machine.folder / ".claude.json"
    real.write_text("{}")
    path.symlink_to(real)
    turnlog("mcp", "install")
    assert path.is_symlink()
    assert read_entry(real)


def test_a_dry_run_writes_nothing(machine: Machine, turnlog: Turnlog, place: Path) -> None:
    path = machine.folder / ".claude.json"
    path.write_text('{\n  "a": "\\u001b[2J\\u202e"\n}\n')
    before = path.read_bytes()
    done = turnlog("mcp", "install", "--dry-run", "--skill")
    assert '+  "mcpServers": {' in done.lines
    assert "+# Your past sessions" in done.lines
    assert not harmful(done.out)
    assert path.read_bytes() == before
    assert {item.name for item in machine.folder.iterdir()} == {"projects", ".claude.json"}


def test_the_skill_is_installed_and_removed_unless_it_was_edited(
    machine: Machine, turnlog: Turnlog, place: Path
) -> None:
    skill = machine.folder / "skills" / "turnlog" / "SKILL.md"
    assert f"{skill}: skill installed." in turnlog("mcp", "install", "--skill").lines
    assert skill.read_text().startswith("---\nname: turnlog\n")
    assert f"{skill}: skill removed." in turnlog("mcp", "uninstall").lines
    assert not skill.parent.exists()
    turnlog("mcp", "install", "--skill", "--scope", "project")
    mine = place / ".claude" / "skills" / "turnlog" / "SKILL.md"
    mine.write_text(mine.read_text() + "\nMine.\n")
    turnlog("mcp", "uninstall", "--scope", "project")
    assert mine.read_text().endswith("Mine.\n")
    turnlog("mcp", "install", "--skill", "--scope", "project")
    assert mine.with_name("SKILL.md.before-turnlog").read_text().endswith("Mine.\n")
    done = turnlog("mcp", "install", "--skill", "--scope", "local")
    assert done.status == 2
    assert "--scope user or --scope project" in done.err


def test_status_says_where_it_is_installed_and_what_agents_may_read(
    machine: Machine, turnlog: Turnlog, place: Path
) -> None:
    turnlog("mcp", "install", "--all-projects", "--skill")
    turnlog("mcp", "install", "--scope", "project", "--no-redact")
    lines = turnlog("mcp", "status").lines
    assert lines[0] == f"user     installed, all projects  {machine.folder / '.claude.json'}"
    assert lines[1].startswith("         skill  ")
    assert lines[2] == f"project  installed, current project, secrets included  {place / '.mcp.json'}"
    assert lines[3].startswith("local    not installed")
    found = turnlog("mcp", "status", "--json").json
    assert [item["installed"] for item in found["settings"]] == [True, True, False]
    assert found["available"] is True
    (place / ".mcp.json").write_text('{"mcpServers": {"turnlog": {"command": "other\\u001b[2J"}}}')
    assert "installed, by another turnlog or edited" in turnlog("mcp", "status").lines[2]
    (place / ".mcp.json").write_text("{")
    assert "not valid JSON" in turnlog("mcp", "status").lines[2]


def test_a_missing_package_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    """The folder hides the package: an import of it fails as where it isn't installed."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['mcp'] = sys.modules['mcp_types'] = None\n")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "turnlog", "mcp"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "turnlog: turnlog mcp requires the package mcp; run `pip install 'turnlog[mcp]'`\n"


def test_a_project_that_does_not_exist_is_named(turnlog: Turnlog, place: Path) -> None:
    done = turnlog("mcp", "--project", "nowhere")
    assert done.status == 2
    assert "--project nowhere: no such folder" in done.err
    assert turnlog("mcp", "--project", ".", "--all-projects").status == 2
