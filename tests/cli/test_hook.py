"""`turnlog hook`: what it says, what it writes, and that it can be undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Machine, Turnlog, harmful
from tests.trace.conftest import recorder as recorder
from tests.trace.recorder import Recorder
from tests.trace.test_wakes import leave
from tests.trace.test_worker import turn
from turnlog.live.hook_reports import HookReports
from turnlog.trace import trouble
from turnlog.trace.hook_settings import HOOK_EVENTS, read_installed_hooks


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Turnlog's data folder, whose name is hard to quote; and a project to stand in."""
    for name in [*os.environ]:
        if name.startswith(("OTEL_", "LANGFUSE_", "CC_LANGFUSE_", "TRACE_TO_")):
            monkeypatch.delenv(name)
    folder = tmp_path / 'it\'s "data" $HOME'
    monkeypatch.setenv("TURNLOG_HOME", str(folder))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return folder


def test_it_is_installed_for_all_projects_and_says_what_is_missing(
    machine: Machine, turnlog: Turnlog, data: Path
) -> None:
    path = machine.folder / "settings.json"
    path.write_text('{"model": "opus"}\n')
    done = turnlog("hook", "install")
    assert done.lines[0] == f"{path}: hook installed."
    assert done.lines[1] == f"The previous settings are in {path}.before-turnlog."
    assert done.lines[2].startswith("No target is configured yet: set OTEL_EXPORTER_OTLP_ENDPOINT")
    settings = json.loads(path.read_text())
    assert settings["model"] == "opus"
    assert tuple(settings["hooks"]) == HOOK_EVENTS["trace"]
    assert settings["hooks"]["Stop"][0]["hooks"][0]["timeout"] == 10
    again = turnlog("hook", "install")
    assert again.err == f"{path}: nothing to do.\n"
    gone = turnlog("hook", "uninstall")
    assert gone.lines == [f"{path}: hook removed."]
    assert path.read_text() == '{"model": "opus"}\n'
    assert turnlog("hook", "uninstall").err == f"{path}: nothing to do.\n"


def test_an_install_says_that_all_hooks_are_disabled(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    (machine.folder / "settings.json").write_text('{"disableAllHooks": true}')
    done = turnlog("hook", "install", "--live")
    assert done.status == 0
    assert done.err == "disableAllHooks is set in this file: Claude Code runs no hooks until you remove it.\n"


def test_settings_that_cannot_be_edited_safely_are_named(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = machine.folder / "settings.json"
    path.write_text('{"hooks": {}, "hooks": {"Stop": []}}')
    turnlog("hook", "install", "--live")
    before = path.read_bytes()
    done = turnlog("hook", "uninstall")
    assert done.status == 1
    assert done.err.startswith(f"turnlog: {path}: can't edit these settings safely, so nothing was changed")
    assert path.read_bytes() == before


@pytest.mark.parametrize(("option", "name"), [("--project", "settings.json"), ("--local", "settings.local.json")])
def test_it_is_installed_for_one_project(
    machine: Machine, turnlog: Turnlog, data: Path, option: str, name: str
) -> None:
    path = Path.cwd() / ".claude" / name
    assert turnlog("hook", "install", option).status == 0
    assert tuple(json.loads(path.read_text())["hooks"]) == HOOK_EVENTS["trace"]
    assert not (machine.folder / "settings.json").exists()
    assert turnlog("hook", "uninstall", option).status == 0
    assert not path.exists()


def test_what_would_be_done_is_shown_and_not_done(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = machine.folder / "settings.json"
    path.write_text('{\n  "a": "\x1b[2J"\n}\n'.replace("\x1b", "\\u001b"))
    before = path.read_bytes()
    done = turnlog("hook", "install", "--dry-run")
    assert '+  "hooks": {' in done.lines
    assert done.err == "Nothing was written: this was a dry run.\n"
    assert path.read_bytes() == before
    assert [item.name for item in machine.folder.iterdir() if item.is_file()] == ["settings.json"]


def test_targets_are_told_without_their_secrets(
    machine: Machine, turnlog: Turnlog, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hush-hush")
    done = turnlog("hook", "install")
    assert done.lines[-2].startswith("Spans go to otel (")
    assert "hide OTEL_* variables from hooks" in done.lines[-1]
    assert "hush" not in done.out + (machine.folder / "settings.json").read_text()


def test_a_target_that_is_not_known_here_may_be_known_to_the_client(
    machine: Machine, turnlog: Turnlog, data: Path
) -> None:
    done = turnlog("hook", "install", "--target", "team")
    assert "With the current settings, nothing would be sent: unknown target 'team'" in done.lines[-1]
    assert "--target team" in (machine.folder / "settings.json").read_text()


def test_broken_settings_are_refused_with_their_line(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = machine.folder / "settings.json"
    path.write_text("{\n// mine\n}")
    for words in (["install"], ["uninstall"]):
        done = turnlog("hook", *words)
        assert done.status == 1
        assert done.err.startswith(f"turnlog: {path}: line 2: not valid JSON")
    assert path.read_text() == "{\n// mine\n}"
    assert "line 2: not valid JSON" in turnlog("hook", "status").out


def test_status_says_where_it_is_installed_and_what_went_wrong(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    (machine.folder / "settings.json").write_text('{"disableAllHooks": true}')
    turnlog("hook", "install", "--target", "team")
    leave(data / "trace", {"transcript_path": "/a.jsonl"})
    trouble.write_trouble(data / "trace", f"it {HOSTILE} broke")
    done = turnlog("hook", "status")
    assert done.lines[0].startswith("user     installed 2")
    assert done.lines[0].endswith(f", only to team  {machine.folder / 'settings.json'}")
    assert "disableAllHooks" in done.lines[1]
    assert done.lines[2].startswith("project  not installed")
    assert "wakes    1 waiting, 0 broken" in done.out
    assert "trouble  " in done.lines[-1]
    assert not harmful(done.out)


def test_status_sees_a_hook_of_another_turnlog(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    turnlog("hook", "install")
    path = machine.folder / "settings.json"
    assert turnlog("hook", "status", "--json").json["settings"][0]["current"] is True
    path.write_text(path.read_text().replace(json.dumps(sys.executable)[1:-1], "/gone/python"))
    assert turnlog("hook", "status", "--json").json["settings"][0]["current"] is False
    assert "run `turnlog hook install` to fix that" in turnlog("hook", "status").out
    turnlog("hook", "install")
    assert turnlog("hook", "status", "--json").json["settings"][0]["current"] is True


@pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")
def test_the_installed_command_works_as_the_client_runs_it(
    machine: Machine, turnlog: Turnlog, data: Path, recorder: Recorder, tmp_path: Path
) -> None:
    config = tmp_path / "a b.toml"
    config.write_text(f'[trace.targets.team]\nendpoint = "{recorder.url}"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TURNLOG_CONFIG", str(config))
        turnlog("hook", "install", "--target", "team")
    name = "30000000-0000-4000-8000-000000000000"
    path = machine.add(name, b"".join(json.dumps(line).encode() + b"\n" for line in turn(name).lines))
    said = {"transcript_path": str(path), "hook_event_name": "Stop", "last_assistant_message": "Done."}
    command = json.loads((machine.folder / "settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TURNLOG_")}
    done = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(said).encode(), capture_output=True, env=environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    recorder.wait(spans=4, seconds=60)
    assert len(recorder.spans) == 4


# -- for live views


def test_reports_are_installed_next_to_tracing_and_removed_alone(
    machine: Machine, turnlog: Turnlog, data: Path
) -> None:
    path = machine.folder / "settings.json"
    path.write_text('{"model": "opus"}\n')
    done = turnlog("hook", "install", "--live")
    assert done.lines[0] == f"{path}: hook installed."
    assert "target" not in done.out, "nothing is sent"
    assert {*json.loads(path.read_text())["hooks"]} == {*HOOK_EVENTS["live"]}
    assert turnlog("hook", "status").lines[0].split(" for ")[1].startswith("live  ")
    turnlog("hook", "install")
    assert " for trace and live  " in turnlog("hook", "status").lines[0]
    assert turnlog("hook", "install", "--live").err == f"{path}: nothing to do.\n"
    turnlog("hook", "uninstall", "--live")
    assert tuple(json.loads(path.read_text())["hooks"]) == HOOK_EVENTS["trace"]
    turnlog("hook", "uninstall")
    assert path.read_text() == '{"model": "opus"}\n'


def test_a_target_means_tracing(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    turnlog("hook", "install", "--live", "--target", "team")
    assert turnlog("hook", "status", "--json").json["settings"][0]["purposes"] == ["trace", "live"]


def test_status_finds_an_event_that_is_missing(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    turnlog("hook", "install", "--live")
    path = machine.folder / "settings.json"
    settings = json.loads(path.read_text())
    del settings["hooks"]["PermissionRequest"]
    path.write_text(json.dumps(settings))
    assert turnlog("hook", "status", "--json").json["settings"][0]["current"] is False
    turnlog("hook", "install", "--live")
    assert turnlog("hook", "status", "--json").json["settings"][0]["current"] is True


@pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")
def test_what_the_installed_command_reports_is_seen_by_status(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    turnlog("hook", "install", "--live")
    assert "reports  0 bytes (left" in turnlog("hook", "status").out
    said = json.dumps({"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "hello"}).encode()
    hooks = json.loads((machine.folder / "settings.json").read_text())["hooks"]
    command = hooks["UserPromptSubmit"][0]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", command], input=said, capture_output=True, env={})
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [report.event for report in HookReports(data).poll()] == ["UserPromptSubmit"]
    reports = turnlog("hook", "status", "--json").json["reports"]
    assert (reports["path"], reports["files"], reports["problem"]) == (str(data / "hook-reports"), 1, None)
    assert reports["bytes"] > 50
    assert "latest 2" in turnlog("hook", "status").out
    (spool,) = (data / "hook-reports").iterdir()
    spool.unlink()
    spool.mkdir()
    assert "not a regular file" in turnlog("hook", "status").out


def test_two_that_install_at_once_do_not_undo_each_other(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = machine.folder / "settings.json"
    path.write_text('{"model": "opus"}\n')
    for _ in range(3):
        running = [
            subprocess.Popen([sys.executable, "-m", "turnlog", "hook", "install", option], stdout=subprocess.DEVNULL)
            for option in ("--live", "--trace", "--live", "--trace")
        ]
        assert [process.wait(60) for process in running] == [0] * 4
        found = read_installed_hooks(path)
        assert (found.purposes, len(found.commands)) == (("trace", "live"), 1)
        assert turnlog("hook", "uninstall").status == 0
        assert path.read_text() == '{"model": "opus"}\n'


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="needs an ordinary user")
def test_settings_that_cannot_be_written_are_left_as_they_are(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    machine.folder.chmod(0o500)
    try:
        done = turnlog("hook", "install", "--live")
        assert (done.status, done.err.count("\n")) == (1, 1)
        assert str(machine.folder) in done.err
    finally:
        machine.folder.chmod(0o700)


def test_a_data_folder_that_cannot_exist_is_refused_before_anything_is_written(
    machine: Machine, turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "file" / "data"))
    done = turnlog("hook", "install", "--live")
    assert done.status == 1
    assert done.err.startswith(f"turnlog: {tmp_path / 'file' / 'data'}: ")
    assert not (machine.folder / "settings.json").exists()
