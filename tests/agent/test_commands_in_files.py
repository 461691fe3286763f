"""Commands, skills, mentioned files, plugins and output styles: what they add, and what they can't get past."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.desk import Desk, call, reply, script
from tests.agent.stream import STREAMS, Json, user
from turnlog.agent.commands.command_expansion import fill_in_arguments, find_shell_commands
from turnlog.agent.commands.command_files import load_commands
from turnlog.agent.commands.mentions import FileMention, find_mentions
from turnlog.agent.tools.command_file import CommandFile

MakeDesk = Callable[[dict[str, Any]], Desk]
SKILL = "project/.claude/skills/greet/SKILL.md"


def write(here: Desk, name: str, text: str) -> Path:
    path = here.base / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read_last_messages(here: Desk) -> str:
    return json.dumps(here.requests[-1]["messages"])


def results(here: Desk) -> list[Json]:
    blocks = [block for message in here.requests[-1]["messages"] for block in message["content"]]
    return [block for block in blocks if block["type"] == "tool_result"]


# -- permissions


@pytest.mark.parametrize(
    "body",
    ["!`touch made`", "```!\ntouch made\n```", "x !`echo a; touch made`", "!`echo ok`\n!`touch made`", "!`$0 made`"],
)
def test_a_shell_command_in_a_file_needs_a_rule_and_nothing_runs_before_all_are_allowed(
    desk: MakeDesk, body: str
) -> None:
    here = desk(script("never"))
    here.trust()
    write(here, "project/.claude/commands/c.md", f"---\nallowed-tools: Bash(echo:*)\n---\n{body}")
    done = here.turnlog("-p", "/c touch")
    assert (done.returncode, here.requests) == (2, [])
    assert "permission check failed" in done.stderr
    assert not (here.cwd / "made").exists()


def test_a_deny_rule_overrides_what_a_file_allows_itself(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Bash", command="touch made", description="x")), "Done."))
    here.trust()
    write(here, "project/.claude/commands/c.md", "---\nallowed-tools: Bash\n---\nGo")
    write(here, "home/.claude/settings.json", json.dumps({"permissions": {"deny": ["Bash(touch:*)"]}}))
    here.turnlog("-p", "/c")
    assert results(here)[0]["is_error"]
    assert not (here.cwd / "made").exists()


def test_what_a_file_allows_itself_ends_with_the_turn(desk: MakeDesk) -> None:
    touch = reply(call("Bash", command="touch made", description="x"))
    here = desk(script("One.", touch, "Two."))
    here.trust()
    write(here, "project/.claude/commands/c.md", "---\nallowed-tools: Bash\n---\nGo")
    lines = [user("/c"), user("again")]
    here.turnlog(*STREAMS, stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert results(here)[0]["is_error"]
    assert not (here.cwd / "made").exists()


@pytest.mark.parametrize("place", ["commands/c.md", "skills/c/SKILL.md"])
def test_files_of_a_folder_that_is_not_trusted_are_not_used(desk: MakeDesk, place: str) -> None:
    here = desk(script("never"))
    write(here, f"project/.claude/{place}", "Do evil")
    done = here.turnlog("-p", "/c")
    assert (done.returncode, here.requests) == (2, [])
    here = desk(script("Done."))
    here.turnlog("-p", "hello")
    assert "Skill" not in [tool["name"] for tool in here.requests[-1]["tools"]]


def test_a_linked_file_that_leaves_the_project_is_not_used(desk: MakeDesk) -> None:
    here = desk(script("never"))
    here.trust()
    secret = write(here, "secret.md", "s3cret")
    folder = here.cwd / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "c.md").symlink_to(secret)
    done = here.turnlog("-p", "/c")
    assert done.returncode == 2
    assert "outside" in done.stderr or "no such command" in done.stderr


def test_the_model_needs_permission_for_a_skill_that_does_more_than_speak(desk: MakeDesk) -> None:
    here = desk(script(reply(call("Skill", skill="greet")), "Done."))
    here.trust()
    write(here, SKILL, "---\ndescription: x\nallowed-tools: Bash\n---\nHello")
    here.turnlog("-p", "go")
    assert results(here)[0]["is_error"]


@pytest.mark.parametrize("rule", ["Skill(greet)", "Skill"])
def test_a_rule_denies_a_skill(desk: MakeDesk, rule: str) -> None:
    here = desk(script(reply(call("Skill", skill="greet")), "Done."))
    here.trust()
    write(here, SKILL, "---\ndescription: x\n---\nHello there")
    here.turnlog("-p", "go", "--disallowedTools", rule)
    assert results(here)[0]["is_error"]
    assert "Hello there" not in read_last_messages(here)


def test_a_skill_with_hooks_or_an_agent_of_its_own_is_refused_not_run_without_them(desk: MakeDesk) -> None:
    here = desk(script("never"))
    here.trust()
    write(here, SKILL, "---\ndescription: x\nhooks:\n  PreToolUse:\n    - matcher: Bash\n---\nHello")
    done = here.turnlog("-p", "/greet")
    assert (done.returncode, here.requests) == (2, [])
    assert "hooks" in done.stderr


# -- mentioned files


def test_a_file_that_a_rule_denies_is_not_attached_and_the_person_is_told(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    write(here, "project/secret", "s3cret")
    done = here.turnlog("-p", "see @secret", "--disallowedTools", "Read(secret)")
    assert "@secret is not attached" in done.stderr
    assert "s3cret" not in read_last_messages(here)


@pytest.mark.parametrize("name", ["../secret", "~/secret", "link"])
def test_print_mode_attaches_nothing_that_would_need_permission(desk: MakeDesk, name: str) -> None:
    here = desk(script("Done."))
    for place in ("secret", "home/secret"):
        write(here, place, "s3cret")
    (here.cwd / "link").symlink_to(here.base / "secret")
    done = here.turnlog("-p", f"see @{name}")
    assert "is not attached" in done.stderr
    assert "s3cret" not in read_last_messages(here)


def test_a_command_of_a_project_attaches_no_file_of_the_person(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    here.trust()
    write(here, "home/.ssh/key", "s3cret")
    write(here, "project/.claude/commands/c.md", "See @~/.ssh/key")
    assert "is not attached" in here.turnlog("-p", "/c").stderr
    assert "s3cret" not in read_last_messages(here)


def test_what_a_file_contains_is_not_expanded_again(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    here.trust()
    write(here, "project/a.txt", "@b.txt !`touch made` $ARGUMENTS")
    write(here, "project/b.txt", "s3cret")
    write(here, "project/.claude/commands/c.md", "See @a.txt")
    here.turnlog("-p", "/c")
    assert "s3cret" not in read_last_messages(here)
    assert not (here.cwd / "made").exists()


def test_a_picture_is_attached(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    (here.cwd / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    here.turnlog("-p", "see @p.png")
    blocks = here.requests[-1]["messages"][0]["content"]
    assert [block["type"] for block in blocks if block["type"] == "image"] == ["image"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@a", [FileMention("a")]),
        ("x @a/b.py, y", [FileMention("a/b.py")]),
        ("@a#L3", [FileMention("a", 3, 3)]),
        ("@a#L3-L9.", [FileMention("a", 3, 9)]),
        ('@"a b" @c', [FileMention("a b"), FileMention("c")]),
        ("me@a.b (@c) @", []),
    ],
)
def test_mentions_are_found(text: str, expected: list[FileMention]) -> None:
    assert find_mentions(text) == expected


@given(st.text())
def test_no_text_breaks_the_search_for_mentions_and_commands(text: str) -> None:
    find_mentions(text)
    find_shell_commands(text)
    fill_in_arguments(CommandFile("c", Path("c"), text), text, "id")


# -- commands


def test_the_clients_own_commands_take_precedence(desk: MakeDesk) -> None:
    here = desk(script("never"))
    here.trust()
    write(here, "project/.claude/commands/cost.md", "mine")
    assert "list prices" in here.turnlog("-p", "/cost").stdout
    assert here.requests == []


def test_help_and_programs_learn_about_commands(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    here.trust()
    write(here, "project/.claude/commands/fix.md", "---\ndescription: Fix it\nargument-hint: NUMBER\n---\nFix")
    write(here, SKILL, "---\ndescription: Greets\n---\nHello")
    told = here.turnlog("-p", "/help").stdout
    assert ("/fix NUMBER" in told, "Fix it" in told, "/greet" in told) == (True, True, True)
    done = here.turnlog("-p", "x", "--output-format", "stream-json", "--verbose")
    init = json.loads(done.stdout.splitlines()[0])
    assert ("fix" in init["slash_commands"], init["skills"], "Skill" in init["tools"]) == (True, ["greet"], True)


def test_the_model_of_a_command_holds_for_its_turn(desk: MakeDesk) -> None:
    here = desk(script("One.", "Two."))
    here.trust()
    write(here, "project/.claude/commands/c.md", "---\nmodel: claude-haiku-4-5\n---\nGo")
    lines = [user("/c"), user("again")]
    words = (*STREAMS, "--model", "claude-opus-5-5")
    here.turnlog(*words, stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert [one["model"] for one in here.requests] == ["claude-haiku-4-5", "claude-opus-5-5"]


def test_a_hook_sees_the_command_as_it_was_typed_and_can_block_it(desk: MakeDesk) -> None:
    here = desk(script("never"))
    here.trust()
    write(here, "project/.claude/commands/c.md", "---\nallowed-tools: Bash\n---\n!`touch made`")
    hook = {"type": "command", "command": f"cat > {here.base}/told; exit 2"}
    settings = {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}
    write(here, "home/.claude/settings.json", json.dumps(settings))
    here.turnlog("-p", "/c now")
    assert json.loads((here.base / "told").read_text())["prompt"] == "/c now"
    assert not (here.cwd / "made").exists()


def test_odd_files_are_skipped_with_a_reason(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "good.md").write_text("x")
    (folder / "bad name.md").write_text("x")
    (folder / "big.md").write_bytes(b"x" * (2 << 20))
    (folder / "folder.md").mkdir()
    warned: list[str] = []
    found = load_commands(tmp_path / "project", tmp_path / "home", is_trusted=True, warn=warned.append)
    assert (list(found), len(warned)) == (["good"], 2)


# -- plugins and styles


def test_a_plugin_brings_commands_agents_and_hooks(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    write(here, "plug/.claude-plugin/plugin.json", '{"name": "plug"}')
    write(here, "plug/commands/hi.md", "Hi from ${CLAUDE_PLUGIN_ROOT}")
    write(here, "plug/agents/a.md", "---\nname: helper\ndescription: x\n---\nHelp")
    hook = {"type": "command", "command": '"${CLAUDE_PLUGIN_ROOT}/say.sh"'}
    write(here, "plug/hooks/hooks.json", json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    write(here, "plug/say.sh", "#!/bin/sh\necho from the plugin in $CLAUDE_PLUGIN_ROOT\n").chmod(0o755)
    here.turnlog("-p", "/plug:hi", "--plugin-dir", "../plug")
    assert f"Hi from {here.base}/plug" in read_last_messages(here)
    assert f"from the plugin in {here.base}/plug" in read_last_messages(here)
    (task,) = [tool for tool in here.requests[-1]["tools"] if tool["name"] == "Task"]
    assert "plug:helper" in task["description"]


def test_a_project_that_is_not_trusted_enables_no_plugin(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    write(here, "plug/commands/hi.md", "Hi")
    installed = {"plugins": {"plug@x": [{"installPath": str(here.base / "plug")}]}}
    write(here, "home/.claude/plugins/installed_plugins.json", json.dumps(installed))
    write(here, "project/.claude/settings.json", json.dumps({"enabledPlugins": {"plug@x": True}}))
    assert here.turnlog("-p", "/plug:hi").returncode == 2
    here.trust()
    assert here.turnlog("-p", "/plug:hi").stdout == "Done.\n"


@pytest.mark.parametrize("keeps", [True, False])
def test_an_output_style_from_a_file_is_part_of_the_system_prompt(desk: MakeDesk, keeps: bool) -> None:
    here = desk(script("Done."))
    head = f"---\nname: Pirate\nkeep-coding-instructions: {str(keeps).lower()}\n---\n"
    write(here, "home/.claude/output-styles/p.md", f"{head}Talk like a pirate.")
    write(here, "home/.claude/settings.json", '{"outputStyle": "pirate"}')
    assert here.turnlog("-p", "x").stderr == ""
    system = json.dumps(here.requests[-1]["system"])
    assert ("Talk like a pirate." in system, "Read a file before you edit it" in system) == (True, keeps)


def test_a_style_that_does_not_exist_is_reported(desk: MakeDesk) -> None:
    here = desk(script("Done."))
    write(here, "home/.claude/settings.json", '{"outputStyle": "Nope"}')
    assert "no output style 'Nope'" in here.turnlog("-p", "x").stderr
