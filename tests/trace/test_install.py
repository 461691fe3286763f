"""Installing the hook in a file of settings: once, with a way back, and never over somebody else's change."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from turnlog.errors import TurnlogError
from turnlog.store.settings_file import SettingsPlan, apply_settings_plan
from turnlog.trace import hook as hook_script
from turnlog.trace.hook_settings import (
    HOOK_EVENTS,
    HookOptions,
    build_hook_command,
    plan_hook_install,
    plan_hook_removal,
    read_installed_hooks,
)

WISH = HookOptions(Path("/data/it's mine/trace"))
NOW = 1_800_000_000.5
posix = pytest.mark.skipif(os.name == "nt", reason="as POSIX has it")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def install(path: Path, wish: HookOptions = WISH, now: float = NOW) -> SettingsPlan:
    plan = plan_hook_install(path, wish, now)
    apply_settings_plan(plan)
    return plan


@posix
def test_the_command_is_quoted_for_the_shell() -> None:
    words = shlex.split(build_hook_command(HookOptions(Path("/a 'b/trace"), ("x y", "z"), Path("/c d.toml")), 7))
    assert words[0] == sys.executable
    assert words[1:3] == ["-I", "-S"]
    assert Path(words[3]).is_file()
    given = ["/a 'b/trace", "--since", "7", "--config", "/c d.toml", "--target", "x y", "--target", "z"]
    assert words[4:] == [*given, "||", ":"]


@posix
@pytest.mark.parametrize("gone", [sys.executable, hook_script.__file__], ids=["python", "turnlog"])
def test_what_is_left_in_the_settings_of_a_turnlog_that_was_removed_never_keeps_the_client_at_work(gone: str) -> None:
    left = build_hook_command(WISH, 7).replace(gone, f"{gone}-gone")
    ended = subprocess.run(["/bin/sh", "-c", left], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    assert ended.returncode == 0


def test_installing_a_second_time_changes_nothing(path: Path) -> None:
    path.write_text('{"model": "opus"}')
    install(path)
    once = path.read_bytes()
    plan = install(path, now=NOW + 1000)
    assert plan.is_idle
    assert path.read_bytes() == once
    there = read_installed_hooks(path)
    assert (there.events, there.since, there.targets) == (HOOK_EVENTS["trace"], 1_800_000_000, ())


def test_other_targets_replace_those_that_were_named_and_the_time_stays(path: Path) -> None:
    install(path)
    install(path, WISH._replace(targets=("a b", "c")), NOW + 1000)
    there = read_installed_hooks(path)
    assert (there.targets, there.since, len(there.commands)) == (("a b", "c"), 1_800_000_000, 1)
    assert [len(groups) for groups in json.loads(path.read_text())["hooks"].values()] == [1, 1, 1]


def test_a_hook_of_another_installation_is_replaced(path: Path) -> None:
    old = "/gone/python -I -S /gone/turnlog/trace/hook.py /gone/trace"
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": old}]}]}}))
    install(path)
    assert old not in path.read_text()
    assert read_installed_hooks(path).events == HOOK_EVENTS["trace"]


@pytest.mark.parametrize("before", ['{"a":1}', '{\n "hooks": {"Stop": [ ]}\n}\n', "\ufeff{}\r\n", "", "  "])
def test_uninstalling_gives_the_very_bytes_back_and_the_copy_goes(path: Path, before: str) -> None:
    path.write_bytes(before.encode())
    plan = install(path)
    assert plan.backup.read_bytes() == before.encode()
    install(path, WISH._replace(targets=("t",)))
    apply_settings_plan(plan_hook_removal(path))
    assert path.read_bytes() == before.encode()
    assert sorted(item.name for item in path.parent.iterdir()) == ["settings.json"]


def test_settings_that_were_not_there_go_again(path: Path) -> None:
    below = path.parent / "new" / "settings.json"
    install(below)
    apply_settings_plan(plan_hook_removal(below))
    assert not below.exists()


def test_what_was_changed_meanwhile_stays_and_so_does_the_copy(path: Path) -> None:
    path.write_text('{\n  "a": 1\n}\n')
    install(path)
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    apply_settings_plan(plan_hook_removal(path))
    assert path.read_text() == '{\n  "a": 2\n}\n'
    assert path.with_name("settings.json.before-turnlog").read_text() == '{\n  "a": 1\n}\n'


def test_a_file_without_our_hooks_is_not_touched(path: Path) -> None:
    path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "hook.py"}]}]}}')
    assert plan_hook_removal(path).is_idle
    apply_settings_plan(plan_hook_removal(path))
    apply_settings_plan(plan_hook_removal(path.with_name("none.json")))
    assert not path.with_name("none.json").exists()


def test_a_change_between_plan_and_deed_is_noticed(path: Path) -> None:
    path.write_text("{}")
    plan = plan_hook_install(path, WISH, NOW)
    path.write_text('{"a": 1}')
    with pytest.raises(TurnlogError, match="modified by another program"):
        apply_settings_plan(plan)
    assert path.read_text() == '{"a": 1}'


@posix
def test_links_are_followed_and_rights_kept(path: Path) -> None:
    real = path.with_name("dotfile.json")
    real.write_text("{}")
    real.chmod(0o640)
    path.symlink_to(real)
    plan = install(path)
    assert path.is_symlink()
    assert plan.path == real
    assert real.stat().st_mode & 0o777 == plan.backup.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{\n,", "line 2: not valid JSON"),
        (b'{"a":\n"\xff"}', "line 2: not UTF-8"),
        (b"[]", "not valid Claude Code settings"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused_by_name(path: Path, data: bytes, words: str) -> None:
    path.write_bytes(data)
    for plan in (
        lambda: plan_hook_install(path, WISH, NOW),
        lambda: plan_hook_removal(path),
        lambda: read_installed_hooks(path),
    ):
        with pytest.raises(TurnlogError, match=words) as error:
            plan()
        assert str(path) in str(error.value)
    assert path.read_bytes() == data


def test_a_folder_in_place_of_the_file_is_told(path: Path) -> None:
    path.mkdir()
    with pytest.raises(TurnlogError, match=r"settings\.json"):
        plan_hook_install(path, WISH, NOW)


def test_settings_that_keep_all_hooks_from_running_are_seen(path: Path) -> None:
    path.write_text('{"disableAllHooks": true}')
    install(path)
    assert read_installed_hooks(path).is_disabled


# -- the purposes of the hook

LIVE = WISH._replace(purposes=("live",))


def list_events(path: Path) -> dict[str, int]:
    """The events in a settings file, with the number of their hooks."""
    return {event: len(groups) for event, groups in json.loads(path.read_text())["hooks"].items()}


def test_reports_need_more_events_than_tracing_and_no_event_of_single_calls(path: Path) -> None:
    install(path, LIVE)
    assert list_events(path) == dict.fromkeys(HOOK_EVENTS["live"], 1)
    assert not {"PreToolUse", "PostToolUse"} & {*HOOK_EVENTS["live"]}
    there = read_installed_hooks(path)
    assert (there.purposes, len(there.commands), there.since) == (("live",), 1, 1_800_000_000)


@pytest.mark.parametrize("order", [("trace", "live"), ("live", "trace"), ("both",)])
def test_one_command_serves_both_purposes_in_whichever_order_they_are_installed(
    path: Path, order: tuple[str, ...]
) -> None:
    for purpose in order:
        install(path, WISH._replace(purposes=("trace", "live") if purpose == "both" else (purpose,)))
    there = read_installed_hooks(path)
    assert (there.purposes, len(there.commands)) == (("trace", "live"), 1)
    assert list_events(path) == dict.fromkeys(HOOK_EVENTS["live"], 1)
    once = path.read_bytes()
    for purposes in (("trace",), ("live",), ("trace", "live")):
        assert install(path, WISH._replace(purposes=purposes), NOW + 99).is_idle
    assert path.read_bytes() == once


def test_adding_reports_keeps_where_spans_are_sent(path: Path) -> None:
    install(path, WISH._replace(targets=("a b",), config=Path("/c d.toml")))
    install(path, LIVE, NOW + 1000)
    there = read_installed_hooks(path)
    assert (there.targets, there.config, there.since) == (("a b",), Path("/c d.toml"), 1_800_000_000)


def test_tracing_that_is_added_later_sends_nothing_from_before(path: Path) -> None:
    install(path, LIVE)
    install(path, WISH, NOW + 1000)
    assert read_installed_hooks(path).since == 1_800_001_000


def test_an_entry_of_an_older_turnlog_becomes_the_new_one_in_its_place(path: Path) -> None:
    install(path)
    path.write_text(path.read_text().replace(hook_script.__file__, "/old/turnlog/trace/hook.py"))
    install(path, LIVE)
    there = read_installed_hooks(path)
    assert (there.purposes, len(there.commands)) == (("trace", "live"), 1)
    assert "/old/" not in path.read_text()


@pytest.mark.parametrize("purpose", ["trace", "live"])
def test_one_purpose_is_removed_and_the_other_stays_as_it_was(path: Path, purpose: str) -> None:
    other = "live" if purpose == "trace" else "trace"
    path.write_text('{"model": "opus"}')
    install(path, WISH._replace(purposes=(other,)))
    alone = path.read_text()
    install(path, WISH._replace(purposes=(purpose,)))
    options = WISH._replace(purposes=(purpose,))
    apply_settings_plan(plan_hook_removal(path, options))
    assert path.read_text() == alone
    assert plan_hook_removal(path, options).is_idle
    apply_settings_plan(plan_hook_removal(path, WISH._replace(purposes=(other,))))
    assert path.read_text() == '{"model": "opus"}'


def test_hooks_of_others_for_the_same_events_are_kept(path: Path) -> None:
    others = {
        event: [{"matcher": "*", "hooks": [{"type": "command", "command": f"mine {event}"}]}]
        for event in (*HOOK_EVENTS["live"], "PreToolUse")
    }
    path.write_text(json.dumps({"hooks": others}, indent=4))
    before = path.read_bytes()
    install(path, LIVE)
    found = json.loads(path.read_text())["hooks"]
    assert all(found[event][0] == others[event][0] for event in others)
    apply_settings_plan(plan_hook_removal(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("rest", ["--for", "--for other", "--since x --target", "'unbalanced", ""])
def test_a_command_that_somebody_has_edited_is_replaced(path: Path, rest: str) -> None:
    command = f"python -I -S /x/turnlog/trace/hook.py /data/trace {rest}"
    path.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}}))
    install(path, LIVE)
    assert "live" in read_installed_hooks(path).purposes
    assert len(read_installed_hooks(path).commands) == 1
    apply_settings_plan(plan_hook_removal(path))
    assert not path.exists()
