"""Settings in layers, and folders that are trusted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turnlog.agent.permissions.trust import is_trusted_folder, trust_folder
from turnlog.agent.settings import Settings, add_rules, find_managed_file, load_settings
from turnlog.errors import TurnlogError, UsageError


def write(path: Path, values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(values if isinstance(values, str) else json.dumps(values))
    return path


def read(root: Path, *flags: Any, is_trusted: bool = True) -> Settings:
    return load_settings(
        root, root / "home" / ".claude", is_trusted=is_trusted, flags=flags, managed=root / "etc" / "managed.json"
    )


def make_project(root: Path) -> Path:
    write(root / "etc" / "managed.json", {"model": "managed", "permissions": {"deny": ["Bash(curl:*)"]}})
    write(root / ".claude" / "settings.local.json", {"permissions": {"allow": ["Bash(local)"]}, "env": {"A": "local"}})
    write(root / ".claude" / "settings.json", {"permissions": {"allow": ["Bash(project)"], "deny": ["Read(.env)"]}})
    write(
        root / "home" / ".claude" / "settings.json",
        {"permissions": {"allow": ["Bash(user)"]}, "env": {"A": "u", "B": "u"}},
    )
    return root


def test_lists_of_all_layers_are_joined_and_each_rule_knows_its_layer(tmp_path: Path) -> None:
    settings = read(make_project(tmp_path), {"permissions": {"allow": ["Bash(flag)"]}})
    assert [(rule.text, rule.layer.name) for rule in settings.list_rules("allow")] == [
        ("Bash(flag)", "flags"),
        ("Bash(local)", "local"),
        ("Bash(project)", "project"),
        ("Bash(user)", "user"),
    ]
    assert [rule.text for rule in settings.list_rules("deny")] == ["Bash(curl:*)", "Read(.env)"]


def test_of_other_values_the_highest_layer_counts(tmp_path: Path) -> None:
    settings = read(make_project(tmp_path), '{"model": "flag", "cleanupPeriodDays": 3}')
    assert settings.get_value("model", str) == "managed"
    assert settings.get_value("cleanupPeriodDays", int) == 3
    assert settings.get_value("nothing", str) is None
    assert settings.collect_variables() == {"A": "local", "B": "u"}


def test_until_a_folder_is_trusted_its_own_files_forbid_and_do_nothing_else(tmp_path: Path) -> None:
    write(make_project(tmp_path) / ".claude" / "settings.json", {
        "permissions": {"allow": ["Bash"], "deny": ["Read(.env)"], "ask": ["Edit"], "defaultMode": "acceptEdits",
                        "additionalDirectories": ["/"]},
        "env": {"PATH": "."},
        "apiKeyHelper": "evil",
    })  # fmt: skip
    settings = read(tmp_path, is_trusted=False)
    assert [rule.text for rule in settings.list_rules("allow")] == ["Bash(user)"]
    assert [rule.text for rule in settings.list_rules("deny")] == ["Bash(curl:*)", "Read(.env)"]
    assert [rule.text for rule in settings.list_rules("ask")] == ["Edit"]
    assert (settings.get_default_mode(), settings.list_folders(), settings.get_value("apiKeyHelper", str)) == (
        None,
        [],
        None,
    )
    assert settings.collect_variables() == {"A": "u", "B": "u"}
    assert read(tmp_path).get_default_mode() == "acceptEdits"


def test_the_mode_that_asks_nothing_is_not_for_a_project_to_choose(tmp_path: Path) -> None:
    values = {"permissions": {"defaultMode": "bypassPermissions"}}
    for name in ("settings.json", "settings.local.json"):
        write(make_project(tmp_path) / ".claude" / name, values)
    assert read(tmp_path).get_default_mode() is None
    assert read(tmp_path, values).get_default_mode() == "bypassPermissions"


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude/settings.local.json", "home/.claude/settings.json"])
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("{\n\n,", "line 3: not valid JSON (Expecting property name"),
        ('{"permissions": {"deny": ["Bash"],}}', "line 1: not valid JSON"),
        ("[]", "not a JSON object"),
        ('"x"', "not a JSON object"),
        ("\0", "line 1: not valid JSON"),
        ("\n\xff", "line 2: not valid UTF-8"),
        ("[" * 100000, "not valid JSON"),
        ('{"permissions": 5}', "permissions is not an object"),
        ('{"permissions": ["Bash"]}', "permissions is not an object"),
        ('{"permissions": {"deny": {"Bash": true}}}', "permissions.deny is not a list"),
        ('{"permissions": {"ask": 5}}', "permissions.ask is not a list"),
    ],
)
def test_a_file_whose_rules_can_not_be_read_ends_the_start(tmp_path: Path, name: str, values: str, told: str) -> None:
    path = make_project(tmp_path) / name
    path.write_bytes(values.encode("latin-1"))
    with pytest.raises(UsageError) as error:
        read(tmp_path, is_trusted=False)
    assert str(error.value).startswith(f"{path}: {told}")
    assert "fix it or move it aside" in str(error.value)


@pytest.mark.parametrize(
    "values", ["", "\ufeff{}", '{"permissions": null}', '{"permissions": {"deny": null}, "of a later version": [1]}']
)
def test_what_forbids_nothing_and_what_is_not_known_is_taken(tmp_path: Path, values: str) -> None:
    (make_project(tmp_path) / ".claude" / "settings.json").write_text(values, "utf-8")
    settings = read(tmp_path)
    assert [rule.text for rule in settings.list_rules("deny")] == ["Bash(curl:*)"]
    assert settings.warnings == []


def test_a_file_in_the_place_of_the_folder_for_settings_is_no_settings(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("notes")
    assert read(tmp_path).layers == ()


@pytest.mark.parametrize("mode", ["of a later version", 5, []])
def test_a_mode_that_is_not_known_is_told_and_the_next_layer_s_counts(tmp_path: Path, mode: Any) -> None:
    write(make_project(tmp_path) / ".claude" / "settings.json", {"permissions": {"defaultMode": mode}})
    write(tmp_path / "home" / ".claude" / "settings.json", {"permissions": {"defaultMode": "plan"}})
    settings = read(tmp_path)
    assert settings.get_default_mode() == "plan"
    assert [str(mode) in warning for warning in settings.warnings] == [True]


def test_the_mode_auto_is_the_default_mode_and_the_reason_is_told(tmp_path: Path) -> None:
    write(make_project(tmp_path) / ".claude" / "settings.json", {"permissions": {"defaultMode": "auto"}})
    write(tmp_path / "home" / ".claude" / "settings.json", {"permissions": {"defaultMode": "acceptEdits"}})
    settings = read(tmp_path)
    assert settings.get_default_mode() == "default"
    (warning,) = settings.warnings
    assert "auto needs a classifier" in warning
    assert "starts in the default mode" in warning


def test_one_bad_key_spoils_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "settings.json", {
        "permissions": {"allow": ["Bash(npm:*)", 5, "", None], "deny": [5], "additionalDirectories": 5},
        "hooks": {"Unheard": 7},
        "model": 7,
        "env": [],
    })  # fmt: skip
    settings = read(tmp_path)
    assert [rule.text for rule in settings.list_rules("allow")] == ["Bash(npm:*)"]
    assert (settings.list_rules("deny"), settings.list_folders()) == ([], [])
    assert (settings.get_value("model", str), settings.collect_variables()) == (None, {})
    assert len(settings.warnings) == 7
    assert all("settings.json" in warning for warning in settings.warnings)


def test_what_forbids_is_not_lost_for_want_of_brackets_and_what_allows_is(tmp_path: Path) -> None:
    write(
        tmp_path / ".claude" / "settings.json", {"permissions": {"deny": "Bash(rm:*)", "ask": "Edit", "allow": "Read"}}
    )
    settings = read(tmp_path)
    assert [[rule.text for rule in settings.list_rules(kind)] for kind in ("deny", "ask", "allow")] == [
        ["Bash(rm:*)"],
        ["Edit"],
        [],
    ]


def test_flags_may_name_a_file(tmp_path: Path) -> None:
    write(tmp_path / "more.json", {"model": "x"})
    assert read(tmp_path, "more.json").get_value("model", str) == "x"


@pytest.mark.parametrize("flag", ["missing.json", ".", '{"permissions": 5}', "{", "large.json"])
def test_a_flag_that_is_no_settings_is_told_as_it_was_given(tmp_path: Path, flag: str) -> None:
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(UsageError, match="--settings"):
        read(tmp_path, flag)


def test_an_administrator_may_let_only_their_own_rules_count(tmp_path: Path) -> None:
    make_project(tmp_path)
    write(
        tmp_path / "etc" / "managed.json", {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Read"]}}
    )
    assert [rule.text for rule in read(tmp_path).list_rules("allow")] == ["Read"]
    assert [rule.text for rule in read(tmp_path).list_rules("deny")] == ["Read(.env)"]


def test_what_an_administrator_wrote_is_not_passed_over_if_it_can_not_be_read(tmp_path: Path) -> None:
    write(tmp_path / "etc" / "managed.json", "{")
    with pytest.raises(TurnlogError, match="the administrator"):
        read(tmp_path)


def test_an_administrator_may_use_several_files(tmp_path: Path) -> None:
    write(tmp_path / "etc" / "managed.d" / "10.json", {"model": "ten"})
    write(tmp_path / "etc" / "managed.d" / "20.json", {"model": "twenty"})
    assert read(tmp_path).get_value("model", str) == "twenty"


def test_each_platform_has_its_place_for_the_administrator() -> None:
    assert find_managed_file("linux").as_posix() == "/etc/claude-code/managed-settings.json"
    assert "ClaudeCode" in str(find_managed_file("darwin"))
    assert "ClaudeCode" in str(find_managed_file("win32"))


def test_a_rule_is_added_and_all_else_stays(tmp_path: Path) -> None:
    text = '{\n    "x": {"é": [1, 2.5, null]},\n    "permissions": {\n        "deny": ["A"], "allow": ["B"]\n    }\n}'
    path = write(tmp_path / ".claude" / "settings.local.json", text)
    add_rules(path, "allow", ["B", "C", "C"], root=tmp_path)
    after = path.read_text("utf-8")
    assert json.loads(after) == {"x": {"é": [1, 2.5, None]}, "permissions": {"deny": ["A"], "allow": ["B", "C"]}}
    assert after.startswith('{\n    "x"')
    assert not after.endswith("\n")
    before = path.stat().st_mtime_ns
    add_rules(path, "allow", ["C"], root=tmp_path)
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("values", ["{", "[]", '{"permissions": 5}', '{"permissions": {"allow": {}}}'])
def test_a_file_that_is_broken_is_not_written_over(tmp_path: Path, values: str) -> None:
    path = write(tmp_path / "settings.local.json", values)
    with pytest.raises(TurnlogError, match="nothing was written"):
        add_rules(path, "allow", ["A"], root=tmp_path)
    assert path.read_text() == values


def test_a_folder_is_trusted_by_its_own_name_or_that_of_one_above(tmp_path: Path) -> None:
    config, root = tmp_path / ".claude", tmp_path / "proj"
    assert not is_trusted_folder(root, config)
    write(tmp_path / ".claude.json", {"numStartups": 3, "projects": {str(root): {"x": 1}, "y": 5}})
    assert not is_trusted_folder(root, config)

    assert trust_folder(root, config) == tmp_path / ".claude.json"

    assert is_trusted_folder(root, config)
    assert is_trusted_folder(root / "sub" / "deeper", config)
    assert not is_trusted_folder(tmp_path, config)
    state = json.loads((tmp_path / ".claude.json").read_text())
    assert state == {"numStartups": 3, "projects": {str(root): {"x": 1, "hasTrustDialogAccepted": True}, "y": 5}}


def test_the_first_trusted_folder_makes_the_state_file(tmp_path: Path) -> None:
    config = tmp_path / "elsewhere"
    config.mkdir()
    assert trust_folder(tmp_path / "proj", config) == config / ".claude.json"
    assert is_trusted_folder(tmp_path / "proj", config)


@pytest.mark.parametrize("state", ["{", "[]", '{"projects": 5}', '{"projects": {"$": 5}}'])
def test_a_state_file_that_is_broken_trusts_nothing_and_is_not_written_over(tmp_path: Path, state: str) -> None:
    text = state.replace("$", (tmp_path / "proj").as_posix())
    write(tmp_path / ".claude.json", text)
    assert not is_trusted_folder(tmp_path / "proj", tmp_path / ".claude")
    with pytest.raises(TurnlogError, match="nothing was written"):
        trust_folder(tmp_path / "proj", tmp_path / ".claude")
    assert (tmp_path / ".claude.json").read_text() == text
