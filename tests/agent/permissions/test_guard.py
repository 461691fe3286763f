"""The guard: rules of all kinds, what it remembers, what it hides, what it makes of odd input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from turnlog.agent.permissions.decision import CallGuard
from turnlog.agent.permissions.guard import SettingsGuard
from turnlog.agent.settings import Settings, load_settings
from turnlog.agent.tools.call_result import Workspace
from turnlog.errors import TurnlogError, UsageError

from .machine import flags


def judge(root: Path, mode: Any = "default", **rules: Any) -> SettingsGuard:
    return SettingsGuard(flags(root, **rules), mode, home=root.parent / "home")


def verdict(guard: CallGuard, name: str, given: dict[str, Any], root: Path) -> str:
    return guard.decide(name, given, Workspace(root, root)).verdict


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ({"allow": ["mcp__srv"]}, "mcp__srv__read", "allow"),
        ({"allow": ["mcp__srv__*"]}, "mcp__srv__read", "allow"),
        ({"allow": ["mcp__srv__read"]}, "mcp__srv__read", "allow"),
        ({"allow": ["mcp__srv__read"]}, "mcp__srv__write", "ask"),
        ({"allow": ["mcp__srv"]}, "mcp__srv2__read", "ask"),
        ({"allow": ["mcp__*"]}, "mcp__srv__read", "ask"),
        ({"allow": ["*"]}, "mcp__srv__read", "ask"),
        ({"allow": ["mcp__srv"], "deny": ["mcp__srv__read"]}, "mcp__srv__read", "deny"),
        ({"allow": ["mcp__srv"], "ask": ["mcp__srv__read"]}, "mcp__srv__read", "ask"),
        ({"deny": ["mcp__*"]}, "mcp__srv__read", "deny"),
        ({}, "mcp__srv__read", "ask"),
        ({}, "TodoWrite", "allow"),
        ({}, "AskUserQuestion", "allow"),
        ({}, "WebSearch", "ask"),
        ({"allow": ["WebSearch"]}, "WebSearch", "allow"),
        ({"deny": ["TodoWrite"]}, "TodoWrite", "deny"),
        ({"deny": ["Agent"]}, "Task", "deny"),
        ({}, "Unheard", "ask"),
    ],
)
def test_a_tool_is_decided_by_its_name(tmp_path: Path, rules: dict[str, list[str]], name: str, expected: str) -> None:
    assert verdict(judge(tmp_path, **rules), name, {}, tmp_path) == expected


def test_a_skill_is_asked_about_until_a_rule_names_it(tmp_path: Path) -> None:
    given = {"skill": "deploy"}
    assert verdict(judge(tmp_path), "Skill", given, tmp_path) == "ask"
    assert verdict(judge(tmp_path, allow=["Skill(deploy)"]), "Skill", given, tmp_path) == "allow"
    assert verdict(judge(tmp_path, allow=["Skill(dep:*)"]), "Skill", given, tmp_path) == "ask"
    assert verdict(judge(tmp_path, allow=["Skill"], deny=["Skill(dep*)"]), "Skill", given, tmp_path) == "deny"


@pytest.mark.parametrize("name", ["Bash", "Read", "Write", "Edit", "WebFetch", "NotebookEdit", "Glob"])
@pytest.mark.parametrize("value", [None, 5, [], {}, "\0", "x" * 5000])
def test_what_can_not_be_checked_is_not_allowed(tmp_path: Path, name: str, value: Any) -> None:
    keys = "command file_path notebook_path url path".split()
    guard = judge(tmp_path, "acceptEdits")
    assert verdict(guard, name, dict.fromkeys(keys, value), tmp_path) != "allow" or value == "x" * 5000


def test_a_tool_that_is_denied_as_a_whole_is_hidden_and_one_that_is_denied_in_part_is_not(tmp_path: Path) -> None:
    guard = judge(tmp_path, deny=["WebFetch", "Bash(rm:*)", "Edit"])
    assert all(guard.is_hidden(name) for name in ("WebFetch", "Edit", "Write"))
    assert not guard.is_hidden("Bash")


def test_what_is_remembered_is_written_and_holds_at_once(tmp_path: Path) -> None:
    guard, place = judge(tmp_path), Workspace(tmp_path, tmp_path)
    asked = guard.decide("Bash", {"command": "npm run build --x && make"}, place)
    assert asked.suggested == ("Bash(npm run build:*)", "Bash(make)")

    where = guard.remember(asked.suggested, place)

    assert json.loads(Path(where).read_text()) == {"permissions": {"allow": list(asked.suggested)}}
    assert verdict(guard, "Bash", {"command": "make; npm run build"}, tmp_path) == "allow"
    again = SettingsGuard(load_settings(tmp_path, tmp_path / "home", is_trusted=True, managed=tmp_path / "none"))
    assert verdict(again, "Bash", {"command": "npm run build"}, tmp_path) == "allow"


def test_what_is_permitted_holds_until_the_end_and_is_not_written(tmp_path: Path) -> None:
    guard = judge(tmp_path, deny=["Bash(rm:*)"])
    guard.allow_until_exit(["Bash(make:*)", "Bash(rm:*)"], Workspace(tmp_path, tmp_path))
    assert verdict(guard, "Bash", {"command": "make x"}, tmp_path) == "allow"
    assert verdict(guard, "Bash", {"command": "rm x"}, tmp_path) == "deny"
    assert list(tmp_path.iterdir()) == []


def test_local_settings_that_lead_elsewhere_are_not_written(tmp_path: Path) -> None:
    root = tmp_path / "proj"
    (root / ".claude").mkdir(parents=True)
    (tmp_path / "other.json").write_text("{}")
    (root / ".claude" / "settings.local.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(TurnlogError, match="outside "):
        judge(root).remember(("Bash(make)",), Workspace(root, root))
    assert (tmp_path / "other.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("npm install x", ("Bash(npm install:*)",)),
        ("npm run a:b", ("Bash(npm run a:b:*)",)),
        ("git push --force", ("Bash(git push:*)",)),
        ("cargo test", ("Bash(cargo test:*)",)),
        ("python3 x.py", ("Bash(python3 x.py)",)),
        ("sudo make", ("Bash(sudo make)",)),
        ("bash -c 'x'", ("Bash(bash -c 'x')",)),
        ("timeout 5 make all", ("Bash(make all)",)),
        ("FOO=1 make", ()),
        ("make $X", ()),
        ("(make)", ()),
        ("make > out", ()),
    ],
)
def test_the_rule_that_is_suggested_allows_no_interpreter_and_no_doubt(
    tmp_path: Path, command: str, rules: tuple[str, ...]
) -> None:
    suggested = judge(tmp_path).decide("Bash", {"command": command}, Workspace(tmp_path, tmp_path)).suggested
    if command != "make > out":
        assert suggested == rules
    if rules:
        guard = judge(tmp_path, allow=suggested)
        assert verdict(guard, "Bash", {"command": command}, tmp_path) == "allow"
        assert verdict(guard, "Bash", {"command": f"{command}; touch x"}, tmp_path) == "ask"


def test_folders_of_the_settings_and_of_the_session_may_be_read(tmp_path: Path) -> None:
    root, other, session = tmp_path / "proj", tmp_path / "other", tmp_path / "session"
    for folder in (root, other, session):
        folder.mkdir()
    guard = SettingsGuard(
        flags(root, additionalDirectories=["../other"]), "acceptEdits", home=tmp_path / "home", further=[session]
    )
    assert verdict(guard, "Read", {"file_path": str(other / "x")}, root) == "allow"
    assert verdict(guard, "Write", {"file_path": str(other / "x")}, root) == "allow"
    assert verdict(guard, "Read", {"file_path": str(session / "x")}, root) == "allow"
    assert verdict(guard, "Write", {"file_path": str(session / "x")}, root) == "ask"
    assert verdict(guard, "Read", {"file_path": str(tmp_path / "x")}, root) == "ask"


def test_a_search_may_not_begin_elsewhere_by_its_pattern(tmp_path: Path) -> None:
    guard = judge(tmp_path)
    for pattern in ("**/*.py", f"{tmp_path}/*.py", f"{tmp_path}/sub/{{a,b}}*", f"{tmp_path}/x.py", "sub/../*.py"):
        assert verdict(guard, "Glob", {"pattern": pattern}, tmp_path) == "allow", pattern
    away = ["/etc/*", "../*", "~/*", "sub/../../*", "/et?/*", "/etc", "/[e]tc/*"]
    for pattern in (*away, f"/etc/{{passwd,x/../..{tmp_path}/*}}", f"/etc/[p]/../..{tmp_path}/*"):
        assert verdict(guard, "Glob", {"pattern": pattern}, tmp_path) == "ask", pattern


def test_files_that_must_not_be_read_are_left_out_of_searches(tmp_path: Path) -> None:
    guard = judge(tmp_path, deny=["Read(.env)", "Read(./secrets/**)"])
    unreadable = guard.build_unreadable_check(Workspace(tmp_path, tmp_path))
    assert unreadable(tmp_path / "sub" / ".env")
    assert unreadable(tmp_path / "secrets" / "x" / "y")
    assert not unreadable(tmp_path / "env")
    assert not judge(tmp_path).build_unreadable_check(Workspace(tmp_path, tmp_path))(tmp_path / ".env")


def test_asking_nothing_can_be_forbidden(tmp_path: Path) -> None:
    settings = load_settings(
        tmp_path,
        tmp_path / "none",
        is_trusted=True,
        flags=[{"permissions": {"disableBypassPermissionsMode": "disable"}}],
        managed=tmp_path / "none",
    )
    with pytest.raises(UsageError, match="settings forbid"):
        SettingsGuard(settings, "bypassPermissions")
    guard = SettingsGuard(settings)
    with pytest.raises(UsageError, match="settings forbid"):
        guard.mode = "bypassPermissions"
    assert verdict(guard, "Bash", {"command": "make"}, tmp_path) == "ask"
    assert verdict(SettingsGuard(Settings(), "bypassPermissions"), "Bash", {"command": "make"}, tmp_path) == "allow"


def test_removing_a_working_folder_is_asked_in_every_mode(tmp_path: Path) -> None:
    for command in ("rm -rf .", "rm -rf *", "rm -r /", "sudo rm -rf ~", "rm -rf .. && ls", "bash -c 'rm -rf /usr'"):
        for guard in (judge(tmp_path, "bypassPermissions"), judge(tmp_path, allow=["Bash"])):
            assert verdict(guard, "Bash", {"command": command}, tmp_path) == "ask", command


def test_a_malformed_rule_is_told_and_spoils_no_other(tmp_path: Path) -> None:
    guard = judge(tmp_path, allow=["Bash(", "Bash(make)", "a b"])
    assert len(guard.warnings) == 2
    assert verdict(guard, "Bash", {"command": "make"}, tmp_path) == "allow"


def test_a_shell_that_has_moved_is_judged_from_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path.parent / "x").touch()
    place = Workspace(tmp_path, tmp_path / "sub")
    guard = judge(tmp_path)
    assert guard.decide("Bash", {"command": "cat ../a"}, place).verdict == "allow"
    assert guard.decide("Bash", {"command": "cat ../../a"}, place).verdict == "ask"


def test_a_file_whose_name_is_an_option_is_not_given_to_a_command_unasked(tmp_path: Path) -> None:
    (tmp_path / "-o").touch()
    assert verdict(judge(tmp_path), "Bash", {"command": "sort *"}, tmp_path) == "ask"
    assert verdict(judge(tmp_path), "Bash", {"command": "sort ./*"}, tmp_path) == "allow"


@pytest.mark.parametrize(
    "command", ["if a; then rm x", "rm x\nif a", "ls \\ #b; rm x", "echo 'x\nrm x", "rm\u00a0x; rm x"]
)
def test_a_denied_command_is_denied_in_a_line_that_can_not_be_parsed_and_in_any_mode(
    tmp_path: Path, command: str
) -> None:
    guard = judge(tmp_path, "bypassPermissions", deny=["Bash(rm:*)"])
    assert verdict(guard, "Bash", {"command": command}, tmp_path) == "deny"


@pytest.mark.parametrize("command", ["sort *", "git diff *", "find *", "jq . *", "cat * | wc"])
def test_a_pattern_that_stands_for_an_option_is_asked_about(tmp_path: Path, command: str) -> None:
    (tmp_path / "a").touch()
    assert verdict(judge(tmp_path), "Bash", {"command": command}, tmp_path) == "allow"
    (tmp_path / "-ox").touch()
    assert verdict(judge(tmp_path), "Bash", {"command": command}, tmp_path) == "ask"


def test_a_name_with_a_sign_in_it_is_never_suggested_as_a_rule(tmp_path: Path) -> None:
    guard, place = judge(tmp_path), Workspace(tmp_path, tmp_path)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("WebFetch", {"url": "http://*/x"}),
        ("WebFetch", {"url": "http://*.test/x"}),
        ("Skill", {"skill": "*"}),
        ("Write", {"file_path": str(tmp_path / "*" / "x")}),
        ("Read", {"file_path": str(tmp_path.parent / "[a]" / "x")}),
        ("Bash", {"command": "git -c alias.x='!y' x *"}),
    ]
    assert [guard.decide(name, given, place).suggested for name, given in calls] == [()] * len(calls)


def test_a_rule_that_is_suggested_is_no_wider_than_what_was_seen(tmp_path: Path) -> None:
    guard, place = judge(tmp_path), Workspace(tmp_path, tmp_path)
    found = {
        command: guard.decide("Bash", {"command": command}, place).suggested
        for command in (
            *("git -c x.y=z fetch", "go run ./x", "curl http://x", "uv run pytest", "gh api -X DELETE"),
            *("yarn dlx cowsay hi", "git init", "python3.11 x", "sqlite3 x"),
        )
    }
    assert found == {
        "git -c x.y=z fetch": ("Bash(git -c x.y=z fetch)",),
        "go run ./x": ("Bash(go run ./x)",),
        "curl http://x": ("Bash(curl http://x)",),
        "uv run pytest": ("Bash(uv run pytest)",),
        "gh api -X DELETE": ("Bash(gh api:*)",),
        "yarn dlx cowsay hi": ("Bash(yarn dlx cowsay:*)",),
        "git init": ("Bash(git init)",),
        "python3.11 x": ("Bash(python3.11 x)",),
        "sqlite3 x": ("Bash(sqlite3 x)",),
    }


def test_a_folder_is_not_removed_or_moved_if_a_rule_speaks_of_anything_in_it(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "many").mkdir()
    (tmp_path / "sub" / "deep" / ".env").touch()
    for number in range(2100):
        (tmp_path / "many" / str(number)).touch()
    for mode in ("acceptEdits", "bypassPermissions"):
        guard = judge(tmp_path, mode, deny=["Read(.env)"])
        for command, expected in {
            "rm -r sub": "deny",
            "mv sub x": "deny",
            "rm -r sub/deep": "deny",
            "rm -r many": "ask",
            "rm many/1": "allow",
        }.items():
            assert verdict(guard, "Bash", {"command": command}, tmp_path) == expected, (mode, command)
    asking = judge(tmp_path, "bypassPermissions", ask=["Edit(.env)"])
    assert verdict(asking, "Bash", {"command": "rm -r sub"}, tmp_path) == "ask"


def test_who_says_nothing_about_the_kind_of_agent_gets_the_usual_one_and_the_rules_for_it(tmp_path: Path) -> None:
    guard = judge(tmp_path, deny=["Agent(general-purpose)"])
    assert verdict(guard, "Task", {"prompt": "p"}, tmp_path) == "deny"
    assert verdict(guard, "Task", {"prompt": "p", "subagent_type": "Explore"}, tmp_path) == "allow"


def test_rules_that_say_nothing_are_told(tmp_path: Path) -> None:
    guard = judge(tmp_path, allow=["Bash()", "Bash(:*)", "Edit(*)", "Read()", "WebFetch(example.com)", "Edit(**)"])
    assert len(guard.warnings) == 5
    assert verdict(guard, "Edit", {"file_path": "x"}, tmp_path) == "allow"
    assert verdict(guard, "Edit", {"file_path": "../x"}, tmp_path) == "ask"
    strict = judge(tmp_path, deny=["Bash()", "Read(**)"])
    assert strict.is_hidden("Bash")
    assert strict.is_hidden("Read")


def test_the_home_of_another_is_elsewhere(tmp_path: Path) -> None:
    for name in ("~root/x", "~", "~/x"):
        for tool in ("Read", "Write", "Edit"):
            assert verdict(judge(tmp_path, "acceptEdits"), tool, {"file_path": name}, tmp_path) == "ask", (tool, name)
    assert (
        verdict(judge(tmp_path, "acceptEdits"), "Write", {"file_path": "~nobody-of-this-name/x"}, tmp_path) == "allow"
    )


def test_a_name_is_seen_as_the_tools_see_it_also_where_links_and_dots_are_mixed(tmp_path: Path) -> None:
    root = tmp_path / "proj"
    for folder in ("a/deep", "b", "a/b"):
        (root / folder).mkdir(parents=True)
    (root / "into").symlink_to(root / "a" / "deep")
    (root / "b" / "away").symlink_to(tmp_path)
    for name in ("into/../b/away/x", str(root / "into/../b/away/x")):
        assert verdict(judge(root), "Read", {"file_path": name}, root) == "ask"


@pytest.mark.parametrize("rules", [{"deny": ["Bash(rm:*)"]}, {"deny": ["Read(.env)"]}, {"ask": ["Bash(git push:*)"]}])
def test_a_line_with_too_many_words_hides_nothing_in_any_mode(tmp_path: Path, rules: dict[str, list[str]]) -> None:
    for command in (f"echo {'x ' * 1500}; rm y; cat .env; git push", f"echo {'x' * 70000}; rm y; cat .env; git push"):
        assert verdict(judge(tmp_path, "bypassPermissions", **rules), "Bash", {"command": command}, tmp_path) != "allow"
        assert verdict(judge(tmp_path, "bypassPermissions"), "Bash", {"command": command}, tmp_path) == "allow"


def test_what_a_rule_wants_asked_is_asked_in_every_mode_and_though_another_allows_it(tmp_path: Path) -> None:
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        guard = judge(tmp_path, mode, allow=["Read", "Edit", "Bash"], ask=["Read(notes/**)", "Edit(src/**)"])
        for tool, path in (("Read", "notes/x"), ("Edit", "src/x"), ("Write", "src/x")):
            assert verdict(guard, tool, {"file_path": path}, tmp_path) == "ask", (mode, tool)
        for command in ("cat notes/x", "echo x > src/x", "cp a src"):
            assert verdict(guard, "Bash", {"command": command}, tmp_path) == "ask", (mode, command)
        assert verdict(guard, "Read", {"file_path": "src/x"}, tmp_path) == "allow"


def test_a_pattern_below_home_stands_for_the_files_that_the_shell_finds(tmp_path: Path) -> None:
    root = tmp_path / "home" / "proj"
    (root / "lure").mkdir(parents=True)
    (root / "lure" / "away").symlink_to(tmp_path / "outside.txt")
    (root / "secret.txt").touch()
    guard = SettingsGuard(flags(root, deny=["Read(secret.txt)"]), home=tmp_path / "home")
    found = {
        command: verdict(guard, "Bash", {"command": command}, root)
        for command in ("cat ~/proj/lure/*", "diff ~/proj/lure ~/proj", "cat ~/proj/s*", "cat ~/proj/x*", "cat '~'/s*")
    }
    assert list(found.values()) == ["ask", "deny", "deny", "allow", "allow"]


def test_a_file_that_is_called_like_a_home_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "~").symlink_to(tmp_path.parent)
    guard = SettingsGuard(flags(tmp_path), home=tmp_path)
    assert verdict(guard, "Bash", {"command": "ls *"}, tmp_path) == "ask"


def test_folders_in_which_programs_are_looked_for_are_not_changed_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{tmp_path / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    guard = judge(tmp_path, "acceptEdits")
    assert verdict(guard, "Write", {"file_path": ".venv/bin/ls"}, tmp_path) == "ask"
    assert verdict(guard, "Write", {"file_path": ".venv/lib/x.py"}, tmp_path) == "allow"
    for command in ("cp a .venv/bin/ls", "mv a .venv/bin", "mv a .venv", "rm -r .venv", "echo x > .venv/bin/cat"):
        assert verdict(guard, "Bash", {"command": command}, tmp_path) == "ask", command


def test_a_rule_for_any_program_speaks_of_none_that_runs_what_it_is_told(tmp_path: Path) -> None:
    guard = judge(tmp_path, allow=["Bash(* --version)"])
    for command in ("cargo --version", "docker --version", "my tool --version"):
        assert verdict(guard, "Bash", {"command": command}, tmp_path) == "allow", command
    for command in ("python3.11 -c x --version", "env x --version", "awk x --version", "sh -c x --version"):
        assert verdict(guard, "Bash", {"command": command}, tmp_path) == "ask", command
