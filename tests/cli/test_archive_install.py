"""`turnlog archive install`: what it prints, what it writes, and that it can be undone."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Machine, Turnlog
from turnlog.api.archive_installation import (
    add_archive_hooks,
    build_unit_files,
    cron_line,
    hook_command,
    remove_archive_hooks,
)
from turnlog.errors import TurnlogError

posix = pytest.mark.skipif(os.name == "nt", reason="needs programs of POSIX")
COMMAND = "turnlog archive run --quiet --hook"
WRITTEN = '{\n\t"model" : "opus",  "env":{"A":"\\u00e9","n":1.0},\n "hooks": %s}\n\n'


def group(command: str) -> dict[str, Any]:
    """A hook as the client's settings spell it."""
    return {"hooks": [{"type": "command", "command": command}]}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `systemctl` that notes how it was called, and a `crontab` that keeps its table in a file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    table, calls = tmp_path / "crontab.txt", tmp_path / "calls.txt"
    scripts = {
        "systemctl": f'echo "$@" >> {calls}',
        "crontab": f'if [ "$1" = -l ]; then cat {table} 2>/dev/null || {{ echo "no crontab for dana" >&2; exit 1; }};'
        f" else cat > {table}; fi",
    }
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.mark.parametrize(
    "hooks",
    [
        "{}",
        '{"Stop": []}',
        '{"SessionEnd": []}',
        '{"PreCompact" : [ {"hooks":[]} ]}',
        '{"SessionEnd": [{"matcher": "x", "hooks": [{"type":"command","command":"a"}]}]}',
    ],
)
def test_hooks_are_put_in_and_taken_out_and_the_rest_is_as_it_was(hooks: str) -> None:
    before = WRITTEN % hooks
    after = add_archive_hooks(before, COMMAND)
    assert after.startswith('{\n\t"model" : "opus",  "env":{"A":"\\u00e9","n":1.0},\n "hooks": ')
    found = json.loads(after)["hooks"]
    assert found["SessionEnd"][-1] == found["PreCompact"][-1] == group(COMMAND)
    assert add_archive_hooks(after, COMMAND) == after, "a second time changes nothing"
    left = json.loads(remove_archive_hooks(after))
    kept = {name: value for name, value in json.loads(hooks).items() if value or name == "Stop"}
    assert left.get("hooks", {}) == kept
    assert left["model"] == "opus"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=5), JSON, max_size=3),
    st.dictionaries(st.sampled_from(["Stop", "SessionEnd", "PreCompact"]), st.lists(JSON, max_size=3)),
    st.sampled_from([None, 0, 2, "\t"]),
)
def test_any_settings_come_through(other: dict[str, Any], hooks: dict[str, Any], indent: int | str | None) -> None:
    settings = {**other, "hooks": hooks} if hooks else other
    text = json.dumps(settings, indent=indent)
    after = add_archive_hooks(text, COMMAND)
    wanted = {**hooks, **{name: [*hooks.get(name, []), group(COMMAND)] for name in ("SessionEnd", "PreCompact")}}
    assert json.loads(after) == {**settings, "hooks": wanted}
    left = json.loads(remove_archive_hooks(after))
    empty = {name for name in ("SessionEnd", "PreCompact") if not hooks.get(name)}
    rest = {name: value for name, value in hooks.items() if name not in empty}
    assert left == ({**settings, "hooks": rest} if rest else {**other})


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"SessionEnd": {}}}', "{}{}", "// a\n{}"])
def test_settings_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(TurnlogError):
        add_archive_hooks(text, COMMAND)


def test_hooks_are_written_only_with_yes_and_a_copy_is_kept(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    path = machine.folder / "settings.json"
    path.write_text('{"model": "opus"}\n')
    path.chmod(0o640)
    asked = turnlog("archive", "install", "--hook")
    assert "add hooks to" in asked.out
    assert hook_command() in asked.out
    assert asked.err == "Nothing was changed; use --yes to make the changes.\n"
    assert path.read_text() == '{"model": "opus"}\n'
    turnlog("archive", "install", "--hook", "--yes")
    settings = json.loads(path.read_text())
    assert settings["model"] == "opus"
    assert settings["hooks"]["SessionEnd"] == [group(hook_command())]
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o640
    (copy,) = (data / "archive" / "backups").iterdir()
    assert copy.read_text() == '{"model": "opus"}\n'
    assert turnlog("archive", "install", "--hook", "--yes").err == "Nothing to do.\n"
    turnlog("archive", "install", "--hook", "--remove", "--yes")
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_settings_that_are_missing_are_made_and_linked_ones_stay_linked(
    machine: Machine, turnlog: Turnlog, data: Path, tmp_path: Path
) -> None:
    path = machine.folder / "settings.json"
    turnlog("archive", "install", "--hook", "--yes")
    assert set(json.loads(path.read_text())) == {"hooks"}
    if os.name == "nt":
        return
    path.rename(tmp_path / "dotfile.json")
    path.symlink_to(tmp_path / "dotfile.json")
    turnlog("archive", "install", "--remove", "--hook", "--yes")
    assert path.is_symlink()
    assert json.loads(path.read_text()) == {}


@posix
def test_the_installed_hook_archives_the_session(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    name = "aaaaaaaa-0000-4000-8000-000000000001"
    machine.add(name, b'{"type":"user"}\n')
    turnlog("archive", "install", "--hook", "--yes")
    command = json.loads((machine.folder / "settings.json").read_text())["hooks"]["SessionEnd"][0]["hooks"][0][
        "command"
    ]
    given = json.dumps({"session_id": name, "hook_event_name": "SessionEnd"}).encode()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TURNLOG_")}
    done = subprocess.run(["/bin/sh", "-c", command], input=given, capture_output=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(list((data / "archive" / "sessions").iterdir())) == 1


@posix
def test_a_timer_is_installed_and_removed(machine: Machine, turnlog: Turnlog, data: Path, programs: Path) -> None:
    asked = turnlog("archive", "install", "--systemd")
    assert "systemctl --user enable --now turnlog-archive.timer" in asked.out
    assert not any(path.exists() for path in build_unit_files())
    assert turnlog("archive", "install", "--systemd", "--yes").status == 0
    service, timer = build_unit_files()
    assert f'"TURNLOG_HOME={data}"' in service.read_text()
    assert "OnCalendar=*-*-* 00/6:17" in timer.read_text()
    assert (programs / "calls.txt").read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now turnlog-archive.timer",
    ]
    turnlog("archive", "install", "--remove", "--yes")
    assert not any(path.exists() for path in build_unit_files())
    assert "disable --now turnlog-archive.timer" in (programs / "calls.txt").read_text()


@posix
def test_a_systemd_that_does_not_answer_is_told(machine: Machine, turnlog: Turnlog, data: Path, programs: Path) -> None:
    (programs / "bin" / "systemctl").write_text("#!/bin/sh\necho Failed to connect to bus >&2; exit 1\n")
    done = turnlog("archive", "install", "--systemd", "--yes")
    assert done.status == 1
    assert "Failed to connect to bus; the files were written" in done.err
    assert turnlog("archive", "install", "--systemd", "--remove", "--yes").status == 0


@posix
def test_a_line_for_cron_is_added_once_and_taken_out(
    machine: Machine, turnlog: Turnlog, data: Path, programs: Path
) -> None:
    table = programs / "crontab.txt"
    table.write_text("# mine\n0 1 * * * backup\n")
    turnlog("archive", "install", "--cron", "--yes")
    assert table.read_text() == f"# mine\n0 1 * * * backup\n{cron_line()}\n"
    assert turnlog("archive", "install", "--cron", "--yes").err == "Nothing to do.\n"
    turnlog("archive", "install", "--cron", "--remove", "--yes")
    assert table.read_text() == "# mine\n0 1 * * * backup\n"


@posix
def test_a_first_crontab_is_made(machine: Machine, turnlog: Turnlog, data: Path, programs: Path) -> None:
    turnlog("archive", "install", "--cron", "--yes")
    assert (programs / "crontab.txt").read_text() == f"{cron_line()}\n"


@posix
def test_a_crontab_that_cannot_be_read_is_not_written(
    machine: Machine, turnlog: Turnlog, data: Path, programs: Path
) -> None:
    (programs / "bin" / "crontab").write_text("#!/bin/sh\necho you are not allowed >&2; exit 1\n")
    done = turnlog("archive", "install", "--cron", "--yes")
    assert done.status == 1
    assert "not allowed; nothing was changed" in done.err


@posix
def test_programs_that_are_missing_are_told(
    machine: Machine, turnlog: Turnlog, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "systemctl: not found on this machine" in turnlog("archive", "install", "--systemd").err
    assert "crontab: not found on this machine" in turnlog("archive", "install", "--cron").err
    assert turnlog("archive", "install", "--remove").err == "Nothing to do.\n"


def test_one_kind_must_be_named(machine: Machine, turnlog: Turnlog, data: Path) -> None:
    assert turnlog("archive", "install").status == 2
    assert turnlog("archive", "install", "--hook", "--config-dir", "/not/there").status == 2
